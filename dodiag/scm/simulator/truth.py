"""Exact ground truth of a simulated model: capabilities, contribution scores, probabilities of causation.

Computed without sampling, from structural equations by exact inference or from response tables in closed form, so it is
what an estimate from the simulator's replies must converge to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from dodiag.problems import UsageError
from dodiag.scm.graph import TaskGraph
from dodiag.scm.simulator.mechanism import Mechanism, mechanism_of
from dodiag.scm.simulator.network import outcome_probabilities
from dodiag.scm.simulator.parameters import SimulatorParameters
from dodiag.scm.simulator.responses import Tabulated
from dodiag.vocabulary import METRICS, PAPER_CONTRASTS, Configuration, Contrast, State, arms


@dataclass(frozen=True, slots=True)
class TrueCapabilities:
    """The capabilities of one unit (CADET Def. 3.5).

    Attributes
    ----------
    unit : str
    step : int or None
        Of its chain, where one was asked for.
    NC : float
        P(X=1 | do(every prerequisite = ∅)).
    IC, RC : float or None
        The same under 1 and under 0; None for a unit without prerequisites.
    """

    unit: str
    step: int | None
    NC: float
    IC: float | None
    RC: float | None


@dataclass(frozen=True, slots=True)
class TrueContribution:
    """One contribution score.

    Attributes
    ----------
    metric : {"N", "S", "NS"}
        CADET Def. A.1, Def. A.2, Remark A.8.
    unit, step, prerequisite, contrast
        What it is about; `step` is None outside chains.
    active, reference : Configuration
        The two configurations that it compares.
    p, p_prime : float
        P(Y=1) under them.
    denominator : float
        p for N, 1 − p' for S, 1 for NS.
    value : float
        max(0, p − p') / denominator, or 0 where that is suppressed.
    suppressed : bool
        Whether the denominator is 0 or below the threshold that was asked for.
    """

    metric: Literal["N", "S", "NS"]
    unit: str
    step: int | None
    prerequisite: str
    contrast: Contrast
    active: Configuration
    reference: Configuration
    p: float
    p_prime: float
    denominator: float
    value: float
    suppressed: bool


@dataclass(frozen=True, slots=True)
class Counterfactuals:
    """The joint distribution of (Y_a, Y_a') in one context, and the probabilities of causation that it defines.

    Attributes
    ----------
    unit, step, prerequisite, contrast
        What it is about; `step` is None outside chains.
    active, reference : Configuration
        X_i in a and in a', the rest in the context.
    p, p_prime : float
        P(Y_a = 1) and P(Y_a' = 1).
    PNS : float
        P(Y_a = 1, Y_a' = 0), necessity and sufficiency.
    harm : float
        P(Y_a = 0, Y_a' = 1); 0 under monotonicity (CADET Proposition A.5).
    PN : float or None
        P(Y_a' = 0 | A_i = a, Y = 1) = PNS / p; None where p = 0.
    PS : float or None
        P(Y_a = 1 | A_i = a', Y = 0) = PNS / (1 − p'); None where p' = 1.
    undefined : str
        Why PN or PS is None; empty where both are defined.
    """

    unit: str
    step: int | None
    prerequisite: str
    contrast: Contrast
    active: Configuration
    reference: Configuration
    p: float
    p_prime: float
    PNS: float
    harm: float
    PN: float | None
    PS: float | None
    undefined: str


def probability(
    task: TaskGraph,
    parameters: SimulatorParameters,
    unit: str,
    configuration: Configuration,
    step: int | None = None,
) -> float:
    """Return P(unit = 1 | do(configuration)).

    Parameters
    ----------
    task : TaskGraph
    parameters : SimulatorParameters
    unit : str
        The asked unit.
    configuration : Configuration
        A state for every prerequisite of the unit (``task.prerequisites(unit, step)``).
    step : int, optional
        For a unit of a chain, the 1-based step of the unfolded chain; None asks it as the graph is drawn.

    Raises
    ------
    UsageError
        If the configuration does not fit the unit, or the unit or the step does not exist.
    InvalidInput
        If the parameters name units that the task does not have.

    Examples
    --------
    >>> from dodiag.scm.files import load_task
    >>> from dodiag.scm.simulator.parameters import load_parameters
    >>> dice = load_task("dice_sum")
    >>> round(probability(dice, load_parameters("credulous"), "Y", Configuration.parse("X1=1,X2=1,X3=1")), 4)
    0.8575
    """
    return probabilities(task, parameters, unit, [configuration], step)[configuration]


def probabilities(
    task: TaskGraph,
    parameters: SimulatorParameters,
    unit: str,
    configurations: Iterable[Configuration],
    step: int | None = None,
) -> dict[Configuration, float]:
    """Return P(unit = 1 | do(configuration)) for each configuration; see :func:`probability`."""
    mechanism = mechanism_of(task, parameters, unit, step)
    return {
        configuration: _probability(mechanism, mechanism.states(configuration))
        for configuration in dict.fromkeys(configurations)
    }


def capabilities(
    task: TaskGraph, parameters: SimulatorParameters, step: int | None = None
) -> dict[str, TrueCapabilities]:
    """Return NC, IC and RC of every unit (CADET Def. 3.5).

    Parameters
    ----------
    task : TaskGraph
    parameters : SimulatorParameters
    step : int, optional
        Ask the units of chains at this step; None asks every unit as the graph is drawn.

    Returns
    -------
    dict of str to TrueCapabilities
        By unit, in file order.

    Examples
    --------
    >>> from dodiag.scm.files import load_task
    >>> from dodiag.scm.simulator.parameters import load_parameters
    >>> stubborn = capabilities(load_task("maze"), load_parameters("stubborn"))["Y"]
    >>> stubborn.NC == stubborn.IC == stubborn.RC
    True
    """
    found = {}
    for unit in task.units:
        moment = step if task.chain_of(unit) else None
        mechanism = mechanism_of(task, parameters, unit, moment)
        k = len(task.prerequisites(unit, moment))
        found[unit] = TrueCapabilities(
            unit=unit,
            step=moment,
            NC=_probability(mechanism, [State.NATURAL] * k),
            IC=_probability(mechanism, [State.CORRECT] * k) if k else None,
            RC=_probability(mechanism, [State.INCORRECT] * k) if k else None,
        )
    return found


def contributions(
    task: TaskGraph,
    parameters: SimulatorParameters,
    contrasts: Sequence[Contrast] = PAPER_CONTRASTS,
    unit: str | None = None,
    context: Mapping[str, State] | None = None,
    step: int | None = None,
    min_denominator: float = 0.0,
) -> tuple[TrueContribution, ...]:
    """Return N and S of every prerequisite of a unit for every contrast.

    Parameters
    ----------
    task : TaskGraph
    parameters : SimulatorParameters
    contrasts : sequence of Contrast
        By default the four of the paper.
    unit : str, optional
        The asked unit; the target by default.
    context : mapping of str to State, optional
        States of the other prerequisites (CADET Defs. A.1, A.2); by default those of the main text (Defs. 3.7, 3.8),
        for each score its own. The scored prerequisite's own entry has no effect.
    step : int, optional
        Of the unit's chain.
    min_denominator : float
        A score whose denominator is below it is 0 and suppressed; 0.10 is the paper's rule. A score with the
        denominator 0 is 0 by convention in any case.

    Returns
    -------
    tuple of TrueContribution
        By prerequisite, contrast, metric.
    """
    unit = task.target if unit is None else unit
    mechanism = mechanism_of(task, parameters, unit, step)
    prerequisites = task.prerequisites(unit, step)

    @cache
    def outcomes(configuration: Configuration) -> dict[tuple[bool, ...], float]:
        return _joint(mechanism, mechanism.states(configuration))

    rows = []
    for prerequisite in prerequisites:
        for contrast in contrasts:
            for metric in METRICS:
                pair = arms(metric, contrast, prerequisite, prerequisites, context)
                active, reference = outcomes(pair.active)[True,], outcomes(pair.reference)[True,]
                # Not 1 - p', whose rounding could turn an impossible failure into a tiny denominator.
                denominator = active if metric == "N" else outcomes(pair.reference)[False,]
                suppressed = denominator == 0.0 or denominator < min_denominator
                rows.append(
                    TrueContribution(
                        metric=metric,
                        unit=unit,
                        step=step,
                        prerequisite=prerequisite,
                        contrast=contrast,
                        active=pair.active,
                        reference=pair.reference,
                        p=active,
                        p_prime=reference,
                        denominator=denominator,
                        value=0.0 if suppressed else max(0.0, active - reference) / denominator,
                        suppressed=suppressed,
                    )
                )
    return tuple(rows)


def chain_contribution(
    task: TaskGraph, parameters: SimulatorParameters, contrast: Contrast, unit: str, step: int | None = None
) -> TrueContribution:
    """Return NS(a, a') = max(0, p_a − p_a') of a unit with a single prerequisite (CADET Remark A.8, eq. 18).

    Raises
    ------
    UsageError
        If the unit has no or several prerequisites at this step.
    """
    prerequisites = task.prerequisites(unit, step)
    if len(prerequisites) != 1:
        raise UsageError(
            f"unit {unit} of task {task.name} has {len(prerequisites)} prerequisites, and NS needs a single one",
            "Ask for N and S.",
        )
    pair = arms("N", contrast, prerequisites[0], prerequisites)
    found = probabilities(task, parameters, unit, (pair.active, pair.reference), step)
    p, p_prime = found[pair.active], found[pair.reference]
    return TrueContribution(
        metric="NS",
        unit=unit,
        step=step,
        prerequisite=prerequisites[0],
        contrast=contrast,
        active=pair.active,
        reference=pair.reference,
        p=p,
        p_prime=p_prime,
        denominator=1.0,
        value=max(0.0, p - p_prime),
        suppressed=False,
    )


def counterfactuals(
    task: TaskGraph,
    parameters: SimulatorParameters,
    prerequisite: str,
    contrast: Contrast,
    context: Mapping[str, State],
    unit: str | None = None,
    step: int | None = None,
) -> Counterfactuals:
    """Return PN, PS, PNS and harm of one prerequisite, exactly, in the submodel do(A_-i = context).

    Parameters
    ----------
    task : TaskGraph
    parameters : SimulatorParameters
    prerequisite : str
        X_i.
    contrast : Contrast
        (a, a').
    context : mapping of str to State
        A state for every other prerequisite of the unit.
    unit : str, optional
        The asked unit; the target by default.
    step : int, optional
        Of the unit's chain.

    Raises
    ------
    UsageError
        If the context does not give exactly the other prerequisites a state.

    Examples
    --------
    >>> from dodiag.scm.files import load_task
    >>> from dodiag.scm.simulator.parameters import load_parameters
    >>> maze, credulous = load_task("maze"), load_parameters("credulous")
    >>> found = counterfactuals(maze, credulous, "X1", Contrast.parse("1,0"), {})
    >>> found.harm, round(found.PNS, 4), round(found.PN, 4)
    (0.0, 0.8075, 0.9417)
    """
    unit = task.target if unit is None else unit
    prerequisites = task.prerequisites(unit, step)
    others = [name for name in prerequisites if name != prerequisite]
    if set(context) != set(others):
        raise UsageError(
            f"the context {{{', '.join(context)}}} does not fit prerequisite {prerequisite} of {unit}",
            f"Give a state to exactly {', '.join(others) or 'nothing: there is no other prerequisite'}.",
        )
    mechanism = mechanism_of(task, parameters, unit, step)
    pair = arms("N", contrast, prerequisite, prerequisites, context)
    joint = _joint(mechanism, mechanism.states(pair.active), mechanism.states(pair.reference))
    both, only_active = joint[True, True], joint[True, False]
    harm, neither = joint[False, True], joint[False, False]
    solved, failed = both + only_active, only_active + neither
    undefined = [
        *([f"PN conditions on Y = 1 under {pair.active}, which has probability 0"] if solved == 0.0 else []),
        *([f"PS conditions on Y = 0 under {pair.reference}, which has probability 0"] if failed == 0.0 else []),
    ]
    return Counterfactuals(
        unit=unit,
        step=step,
        prerequisite=prerequisite,
        contrast=contrast,
        active=pair.active,
        reference=pair.reference,
        p=solved,
        p_prime=both + harm,
        PNS=only_active,
        harm=harm,
        PN=only_active / solved if solved else None,
        PS=only_active / failed if failed else None,
        undefined="; ".join(undefined),
    )


def _probability(mechanism: Mechanism | Tabulated, states: Sequence[State]) -> float:
    if isinstance(mechanism, Mechanism) and not mechanism.dependencies:
        return mechanism.guess + (1.0 - mechanism.guess) * mechanism.skill
    return _joint(mechanism, states)[True,]


def _joint(mechanism: Mechanism | Tabulated, *worlds: Sequence[State]) -> dict[tuple[bool, ...], float]:
    if isinstance(mechanism, Tabulated):
        return mechanism.joint(*map(tuple, worlds))
    return outcome_probabilities(mechanism, *worlds)
