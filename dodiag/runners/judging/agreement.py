"""How far raters of the same answers agree: exact reading, judges, and people."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from dodiag.problems import UsageError
from dodiag.runners.judging.verdicts import Verdict
from dodiag.runners.ledger import Ledger
from dodiag.runners.rescoring import JUDGES, answered, item_of, plan_of_run
from dodiag.runners.scoring import score
from dodiag.scm.answers import AnswerType
from dodiag.scm.pack import spec_of

EXACT, HUMAN = "exact reading", "human"
LABEL_COLUMNS = ("instance", "question", "configuration", "draw", "label")
_LABELS = {
    "correct": Verdict.CORRECT,
    "incorrect": Verdict.INCORRECT,
    "1": Verdict.CORRECT,
    "0": Verdict.INCORRECT,
}


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """Two raters on the answers that both rated.

    Attributes
    ----------
    first, second : str
        ``exact reading``, ``human``, or a judge's model.
    n : int
        Answers that both rated.
    counts : mapping of (str, str) to int
        Labels of the first and the second.
    kappa : float or None
        Cohen's.
    reason : str
        Why there is no kappa.
    """

    first: str
    second: str
    n: int
    counts: Mapping[tuple[str, str], int]
    kappa: float | None
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the pair as JSON values."""
        counts = [{"first": a, "second": b, "answers": n} for (a, b), n in sorted(self.counts.items())]
        return {
            "first": self.first,
            "second": self.second,
            "n": self.n,
            "counts": counts,
            "kappa": self.kappa,
            "reason": self.reason or None,
        }


@dataclass(frozen=True, slots=True)
class Agreement:
    """All pairs of raters, and Fleiss' kappa over the answers that most of them rated.

    Attributes
    ----------
    pairs : tuple of PairAgreement
    fleiss : float or None
        Over the answers rated by exactly as many raters as the largest group of answers has, at least two.
    fleiss_n, fleiss_raters : int
        Answers and raters of it.
    """

    pairs: tuple[PairAgreement, ...]
    fleiss: float | None
    fleiss_n: int
    fleiss_raters: int

    def to_dict(self) -> dict[str, Any]:
        """Return the agreement as JSON values."""
        return {
            "pairs": [pair.to_dict() for pair in self.pairs],
            "fleiss": self.fleiss,
            "fleiss_n": self.fleiss_n,
            "fleiss_raters": self.fleiss_raters,
        }


def agreement(run_dir: str | Path, labels: str | Path | None = None, pack: str | Path | None = None) -> Agreement:
    """Compare the raters of a run's free-text answers; no call is made.

    Parameters
    ----------
    run_dir : str or Path
    labels : str or Path, optional
        CSV of a person's labels, with the columns ``instance, question, configuration, draw, label``; a label is
        ``correct`` or ``incorrect`` (or 1, 0).
    pack : str or Path, optional
        Where the pack is now, if it has moved.

    Raises
    ------
    UsageError
        If the labels cannot be read, or the pack has changed.
    """
    people = {} if labels is None else _labels(Path(labels))
    ratings: list[dict[str, Verdict]] = []
    raters = dict.fromkeys([EXACT, *([HUMAN] if people else [])])
    with Ledger(Path(run_dir)) as ledger:
        plan = plan_of_run(ledger, pack)
        judges = ledger.meta(JUDGES) or []
        names = _names_of(judges)
        raters |= dict.fromkeys(names)
        for call, row, reply in answered(plan, ledger):
            scored = score(plan.task, call.question, reply.to_reply())
            if spec_of(plan.task, call.question).type is not AnswerType.TEXT:
                continue
            rating: dict[str, Verdict] = {}
            if scored.solved is not None:
                rating[EXACT] = Verdict.CORRECT if scored.solved else Verdict.INCORRECT
            place = (row.instance, row.question, row.configuration, row.draw)
            if place in people:
                rating[HUMAN] = people[place]
            for name, judge in zip(names, judges, strict=True):
                item = item_of(plan, call, reply, scored, judge["mismatch"])
                found = item and ledger.verdict(item.key(judge["model"], judge["endpoint"], judge["parameters"]))
                if found and found.verdict != Verdict.UNSCORED:
                    rating[name] = Verdict(found.verdict)
            ratings.append(rating)
    pairs = tuple(_pair(first, second, ratings) for first, second in combinations(raters, 2))
    return Agreement(pairs, *_fleiss(ratings))


def _names_of(judges: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a name for each judge: its model, with server and parameters where one model judged in several ways."""
    ways = {(judge["model"], judge["endpoint"], json.dumps(judge["parameters"], sort_keys=True)) for judge in judges}
    several = {model for model, count in Counter(model for model, _, _ in ways).items() if count > 1}
    return [
        " ".join(filter(None, (judge["model"], judge["endpoint"], json.dumps(judge["parameters"], sort_keys=True))))
        if judge["model"] in several
        else judge["model"]
        for judge in judges
    ]


def _pair(first: str, second: str, ratings: list[dict[str, Verdict]]) -> PairAgreement:
    counts = Counter((r[first].value, r[second].value) for r in ratings if first in r and second in r)
    n = counts.total()
    if not n:
        return PairAgreement(first, second, 0, {}, None, "no answer was rated by both")
    if len(counts) == 1 and len(set(next(iter(counts)))) == 1:
        return PairAgreement(first, second, n, counts, None, "both gave the same label to every answer")
    from statsmodels.stats.inter_rater import cohens_kappa

    said = (Verdict.CORRECT.value, Verdict.INCORRECT.value)
    found = cohens_kappa([[counts[a, b] for b in said] for a in said], return_results=False)
    return PairAgreement(first, second, n, counts, float(found))


def _fleiss(ratings: list[dict[str, Verdict]]) -> tuple[float | None, int, int]:
    sizes = Counter(len(rating) for rating in ratings if len(rating) >= 2)
    if not sizes:
        return None, 0, 0
    raters = max(sizes, key=lambda size: (sizes[size], size))
    chosen = [rating for rating in ratings if len(rating) == raters]
    table = [[sum(v is said for v in r.values()) for said in (Verdict.CORRECT, Verdict.INCORRECT)] for r in chosen]
    if not all(any(row[place] for row in table) for place in (0, 1)):
        return None, len(chosen), raters
    from statsmodels.stats.inter_rater import fleiss_kappa

    return float(fleiss_kappa(table)), len(chosen), raters


def _labels(path: Path) -> dict[tuple[str, str, str, int], Verdict]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream)
            missing = [name for name in LABEL_COLUMNS if name not in (reader.fieldnames or ())]
            if missing:
                raise UsageError(f"{path} has no column '{missing[0]}'", f"It needs {', '.join(LABEL_COLUMNS)}.")
            labels: dict[tuple[str, str, str, int], Verdict] = {}
            for row in reader:
                place, label = _label(path, reader.line_num, row)
                if labels.setdefault(place, label) != label:
                    raise UsageError(
                        f"{path}, line {reader.line_num}: another label for the same answer stands further up",
                        "Give each answer one label.",
                    )
            return labels
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{path} cannot be read: {error}", "Name a CSV file.") from None


def _label(path: Path, line: int, row: Mapping[str, str]) -> tuple[tuple[str, str, str, int], Verdict]:
    label = _LABELS.get((row["label"] or "").strip().lower())
    if label is None:
        raise UsageError(f"{path}, line {line}: label '{row['label']}' is unknown", "Write correct or incorrect.")
    try:
        draw = int(row["draw"])
    except (TypeError, ValueError):
        raise UsageError(f"{path}, line {line}: draw '{row['draw']}' is no number", "Draws count from 0.") from None
    return (row["instance"], row["question"], row["configuration"], draw), label
