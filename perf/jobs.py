"""What the transport scripts send: a task pack for dodiag, and the very same requests as lines for everyone else."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

TASK = """schema: 1
name: sums
title: Sums
modality: {modality}
target: Y
units:
  X1: {{title: First Number, category: perception, answer: {{type: integer, min: 0, max: 20}}}}
  X2: {{title: Second Number, category: spatial, answer: {{type: integer, min: 0, max: 20}}}}
  Y: {{title: Their Sum, category: cognitive, answer: {{type: integer, min: 0, max: 40}}, parents: [X1, X2]}}
"""

PICTURES = 64
"""Different pictures of a pack; instances take them in turn."""


@dataclass(frozen=True, slots=True)
class Job:
    """What one client is to send.

    Attributes
    ----------
    url : str
        Of the server, without ``/v1``.
    concurrency : int
    calls : int
    pack : str
        The pack's folder, for dodiag.
    unit : str
        The unit that is asked.
    lines : str
        The same calls for other clients: a line is ``{"text", "picture", "answer"}``.
    folder : str
        A folder of its own for logs, caches and ledgers.
    options : dict
        Settings of the client.
    """

    url: str
    concurrency: int
    calls: int
    pack: str
    unit: str
    lines: str
    folder: str
    options: dict[str, Any]

    def write(self) -> Path:
        """Write the job into its folder and return its path."""
        path = Path(self.folder) / "job.json"
        path.write_text(json.dumps(asdict(self)))
        return path

    @classmethod
    def read(cls, path: Path) -> Job:
        """Read a job."""
        return cls(**json.loads(path.read_text()))


def write_pack(folder: Path, instances: int, kilobytes: int = 0) -> Path:
    """Write a pack of sums, with one PNG of noise of that size per instance if a size is given."""
    folder.mkdir(parents=True)
    if kilobytes:
        _write_pictures(folder / "media", kilobytes)
    (folder / "task.yaml").write_text(TASK.format(modality="image" if kilobytes else "text"))
    with (folder / "instances.jsonl").open("w") as stream:
        for i in range(instances):
            questions = [
                {"id": "a", "unit": "X1", "text": f"Which number is in box 0 of {i}?", "answer": i % 20},
                {"id": "b", "unit": "X2", "text": f"Which number is on card {i}?", "answer": i % 20},
                {"id": "y", "unit": "Y", "text": f"What is the sum of case {i}?", "answer": i % 41},
            ]
            media = [f"media/{i % PICTURES}.png"] if kilobytes else []
            stream.write(json.dumps({"id": f"i{i:06d}", "media": media, "questions": questions}) + "\n")
    return folder


def _write_pictures(folder: Path, kilobytes: int) -> None:
    import numpy as np
    from PIL import Image

    folder.mkdir()
    side = round((kilobytes * 1024 / 3) ** 0.5)
    noise = np.random.default_rng(7)
    for index in range(PICTURES):
        picture = noise.integers(0, 256, (side, side, 3), dtype=np.uint8)
        Image.fromarray(picture).save(folder / f"{index}.png", compress_level=1)


def write_lines(pack: Path, unit: str, target: Path) -> int:
    """Write the calls that dodiag makes of a unit as lines, and return their number."""
    import dodiag
    from dodiag.interventions.prompts import Assembler

    plan = dodiag.make_plan(dodiag.load_pack(pack), units=[unit])
    assert plan.pack is not None
    assembler = Assembler(plan.pack, with_media=False)
    with target.open("w") as stream:
        for call in plan.calls():
            text = assembler.prompt(call.instance, call.question, call.configuration).text
            picture = str(plan.pack.medium(call.instance.media[0])) if call.instance.media else None
            stream.write(json.dumps({"text": text, "picture": picture, "answer": str(call.question.answer)}) + "\n")
    return plan.call_count
