"""Write what a plan would send, for a person to look at: exact prompts and pictures, and no call."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from dodiag.interventions.plan import Plan
from dodiag.problems import UsageError
from dodiag.runners.lookup import write_media

INDEX = "index.jsonl"


@dataclass(frozen=True, slots=True)
class Preview:
    """What was written.

    Attributes
    ----------
    folder : Path
    calls, prompts, pictures : int
        Calls that were looked at, and the distinct prompts and pictures that they send.
    """

    folder: Path
    calls: int
    prompts: int
    pictures: int


def write_preview(plan: Plan, folder: Path, with_media: bool = True) -> Preview:
    """Write the prompts and pictures of a plan, each distinct one once, and an index with a line for every call.

    Parameters
    ----------
    plan : Plan
        Of a pack; its ``limit`` says how many instances are written.
    folder : Path
        New or empty. It gets ``prompts/*.txt``, ``pictures/*`` and ``index.jsonl``.
    with_media : bool
        False for models that see no pictures.

    Raises
    ------
    UsageError
        If the plan is of a graph alone, or the folder is not empty or cannot be written.
    DodiagError
        If a picture cannot be read.
    """
    if plan.pack is None:
        raise UsageError(f"task {plan.task.name} has no instances", "Preview a task pack.")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not empty", "Choose another folder for --out.")
    assembler = plan.assembler(with_media)
    texts: dict[str, str] = {}
    pictures: set[Path] = set()
    calls = 0
    try:
        (folder / "prompts").mkdir(parents=True, exist_ok=True)
        with (folder / INDEX).open("w", encoding="utf-8") as index:
            for call in plan.calls():
                prompt = assembler.prompt(call.instance, call.question, call.configuration)
                name = texts.get(prompt.text)
                if name is None:
                    name = texts[prompt.text] = f"prompts/{len(texts):06d}.txt"
                    (folder / name).write_text(prompt.text, encoding="utf-8", errors="backslashreplace")
                written = write_media(prompt.media, folder / "pictures")
                pictures.update(written)
                line = {
                    "call": call.position,
                    "instance": call.instance.id,
                    "unit": call.question.unit,
                    "question": call.question.id,
                    "step": call.question.step,
                    "configuration": call.configuration.text,
                    "draw": call.draw,
                    "prompt": name,
                    "pictures": [str(path.relative_to(folder)) for path in written],
                }
                index.write(json.dumps(line, ensure_ascii=False) + "\n")
                calls += 1
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {error.strerror}", "Choose another folder for --out.") from None
    return Preview(folder, calls, len(texts), len(pictures))
