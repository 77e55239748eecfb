"""The identity of a call: what makes two calls the same, so that none is paid for twice."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from dodiag.interventions.prompts import Prompt

KEY_VERSION = 1


def _digest(parts: Iterable[bytes]) -> str:
    hasher = hashlib.sha256()
    for part in parts:
        hasher.update(len(part).to_bytes(8, "big"))
        hasher.update(part)
    return hasher.hexdigest()


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def prompt_digest(prompt: Prompt, instance: str, question: str) -> str:
    """Return SHA-256 of a prompt: its text, the bytes and types of its media in order, and what it asks about.

    Instance and question belong to it because prompts without pictures repeat: a text-only model is asked "How many
    dice are there?" about every instance, and its replies are separate draws, not one reply paid for once. Two
    configurations of one question that come to the same prompt do share one reply.
    """
    media = [part for medium in prompt.media for part in (_encoded(medium.mime), medium.digest.encode())]
    return _digest([_encoded(prompt.text), _encoded(instance), _encoded(question), *media])


def request_key(model: str, endpoint: str, parameters: Mapping[str, Any], prompt: str, draw: int) -> str:
    """Return the ledger key of a call.

    Parameters
    ----------
    model, endpoint : str
        What answers, and where.
    parameters : mapping
        Sampling parameters; the order of their names does not matter.
    prompt : str
        The prompt's digest.
    draw : int
        Index of the repetition.
    """
    settings = json.dumps(parameters, sort_keys=True, ensure_ascii=True)
    parts = (f"dodiag-{KEY_VERSION}", model, endpoint, settings, prompt, str(draw))
    return _digest(map(_encoded, parts))
