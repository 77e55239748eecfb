"""Small packs that come with the package, made by its own generators: for a first run without any GL library."""

from __future__ import annotations

from importlib import resources
from pathlib import Path


def sample_packs() -> dict[str, Path]:
    """Return the folders of the shipped sample packs by task slug.

    Examples
    --------
    >>> from dodiag.scm.pack import load_pack
    >>> load_pack(sample_packs()["dice_sum"]).instance_count
    24
    """
    folder = resources.files("dodiag") / "benchmarks"
    with resources.as_file(folder) as root:
        return {file.parent.name: file.parent for file in sorted(root.glob("*/samples/*/task.yaml"))}
