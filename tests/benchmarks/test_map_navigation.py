"""The Map Navigation generator: its packs are sound, repeatable, and true to what the pictures show."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import truth_map_navigation
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dodiag.benchmarks.cadet import map_navigation
from dodiag.benchmarks.cadet.map_icons import MARKS, PLACES
from dodiag.benchmarks.cadet.map_picture import HEIGHT, WIDTH
from dodiag.benchmarks.cadet.map_streets import FRAME, SIDE, blocks_of, clear_of_lines, neighbours_of, square_of
from dodiag.benchmarks.cadet.map_town import Demands, Town, found
from dodiag.interventions.prompts import Assembler
from dodiag.problems import DodiagError, UsageError
from dodiag.runners.reading.dispatch import read_answer
from dodiag.scm.answers import show_answer
from dodiag.scm.files import load_task, write_task
from dodiag.scm.pack import Instance, Pack, correct_answer, incorrect_answer, load_pack, spec_of
from dodiag.vocabulary import Configuration, State

INSTANCES, SEED = 5, 3


def write(out: Path, instances: int, seed: int, knobs: map_navigation.Knobs = map_navigation.Knobs()) -> Pack:  # noqa: B008
    (out / "media").mkdir(parents=True)
    (out / "task.yaml").write_text(write_task(map_navigation.task(seed, knobs)), encoding="utf-8")
    lines = []
    for index in range(instances):
        instance, media = map_navigation.draw(seed, index, knobs)
        lines.append(instance.model_dump_json(exclude_defaults=True))
        for name, data in media.items():
            (out / name).write_bytes(data)
    (out / "instances.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return load_pack(out)


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    return write(tmp_path_factory.mktemp("maps") / "pack", INSTANCES, SEED)


@pytest.fixture(scope="module")
def towns() -> list[Town]:
    names, kinds = list(PLACES)[:9], list(MARKS)[:3]
    return [
        found(np.random.default_rng((SEED, index)), names, kinds, Demands(6, 2 + index % 4, 2, 0.12, 0.22, 3, 0.4))
        for index in range(24)
    ]


def option(instance: Instance, name: str) -> str:
    question = instance.question(name)
    assert question.choices is not None
    return question.choices["ABCDEF".index(question.answer)]


# Soundness of a pack


def test_questions_are_the_places_and_closed_roads_the_blocks_and_the_count(pack: Pack) -> None:
    for instance in pack.instances():
        units = {unit: len(questions) for unit, questions in instance.by_unit.items()}
        assert units == {"X1": 2 + len(instance.meta["closed"]), "X2": len(instance.meta["way"]) - 1, "Y": 1}
        assert [question.step for question in instance.by_unit["X2"]] == list(range(1, units["X2"] + 1))


def test_expected_numbers_of_questions_are_those_of_the_paper() -> None:
    published = load_task("map_navigation").published["questions"]
    steps = sum(number * share for number, share in map_navigation.BLOCK_SHARES.items())
    closed = sum(number * share for number, share in map_navigation.CLOSURE_SHARES.items())
    assert map_navigation.INSTANCES * steps == pytest.approx(published["X2"], abs=1)
    assert map_navigation.INSTANCES * (2 + closed) == pytest.approx(published["X1"], abs=1)
    assert published["Y"] == map_navigation.INSTANCES


def test_the_task_is_the_shipped_graph_with_the_counts_range_and_its_seed(pack: Pack) -> None:
    shipped = load_task("map_navigation")
    assert (pack.task.seed, pack.task.chains) == (SEED, shipped.chains)
    for unit in shipped.units:
        assert pack.task.parents(unit) == shipped.parents(unit)
    assert (pack.task.units["Y"].answer.min, pack.task.units["Y"].answer.max) == (0, 14)


def test_what_is_injected_as_the_truth_is_read_as_the_truth(pack: Pack) -> None:
    for instance in pack.instances():
        for question in instance.questions:
            spec = spec_of(pack.task, question)
            truth = correct_answer(pack.task, question)
            assert read_answer(show_answer(truth, spec), spec).value == truth


def test_incorrect_answers_are_other_options_and_near_counts(pack: Pack) -> None:
    for instance in pack.instances():
        for question in instance.questions:
            wrong = incorrect_answer(pack.task, instance, question)
            assert wrong != question.answer
            if question.unit == "Y":
                assert 1 <= abs(int(wrong) - question.answer) <= 2  # type: ignore[arg-type]


def test_all_x1_questions_of_a_map_have_the_same_options_and_different_answers(pack: Pack) -> None:
    for instance in pack.instances():
        asked = instance.by_unit["X1"]
        assert len({question.choices for question in asked}) == 1
        assert len({question.answer for question in asked}) == len(asked)
        assert len(set(asked[0].choices or ())) == map_navigation.OPTIONS


def test_state_1_draws_the_blocks_driven_so_far(pack: Pack) -> None:
    instance = max(pack.instances(), key=lambda each: len(each.by_unit["X2"]))
    assembler = Assembler(pack)
    asked = instance.by_unit["X2"][2]
    shown = assembler.prompt(instance, asked, Configuration.of({"X2": State.CORRECT}))
    bare = assembler.prompt(instance, asked, Configuration.of({"X2": State.NATURAL}))
    assert option(instance, "X2-1") in shown.text
    assert option(instance, "X2-2") in shown.text
    assert shown.text.count('"answer"') == 2
    assert shown.media[0].data != bare.media[0].data


def test_annotations_are_on_the_map(pack: Pack) -> None:
    for instance in pack.instances():
        for annotation in (each for question in instance.questions for each in question.annotations):
            box = annotation.box
            points = annotation.path or (() if box is None else (box[:2], box[2:]))
            assert all(FRAME <= entry <= FRAME + SIDE for point in points for entry in point)
    assert WIDTH == SIDE + 2 * FRAME < HEIGHT


# Truth


def test_the_pictures_say_what_the_instances_say(pack: Pack) -> None:
    assert truth_map_navigation.disagreements(pack.folder) == []


@pytest.mark.parametrize(
    ("index", "block"), [(896, (29, 35)), pytest.param(42, (18, 24), id="of one kind, nearly touching")]
)
def test_the_second_path_sees_a_street_under_two_icons(tmp_path: Path, index: int, block: tuple[int, int]) -> None:
    instance, media = map_navigation.draw(77, index)
    first, second = (np.array(instance.meta["junctions"][end]) for end in block)
    along = (second - first) / np.linalg.norm(second - first)
    marks = np.array([at for kind in instance.meta["marks"].values() for at in kind]) - first
    across, ahead = np.abs(marks @ (-along[1], along[0])), marks @ along
    assert np.linalg.norm(second - first) < 101
    assert ((across < 1) & (ahead > 0) & (ahead < 101)).sum() == 2, "the block is short and has two icons"
    (tmp_path / "media").mkdir()
    for name, data in media.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "instances.jsonl").write_text(instance.model_dump_json(), encoding="utf-8")
    assert truth_map_navigation.disagreements(tmp_path) == []


def test_the_second_path_notices_a_wrong_square_direction_and_count(pack: Pack, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in (pack.folder / "instances.jsonl").read_text().splitlines()]
    (tmp_path / "media").symlink_to(pack.folder / "media")
    for line, unit in zip(lines, ("X1", "X2", "Y"), strict=False):
        question = next(each for each in line["questions"] if each["unit"] == unit)
        last = question["answer"]
        question["answer"] = last + 1 if unit == "Y" else "ABCD"[("ABCDEF".index(last) + 1) % 4]
    (tmp_path / "instances.jsonl").write_text("\n".join(map(json.dumps, lines)))
    found_wrong = truth_map_navigation.disagreements(tmp_path)
    for line, unit in zip(lines, ("X1", "X2", "Y"), strict=False):
        assert any(each.startswith(f"{line['id']}: {unit}") and "told" in each for each in found_wrong)
    assert len(found_wrong) == 3


def test_every_other_direction_is_longer_by_the_margin(towns: list[Town]) -> None:
    for town in towns:
        index = {node: place for place, node in enumerate(town.junctions)}
        at = np.array(list(town.junctions.values()))
        closed = {sign.block for sign in town.closures}
        lengths = np.full((len(at), len(at)), np.inf)
        for a, b in town.names:
            if (a, b) not in closed:
                lengths[index[a], index[b]] = lengths[index[b], index[a]] = np.linalg.norm(at[index[a]] - at[index[b]])
        left = lengths.copy()
        np.fill_diagonal(left, 0)
        for k in range(len(at)):
            left = np.minimum(left, left[:, k, None] + left[None, k])
        goal = index[town.path[-1]]
        for here, after in pairwise(town.path):
            costs = lengths[index[here]] + left[:, goal]
            best, second = np.sort(costs)[:2]
            assert int(np.argmin(costs)) == index[after]
            assert second / best - 1 >= 0.12 - 1e-9


def test_the_way_avoids_closed_roads_and_passes_only_junctions_that_show(towns: list[Town]) -> None:
    for town in towns:
        way = set(blocks_of(town.path))
        assert not way & {sign.block for sign in town.closures}
        for node in town.path[1:-1]:
            assert sum(node in block for block in town.names) >= 3
            assert node not in {place.junction for place in town.places}
        assert sum(mark.kind == "bus stop" for mark in town.on_way("bus stop")) == 3


def test_the_first_closed_road_is_on_what_would_be_the_shortest_way(towns: list[Town]) -> None:
    for town in towns:
        graph: nx.Graph = nx.Graph()
        for a, b in town.names:
            graph.add_edge(a, b, weight=float(np.hypot(*np.subtract(town.junctions[a], town.junctions[b]))))
        free = nx.dijkstra_path(graph, town.path[0], town.path[-1])
        assert town.closures[0].block in blocks_of(free)


def test_what_is_to_be_located_keeps_off_the_grids_lines_and_has_its_own_square(towns: list[Town]) -> None:
    for town in towns:
        spots = [town.places[0].at, town.places[1].at, *(sign.at for sign in town.closures)]
        assert all(clear_of_lines(spot, 11) for spot in spots)
        assert len({square_of(spot) for spot in spots}) == len(spots)
        assert len({town.names[sign.block] for sign in town.closures}) == len(town.closures)


@given(x=st.floats(FRAME, FRAME + SIDE - 0.001), y=st.floats(FRAME, FRAME + SIDE - 0.001), reach=st.integers(1, 5))
@settings(max_examples=100, deadline=None)
def test_neighbours_of_a_square_are_mutual(x: float, y: float, reach: int) -> None:
    square = square_of((x, y))
    assert square not in neighbours_of(square, reach)
    assert all(square in neighbours_of(other, reach) for other in neighbours_of(square, reach))


# Balance and repeatability


def test_directions_and_counts_come_up_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(map_navigation, "paint", lambda *_: b"")
    instances = [map_navigation.draw(SEED, index)[0] for index in range(50)]
    steps = [option(instance, question.id) for instance in instances for question in instance.by_unit["X2"]]
    directions = Counter(steps)
    assert stats.chisquare([directions[name] for name in ("north", "east", "south", "west")]).pvalue > 0.001
    counts = Counter(instance.question("Y").answer for instance in instances)
    assert stats.binomtest(max(counts.values()), len(instances), 0.2, alternative="greater").pvalue > 0.001
    letters = Counter(question.answer for instance in instances for question in instance.by_unit["X1"])
    assert stats.chisquare([letters[letter] for letter in "ABCDEF"]).pvalue > 0.001


def test_an_instance_depends_on_seed_and_index_alone(pack: Pack) -> None:
    instance, media = map_navigation.draw(SEED, 2)
    assert instance.id == pack.instance_ids[2] == f"map_navigation-s{SEED}-0002"
    assert instance.model_dump_json() == pack.instance(instance.id).model_dump_json()
    assert media == {name: pack.medium(name).read_bytes() for name in instance.media}
    other, _ = map_navigation.draw(SEED + 1, 2)
    assert other.meta["junctions"] != instance.meta["junctions"]


# Knobs


@pytest.mark.parametrize(
    ("knobs", "named"),
    [
        ({"junctions": 4}, "junctions"),
        ({"most_blocks": 8}, "most_blocks"),
        ({"fewest_blocks": 5, "most_blocks": 3}, "fewest_blocks"),
        ({"fewest_closures": 3, "most_closures": 2}, "fewest_closures"),
        ({"places": 9.0}, "places"),
        ({"kinds": True}, "kinds"),
        ({"margin": float("nan")}, "margin"),
        ({"density": 0.8}, "density"),
    ],
)
def test_a_knob_out_of_range_is_refused_by_name(knobs: dict[str, float], named: str) -> None:
    with pytest.raises(UsageError, match=named):
        map_navigation.Knobs(**knobs)  # type: ignore[arg-type]


def test_knobs_shape_the_map(tmp_path: Path) -> None:
    knobs = map_navigation.Knobs(
        junctions=7, fewest_blocks=6, most_blocks=6, fewest_closures=3, places=7, kinds=1, density=0.1
    )
    pack = write(tmp_path / "pack", 1, 1, knobs)
    instance = next(pack.instances())
    assert len(instance.by_unit["X2"]) == 6
    assert len(instance.by_unit["X1"]) == 5
    assert len(instance.meta["places"]) == 7
    assert truth_map_navigation.disagreements(pack.folder) == []


def test_a_map_that_cannot_be_is_given_up_with_what_to_ask_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dodiag.benchmarks.cadet.map_town.ATTEMPTS", 3)
    knobs = map_navigation.Knobs(junctions=5, fewest_blocks=7, most_blocks=7, margin=0.4, missing=0.3)
    with pytest.raises(DodiagError, match="shorter ways"):
        map_navigation.draw(0, 0, knobs)
