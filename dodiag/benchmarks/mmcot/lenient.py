"""Read replies to MM-CoT items as a person would: what is meant unmistakably counts, and nothing is guessed.

Whatever the released readers accept is read the same here. Reasoning blocks have to be cut off before.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dodiag.benchmarks.mmcot.notation import FIELDS, SLOTS, Chain, chain_of, cleaned, links_of

_ARROW = r"[ \t]*(?:[-=–—]{1,3}>|[→⇒⟶➔➜⟹]|\\(?:right|Right|longright)arrow)[ \t]*"
_MARK = r"[*_`\"'(\[{$]{0,4}"
_END = r"[*_`\"')\]}$]{0,4}"
_CHAIN = re.compile(
    rf"(?<![A-Za-z0-9])A([123]){_END}{_ARROW}{_MARK}B([0-9]+){_END}{_ARROW}{_MARK}C([0-9]+)(?![A-Za-z0-9])",
    re.IGNORECASE,
)
_OR = re.compile(r"[^\w\n]{0,8}(?:or|and)?[^\w\n]{0,8}C([0-9]+)(?![A-Za-z0-9])", re.IGNORECASE)
"""A second outcome behind a chain, such as ``/C4``, ``or C4`` or ``-> C4``."""
_ARROWS = re.compile(r"[-=–—]{1,3}>|[→⇒⟶➔➜⟹]")
_QUOTES = str.maketrans({"’": "'", "‘": "'", "`": "'", "“": '"', "”": '"', "–": "-", "—": "-", "‑": "-"})
_SEPARATOR = re.compile(r"\]\s*[,;]\s*\[")


def lenient_links(text: Any) -> dict[str, tuple[str, str]]:
    """Return the chains of an image answer by condition, wherever they stand and however the arrows are written.

    A condition that is given two different chains, or two outcomes, is left out, unless the released reader reads the
    whole answer.

    Examples
    --------
    >>> lenient_links("**A1 → B2 → C3**\\na2=>b1=>c2. A3->B3")
    {'A1': ('B2', 'C3'), 'A2': ('B1', 'C2')}
    >>> lenient_links("A1->B2->C3? No: A1->B1->C1"), lenient_links("A1->B2->C3 or C4")
    ({}, {})
    """
    strict = links_of(text)
    if set(strict) == set(SLOTS):
        return strict
    if not isinstance(text, str):
        return {}
    found: dict[str, set[tuple[str, str]]] = {}
    for matched in _CHAIN.finditer(text):
        chains = found.setdefault(f"A{matched[1]}", set())
        chains.add((f"B{int(matched[2])}", f"C{int(matched[3])}"))
        if (other := _OR.match(text, matched.end())) is not None:
            chains.add((f"B{int(matched[2])}", f"C{int(other[1])}"))
    return {slot: found[slot].pop() for slot in SLOTS if len(found.get(slot, ())) == 1}


def folded(text: str) -> str:
    """Return a text as it is compared: no case, plain quotes and dashes, single blanks, no outer brackets or full stop.

    Examples
    --------
    >>> folded("[The child’s  ball rolls.]")
    "the child's ball rolls"
    """
    plain = unicodedata.normalize("NFKC", text).translate(_QUOTES).casefold()
    return " ".join(plain.split()).strip("[] ").rstrip(". ")


@dataclass(frozen=True, slots=True)
class Parts:
    """Which parts of an answer about a video are right.

    Attributes
    ----------
    conditions, replacements, result : bool
        Each by meaning: sets for the first two.
    chain : bool
        Whether the chain says the same as the answer's own parts; a question of form only.
    read : bool
        Whether an answer was found at all.
    """

    conditions: bool
    replacements: bool
    result: bool
    chain: bool
    read: bool = True

    @property
    def correct(self) -> bool:
        """All but the form."""
        return self.conditions and self.replacements and self.result


UNREAD = Parts(False, False, False, False, read=False)


def lenient_parts(conditions: str, chain: str, reply: Any) -> Parts:
    """Compare an answer about a video with an item, with case, quotes, blanks, brackets and full stops set aside.

    Fields may be JSON lists. A gold chain that cannot be read makes replacements and result wrong.
    """
    said = _fields(reply)
    if said is None:
        return UNREAD
    chosen, replaced = _entries(said.get(FIELDS[0])), _entries(said.get(FIELDS[1]))
    result = folded(_joined(said.get(FIELDS[2])))
    gold = chain_of(chain)
    causes = _entries(chain.partition("->")[0])
    told = _told(_joined(said.get(FIELDS[3])))
    consistent = told is not None and frozenset(map(folded, told.causes)) == replaced and folded(told.result) == result
    return Parts(
        chosen == _entries(conditions),
        gold is not None and replaced == causes,
        gold is not None and result == folded(gold.result),
        consistent,
    )


def _fields(reply: Any) -> Mapping[str, Any] | None:
    if not isinstance(reply, str):
        return None
    try:
        data = json.loads(cleaned(reply), strict=False)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    found = {str(name).strip().casefold().replace(" ", "_"): value for name, value in data.items()}
    return found if any(name in found for name in FIELDS) else None


def _entries(value: Any) -> frozenset[str]:
    if isinstance(value, list):
        return frozenset(folded(entry) for entry in value if isinstance(entry, str) and folded(entry))
    if not isinstance(value, str):
        return frozenset()
    return frozenset(entry for part in _SEPARATOR.split(value.strip()) if (entry := folded(part)))


def _joined(value: Any) -> str:
    if isinstance(value, list):
        return (
            ", ".join(f"[{entry}]" for entry in value if isinstance(entry, str)) if len(value) != 1 else str(value[0])
        )
    return value if isinstance(value, str) else ""


def _told(text: str) -> Chain | None:
    parts = _ARROWS.split(text)
    if len(parts) != 2:
        return None
    return Chain(tuple(part for part in _SEPARATOR.split(parts[0].strip()) if folded(part)), parts[1])
