"""The answers of a run of a ``ccrv_items`` pack, what a judge is asked about them, and what it has said."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dodiag.benchmarks.ccrv.data import Dataset, Item, ItemKey, PremiseSpec, Variant
from dodiag.benchmarks.ccrv.judging import COMPLIANCE, Inquiry, Showing, levels_inquiry, premise_inquiry
from dodiag.benchmarks.ccrv.loader import dataset_of
from dodiag.benchmarks.ccrv.packs import META, parse_question_id
from dodiag.benchmarks.ccrv.scores import BASELINE, Design, Labels
from dodiag.interventions.plan import Call, Plan
from dodiag.problems import UsageError
from dodiag.runners.judging.criteria import CriteriaItem
from dodiag.runners.judging.verdicts import Verdict
from dodiag.runners.ledger import CallRow, Ledger, ReplyRow
from dodiag.runners.reading.cleaning import remove_reasoning
from dodiag.runners.rescoring import answered, plan_of_run
from dodiag.vocabulary import Outcome, State

TASK, ASKED, CONTENT = "ccrv_items", "A", "E"
JUDGE_META = "ccrv_judge"
"""The entry of the ledger's description that says whose labels count."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answered question of a run.

    Attributes
    ----------
    call : Call
    row : CallRow
    reply_key : str
    item, constraint : Item, str
    variant : Variant or None
        None for an unconstrained question.
    text : str
        What the model said, its reasoning apart.
    size : (int, int)
        Of the picture.
    cluster : str
    """

    call: Call
    row: CallRow
    reply_key: str
    item: Item
    constraint: str
    variant: Variant | None
    text: str
    size: tuple[int, int]
    cluster: str

    @property
    def state(self) -> State:
        """The state of the causal content."""
        return self.call.configuration[CONTENT]


def plan_of_items(ledger: Ledger, pack: str | Path | None) -> Plan:
    """Return the plan of a run.

    Raises
    ------
    UsageError
        If it is no run of a ``ccrv_items`` pack, or the pack has changed.
    """
    plan = plan_of_run(ledger, pack)
    if plan.task.name != TASK:
        raise UsageError(f"{ledger.folder} is a run of {plan.task.name}", f"Use a run of a {TASK} pack.")
    return plan


def asked_design(plan: Plan) -> tuple[Design, int]:
    """Return the design of a plan, and how many items of its images the pack leaves out.

    What was never asked is not missing: an item that ``export`` has left out is in no denominator.

    Raises
    ------
    UsageError
        If some items lack a constraint that others have.
    """
    records, asked, whole = [], set(), 0
    for instance in plan.selected():
        (image,) = dataset_of([instance.meta[META]], f"instance {instance.id}").images
        for question in instance.by_unit.get(ASKED, ()):
            x, place, _ = parse_question_id(question.id)
            asked.add(ItemKey(image.image_id, x, place))
        whole += len(image.items)
        records.append(replace(image, items=tuple(item for item in image.items if item.key in asked)))
    return Design.of(Dataset("the pack", tuple(records))), whole - len(asked)


def answers(plan: Plan, ledger: Ledger) -> Iterator[Answer]:
    """Yield every answer to a question of the set, in plan order."""
    name, dataset = None, None
    for call, row, reply in answered(plan, ledger):
        if call.question.unit != ASKED:
            continue
        if dataset is None or call.instance.id != name:
            name = call.instance.id
            dataset = dataset_of([call.instance.meta[META]], f"instance {name}")
        (image,) = dataset.images
        x, place, constraint = parse_question_id(call.question.id)
        item = dataset.by_key[ItemKey(image.image_id, x, place)]
        found = {variant.family: variant for variant in item.variants.values()}
        variant = None if constraint == BASELINE else found[constraint]
        width, height = call.instance.meta["size"]
        yield Answer(call, row, row.key, item, constraint, variant, _visible(reply), (width, height), image.cluster)


def _visible(reply: ReplyRow) -> str:
    return remove_reasoning(reply.reply or "").text.strip()


def inquiries(answer: Answer, showing: Showing) -> Iterator[Inquiry]:
    """Yield what a judge is asked about an answer: its levels, and for Y3 its compliance; nothing of an empty one."""
    if not answer.text:
        return
    yield levels_inquiry(answer.item, answer.variant, answer.text, showing)
    if answer.variant is not None and isinstance(answer.variant.spec, PremiseSpec):
        yield premise_inquiry(answer.variant, answer.text)


def criteria(inquiry: Inquiry) -> CriteriaItem:
    """Return an inquiry as the judge takes it."""
    return CriteriaItem(inquiry.instruction, inquiry.material, inquiry.answer, inquiry.criteria)


Labeller = Callable[[Answer], tuple[Labels | None, int | None]]
"""From an answer to its labels, and to its compliance with Y3."""


def labeller(ledger: Ledger) -> Labeller:
    """Return what gives an answer its labels: the judge that labelled last, or exact reading where none ever did."""
    used: Mapping[str, Any] | None = ledger.meta(JUDGE_META)
    if used is None:
        return _exact

    def said(inquiry: Inquiry) -> list[int] | None:
        item = criteria(inquiry)
        rows = [
            ledger.verdict(item.key(name, used["model"], used["endpoint"], used["parameters"]))
            for name, _ in item.criteria
        ]
        if any(row is None or row.verdict == Verdict.UNSCORED for row in rows):
            return None
        return [int(row is not None and row.verdict == Verdict.CORRECT) for row in rows]

    def label(answer: Answer) -> tuple[Labels | None, int | None]:
        levels, premise = None, None
        for inquiry in inquiries(answer, used["showing"]):
            found = said(inquiry)
            if inquiry.criteria[0][0] == COMPLIANCE:
                premise = None if found is None else found[0]
            elif found is not None:
                levels = (found[0], found[1], found[2])
        return levels, premise

    return label


def _exact(answer: Answer) -> tuple[Labels | None, int | None]:
    solved = answer.row.solved if answer.row.outcome == Outcome.VALUE else None
    return (None, None) if solved is None else ((solved, solved, solved), solved)
