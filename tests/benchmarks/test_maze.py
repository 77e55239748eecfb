"""The Maze generator: its packs are sound, repeatable, and true to what the pictures show."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import truth_maze
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dodiag.benchmarks.cadet import maze
from dodiag.benchmarks.cadet.maze_layout import MARKER_GAP, REGION, Layout, lay_out, waypoints
from dodiag.benchmarks.cadet.maze_picture import COLOURS, SHAPES
from dodiag.interventions.prompts import Assembler
from dodiag.problems import DodiagError, UsageError
from dodiag.runners.reading.dispatch import read_answer
from dodiag.scm.answers import show_answer
from dodiag.scm.files import load_task, write_task
from dodiag.scm.pack import Pack, correct_answer, incorrect_answer, load_pack, spec_of
from dodiag.vocabulary import WITHHELD, Configuration, State

INSTANCES, SEED = 4, 5


def write(out: Path, instances: int, seed: int, knobs: maze.Knobs = maze.Knobs()) -> Pack:  # noqa: B008
    (out / "media").mkdir(parents=True)
    (out / "task.yaml").write_text(write_task(maze.task(seed, knobs)), encoding="utf-8")
    lines = []
    for index in range(instances):
        instance, media = maze.draw(seed, index, knobs)
        lines.append(instance.model_dump_json(exclude_defaults=True))
        for name, data in media.items():
            (out / name).write_bytes(data)
    (out / "instances.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return load_pack(out)


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    return write(tmp_path_factory.mktemp("maze") / "pack", INSTANCES, SEED)


@pytest.fixture(scope="module")
def layouts() -> list[Layout]:
    return [lay_out(np.random.default_rng((SEED, index)), 15, 6, 3, 30) for index in range(60)]


# Soundness of a pack


def test_a_pack_has_one_question_about_the_start_and_one_about_the_exit_for_each_of_ten_steps(pack: Pack) -> None:
    assert pack.questions_per_unit == {"X1": INSTANCES, "Y": 10 * INSTANCES}
    for instance in pack.instances():
        assert [question.step for question in instance.by_unit["Y"]] == list(range(1, 11))
    assert load_task("maze").published["questions"] == {"X1": maze.INSTANCES, "Y": 10 * maze.INSTANCES}


def test_the_task_is_the_shipped_graph_with_its_seed(pack: Pack) -> None:
    shipped = load_task("maze")
    assert (pack.task.units, pack.task.chains, pack.task.seed) == (shipped.units, shipped.chains, SEED)
    assert maze.task(knobs=maze.Knobs(steps=4)).unfold().number_of_nodes() == 5


def test_every_step_asks_the_same_question_with_the_same_answer(pack: Pack) -> None:
    for instance in pack.instances():
        chain = instance.by_unit["Y"]
        assert len({(question.text, question.choices, question.answer) for question in chain}) == 1


def test_state_1_shows_the_way_so_far_and_withholds_the_answers(pack: Pack) -> None:
    instance = next(pack.instances())
    assembler = Assembler(pack)
    asked = instance.by_unit["Y"][6]
    shown = assembler.prompt(instance, asked, Configuration.of({"Y": State.CORRECT}))
    bare = assembler.prompt(instance, asked, Configuration.of({"Y": State.NATURAL}))
    assert shown.text.count(WITHHELD) == shown.text.count('"answer"') == 6
    assert shown.media[0].data != bare.media[0].data


def test_incorrect_answers_are_other_exits_and_differ_between_steps(pack: Pack) -> None:
    for instance in pack.instances():
        drawn = [incorrect_answer(pack.task, instance, question) for question in instance.by_unit["Y"]]
        assert instance.by_unit["Y"][0].answer not in drawn
        assert len(set(drawn)) > 1


def test_what_is_injected_as_the_truth_is_read_as_the_truth(pack: Pack) -> None:
    for instance in pack.instances():
        for question in instance.questions:
            spec = spec_of(pack.task, question)
            truth = correct_answer(pack.task, question)
            assert read_answer(show_answer(truth, spec), spec).value == truth


def test_symbols_are_told_apart_by_name_and_two_of_them_resemble_the_start(pack: Pack) -> None:
    for instance in pack.instances():
        names = [symbol["name"].split() for symbol in instance.meta["symbols"]]
        assert len({tuple(name) for name in names}) == len(names) == 4
        assert all(colour in COLOURS and shape in SHAPES for colour, shape in names)
        start = instance.meta["start"].split()
        assert sum(name[0] == start[0] for name in names) >= 2
        assert sum(name[1] == start[1] for name in names) >= 2


# Truth


def test_the_pictures_say_what_the_instances_say(pack: Pack) -> None:
    assert truth_maze.disagreements(pack.folder) == []


def test_the_second_path_notices_a_wrong_exit_a_wrong_cell_and_a_way_through_a_wall(pack: Pack, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in (pack.folder / "instances.jsonl").read_text().splitlines()]
    (tmp_path / "media").symlink_to(pack.folder / "media")
    exit_, cell, way, _ = lines
    for question in exit_["questions"][1:]:
        question["answer"] = "ABCDEF"[("ABCDEF".index(question["answer"]) + 1) % 6]
    cell["questions"][0]["answer"] = "ABCD"[("ABCD".index(cell["questions"][0]["answer"]) + 1) % 4]
    path = way["questions"][3]["annotations"][0]["path"]
    path[:] = [path[0], [path[0][0] + 200, path[0][1] - 90], path[-1]]
    (tmp_path / "instances.jsonl").write_text("\n".join(map(json.dumps, lines)))
    found = truth_maze.disagreements(tmp_path)
    for line, words in ((exit_, "told"), (cell, "X1 sees"), (way, "crosses a wall")):
        assert any(each.startswith(line["id"]) and words in each for each in found)


def test_just_one_exit_can_be_reached_and_by_one_way(layouts: list[Layout]) -> None:
    for layout in layouts:
        neighbours: dict[tuple[int, int], set[tuple[int, int]]] = {}
        for a, b in layout.passages:
            neighbours.setdefault(a, set()).add(b)
            neighbours.setdefault(b, set()).add(a)

        def reach(cell: tuple[int, int], neighbours: dict = neighbours) -> set[tuple[int, int]]:
            seen, front = {cell}, [cell]
            while front:
                fresh = neighbours.get(front.pop(), set()) - seen
                seen |= fresh
                front += fresh
            return seen

        region = reach(layout.markers[layout.start])
        assert [place for place, exit_ in enumerate(layout.exits) if exit_.cell in region] == [layout.right]
        passages = sum(a in region for a, _ in layout.passages)
        assert passages == len(region) - 1, "a tree has no second way"
        assert all(len(reach(exit_.cell)) >= REGION for exit_ in layout.exits)


def test_the_way_is_long_enough_and_symbols_keep_apart(layouts: list[Layout]) -> None:
    for layout in layouts:
        assert len(layout.path) - 1 >= 30
        assert layout.path[0] == layout.markers[layout.start]
        assert layout.path[-1] == layout.exits[layout.right].cell
        for place, (x, y) in enumerate(layout.markers):
            assert all(max(abs(x - u), abs(y - v)) >= MARKER_GAP for u, v in layout.markers[:place])


@given(length=st.integers(4, 400), steps=st.integers(2, 20))
@settings(max_examples=100, deadline=None)
def test_waypoints_part_the_way_into_pieces_as_alike_as_can_be(length: int, steps: int) -> None:
    marks = waypoints(length, steps)
    pieces = np.diff(marks)
    assert (marks[0], marks[-1], len(pieces)) == (0, length, steps)
    assert max(pieces) - min(pieces) <= 1


# Balance and repeatability


def test_letters_of_the_right_exit_come_up_alike(layouts: list[Layout]) -> None:
    counts = Counter(layout.right for layout in layouts)
    assert stats.chisquare([counts[place] for place in range(6)]).pvalue > 0.001


def test_neither_the_nearest_nor_the_farthest_exit_is_a_good_guess(layouts: list[Layout]) -> None:
    ranks = Counter[int]()
    for layout in layouts:
        start = np.array(layout.markers[layout.start])
        away = [((exit_.cell - start) ** 2).sum() for exit_ in layout.exits]
        ranks[sum(other < away[layout.right] for other in away)] += 1
    for rank in (0, 5):
        assert stats.binomtest(ranks[rank], len(layouts), 1 / 6).pvalue > 0.001


def test_an_instance_depends_on_seed_and_index_alone(pack: Pack) -> None:
    instance, media = maze.draw(SEED, 2)
    assert instance.id == pack.instance_ids[2] == f"maze-s{SEED}-0002"
    assert instance.model_dump_json() == pack.instance(instance.id).model_dump_json()
    assert media == {name: pack.medium(name).read_bytes() for name in instance.media}
    other, _ = maze.draw(SEED + 1, 2)
    assert other.meta["passages"] != instance.meta["passages"]


# Knobs


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("size", 7),
        ("size", 41),
        ("size", 15.0),
        ("exits", 1),
        ("steps", 21),
        ("decoys", 0),
        ("decoys", True),
        ("shortest", 19),
    ],
)
def test_a_knob_out_of_range_is_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(UsageError, match=name):
        maze.Knobs(**{name: value})


def test_knobs_shape_the_maze(tmp_path: Path) -> None:
    knobs = maze.Knobs(size=24, exits=10, steps=5, decoys=6, shortest=60)
    pack = write(tmp_path / "pack", 1, 0, knobs)
    instance = next(pack.instances())
    assert len(instance.by_unit["Y"]) == 5
    assert [len(question.choices or ()) for question in instance.questions[:2]] == [7, 10]
    assert instance.meta["moves"] >= 60
    assert truth_maze.disagreements(pack.folder) == []


def test_a_maze_that_cannot_be_is_given_up_with_the_knobs_to_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dodiag.benchmarks.cadet.maze_layout.ATTEMPTS", 5)
    with pytest.raises(DodiagError, match="Raise the knob 'size'"):
        maze.draw(0, 0, maze.Knobs(size=8, shortest=60))
