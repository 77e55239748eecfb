"""Packs of the street tasks for tests, and what holds for each of them."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from dodiag.benchmarks.rendering import load_mujoco
from dodiag.problems import MissingDependency
from dodiag.runners.reading.dispatch import read_answer
from dodiag.scm.answers import show_answer
from dodiag.scm.files import load_task, write_task
from dodiag.scm.pack import Instance, Pack, correct_answer, incorrect_answer, load_pack, spec_of


def need_renderer() -> None:
    """Skip where the optional renderer is not installed."""
    try:
        load_mujoco()
    except MissingDependency as missing:
        pytest.skip(str(missing))


def write(module: Any, out: Path, seed: int, indices: range) -> Pack:
    """Write a pack of these instances."""
    need_renderer()
    (out / "media").mkdir(parents=True)
    (out / "task.yaml").write_text(write_task(module.task(seed)), encoding="utf-8")
    lines = []
    for index in indices:
        instance, media = module.draw(seed, index)
        lines.append(instance.model_dump_json(exclude_defaults=True))
        for name, data in media.items():
            (out / name).write_bytes(data)
    (out / "instances.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return load_pack(out)


def has_the_shipped_graph(pack: Pack, seed: int) -> None:
    """Check that the task is the shipped graph with the seed of the incorrect answers."""
    shipped = load_task(pack.task.name)
    assert (pack.task.target, pack.task.published, pack.task.seed) == ("Y", shipped.published, seed)
    for unit in shipped.units:
        assert pack.task.parents(unit) == shipped.parents(unit)
        assert pack.task.units[unit].answer.type == shipped.units[unit].answer.type


def is_solved_by_its_truth(pack: Pack) -> None:
    """Check that the engine reads every correct answer, as it is shown, as the truth, and no incorrect one."""
    for instance in pack.instances():
        for question in instance.questions:
            spec = spec_of(pack.task, question)
            truth, wrong = correct_answer(pack.task, question), incorrect_answer(pack.task, instance, question)
            assert read_answer(show_answer(truth, spec), spec).value == truth
            assert read_answer(show_answer(wrong, spec), spec).value == wrong != truth


def requires_only_prerequisites(pack: Pack) -> None:
    """Check that what a question requires is there, and belongs to a prerequisite of its unit."""
    for instance in pack.instances():
        units = {question.id: question.unit for question in instance.questions}
        for question in instance.questions:
            for required in question.requires or ():
                assert units[required] in pack.task.parents(question.unit)


def annotates_inside_the_pictures(pack: Pack) -> None:
    """Check that every box is inside the picture that it names, and that pictures are small files of one size."""
    for instance in pack.instances():
        for medium in instance.media:
            with Image.open(pack.medium(medium)) as picture:
                assert picture.size == (640, 400)
            assert pack.medium(medium).stat().st_size < 90_000
        for question in instance.questions:
            for annotation in question.annotations:
                assert annotation.medium in instance.media
                assert annotation.box is not None
                left, top, right, bottom = annotation.box
                assert 0 <= left < right <= 640
                assert 0 <= top < bottom <= 400


def is_drawn_again_alike(module: Any, pack: Pack, seed: int, index: int) -> None:
    """Check that an instance depends on seed and index alone, to the byte, in any order, and can be sent on."""
    again, media = pickle.loads(pickle.dumps(module.draw))(seed, index)
    wanted = pack.instance(again.id)
    assert Instance.model_validate_json(again.model_dump_json(exclude_defaults=True)) == wanted
    for name, data in media.items():
        assert pack.medium(name).read_bytes() == data


def spoilt(pack: Pack, out: Path, unit: str) -> Path:
    """Copy a pack with one answer of a unit replaced by its incorrect one."""
    lines = (pack.folder / "instances.jsonl").read_text(encoding="utf-8").splitlines()
    first = json.loads(lines[0])
    instance = next(pack.instances())
    for written, question in zip(first["questions"], instance.questions, strict=True):
        if question.unit == unit:
            wrong = incorrect_answer(pack.task, instance, question)
            written["answer"] = list(wrong) if isinstance(wrong, tuple) else wrong
            break
    out.mkdir()
    (out / "media").symlink_to(pack.folder / "media")
    (out / "instances.jsonl").write_text("\n".join([json.dumps(first), *lines[1:]]) + "\n", encoding="utf-8")
    return out
