"""A simulated model that answers questions: noise by hash, the structural equations, and a reply in words."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from dodiag.scm.graph import TaskGraph
from dodiag.scm.pack import Instance, Question
from dodiag.scm.simulator.mechanism import Mechanism, Noise, Stance, mechanism_of, outcome
from dodiag.scm.simulator.parameters import SimulatorParameters, load_parameters
from dodiag.scm.simulator.reading_prompts import absent
from dodiag.scm.simulator.replies import write_reply
from dodiag.scm.simulator.responses import States, Tabulated, filled
from dodiag.vocabulary import Configuration

WORDS = struct.Struct("<16I")
"""The 32-bit words of one BLAKE2b digest."""


@dataclass(frozen=True)
class Simulator:
    """A structural simulator as a model: the same question under the same draw meets the same noise.

    The noise of a question depends on nothing but the parameters' seed and name, the task, the instance, the question
    and the draw. So it is shared by all configurations, as the unit of the paper's counterfactuals is (an instance with
    its noise exists under every regime), and independent of order, concurrency and machine.

    A prerequisite of which an instance has no question cannot be injected, and so makes no difference where prompts are
    answered (see :func:`~dodiag.scm.simulator.reading_prompts.read_configuration`): NC, IC and RC are those of the
    exact truth there too. Asked directly, a structural model takes a configuration as it is given.

    Parameters
    ----------
    parameters : SimulatorParameters

    Examples
    --------
    >>> from dodiag.scm.files import load_task
    >>> from dodiag.scm.pack import Question
    >>> dice = load_task("dice_sum")
    >>> question = Question(id="q1", unit="X1", text="How many dice are there?", answer=4)
    >>> instance = Instance(id="i1", questions=[question])
    >>> oracle = Simulator.named("oracle")
    >>> oracle.solves(dice, instance, question, Configuration())
    True
    >>> oracle.reply(dice, instance, question, Configuration())
    'The answer is **4**.'
    """

    parameters: SimulatorParameters
    _mechanisms: dict[tuple[int, str, int | None], tuple[TaskGraph, Mechanism | Tabulated]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @classmethod
    def named(cls, name_or_path: str | Path) -> Simulator:
        """Return the simulator of a preset or of a parameter file; see :func:`load_parameters`."""
        return cls(load_parameters(name_or_path))

    @property
    def model(self) -> str:
        """The model's name in outcome tables, ``sim:NAME``."""
        return self.parameters.model

    @property
    def description(self) -> str:
        """What people read about it; empty where the parameters say nothing."""
        return self.parameters.description

    def mechanism(self, task: TaskGraph, unit: str, step: int | None = None) -> Mechanism | Tabulated:
        """Return :func:`mechanism_of` for this simulator's parameters, made once per task, unit and step."""
        key = (id(task), unit, step)
        known = self._mechanisms.get(key)
        if known is None or known[0] is not task:
            known = self._mechanisms[key] = (task, mechanism_of(task, self.parameters, unit, step))
        return known[1]

    def noise(self, task: TaskGraph, instance: Instance, question: Question, draw: int = 0) -> Noise | float:
        """Return the exogenous noise of asking a question; for a response table, its uniform number."""
        mechanism = self.mechanism(task, question.unit, question.step)
        uniforms = _uniforms(self._key(task, instance, question, draw))
        return next(uniforms) if isinstance(mechanism, Tabulated) else _noise(mechanism, uniforms)

    def solves(
        self, task: TaskGraph, instance: Instance, question: Question, configuration: Configuration, draw: int = 0
    ) -> bool:
        """Return whether the model solves a question when its prerequisites are in a configuration.

        Parameters
        ----------
        task, instance, question
            What is asked.
        configuration : Configuration
            A state for every prerequisite of the question's unit (at its step).
        draw : int
            Index of the repetition; another draw has other noise.

        Raises
        ------
        UsageError
            If the configuration does not fit the unit.
        InvalidInput
            If the parameters name units that the task does not have.
        """
        mechanism = self.mechanism(task, question.unit, question.step)
        states = mechanism.states(configuration)
        uniforms = _uniforms(self._key(task, instance, question, draw))
        if isinstance(mechanism, Tabulated):
            return next(uniforms) < mechanism.probability(_shown(mechanism, task, instance, question, states))
        return outcome(mechanism, _noise(mechanism, uniforms), states)

    def reply(
        self, task: TaskGraph, instance: Instance, question: Question, configuration: Configuration, draw: int = 0
    ) -> str:
        """Return what the model writes: the right answer where it solves the question, else a valid wrong one."""
        solved = self.solves(task, instance, question, configuration, draw)
        key = self._key(task, instance, question, draw)
        style = blake2b(key, digest_size=4, person=b"style").digest()
        return write_reply(task, instance, question, solved, int.from_bytes(style, "little"), f"wrong\x1f{key.hex()}")

    def _key(self, task: TaskGraph, instance: Instance, question: Question, draw: int) -> bytes:
        parts = (str(self.parameters.seed), self.parameters.name, task.name, instance.id, question.id, str(draw))
        return blake2b("\x1f".join(parts).encode()).digest()


def _uniforms(key: bytes) -> Iterator[float]:
    """Yield independent uniform numbers in [0, 1), as many as are asked for."""
    block = 0
    while True:
        for word in WORDS.unpack(blake2b(key, salt=block.to_bytes(8, "little"), person=b"noise").digest()):
            yield word * 2.0**-32
        block += 1


def _shown(model: Tabulated, task: TaskGraph, instance: Instance, question: Question, states: States) -> States:
    """Return the states as far as the instance has something to show for them."""
    if len(set(states)) < 2:
        return states
    return filled(states, model.prerequisites, absent(task, instance, question))


def _noise(mechanism: Mechanism, uniforms: Iterator[float]) -> Noise:
    take = uniforms.__next__
    works, guesses = take() < mechanism.skill, take() < mechanism.guess
    scaffolded, confused = take() < mechanism.scaffold, take() < mechanism.distraction
    relies = []
    stances = []
    for dependency in mechanism.dependencies:
        relies.append(take() < dependency.reliance)
        stances.append(_stance(take(), dependency.trust, dependency.check))
    latents = tuple(
        (take() < latent.skill, take() < latent.guess, tuple(take() < reliance for _, reliance in latent.needs))
        for latent in mechanism.latents
    )
    return Noise(works, guesses, scaffolded, confused, tuple(relies), tuple(stances), latents)


def _stance(uniform: float, trust: float, check: float) -> Stance:
    if uniform < trust:
        return Stance.TRUST
    return Stance.CHECK if uniform < trust + check else Stance.IGNORE
