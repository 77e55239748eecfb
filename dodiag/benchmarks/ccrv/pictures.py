"""Pictures by image id, from a folder that the user names: they are not part of the released set."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from dodiag.benchmarks.ccrv.data import Dataset, ImageRecord
from dodiag.problems import UsageError
from dodiag.scm.media import HEAD, kind_of, open_picture, upright_size

SUFFIXES = (".jpg", ".jpeg", ".png", ".webp")
WHERE = (
    "The set's pictures are those of Visual Genome (version 1.4, folders VG_100K and VG_100K_2): "
    "https://homes.cs.washington.edu/~ranjay/visualgenome/api.html. Put them into one folder as IMAGE_ID.jpg."
)


@dataclass(frozen=True, slots=True)
class Pictures:
    """The pictures of a set.

    Attributes
    ----------
    folder : Path
    found : mapping of int to Path
    missing : tuple of int
        Image ids without a picture.
    """

    folder: Path
    found: dict[int, Path]
    missing: tuple[int, ...]

    def require(self) -> None:
        """Raise unless every picture is there.

        Raises
        ------
        UsageError
            With the ids of the first missing pictures, and where to get them.
        """
        if self.missing:
            shown = ", ".join(map(str, self.missing[:5])) + (" …" if len(self.missing) > 5 else "")
            count = f"{len(self.missing)} of {len(self.missing) + len(self.found)} pictures are"
            raise UsageError(f"{count} not in {self.folder}: {shown}", WHERE)


def find_pictures(dataset: Dataset, folder: str | Path) -> Pictures:
    """Look for the pictures of a set in a folder.

    ``IMAGE_ID.jpg`` (or .jpeg, .png, .webp) is looked for in the folder itself, in its folders ``VG_100K``,
    ``VG_100K_2`` and ``VG_images_test``, and at the path that the file gives.

    Raises
    ------
    UsageError
        If there is no such folder.
    """
    root = Path(folder)
    if not root.is_dir():
        raise UsageError(f"{folder} is no folder", f"Name the folder of the pictures. {WHERE}")
    found: dict[int, Path] = {}
    missing = []
    for image in dataset.images:
        path = next((path for path in _candidates(root, image) if path.is_file()), None)
        if path is None:
            missing.append(image.image_id)
        else:
            found[image.image_id] = path
    return Pictures(root, found, tuple(missing))


def sizes(pictures: Pictures, ids: Iterable[int] | None = None) -> dict[int, tuple[int, int]]:
    """Return width and height of pictures by image id, from their headers.

    Raises
    ------
    dodiag.scm.media.MediumError
        If a file is no picture.
    """
    wanted = pictures.found if ids is None else {key: pictures.found[key] for key in ids if key in pictures.found}
    return {image_id: size_of(path) for image_id, path in wanted.items()}


def size_of(path: Path) -> tuple[int, int]:
    """Return width and height of a picture, from its header."""
    with path.open("rb") as stream:
        head = stream.read(HEAD)
    with open_picture(path, kind_of(head, str(path)), str(path)) as picture:
        return upright_size(picture)


def _candidates(root: Path, image: ImageRecord) -> Iterable[Path]:
    for place in (root, root / "VG_100K", root / "VG_100K_2", root / "VG_images_test"):
        for suffix in SUFFIXES:
            yield place / f"{image.image_id}{suffix}"
    if image.path is not None and ".." not in Path(image.path).parts and not Path(image.path).is_absolute():
        yield root / image.path
