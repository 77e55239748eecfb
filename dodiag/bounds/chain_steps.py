"""Capabilities and NS along the steps of Markov chains (CADET Def. A.7, Remark A.8, eq. 18, Figure 10).

By step and chain unit: NC, IC, RC, and NS(a, a') = max(0, p_a − p_a') with the interval of PNS that it bounds. Chains
differ in length, so late steps have few instances; steps from `last_bin` on can be pooled into one open-ended step, in
which an instance has several questions and stays one cluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dodiag.bounds.scores import Score, Scores, capabilities, contrasts_of, contributions
from dodiag.bounds.table import Structure, checked, steps_of
from dodiag.problems import UsageError
from dodiag.vocabulary import Contrast

if TYPE_CHECKING:
    import pandas as pd

FIGURE_CONTRASTS = (Contrast.parse("1,n"), Contrast.parse("0,n"))
"""The contrasts of CADET Figure 10: what correct and what incorrect history changes."""

FIRST_POOLED = 2
"""Least step that can be pooled: the first step has other prerequisites than those after it."""


@dataclass(frozen=True, slots=True)
class ChainStep:
    """What one model does at one step of a chain unit.

    Attributes
    ----------
    model, task, unit : str
    step : int
    open_ended : bool
        Whether later steps are pooled into this one.
    prerequisite : str or None
        The unit whose state NS contrasts; None where there is no single one, and so no NS.
    instances : int
        Instances that have this step: the clusters of all limits.
    scores : Scores
        NC, IC, RC, ablation states; NS and PNS of each contrast. Their `step` is `step`.
    """

    model: str
    task: str
    unit: str
    step: int
    open_ended: bool
    prerequisite: str | None
    instances: int
    scores: Scores

    @property
    def label(self) -> str:
        """The step as it is written, ``16+`` where it is open-ended."""
        return f"{self.step}{'+' if self.open_ended else ''}"

    def score(self, metric: str, contrast: Contrast | str | None = None) -> Score | None:
        """Return one of the scores, or None where it was not measured."""
        text = None if contrast is None else str(contrast)
        return next((s for s in self.scores if s.metric == metric and s.contrast == text), None)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the scores as rows of JSON values, with `step_label`, `open_ended` and `instances` beside each."""
        more = {"step_label": self.label, "open_ended": self.open_ended, "instances": self.instances}
        return [score.to_dict() | more for score in self.scores]


class ChainSteps(tuple[ChainStep, ...]):
    """Steps of chain units: by model, unit in file order, and step."""

    __slots__ = ()

    def where(self, **wanted: Any) -> ChainSteps:
        """Return the steps whose fields have these values, such as ``unit="X1"``."""
        return ChainSteps(s for s in self if all(getattr(s, name) == value for name, value in wanted.items()))

    def to_frame(self) -> pd.DataFrame:
        """Return one row per score, with the columns of :meth:`ChainStep.to_dicts`."""
        import pandas as pd

        names = [*Score.__dataclass_fields__, "step_label", "open_ended", "instances"]
        return pd.DataFrame([row for step in self for row in step.to_dicts()], columns=names)


def chain_steps(
    outcomes: pd.DataFrame,
    task: Structure,
    contrasts: Iterable[Contrast | str] = FIGURE_CONTRASTS,
    *,
    last_bin: int | None = None,
    reaching: int | None = None,
    level: float = 0.95,
) -> ChainSteps:
    """NC, IC, RC and NS of every chain unit by step (CADET Remark A.8, eq. 18).

    Parameters
    ----------
    outcomes : pandas.DataFrame
        An outcome table; what history its runs were given is for the caller to know and to say.
    task : TaskGraph
        A task with a chain; rows of other tasks and units are ignored.
    contrasts : iterable of Contrast or str
        Of NS; default (1, ∅) and (0, ∅). One that was not run gives a score without a value.
    last_bin : int, optional
        Pool this step and all later ones; at least 2, since step 1 has other prerequisites. NS of the pool is
        max(0, difference of its pooled means), not a mean over steps.
    reaching : int, optional
        Keep only the instances whose chains have at least so many steps. Without it each step has the instances that
        reach it, so that a curve over steps compares different instances: long chains may be harder from the start.
    level : float
        Two-sided confidence level. All limits are clustered by instance.

    Returns
    -------
    ChainSteps

    Raises
    ------
    UsageError
        If the task has no chain, the table does not fit it or has no row of its chain units, a row of a chain unit has
        no step, or `last_bin` or `reaching` is out of range.
    """
    units = [unit for unit in task.units if task.chain_of(unit) is not None]
    if not units:
        raise UsageError(f"task {task.name} has no Markov chain", "Ask for its scores without steps.")
    _check(last_bin, reaching)
    wanted = contrasts_of(contrasts)
    table = checked(outcomes, task)
    table = table[table["unit"].isin(units)]
    if table.empty:
        raise UsageError(
            f"the outcome table has no row of a chain unit of task {task.name}", f"Run {', '.join(units)}."
        )
    if (without := table["step"].isna()).any():
        row = table[without].iloc[0]
        where = f"instance {row['instance']}, question {row['question']}"
        raise UsageError(f"the outcome table has a row of chain unit {row['unit']} without a step ({where})")
    if reaching is not None:
        longest = table.groupby("instance")["step"].transform("max")
        table = table[longest >= reaching]
        if table.empty:
            raise UsageError(f"no instance has {reaching} steps", f"The longest chain has {longest.max()}.")
    pooled = last_bin is not None and bool((table["step"] > last_bin).any())
    if last_bin is not None:
        # A question that is asked at every step is as many questions; pooled, they would be one call several times.
        question = table["question"].astype(str)
        late = question + "@" + table["step"].astype(str)
        table = table.assign(
            step=table["step"].clip(upper=last_bin), question=question.mask(table["step"] >= last_bin, late)
        )
    found = [s for s in capabilities(table, task, level=level) if s.step is not None]
    found += [s for s in contributions(table, task, wanted, level=level) if s.step is not None]
    return ChainSteps(_steps(table, task, units, found, last_bin if pooled else None))


def _check(last_bin: int | None, reaching: int | None) -> None:
    if last_bin is not None and last_bin < FIRST_POOLED:
        cure = f"Use {FIRST_POOLED} or more: step 1 has other prerequisites than the steps after it."
        raise UsageError(f"steps from {last_bin} on cannot be pooled", cure)
    if reaching is not None and reaching < 1:
        raise UsageError(f"chains of at least {reaching} steps are asked for", "Use 1 or more.")


def _steps(
    table: pd.DataFrame, task: Structure, units: list[str], found: list[Score], open_step: int | None
) -> Iterator[ChainStep]:
    by_place: dict[tuple[str, str, int | None], list[Score]] = {}
    for score in found:
        by_place.setdefault((score.model, score.unit, score.step), []).append(score)
    counts = table.groupby(["model", "unit", "step"], observed=True)["instance"].nunique()
    for model in dict.fromkeys(table["model"]):
        for unit in units:
            rows = table[(table["model"] == model) & (table["unit"] == unit)]
            for step in steps_of(rows):
                prerequisites = task.prerequisites(unit, step)
                yield ChainStep(
                    model=str(model),
                    task=task.name,
                    unit=unit,
                    step=step,
                    open_ended=step == open_step,
                    prerequisite=prerequisites[0] if len(prerequisites) == 1 else None,
                    instances=int(counts[model, unit, step]),
                    scores=Scores(by_place.get((str(model), unit, step), ())),
                )
