"""What the runner and a model adapter say to each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

from dodiag.interventions.prompts import Prompt
from dodiag.runners.secrets import stored_message
from dodiag.scm.graph import TaskGraph
from dodiag.scm.pack import Instance, Question


@dataclass(frozen=True, slots=True)
class Request:
    """One call to a model.

    Attributes
    ----------
    prompt : Prompt
        The text and the media as they are sent.
    parameters : mapping
        Sampling parameters by their OpenAI names (``temperature``, ``max_tokens``, ``seed``, …).
    task, instance, question : TaskGraph, Instance, Question
        What is asked. For simulators and for callables that want it; a real model sees only the prompt.
    draw : int
        Index of the repetition, from 0.
    """

    prompt: Prompt
    parameters: Mapping[str, Any]
    task: TaskGraph
    instance: Instance
    question: Question
    draw: int


class Finish(StrEnum):
    """Why a reply ended."""

    STOP = "stop"
    LENGTH = "length"
    REFUSAL = "refusal"


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call; None where the provider did not say."""

    input: int | None = None
    output: int | None = None
    cached: int | None = None
    reasoning: int | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said.

    Attributes
    ----------
    text : str or None
        The answer text; None where the provider sent none.
    finish : Finish
    reasoning : str or None
        A reasoning channel the provider keeps apart from the text.
    usage : Usage
    model : str or None
        The model name that the provider reports.
    """

    text: str | None
    finish: Finish = Finish.STOP
    reasoning: str | None = None
    usage: Usage = field(default_factory=Usage)
    model: str | None = None


class FailureKind(StrEnum):
    """Kinds of infrastructure failure, as the retry layer tells them apart."""

    RATE_LIMIT = "rate_limit"
    OVERLOADED = "overloaded"
    TIMEOUT = "timeout"
    NETWORK = "network"
    BAD_REQUEST = "bad_request"
    CONTEXT_LENGTH = "context_length"
    NOT_FOUND = "not_found"
    AUTH = "auth"
    QUOTA = "quota"
    INTERNAL = "internal"

    @property
    def transient(self) -> bool:
        """Whether the same request may succeed later."""
        return self in (
            FailureKind.RATE_LIMIT,
            FailureKind.OVERLOADED,
            FailureKind.TIMEOUT,
            FailureKind.NETWORK,
            FailureKind.INTERNAL,
        )

    @property
    def fatal(self) -> bool:
        """Whether every other request to this model will fail too."""
        return self in (FailureKind.AUTH, FailureKind.QUOTA, FailureKind.NOT_FOUND)


class CallFailed(Exception):
    """A call did not come to a reply.

    Parameters
    ----------
    kind : FailureKind
    message : str
        It is stored; what looks like a secret is taken out of it here.
    retry_after : float, optional
        Seconds the server asked to wait.
    maybe_billed : bool
        Whether the model may have worked before the call failed, so that it may have to be paid for.
    """

    def __init__(
        self, kind: FailureKind, message: str, retry_after: float | None = None, *, maybe_billed: bool = False
    ) -> None:
        self.message = stored_message(message)
        super().__init__(self.message)
        self.kind = kind
        self.retry_after = retry_after
        self.maybe_billed = maybe_billed


@runtime_checkable
class Adapter(Protocol):
    """A way to reach one model.

    Attributes
    ----------
    model : str
        Name in outcome tables, such as ``openai/gpt-5.4``.
    endpoint : str
        Where calls go (part of the ledger's key); empty where there is no endpoint.
    sees_media : bool
        False where pictures and videos are not sent.
    free : bool
        Whether a reply costs nothing; such replies are stored some at a time.
    """

    model: str
    endpoint: str
    sees_media: bool
    free: bool

    async def answer(self, request: Request) -> Reply:
        """Return the model's reply, or raise :class:`CallFailed`; never retries."""
        ...

    async def close(self) -> None:
        """Release connections."""
        ...
