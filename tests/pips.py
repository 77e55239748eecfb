"""Count the pips in the pictures of a Dice Sum pack, independently of how the pack was made.

    python tests/pips.py PACK

prints how many dice agree with the pack's answers, and exits with 1 where one does not.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator

import numpy as np
from PIL import Image
from scipy import ndimage

from dodiag.benchmarks.cadet.dice_view import Pixel
from dodiag.scm.pack import Pack, load_pack


def rectified(picture: Image.Image, outline: tuple[Pixel, ...], size: int = 120) -> np.ndarray:
    """Return a quadrilateral of a picture as a square, by the homography of its corners."""
    square = ((0, 0), (size, 0), (size, size), (0, size))
    rows, seen = [], []
    for (x, y), (u, v) in zip(square, outline, strict=True):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        seen += [u, v]
    homography = np.linalg.solve(np.array(rows, dtype=float), np.array(seen, dtype=float))
    flat = picture.transform((size, size), Image.Transform.PERSPECTIVE, homography, Image.Resampling.BICUBIC)
    return np.asarray(flat, dtype=float)


def count_pips(picture: Image.Image, outline: tuple[Pixel, ...]) -> int:
    """Count spots that differ from the face's own colour, knowing nothing else about the die."""
    face = rectified(picture, outline)[8:-8, 8:-8]
    distance = np.linalg.norm(face - np.median(face.reshape(-1, 3), axis=0), axis=-1)
    cuts = np.linspace(20, distance.max(), 60)[:-1]
    spread = [
        sum(np.var(part) * len(part) for part in (distance[distance <= cut], distance[distance > cut])) for cut in cuts
    ]
    spots, count = ndimage.label(ndimage.binary_opening(distance > cuts[int(np.argmin(spread))], iterations=2))
    areas = ndimage.sum(np.ones_like(distance), spots, range(1, count + 1))
    return int((areas > 120).sum())


def seen_values(pack: Pack) -> Iterator[tuple[str, int, int]]:
    """Yield each die with the answer of its X3 question and the pips counted in the picture."""
    for instance in pack.instances():
        picture = Image.open(io.BytesIO(pack.medium(instance.media[0]).read_bytes())).convert("RGB")
        for top, asked in zip(instance.by_unit["X2"], instance.by_unit["X3"], strict=True):
            outline = top.annotations[0].path
            assert outline is not None
            yield f"{instance.id} {top.id}", asked.answer, count_pips(picture, outline[:4])


def main() -> None:
    """Recount one pack."""
    rows = list(seen_values(load_pack(sys.argv[1])))
    wrong = [row for row in rows if row[1] != row[2]]
    print(f"{len(rows) - len(wrong)} of {len(rows)} dice agree", *wrong, sep="\n")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
