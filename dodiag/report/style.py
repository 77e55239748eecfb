"""How terminal tables look."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.table import Table


def new_table(title: str) -> Table:
    """Return an empty table in the project's style."""
    return Table(title=title, title_justify="left", title_style="italic", box=SIMPLE_HEAD, pad_edge=False)
