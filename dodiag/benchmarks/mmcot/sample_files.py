"""A few items of our own in the released formats, with their media: for a first run without the published set."""

from __future__ import annotations

import json
from importlib import resources
from itertools import islice
from pathlib import Path
from shutil import copyfile

from dodiag.benchmarks.ccrv.writing import refuse_taken
from dodiag.benchmarks.mmcot.dice_items import dice_items
from dodiag.benchmarks.samples import sample_packs
from dodiag.problems import UsageError
from dodiag.scm.pack import load_pack

IMAGES, VIDEOS = "images.json", "videos.json"
PICTURES = 6
"""Picture items of the sample."""


def write_samples(out: Path) -> tuple[int, int]:
    """Write the sample to a new folder: picture items over dice with labelled distractors, and drawn videos.

    Returns
    -------
    (pictures, videos) : int, int
        How many items of each.

    Raises
    ------
    UsageError
        If the folder is not new or cannot be written.
    """
    refuse_taken(out)
    dice = load_pack(sample_packs()["dice_sum"])
    items = list(islice(dice_items(dice), PICTURES))
    try:
        (out / "media").mkdir(parents=True, exist_ok=True)
        for item in items:
            name = item["img_path"].removeprefix("./")
            copyfile(dice.medium(name), out / name)
        (out / IMAGES).write_text(json.dumps(items, ensure_ascii=False, indent=2), encoding="utf-8")
        with resources.as_file(resources.files("dodiag.benchmarks.mmcot") / "samples") as shipped:
            videos = json.loads((shipped / VIDEOS).read_text(encoding="utf-8"))
            copyfile(shipped / VIDEOS, out / VIDEOS)
            for item in videos:
                copyfile(shipped / Path(item["input_video"]).name, out / item["input_video"])
    except OSError as error:
        raise UsageError(f"cannot write {out}: {error.strerror or error}", "Name a new folder.") from None
    return len(items), len(videos)
