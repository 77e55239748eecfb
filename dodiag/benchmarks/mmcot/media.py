"""Pictures and videos of a set, from a folder that the user names: they are not part of the release."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from dodiag.benchmarks.mmcot.data import AnySet, ImageSet
from dodiag.problems import UsageError

WHERE_IMAGES = (
    "The set's pictures are those of Flickr30k: ask for them at https://shannon.cs.illinois.edu/DenotationGraph/ and"
    " put them into one folder as ID.jpg"
)
WHERE_VIDEOS = (
    "The set's videos are those of ShareGPT4Video: https://huggingface.co/datasets/ShareGPT4Video/ShareGPT4Video. Put"
    " them into one folder"
)


@dataclass(frozen=True, slots=True)
class Media:
    """The media of a set.

    Attributes
    ----------
    folder : Path
    found : mapping of str to Path
        By the path that the file gives.
    missing : tuple of str
    where : str
        How to get them.
    """

    folder: Path
    found: dict[str, Path]
    missing: tuple[str, ...]
    where: str

    def require(self) -> None:
        """Raise unless every medium is there.

        Raises
        ------
        UsageError
            With the first missing ones, and where to get them.
        """
        if self.missing:
            shown = ", ".join(self.missing[:5]) + (" …" if len(self.missing) > 5 else "")
            count = f"{len(self.missing):,} of {len(self.missing) + len(self.found):,} media are"
            raise UsageError(f"{count} not in {self.folder}: {shown}", f"{self.where}; or leave items without one out.")


def find_media(dataset: AnySet, folder: str | Path) -> Media:
    """Look for the media of a set in a folder: under the path that the file gives, and under the file's name alone.

    Raises
    ------
    UsageError
        If there is no such folder.
    """
    where = WHERE_IMAGES if isinstance(dataset, ImageSet) else WHERE_VIDEOS
    root = Path(folder)
    if not root.is_dir():
        raise UsageError(f"{folder} is no folder", f"Name the folder of the media. {where}.")
    found: dict[str, Path] = {}
    missing = []
    for name in dict.fromkeys(item.path for item in dataset.items):
        path = next((path for path in _candidates(root, name) if path.is_file()), None)
        if path is None:
            missing.append(name)
        else:
            found[name] = path
    return Media(root, found, tuple(missing), where)


def _candidates(root: Path, name: str) -> Iterable[Path]:
    given = PurePosixPath(name.replace("\\", "/"))
    if ".." in given.parts or "\0" in name or not given.name:
        return
    if not given.is_absolute():
        yield root / given
    yield root / given.name
