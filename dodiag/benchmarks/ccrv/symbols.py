"""Y1's symbols: boxes and centres of the nodes, and the terms that an answer must not use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from string import ascii_uppercase

from dodiag.benchmarks.ccrv.data import Node

HUMANS = ("man", "woman", "person", "child", "kid", "boy", "girl", "player", "batter")
"""Names that forbid each other, and ``human``."""

SYMBOLS = tuple(f"Node_{letter}" for letter in ascii_uppercase)


def corners(box: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    """Return left, top, right, bottom of a box given as left, top, width, height."""
    x, y, width, height = box
    return x, y, x + width, y + height


def centre(box: tuple[float, float, float, float]) -> tuple[float, float]:
    """Return the centre of a box given as left, top, width, height, to one decimal."""
    x, y, width, height = box
    return round(x + width / 2, 1), round(y + height / 2, 1)


def forbidden_terms(names: Iterable[str]) -> tuple[str, ...]:
    """Return the terms that the names of nodes forbid, sorted, by the rule of the released set.

    Each name in lower case, with underscores as spaces too, and with an ``s`` taken away or added; any human name
    forbids ten human words. The rule is naive on purpose: it reproduces the published lists, with their odd plurals.

    Examples
    --------
    >>> forbidden_terms(["luggage", "black_watch"])
    ('black watch', 'black_watch', 'black_watchs', 'luggage', 'luggages')
    """
    found: set[str] = set()
    for raw in names:
        name = raw.lower()
        found |= {name, name.replace("_", " "), name[:-1] if name.endswith("s") else f"{name}s"}
        if name in HUMANS:
            found |= {*HUMANS, "human"}
    return tuple(sorted(found))


def symbolised(text: str, symbols: Mapping[str, Node]) -> str:
    """Return a text in which the true name of every node is replaced by its symbol, longest names first.

    A name that two nodes share is left as it is: nothing says which of them is meant.
    """
    import re

    owners: dict[str, list[str]] = {}
    for symbol, node in symbols.items():
        owners.setdefault(node.true_name.lower(), []).append(symbol)
    for name in sorted(owners, key=len, reverse=True):
        if len(owners[name]) == 1:
            (symbol,) = owners[name]
            whole = rf"(?:\b(?:the|a|an) )?(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])"
            text = re.sub(whole, symbol, text, flags=re.IGNORECASE)
    return text
