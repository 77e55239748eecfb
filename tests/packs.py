"""Small task packs for tests, written as a user would write them."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dodiag.scm.files import load_task, write_task
from dodiag.scm.graph import TaskGraph
from dodiag.scm.pack import Pack, load_pack

SUMS = """schema: 1
name: sums
title: Sums
modality: text
target: Y
units:
  X1: {title: First Number,  category: perception, answer: {type: integer, min: 0, max: 20}}
  X2: {title: Second Number, category: spatial,    answer: {type: choice, choices: ["one", "two", "three", "four"]}}
  Y:  {title: Their Sum,     category: cognitive,  answer: {type: integer, min: 0, max: 40}, parents: [X1, X2]}
"""
"""A text task with k = 2."""


def sums_instance(index: int) -> dict[str, Any]:
    first, second = index % 11, index % 4
    return {
        "id": f"s{index:05d}",
        "questions": [
            {"id": "a", "unit": "X1", "text": f"Which number is written in box {index}?", "answer": first},
            {"id": "b", "unit": "X2", "text": f"Which number is on card {index}?", "answer": "ABCD"[second]},
            {"id": "y", "unit": "Y", "text": f"What is the sum of box and card {index}?", "answer": first + second + 1},
        ],
    }


def write_pack(folder: Path, task: str | TaskGraph, instances: Any, media: dict[str, bytes] | None = None) -> Path:
    """Write a pack from a graph (text or object) and instance mappings."""
    folder.mkdir(parents=True, exist_ok=True)
    text = task if isinstance(task, str) else write_task(task)
    (folder / "task.yaml").write_text(text, encoding="utf-8")
    with (folder / "instances.jsonl").open("w", encoding="utf-8") as stream:
        for instance in instances:
            stream.write((instance if isinstance(instance, str) else json.dumps(instance)) + "\n")
    for name, data in (media or {}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def sums_pack(folder: Path, count: int, change: Callable[[dict[str, Any]], None] | None = None) -> Pack:
    """Write and load the sums pack; `change` edits each instance."""
    instances = [sums_instance(index) for index in range(count)]
    for instance in instances:
        if change is not None:
            change(instance)
    return load_pack(write_pack(folder, SUMS, instances))


def picture(form: str = "PNG", size: tuple[int, int] = (200, 150), colour: str = "#336699") -> bytes:
    """Return an encoded picture of one colour."""
    from PIL import Image

    out = io.BytesIO()
    Image.new("RGB", size, colour).save(out, form)
    return out.getvalue()


def maze_pack(folder: Path, count: int = 2, steps: int = 3) -> Pack:
    """A maze pack as CADET has it: every step asks the same question, with waypoint and path as annotations."""
    choices = ["north gate", "east gate", "south gate"]
    instances = []
    for index in range(count):
        answer = "ABC"[index % 3]
        start = {
            "id": "start",
            "unit": "X1",
            "text": "In which corner is the start?",
            "choices": ["left", "right"],
            "answer": "A",
            "annotations": [{"point": [10, 10], "label": "start"}],
        }
        walk = [
            {
                "id": f"y{step}",
                "unit": "Y",
                "step": step,
                "text": "Which gate is the exit?",
                "choices": choices,
                "answer": answer,
                "annotations": [{"path": [[10, 10], [20 * step, 10], [20 * step, 40]], "label": f"step {step}"}],
            }
            for step in range(1, steps + 1)
        ]
        instances.append({"id": f"m{index}", "media": [f"media/{index}.png"], "questions": [start, *walk]})
    media = {f"media/{index}.png": picture(colour=f"#{40 + index % 200:02x}6699") for index in range(count)}
    return load_pack(write_pack(folder, load_task("maze"), instances, media))
