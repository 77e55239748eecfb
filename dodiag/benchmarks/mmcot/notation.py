"""The notations of MM-CoT, read exactly as the released scripts read them; what they lose is lost here too.

Everything in this module is on purpose as strict as the release, so that scores are comparable. ``lenient`` reads the
same replies as a person would.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SLOTS = ("A1", "A2", "A3")
"""The initiating conditions of an image item."""

Links = Mapping[str, tuple[str, str]]
"""From a condition to the labels of its mediating step and its outcome: ``{"A1": ("B2", "C3")}``."""

FIELDS = ("chosen_conditions", "counterfactual_conditions", "counterfactual_result", "counterfactual_chain")
"""What an answer about a video has, each a text."""

_CHAIN = re.compile(r"A([123])\s*->\s*B(\d+)\s*->\s*C(\d+)")
_OPEN_FENCE = re.compile(r"\A```(?:json)?\s*")
_CLOSE_FENCE = re.compile(r"\s*```\Z")
_OBJECT = re.compile(r"\{.*\}", re.DOTALL)


def options_of(text: str, letter: str) -> dict[str, str]:
    """Return the options of a set by label; lines that do not start with the letter, digits and a colon are dropped.

    Examples
    --------
    >>> options_of("B1: it tips\\nmore\\nB2:it falls", "B")
    {'B1': 'it tips', 'B2': 'it falls'}
    """
    line = re.compile(rf"({re.escape(letter)}\d+):\s*(.*)")
    found = {}
    for raw in text.strip().split("\n"):
        matched = line.match(raw)
        if matched is not None:
            found[matched[1]] = matched[2]
    return found


def links_of(text: Any) -> dict[str, tuple[str, str]]:
    """Return the chains of an image answer by condition; of a condition that is named twice the last one counts.

    A piece between commas counts only if all of it is one chain.

    Examples
    --------
    >>> links_of("A1->B2->C3, A2 -> B1 -> C2, so A3->B3->C1")
    {'A1': ('B2', 'C3'), 'A2': ('B1', 'C2')}
    >>> links_of("A1->B2->C3\\nA2->B1->C2")
    {}
    """
    if not isinstance(text, str):
        return {}
    found = {}
    for piece in text.split(","):
        matched = _CHAIN.fullmatch(piece.strip())
        if matched is not None:
            found[f"A{matched[1]}"] = (f"B{matched[2]}", f"C{matched[3]}")
    return found


def list_of(text: str) -> list[str]:
    """Return the entries of a bracketed list of a video item.

    Examples
    --------
    >>> list_of("[a cup], [a hand]")
    ['a cup', 'a hand']
    >>> list_of("[a cup],[a hand]")
    ['a cup],[a hand']
    >>> list_of(" [a cup]")
    ['[a cup']
    """
    return [entry.strip() for entry in text.strip("[]").split("], [")]


@dataclass(frozen=True, slots=True)
class Chain:
    """A counterfactual chain: its causes, and its result as written, brackets included."""

    causes: tuple[str, ...]
    result: str


def chain_of(text: str) -> Chain | None:
    """Return a counterfactual chain, or None where it does not have exactly one arrow.

    Examples
    --------
    >>> chain_of("[x], [y] -> [z happens]")
    Chain(causes=('x', 'y'), result='[z happens]')
    """
    parts = text.split("->")
    if len(parts) != 2:
        return None
    return Chain(tuple(list_of(parts[0].strip())), parts[1].strip())


def cleaned(reply: str) -> str:
    """Return the JSON text of a reply about a video: fences off, and what is before the first { and after the last }.

    Examples
    --------
    >>> cleaned('```json\\n{"a": 1}\\n``` done')
    '{"a": 1}'
    """
    text = _CLOSE_FENCE.sub("", _OPEN_FENCE.sub("", reply.strip()))
    matched = _OBJECT.search(text)
    return matched[0] if matched is not None else text


def prediction_of(text: Any) -> dict[str, str] | None:
    """Return the four fields of a cleaned answer, or None where the released script would raise.

    Fields that are lists instead of texts raise there.
    """
    if not isinstance(text, str):
        return None
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or not all(isinstance(data.get(name), str) for name in FIELDS):
        return None
    return {name: data[name] for name in FIELDS}


def is_correct(conditions: str, chain: str, prediction: Any) -> bool:
    """Return whether an answer about a video is correct by the released rule; all four parts have to be exact.

    Parameters
    ----------
    conditions, chain : str
        ``Critical Conditions`` and ``Counterfactual Causal Chain`` of the item.
    prediction : Any
        The cleaned answer.
    """
    gold, said = chain_of(chain), prediction_of(prediction)
    if gold is None or said is None:
        return False
    chosen, replaced = list_of(said[FIELDS[0]]), list_of(said[FIELDS[1]])
    result = said[FIELDS[2]].strip()
    if set(chosen) != set(list_of(conditions)) or set(replaced) != set(gold.causes) or result != gold.result:
        return False
    written = [", ".join(f"[{entry}]" for entry in order) for order in (replaced, replaced[::-1])]
    return said[FIELDS[3]].strip() in [f"{causes} -> {result}" for causes in written]
