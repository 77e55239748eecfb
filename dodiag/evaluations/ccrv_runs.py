"""Judge and score runs of ``ccrv_items`` packs: labels from a judge, compliance by rule, the benchmark's figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

from dodiag.benchmarks.ccrv.compliance import Compliance, Y2Mode, comply
from dodiag.benchmarks.ccrv.data import LEVELS
from dodiag.benchmarks.ccrv.judging import PROMPTS_VERSION, Showing
from dodiag.benchmarks.ccrv.scores import BASELINE, Labels, Record, Scores, cascade
from dodiag.evaluations.ccrv_answers import (
    ASKED,
    CONTENT,
    JUDGE_META,
    Answer,
    Labeller,
    answers,
    asked_design,
    criteria,
    inquiries,
    labeller,
    plan_of_items,
)
from dodiag.evaluations.ccrv_spending import Spent
from dodiag.folder_lock import FolderLock
from dodiag.interventions.plan import Plan
from dodiag.problems import UsageError, nearest
from dodiag.runners.judging.criteria import PendingCriteria, judge_criteria
from dodiag.runners.judging.judge import Judge, Judged
from dodiag.runners.judging.verdicts import NoVerdict
from dodiag.runners.ledger import Ledger, LedgerWriter, VerdictRow
from dodiag.runners.models import open_adapter
from dodiag.runners.protocol import Adapter
from dodiag.runners.retry import RetryPolicy
from dodiag.runners.secrets import refuse_secret_url
from dodiag.runners.session import run_in_loop
from dodiag.vocabulary import Outcome, State, parse_state

if TYPE_CHECKING:
    import pandas as pd

NO_JUDGE = "exact reading: a whole answer is right or wrong, and all its levels with it"
MEASURES = (*LEVELS, "chain", "CSR", "effective")


@dataclass(frozen=True)
class ItemScores:
    """A run's figures under one state of the causal content.

    Attributes
    ----------
    model, judge : str
    state : str
        As people read it: ``∅`` is the benchmark as published, ``1`` the oracle-informed control, ``0`` a false premise
        injected.
    y2 : str
        The rule of Y2.
    scores : Scores
    missing : mapping of str to int
        Answers of the design that have no record, by reason.
    notes : mapping of str to int
        What compliance could not test or how it read points, and empty replies, counted.
    left_out : int
        Items of the set that the pack does not ask; they are in no figure.
    """

    model: str
    judge: str
    state: str
    y2: str
    scores: Scores
    missing: Mapping[str, int]
    notes: Mapping[str, int]
    left_out: int = 0


@dataclass(frozen=True)
class JudgedAnswers:
    """What a round of judging came to.

    Attributes
    ----------
    asked : int
        Questions that were sent now; one covers all levels of an answer.
    labelled : int
        Those that the judge answered.
    unlabelled : mapping of str to int
        The others by reason; see :class:`dodiag.runners.judging.verdicts.NoVerdict`. Only ``judge_error``, a judge that
        could not be reached, is asked again by the next round.
    spent : Spent
        What that came to.
    stopped : str or None
        Why judging ended early.
    """

    asked: int
    labelled: int
    unlabelled: Mapping[str, int]
    spent: Spent
    stopped: str | None

    @property
    def complete(self) -> bool:
        """Whether no question waits for a judge that could be reached."""
        return self.stopped is None and not self.unlabelled.get(NoVerdict.ERROR.value)


def judge_items(
    run_dir: str | Path,
    judge: str | Adapter,
    *,
    showing: Showing = "released",
    pack: str | Path | None = None,
    base_url: str | None = None,
    key_variable: str = "OPENAI_API_KEY",
    timeout: float = 300.0,
    concurrency: int = 10,
    max_retries: int = 4,
) -> JudgedAnswers:
    """Ask a judge for L1, L2, L3 of every answer of a run, and for the compliance of answers to Y3.

    Each distinct question to the judge is sent once; what it has said already is not asked again. From then on its
    labels are those that count, unless it has given none at all: a judge that cannot be reached takes no other's place.

    Parameters
    ----------
    run_dir : str or Path
        A run of a pack of ``dodiag ccrv export``.
    judge : str or Adapter
        A model name as in :func:`dodiag.run`, or an adapter.
    showing : {"released", "symmetric"}
        What the judge of unconstrained answers is shown.
    pack : str or Path, optional
        Where the pack is now, if it has moved.
    base_url, key_variable, timeout
        How the judge is reached.
    concurrency, max_retries : int

    Raises
    ------
    UsageError
        If the folder holds no run of such a pack, or another process works in it.
    """
    folder = Path(run_dir)
    with Ledger(folder) as ledger:
        plan = plan_of_items(ledger, pack)
        lock = FolderLock(folder)
        try:
            asker = _opened(judge, plan, base_url, key_variable, timeout)
            found: dict[str, PendingCriteria] = {}
            known = 0
            for answer in answers(plan, ledger):
                for inquiry in inquiries(answer, showing):
                    item = criteria(inquiry)
                    name = item.criteria[0][0]
                    key = item.key(name, asker.adapter.model, asker.adapter.endpoint, asker.parameters)
                    stored = ledger.verdict(key)
                    if stored is not None and stored.reason != NoVerdict.ERROR:
                        known += 1
                    elif key not in found:
                        found[key] = PendingCriteria(item, answer.call, answer.reply_key)
            writer = LedgerWriter(ledger.path)
            try:
                policy = RetryPolicy(max_retries=max_retries)
                pending = list(found.values())
                judged = run_in_loop(judge_criteria(asker, pending, plan.task, writer, concurrency, policy))
            finally:
                writer.close()
                said = [row for key in found if (row := ledger.verdict(key)) is not None]
                if known or not found or any(row.reason != NoVerdict.ERROR for row in said):
                    ledger.write_meta(JUDGE_META, _description(asker, showing))
            return _judged_answers(judged, asker, said)
        finally:
            lock.release()


def _description(judge: Judge, showing: Showing) -> dict[str, Any]:
    return {
        "model": judge.adapter.model,
        "endpoint": judge.adapter.endpoint,
        "parameters": dict(judge.parameters),
        "showing": showing,
        "prompts": PROMPTS_VERSION,
    }


def _judged_answers(judged: Judged, judge: Judge, said: Sequence[VerdictRow]) -> JudgedAnswers:
    """Return the account of a round from the rows of its questions, one for each."""
    unlabelled = Counter(row.reason for row in said if row.reason is not None)
    replied = [row for row in said if row.reason != NoVerdict.ERROR]
    requests = sum(row.attempts for row in said)
    spent = Spent.of(judge.adapter.model, requests, ((row.input_tokens, row.output_tokens) for row in replied))
    return JudgedAnswers(judged.asked, len(said) - unlabelled.total(), dict(unlabelled), spent, judged.stopped)


def score_items(
    run_dir: str | Path,
    *,
    state: State | str = State.NATURAL,
    y2: Y2Mode = "harmonised",
    strict_hyphen: bool = False,
    rounded: bool = False,
    draw: int = 0,
    pack: str | Path | None = None,
) -> ItemScores:
    """Return a run's figures from stored labels; no call is made.

    Labels are those of the judge that labelled last. Where none ever did, an answer that equals its reference passes
    all levels, one that equals the false premise fails all, and any other has no labels.

    Parameters
    ----------
    run_dir : str or Path
    state : State or str
        Of the causal content: ``n``, ``1`` or ``0``.
    y2 : {"harmonised", "strict"}
    strict_hyphen : bool
        Y4 as the paper words it.
    rounded : bool
        Round every answer's DCR to 3 decimals first, as the released code does.
    draw : int
        Which repetition.
    pack : str or Path, optional
        Where the pack is now, if it has moved.

    Raises
    ------
    UsageError
        If the folder holds no run of such a pack, or nothing of it was asked under this state.
    """
    wanted = state if isinstance(state, State) else parse_state(state)
    with Ledger(Path(run_dir)) as ledger:
        plan = plan_of_items(ledger, pack)
        label = labeller(ledger)
        design, left_out = asked_design(plan)
        records: list[Record] = []
        gone: Counter[str] = Counter()
        notes: Counter[str] = Counter()
        seen = 0
        for answer in answers(plan, ledger):
            if answer.state is not wanted or answer.call.draw != draw:
                continue
            seen += 1
            labels, csr, why = _judged(answer, label, y2, strict_hyphen, notes)
            if labels is None or (answer.variant is not None and csr is None):
                gone[why] += 1
                continue
            records.append(Record(answer.item.key, answer.constraint, labels, csr, answer.cluster))
        if not seen:
            raise UsageError(
                f"{run_dir} has no answer under {CONTENT}={wanted.symbol}", "Run the pack with that state of E."
            )
        whole = len(design.items) * (1 + len(design.constraints))
        missing = {"no answer": whole - seen, **gone}
        judge = ledger.meta(JUDGE_META)
        return ItemScores(
            ledger.manifest["model"],
            judge["model"] if judge else NO_JUDGE,
            wanted.symbol,
            y2,
            Scores.of(design, records, rounded=rounded),
            {reason: count for reason, count in missing.items() if count},
            dict(notes),
            left_out,
        )


def item_outcomes(
    run_dir: str | Path, measure: str = "chain", *, y2: Y2Mode = "harmonised", pack: str | Path | None = None
) -> pd.DataFrame:
    """Return the outcome table of a run in which "solved" is what a measure says of the answer.

    So one reply is read for several units: the table of L1, that of L2, that of L3. It goes into
    ``dodiag.capabilities`` and ``dodiag.contributions`` with the pack's task.

    Parameters
    ----------
    run_dir : str or Path
    measure : str
        ``L1``, ``L2``, ``L3`` (each after the cascade), ``chain`` (all three), ``CSR``, or ``effective`` (the whole
        chain within the constraint). Unconstrained questions have no CSR; under ``CSR`` they are left out.
    y2 : {"harmonised", "strict"}
    pack : str or Path, optional
        Where the pack is now, if it has moved.

    Raises
    ------
    UsageError
        If there is no such measure, or the folder holds no run of such a pack.
    """
    if measure not in MEASURES:
        raise UsageError(f"there is no measure '{measure}'", f"Use one of {', '.join(MEASURES)}.")
    import pandas as pd

    from dodiag.runners.outcomes import outcomes

    with Ledger(Path(run_dir)) as ledger:
        plan = plan_of_items(ledger, pack)
        label = labeller(ledger)
        read: dict[tuple[str, str, str, int], tuple[int | None, str]] = {}
        for answer in answers(plan, ledger):
            labels, csr, _ = _judged(answer, label, y2, False, Counter())
            row = answer.row
            solved = _measured(measure, answer, labels, csr)
            # An empty reply keeps its outcome (none, refused, truncated), so that its failures are counted apart.
            named = row.outcome if not answer.text else Outcome.UNSCORED if solved is None else Outcome.VALUE
            read[row.instance, row.question, row.configuration, row.draw] = solved, str(named)
    table = outcomes(run_dir)
    table = table[table["unit"] == ASKED].reset_index(drop=True)
    if measure == "CSR":
        table = table[~table["question"].str.endswith(f"-{BASELINE}")].reset_index(drop=True)
    places = zip(table["instance"], table["question"], table["configuration"], table["draw"], strict=True)
    found = [read.get((i, q, c, int(d)), (None, Outcome.ERROR.value)) for i, q, c, d in places]
    table["solved"] = pd.array([solved for solved, _ in found], dtype="Int64")
    table["outcome"] = [named for _, named in found]
    return table


def parsed_rule(text: str) -> Y2Mode:
    """Return the rule of Y2 from its name.

    Raises
    ------
    UsageError
        If there is no such rule.
    """
    for rule in get_args(Y2Mode):
        if text == rule:
            return cast(Y2Mode, rule)
    raise UsageError(f"there is no rule '{text}' of Y2", nearest(text, get_args(Y2Mode)))


def _measured(measure: str, answer: Answer, labels: Labels | None, csr: int | None) -> int | None:
    if measure == "CSR":
        return csr
    if labels is None:
        return None
    passed = cascade(labels)
    if measure in LEVELS:
        return passed[LEVELS.index(measure)]
    if measure == "chain" or answer.variant is None:
        return passed[2]
    return None if csr is None else passed[2] * csr


_EMPTY = {
    Outcome.REFUSED.value: "refused without a text, or blocked by the provider",
    Outcome.TRUNCATED.value: "cut off before any answer",
}
"""Why a reply has no text, by its outcome."""


def _judged(
    answer: Answer, label: Labeller, y2: Y2Mode, strict_hyphen: bool, notes: Counter[str]
) -> tuple[Labels | None, int | None, str]:
    """Return labels, compliance, and what is missing where something is."""
    if not answer.text:
        notes[f"{_EMPTY.get(answer.row.outcome, 'empty reply')}, all levels and the constraint failed"] += 1
        return (0, 0, 0), (None if answer.variant is None else 0), ""
    labels, premise = label(answer)
    if answer.variant is None:
        return labels, None, "no labels"
    found: Compliance = comply(answer.variant, answer.text, size=answer.size, y2=y2, strict_hyphen=strict_hyphen)
    notes.update(f"{answer.constraint}: {note}" for note in found.notes)
    csr = premise if found.csr is None else found.csr
    return labels, csr, "no labels" if labels is None else "no verdict on the false premise"


def _opened(judge: str | Adapter, plan: Plan, base_url: str | None, key: str, timeout: float) -> Judge:
    if not isinstance(judge, str):
        return Judge(judge)
    refuse_secret_url(base_url)
    return Judge(
        open_adapter(judge, task=plan.task, base_url=base_url, with_media=False, timeout=timeout, key_variable=key)
    )
