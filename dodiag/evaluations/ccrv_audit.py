"""People's labels of CCRV-Bench answers: how far they agree with each other, and the judge with them."""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dodiag.benchmarks.ccrv.agreement import RaterAgreement, cohen, full_chain, majority, rater_agreement
from dodiag.benchmarks.ccrv.data import LEVELS
from dodiag.benchmarks.ccrv.scores import Labels, dcr
from dodiag.bounds.limits import Proportion, clustered_wilson
from dodiag.evaluations.ccrv_answers import JUDGE_META, answers, labeller, plan_of_items
from dodiag.evaluations.ccrv_limits import Ends
from dodiag.problems import InvalidInput, Problem, UsageError
from dodiag.runners.ledger import Ledger

COLUMNS = ("instance", "question", "configuration", "draw", "rater", *LEVELS)
CHAIN = "chain"

Place = tuple[str, str, str, int]
"""Instance, question, configuration, draw."""


@dataclass(frozen=True, slots=True)
class LevelAgreement:
    """Agreement on one level, or on the whole chain.

    Attributes
    ----------
    level : str
    people : RaterAgreement
    judged : int
        Answers that the judge has labelled as well.
    same : int or None
        Of those, where the judge's label is that of most people.
    cohen : float or None
        Kappa between most people and the judge; None without a judge, and where chance agreement is complete.
    fleiss_limits, cohen_limits : (float, float) or None
        Limits of the kappas at 95 % by instance; see :func:`kappa_limits`.
    """

    level: str
    people: RaterAgreement
    judged: int
    same: int | None
    cohen: float | None
    fleiss_limits: Ends | None = None
    cohen_limits: Ends | None = None


@dataclass(frozen=True, slots=True)
class Audit:
    """What people's labels say.

    Attributes
    ----------
    judge : str or None
    levels : tuple of LevelAgreement
        L1, L2, L3 and the chain.
    people_dcr, judge_dcr : float or None
        DCR from most people's labels, and from the judge's, over the answers that both have labelled.
    people_dcr_limits, judge_dcr_limits : (float, float) or None
        Their limits at 95 % by instance; None where one instance alone is there.
    answers, instances : int
        How many both have labelled, and of how many instances.
    """

    judge: str | None
    levels: tuple[LevelAgreement, ...]
    people_dcr: float | None
    judge_dcr: float | None
    people_dcr_limits: Ends | None = None
    judge_dcr_limits: Ends | None = None
    answers: int = 0
    instances: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as JSON values."""
        return asdict(self)


def audit(labels: str | Path, run_dir: str | Path, pack: str | Path | None = None) -> Audit:
    """Compare people's labels of a run's answers with each other and with the judge's; no call is made.

    Every answer needs the same odd number of people. The judge is left out where none was asked.

    Parameters
    ----------
    labels : str or Path
        CSV with the columns ``instance, question, configuration, draw, rater, L1, L2, L3``; labels are 1 or 0, before
        the cascade.
    run_dir : str or Path
    pack : str or Path, optional
        Where the pack is now, if it has moved.

    Raises
    ------
    UsageError
        If the file cannot be read, answers have different or even numbers of people, or the run lacks one of them.
    InvalidInput
        With every line that is wrong.
    """
    people = read_people(Path(labels))
    counts = {len(rated) for rated in people.values()}
    if len(counts) != 1 or min(counts) % 2 == 0:
        shown = ", ".join(map(str, sorted(counts)))
        raise UsageError(f"the answers have {shown} people", "Give every answer the same odd number, at least 3.")
    judge, said = _judge(Path(run_dir), pack, people)
    places = list(people)
    both = [place for place in places if place in said]
    found = []
    for name in (*LEVELS, CHAIN):
        ratings = [_of_level(people[place], name) for place in places]
        most = dict(zip(places, majority(ratings), strict=True))
        ours = [most[place] for place in both]
        theirs = [_of_level([said[place]], name)[0] for place in both]
        found.append(
            LevelAgreement(
                name,
                rater_agreement(ratings),
                len(both),
                sum(a == b for a, b in zip(ours, theirs, strict=True)) if both else None,
                cohen(ours, theirs) if both else None,
                kappa_limits(lambda rows: rater_agreement(rows).fleiss, ratings, [place[0] for place in places]),
                kappa_limits(
                    lambda rows: cohen([a for a, _ in rows], [b for _, b in rows]),
                    list(zip(ours, theirs, strict=True)),
                    [place[0] for place in both],
                ),
            )
        )
    if not both:
        return Audit(judge, tuple(found), None, None)
    ours_dcr = _mean(both, [dcr(_majority_labels(people[place])) for place in both])
    judge_dcr = _mean(both, [dcr(said[place]) for place in both])
    return Audit(
        judge,
        tuple(found),
        ours_dcr.value,
        judge_dcr.value,
        _ends(ours_dcr),
        _ends(judge_dcr),
        judge_dcr.n,
        judge_dcr.clusters,
    )


def kappa_limits(
    kappa: Callable[[Sequence[Sequence[int]]], float | None],
    ratings: Sequence[Sequence[int]],
    instances: Sequence[str],
    level: float = 0.95,
) -> Ends | None:
    """Return limits of a kappa by the jackknife over instances: Student's, from what leaving out each one changes.

    None where there are fewer than three instances, where the kappa is not defined with one of them left out, and where
    none of them changes it: then nothing shows how much it varies.

    Parameters
    ----------
    kappa : callable
        From ratings, one row for each answer, to the kappa.
    ratings : sequence of rows of labels
    instances : sequence of str
        Of the answers.
    level : float
        Two-sided confidence level in (0, 1).
    """
    from scipy.special import stdtrit

    kept = [
        [row for row, instance in zip(ratings, instances, strict=True) if instance != left]
        for left in dict.fromkeys(instances)
    ]
    whole = kappa(ratings) if len(kept) > 2 else None
    found = [value for rows in kept if whole is not None and (value := kappa(rows)) is not None]
    if whole is None or len(found) < len(kept):
        return None
    count, middle = len(found), sum(found) / len(found)
    spread = math.sqrt((count - 1) / count * sum((value - middle) ** 2 for value in found))
    if spread < 1e-12:
        return None
    reach = float(stdtrit(count - 1, (1 + level) / 2)) * spread
    return max(-1.0, whole - reach), min(1.0, whole + reach)


def read_people(path: Path) -> dict[Place, list[Labels]]:
    """Return people's labels by answer, in the order of their names.

    Raises
    ------
    UsageError
        If the file cannot be read or lacks a column.
    InvalidInput
        With every line that is wrong.
    """
    found: dict[Place, dict[str, Labels]] = {}
    problems: list[Problem] = []
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream)
            missing = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
            if missing:
                raise UsageError(f"{path} has no column '{missing[0]}'", f"It needs {', '.join(COLUMNS)}.")
            for row in reader:
                values = [_SAID.get((row[name] or "").strip()) for name in LEVELS]
                draw = (row["draw"] or "").strip()
                place = (
                    row["instance"],
                    row["question"],
                    row["configuration"] or "",
                    int(draw) if draw.isdecimal() else 0,
                )
                rated = found.setdefault(place, {})
                first, second, third = values
                if first is None or second is None or third is None or not draw.isdecimal() or not row["rater"]:
                    cure = "Labels are 1 or 0, draws count from 0, and every rater has a name."
                    problems.append(Problem(str(path), reader.line_num, row["question"], "is incomplete", cure))
                elif row["rater"] in rated:
                    cure = "One line for each answer and rater."
                    problems.append(Problem(str(path), reader.line_num, row["question"], "is rated twice", cure))
                else:
                    rated[row["rater"]] = (first, second, third)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{path} cannot be read: {error}", "Name a CSV file.") from None
    if problems:
        raise InvalidInput(problems)
    if not found:
        raise UsageError(f"{path} has no labels", "Write at least one line.")
    return {place: [rated[name] for name in sorted(rated)] for place, rated in found.items()}


_SAID: Mapping[str, int] = {"1": 1, "0": 0}


def _judge(
    folder: Path, pack: str | Path | None, people: Mapping[Place, Any]
) -> tuple[str | None, dict[Place, Labels]]:
    with Ledger(folder) as ledger:
        plan = plan_of_items(ledger, pack)
        used = ledger.meta(JUDGE_META)
        label = labeller(ledger)
        asked: set[Place] = set()
        found: dict[Place, Labels] = {}
        for answer in answers(plan, ledger):
            row = answer.row
            place = (row.instance, row.question, row.configuration, row.draw)
            asked.add(place)
            if used is not None and place in people:
                labels, _ = label(answer)
                if labels is not None:
                    found[place] = labels
    if unknown := [place for place in people if place not in asked]:
        shown = "instance {}, question {}, configuration '{}', draw {}".format(*unknown[0])
        raise UsageError(f"the run has no answer to {shown}", "Label answers of this run.")
    return (None if used is None else used["model"]), found


def _of_level(rated: Sequence[Labels], name: str) -> list[int]:
    if name == CHAIN:
        return full_chain([[labels[i] for labels in rated] for i in range(len(LEVELS))])
    return [labels[LEVELS.index(name)] for labels in rated]


def _majority_labels(rated: Sequence[Labels]) -> Labels:
    first, second, third = (majority([[labels[i] for labels in rated]])[0] for i in range(len(LEVELS)))
    return first, second, third


def _mean(places: Sequence[Place], values: Sequence[float]) -> Proportion:
    sums: dict[str, float] = {}
    sizes: Counter[str] = Counter()
    for (instance, *_), value in zip(places, values, strict=True):
        sums[instance] = sums.get(instance, 0.0) + value
        sizes[instance] += 1
    return clustered_wilson(list(sums.values()), [sizes[instance] for instance in sums])


def _ends(share: Proportion) -> Ends | None:
    return None if share.lower is None or share.upper is None else (share.lower, share.upper)
