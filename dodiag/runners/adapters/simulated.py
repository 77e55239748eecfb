"""Simulated models behind the adapter protocol: they see the prompt's text and answer by their structural equations."""

from __future__ import annotations

from pathlib import Path

from dodiag.problems import DodiagError
from dodiag.runners.protocol import CallFailed, FailureKind, Reply, Request
from dodiag.scm.graph import TaskGraph
from dodiag.scm.simulator.answering import Simulator
from dodiag.scm.simulator.parameters import PREFIX, require_valid_for
from dodiag.scm.simulator.reading_prompts import read_configuration


class SimulatedAdapter:
    """A structural simulator as a model, ``sim:NAME``.

    What is injected is read from the prompt's text, so the whole path from plan to reply is exercised.

    Parameters
    ----------
    simulator : Simulator

    Attributes
    ----------
    model : str
        ``sim:NAME``.
    endpoint : str
        ``sim:`` and the first 16 digits of the parameters' digest, so that changed parameters are another endpoint in
        the ledger.
    sees_media : bool
        False.
    free : bool
        True.
    description : str
        What the simulator stands for, as its parameters say; kept in the manifest and shown with every report.
    """

    sees_media = False
    free = True

    def __init__(self, simulator: Simulator) -> None:
        self.simulator = simulator
        self.model = simulator.model
        self.endpoint = PREFIX + simulator.parameters.digest[:16]
        self.description = simulator.description

    @classmethod
    def from_name(cls, name_or_path: str | Path, task: TaskGraph | None = None) -> SimulatedAdapter:
        """Return the adapter of a preset (``default`` or ``sim:default``) or of a parameter file.

        Parameters
        ----------
        name_or_path : str or Path
        task : TaskGraph, optional
            What it will answer; the parameters are checked against it at once, before any call.

        Raises
        ------
        UsageError
            If there is no such preset or file.
        InvalidInput
            With every problem of the file, or everything that it names and the task does not have.
        """
        simulator = Simulator.named(name_or_path)
        if task is not None:
            require_valid_for(simulator.parameters, task)
        return cls(simulator)

    async def answer(self, request: Request) -> Reply:
        """Return the simulated reply.

        Raises
        ------
        CallFailed
            Kind ``bad_request``, if the prompt's injected block cannot be read or the parameters do not fit the task.
        """
        task, instance, question = request.task, request.instance, request.question
        try:
            configuration = read_configuration(request.prompt.text, task, instance, question)
            return Reply(self.simulator.reply(task, instance, question, configuration, request.draw))
        except DodiagError as error:
            raise CallFailed(FailureKind.BAD_REQUEST, str(error)) from error

    async def close(self) -> None:
        """Do nothing: there is no connection."""
