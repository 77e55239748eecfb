"""What many runs come to, as one value: every analysis of the overview, before anything is printed or drawn."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from dodiag.bounds.aggregates import (
    AblationRow,
    Agreement,
    Average,
    CapabilityRow,
    ContributionRow,
    Placed,
    ablation_averages,
    capability_averages,
    contrast_agreement,
    contribution_averages,
    mean_agreement,
    model_agreement,
    quadrants,
)
from dodiag.bounds.chain_steps import FIGURE_CONTRASTS, ChainSteps, chain_steps
from dodiag.bounds.diagnosis import Diagnosis, Finding, Verdict, diagnose
from dodiag.bounds.formulas import PAPER_MIN_DENOMINATOR
from dodiag.bounds.scores import Score, Scores, contrasts_of
from dodiag.problems import UsageError, nearest
from dodiag.report.chain_tables import FIGURE_LAST_BINS
from dodiag.scm.graph import TaskGraph
from dodiag.vocabulary import METRICS, Configuration, Contrast, Outcome, State

if TYPE_CHECKING:
    import pandas as pd

FIX = Contrast.parse("1,n")
"""The contrast that says what to fix: the correct answer against nothing."""

STEP_METRICS = ("NC", "IC", "RC", "NS")
"""What is shown along the steps of a chain."""

_MOST_TELLING = (
    Verdict.FIRST,
    Verdict.AMONG_FIRST,
    Verdict.HARMS,
    Verdict.UNDECIDED,
    Verdict.MATTERS,
    Verdict.NO_EVIDENCE,
    Verdict.LITTLE,
    Verdict.NO_ROOM,
)
"""Verdicts in the order in which :meth:`Diagnosis.headline` speaks of them."""


@dataclass(frozen=True, slots=True)
class Extent:
    """What was asked of a model on a task.

    Attributes
    ----------
    model, task : str
    instances, units, calls : int
        Different instances and units; rows of the outcome table.
    missing : int
        Calls that came to no reply, or wait for a judge.
    unusable : int
        Replies without a usable answer, which count as not solved.
    """

    model: str
    task: str
    instances: int
    units: int
    calls: int
    missing: int
    unusable: int


@dataclass(frozen=True, slots=True)
class Source:
    """Where outcomes come from.

    Attributes
    ----------
    name : str
        A run directory or a file, as it was named.
    facts : mapping of str to str
        What is known of it: models, tasks, calls, hashes, versions.
    """

    name: str
    facts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ToFix:
    """What to fix first for one model on one task, from S(1, ∅) of the target.

    Attributes
    ----------
    model, task : str
    verdict : Verdict
    prerequisites : tuple of str
        Those that the verdict is about.
    words : str
        The verdict as a practitioner says it.
    best : Score
        S of the one with the highest score among them.
    sentence : str
        The whole of it, :meth:`Diagnosis.headline`.
    """

    model: str
    task: str
    verdict: Verdict
    prerequisites: tuple[str, ...]
    words: str
    best: Score
    sentence: str

    def to_dict(self) -> dict[str, Any]:
        """Return the row as JSON values."""
        return {
            "model": self.model,
            "task": self.task,
            "verdict": self.verdict.value,
            "prerequisites": list(self.prerequisites),
            "words": self.words,
            "best": self.best.prerequisite,
            "value": self.best.value,
            "limit_lower": self.best.limit_lower,
            "limit_upper": self.best.limit_upper,
            "n": self.best.n,
            "sentence": self.sentence,
        }


@dataclass(frozen=True, slots=True)
class Agreements:
    """How alike models, or contrasts, rank the prerequisites by one score.

    Attributes
    ----------
    metric : {"N", "S"}
    contrast : str or None
        None where contrasts are compared, with the scores averaged over models.
    names : tuple of str
        The models or contrasts.
    pairs : tuple of Agreement
        One for each two of them.
    mean : Average
        Over the pairs that have a correlation.
    """

    metric: str
    contrast: str | None
    names: tuple[str, ...]
    pairs: tuple[Agreement, ...]
    mean: Average


@dataclass(frozen=True, slots=True)
class Overview:
    """Every analysis of an outcome table of many models and tasks; what has no data is empty.

    Attributes
    ----------
    models : tuple of str
        In order of appearance.
    tasks : tuple of TaskGraph
    level, min_denominator : float
    groups : mapping of str to tuple of str
        Models of each group.
    extents : tuple of Extent
    capabilities : tuple of CapabilityRow
    ablations : tuple of AblationRow
    to_fix : tuple of ToFix
    findings : Diagnosis
        N and S of every target's prerequisites, where a contrast was run.
    means : tuple of ContributionRow
        N and S of each prerequisite averaged over models; empty for a single model.
    placed : tuple of Placed
        Prerequisites by N and S, averaged over models.
    by_group, by_category : tuple of ContributionRow
    agreements : tuple of Agreements
    steps : ChainSteps
    remarks : tuple of str
        What makes some of the numbers less comparable than they look.
    """

    models: tuple[str, ...]
    tasks: tuple[TaskGraph, ...]
    level: float
    min_denominator: float
    groups: Mapping[str, tuple[str, ...]]
    extents: tuple[Extent, ...]
    capabilities: tuple[CapabilityRow, ...]
    ablations: tuple[AblationRow, ...]
    to_fix: tuple[ToFix, ...]
    findings: Diagnosis
    means: tuple[ContributionRow, ...]
    placed: tuple[Placed, ...]
    by_group: tuple[ContributionRow, ...]
    by_category: tuple[ContributionRow, ...]
    agreements: tuple[Agreements, ...]
    steps: ChainSteps
    remarks: tuple[str, ...] = field(default=())

    @property
    def contrasts(self) -> tuple[str, ...]:
        """The contrasts of N and S that were run, in the order of the scores."""
        return tuple(dict.fromkeys(finding.contrast.text for finding in self.findings))

    def task(self, name: str) -> TaskGraph:
        """Return a task by its name."""
        return next(task for task in self.tasks if task.name == name)

    def to_dict(self) -> dict[str, Any]:
        """Return all rows of all analyses as one object of JSON values."""
        return {
            "models": list(self.models),
            "tasks": [task.name for task in self.tasks],
            "level": self.level,
            "min_denominator": self.min_denominator,
            "groups": {name: list(members) for name, members in self.groups.items()},
            "remarks": list(self.remarks),
            "extents": [asdict(row) for row in self.extents],
            "capabilities": [asdict(row) for row in self.capabilities],
            "ablations": [asdict(row) for row in self.ablations],
            "to_fix": [row.to_dict() for row in self.to_fix],
            "contributions": [_contribution(finding) for finding in self.findings],
            "contribution_means": [asdict(row) for row in self.means],
            "quadrants": [asdict(row) for row in self.placed],
            "by_group": [asdict(row) for row in self.by_group],
            "by_category": [asdict(row) for row in self.by_category],
            "agreement": [
                asdict(pair) | {"contrast": found.contrast} for found in self.agreements for pair in found.pairs
            ],
            "agreement_means": [
                {"metric": found.metric, "contrast": found.contrast} | asdict(found.mean) for found in self.agreements
            ],
            "chain_steps": [
                _step_row(score, row)
                for step in self.steps
                for score, row in zip(step.scores, step.to_dicts(), strict=True)
                if score.metric in STEP_METRICS
            ],
        }


def overview(
    outcomes: pd.DataFrame,
    tasks: Sequence[TaskGraph],
    contrasts: Iterable[Contrast | str] | None = None,
    *,
    groups: Mapping[str, Sequence[str]] | None = None,
    min_denominator: float = PAPER_MIN_DENOMINATOR,
    level: float = 0.95,
) -> Overview:
    """Compute every analysis of an outcome table of any number of models and tasks.

    Parameters
    ----------
    outcomes : pandas.DataFrame
        An outcome table.
    tasks : sequence of TaskGraph
        The tasks that it speaks of; rows of other tasks are ignored.
    contrasts : iterable of Contrast or str, optional
        Of N and S; by default those of the paper's four that were run.
    groups : mapping of str to sequence of str, optional
        Models of each group.
    min_denominator : float
        As in :func:`dodiag.contributions`.
    level : float
        Two-sided confidence level of all limits.

    Raises
    ------
    UsageError
        If the table does not fit the tasks, or a group names a model that is not in the table, or one of another group.
    NotAProbability
        If `level` or `min_denominator` is none.
    """
    models = tuple(dict.fromkeys(map(str, outcomes["model"])))
    of_model = group_of_models(groups or {}, models)
    wanted = None if contrasts is None else contrasts_of(contrasts)
    diagnoses = {
        task.name: diagnose(rows, task, wanted, level=level, min_denominator=min_denominator)
        for task, rows in _targets(outcomes, tasks)
    }
    asked = {(f.task, f.contrast) for found in diagnoses.values() for f in found if f.score.n}
    findings = Diagnosis(f for found in diagnoses.values() for f in found if (f.task, f.contrast) in asked)
    scores = Scores(finding.score for finding in findings)
    several = len(models) > 1
    averages = capability_averages(outcomes, tasks, level=level)
    ablations = ablation_averages(outcomes, tasks, level=level) if _has_ablations(outcomes) else ()
    return Overview(
        models=models,
        tasks=tuple(tasks),
        level=level,
        min_denominator=min_denominator,
        groups={name: tuple(members) for name, members in (groups or {}).items()},
        extents=tuple(_extents(outcomes, models, tasks)),
        capabilities=tuple(row for row in averages if several or row.model is not None),
        ablations=tuple(row for row in ablations if several or row.model is not None),
        to_fix=tuple(_to_fix(models, diagnoses)),
        findings=findings,
        means=contribution_averages(scores, tasks, by=("task", "prerequisite")) if several else (),
        placed=quadrants(scores, over_models=True),
        by_group=contribution_averages(scores, tasks, by=("group",), groups=of_model) if of_model else (),
        by_category=contribution_averages(scores, tasks, by=("category",)),
        agreements=tuple(_agreements(scores, models)),
        steps=ChainSteps(itertools.chain.from_iterable(_steps(outcomes, tasks, level))),
        remarks=tuple(_remarks(outcomes, models, tasks)),
    )


def group_of_models(groups: Mapping[str, Sequence[str]], models: Sequence[str]) -> dict[str, str]:
    """Return the group of each model that is in one.

    Raises
    ------
    UsageError
        If a group names a model that is not there, or that another group names too.
    """
    found: dict[str, str] = {}
    for name, members in groups.items():
        for model in members:
            if model not in models:
                raise UsageError(
                    f"group '{name}' names the model '{model}', which has no outcome", nearest(model, models)
                )
            if model in found:
                where = f"group '{name}' twice" if found[model] == name else f"the groups '{found[model]}' and '{name}'"
                raise UsageError(f"the model '{model}' is in {where}", "Put every model into one group, once.")
            found[model] = name
    return found


def _has_ablations(outcomes: pd.DataFrame) -> bool:
    states = {
        state for text in outcomes["configuration"].dropna().unique() for state in Configuration.parse(text).states
    }
    return bool(states & {State.CORRECT_TEXT, State.QUESTION_ONLY})


def _targets(outcomes: pd.DataFrame, tasks: Sequence[TaskGraph]) -> Iterator[tuple[TaskGraph, pd.DataFrame]]:
    """Yield the rows of each task's target, where it was asked and has N and S: a chain unit has NS instead."""
    for task in tasks:
        rows = outcomes[(outcomes["task"] == task.name) & (outcomes["unit"] == task.target)]
        if len(rows) and task.chain_of(task.target) is None:
            yield task, rows


def _extents(outcomes: pd.DataFrame, models: Sequence[str], tasks: Sequence[TaskGraph]) -> Iterator[Extent]:
    silent = [outcome.value for outcome in Outcome if outcome.missing]
    for task in tasks:
        of_task = outcomes[outcomes["task"] == task.name]
        for model in models:
            rows = of_task[of_task["model"] == model]
            if rows.empty:
                continue
            missing, value = rows["outcome"].isin(silent), rows["outcome"] == Outcome.VALUE.value
            yield Extent(
                model,
                task.name,
                instances=rows["instance"].nunique(),
                units=rows["unit"].nunique(),
                calls=len(rows),
                missing=int(missing.sum()),
                unusable=int((~missing & ~value).sum()),
            )


def _to_fix(models: Sequence[str], diagnoses: Mapping[str, Diagnosis]) -> Iterator[ToFix]:
    for task, found in diagnoses.items():
        for model in models:
            repairs = found.where(model=model, metric="S", contrast=FIX)
            if repairs:
                yield _first(repairs, model, task)


def _first(repairs: Diagnosis, model: str, task: str) -> ToFix:
    verdict = next(verdict for verdict in _MOST_TELLING if repairs.where(verdict=verdict))
    named = repairs.where(verdict=verdict)
    best = max(named, key=lambda finding: -1.0 if finding.score.value is None else finding.score.value)
    names = tuple(finding.prerequisite for finding in named)
    return ToFix(model, task, verdict, names, best.words, best.score, repairs.headline(model))


def _agreements(scores: Scores, models: Sequence[str]) -> Iterator[Agreements]:
    contrasts = tuple(dict.fromkeys(str(score.contrast) for score in scores))
    for metric in METRICS:
        for contrast in contrasts:
            pairs = model_agreement(scores, metric, contrast)
            if any(pair.rho is not None for pair in pairs):
                yield Agreements(metric, contrast, tuple(models), pairs, mean_agreement(pairs))
        pairs = tuple(
            contrast_agreement(scores, metric, one, other) for one, other in itertools.combinations(contrasts, 2)
        )
        if any(pair.rho is not None for pair in pairs):
            yield Agreements(metric, None, contrasts, pairs, mean_agreement(pairs))


def _steps(outcomes: pd.DataFrame, tasks: Sequence[TaskGraph], level: float) -> Iterator[ChainSteps]:
    for task in tasks:
        chained = [unit for unit in task.units if task.chain_of(unit) is not None]
        asked = set(outcomes.loc[outcomes["task"] == task.name, "unit"])
        if asked & set(chained):
            last = FIGURE_LAST_BINS.get(task.name)
            yield chain_steps(outcomes, task, FIGURE_CONTRASTS, last_bin=last, level=level)


def _remarks(outcomes: pd.DataFrame, models: Sequence[str], tasks: Sequence[TaskGraph]) -> Iterator[str]:
    """Say where models were asked different things, so that their averages are not of the same."""
    units: dict[str, set[tuple[str, str]]] = {model: set() for model in models}
    for model, task, unit in outcomes[["model", "task", "unit"]].drop_duplicates().itertuples(index=False):
        units[str(model)].add((task, unit))
    if len({frozenset(found) for found in units.values()}) > 1:
        told = _from_to(map(len, units.values()))
        yield f"The models were not asked the same units ({told}): their averages are not of the same things."
    for task in tasks:
        of_task = outcomes[outcomes["task"] == task.name]
        instances = {
            str(model): frozenset(rows["instance"].astype(str)) for model, rows in of_task.groupby("model", sort=False)
        }
        if len(set(instances.values())) > 1:
            told = _from_to(map(len, instances.values()))
            yield f"{task.title}: the models were not asked about the same instances ({told})."


def _from_to(counts: Iterable[int]) -> str:
    found = sorted(counts)
    return f"{found[0]:,} each" if found[0] == found[-1] else f"from {found[0]:,} to {found[-1]:,} of them"


def ordered(contrasts: Iterable[str]) -> list[str]:
    """Return contrasts, the one that says what to fix before the others."""
    return sorted(contrasts, key=lambda contrast: contrast != FIX.text)


def has_value(findings: Iterable[Finding]) -> bool:
    """Whether any of some findings has a score."""
    return any(finding.score.value is not None for finding in findings)


def _contribution(finding: Finding) -> dict[str, Any]:
    score, bounded = finding.score, finding.bounded
    return {
        "model": finding.model,
        "task": finding.task,
        "unit": finding.unit,
        "metric": finding.metric,
        "prerequisite": finding.prerequisite,
        "contrast": finding.contrast.text,
        "value": score.value,
        "limit_lower": score.limit_lower,
        "limit_upper": score.limit_upper,
        "bounded": bounded.metric,
        "bound_lower": bounded.lower,
        "bound_upper": bounded.upper,
        "denominator": score.denominator,
        "suppressed": score.suppressed,
        "p_adjusted": finding.adjusted,
        "n": score.n,
        "missing": score.missing,
        "verdict": finding.verdict.value,
        "words": finding.words,
        "reason": finding.reason or score.reason,
    }


def _step_row(score: Score, row: Mapping[str, Any]) -> dict[str, Any]:
    ends = (score.lower, score.upper) if score.metric != "NS" else (score.limit_lower, score.limit_upper)
    return {
        **{name: row[name] for name in ("model", "task", "unit", "metric", "contrast", "step", "step_label", "value")},
        "limit_lower": ends[0],
        "limit_upper": ends[1],
        "n": score.n,
        "instances": row["instances"],
    }
