"""The Street-View Ordering generator: its packs are sound, repeatable, and true to the drive."""

from __future__ import annotations

from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest
import street_packs
import truth_street_view_ordering as truth
from hypothesis import given, settings
from hypothesis import strategies as st

from dodiag.benchmarks.cadet import street_view_ordering
from dodiag.benchmarks.cadet.street.asking import NoScene, Rejected
from dodiag.benchmarks.cadet.street_view_ordering import Knobs
from dodiag.benchmarks.cadet.street_view_ordering_points import CLEARANCE, decoys, options
from dodiag.benchmarks.cadet.street_view_ordering_scene import MIN_RATIO, MOTIONS, REFERENCE_KINDS, furnish, route
from dodiag.problems import UsageError
from dodiag.scm.files import load_task
from dodiag.scm.pack import Pack

INSTANCES, SEED = 3, 12


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    return street_packs.write(
        street_view_ordering, tmp_path_factory.mktemp("ordering") / "pack", SEED, range(INSTANCES)
    )


def test_a_pack_has_the_papers_questions_per_instance_as_near_as_clear_pairs_allow(pack: Pack) -> None:
    counts = dict(pack.questions_per_unit)
    assert counts.pop("X4") <= 10 * INSTANCES
    wanted = {"X1": 5, "X2": 10, "X3": 10, "X5": 1, "Y": 1}
    assert counts == {unit: count * INSTANCES for unit, count in wanted.items()}
    published = load_task("street_view_ordering").published["questions"]
    for unit in ("X1", "X3", "X5", "Y"):
        assert published[unit] == wanted[unit] * street_view_ordering.INSTANCES


def test_a_pack_is_sound(pack: Pack) -> None:
    street_packs.has_the_shipped_graph(pack, SEED)
    street_packs.requires_only_prerequisites(pack)
    street_packs.annotates_inside_the_pictures(pack)
    assert pack.task.units["Y"].answer.length == 5


def test_reading_the_truth_solves_every_unit(pack: Pack) -> None:
    street_packs.is_solved_by_its_truth(pack)


def test_the_same_seed_and_index_give_the_same_bytes(pack: Pack) -> None:
    street_packs.is_drawn_again_alike(street_view_ordering, pack, SEED, 1)


def test_answers_follow_from_the_drive(pack: Pack) -> None:
    assert truth.disagreements(pack.folder) == []


@pytest.mark.parametrize("unit", ["X1", "X2", "X3", "X4", "X5", "Y"])
def test_a_wrong_answer_would_be_found(pack: Pack, tmp_path: Path, unit: str) -> None:
    assert truth.disagreements(street_packs.spoilt(pack, tmp_path / "spoilt", unit)) != []


def test_a_distance_comparison_requires_the_places_and_sizes_of_its_own_pair(pack: Pack) -> None:
    for instance in pack.instances():
        for question in instance.by_unit["X3"]:
            one, two = question.id[-2:]
            assert question.requires == (f"X1-{one}", f"X1-{two}", f"X2-{one}{two}")


def test_other_numbers_of_pictures_are_asked_about_in_all_pairs() -> None:
    street_packs.need_renderer()
    instance, media = street_view_ordering.draw(SEED, 1, Knobs(frames=3))
    assert len(media) == 3
    assert [question.id for question in instance.by_unit["X2"]] == ["X2-AB", "X2-AC", "X2-BC"]
    assert street_view_ordering.task(knobs=Knobs(frames=3)).units["Y"].answer.length == 3


# Drives


@pytest.mark.parametrize("motion", MOTIONS)
@pytest.mark.parametrize("kind", REFERENCE_KINDS)
def test_the_reference_moves_as_it_is_told_to(motion: str, kind: str) -> None:
    rng = np.random.default_rng(1)
    for _ in range(40):
        try:
            found = furnish(rng, route(rng, motion, kind, 5, 1.0), 4)
        except Rejected:
            continue
        first, last = found.snapshots[0][found.reference], found.snapshots[-1][found.reference]
        dx, dy = last.x - first.x, last.y - first.y
        if motion == "stands":
            assert (dx, dy) == (0, 0)
        elif motion == "crosses":
            assert abs(dy) > 2
            assert dx == 0
        else:
            assert (dx > 1) == (motion == "same direction")
            assert dy == 0
        if motion != "stands":
            way = np.radians(first.heading)
            assert dx * np.cos(way) + dy * np.sin(way) == pytest.approx(np.hypot(dx, dy)), "nobody goes backwards"
        names = [thing.name for thing in found.snapshots[0]]
        assert len(set(names)) == len(names), "everything has a name of its own"
        return
    pytest.fail("no drive in 40")


def test_the_ego_vehicle_goes_forwards(pack: Pack) -> None:
    for instance in pack.instances():
        places = [x for x, _ in instance.meta["egos"]]
        assert all(after - before >= 3.2 for before, after in pairwise(places))


def test_sizes_are_apart_in_every_pair(pack: Pack) -> None:
    for instance in pack.instances():
        heights = sorted(bottom - top for _, _, _, top, _, bottom in instance.meta["seen"])
        assert all(after >= MIN_RATIO * before for before, after in pairwise(heights))


# Points


@settings(max_examples=60, deadline=None)
@given(
    x=st.integers(40, 600),
    y=st.integers(170, 260),
    half=st.integers(4, 50),
    seed=st.integers(0, 2**31),
)
def test_just_one_point_is_on_the_reference(x: int, y: int, half: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    box = (max(0, x - half), y - half, min(640, x + half), y + half)
    points, right = options((x, y), box, decoys(rng), rng)
    assert points[right] == (x, y)
    assert len(set(points)) == 4
    for place, (column, row) in enumerate(points):
        assert 0 <= column < 640
        assert 0 <= row < 400
        off = max(box[0] - column, column - box[2], box[1] - row, row - box[3])
        assert place == right or off >= CLEARANCE
    for first, second in combinations(points, 2):
        assert np.hypot(first[0] - second[0], first[1] - second[1]) >= CLEARANCE


# What goes wrong


@pytest.mark.parametrize(
    ("knob", "value"), [("frames", 2), ("frames", 8), ("pace", 0.7), ("pace", 1.7), ("traffic", -1), ("traffic", 13)]
)
def test_a_knob_out_of_range_is_named(knob: str, value: float) -> None:
    with pytest.raises(UsageError, match=f"knob {knob}"):
        Knobs(**{knob: value})  # type: ignore[arg-type]


def test_a_search_that_finds_nothing_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(street_view_ordering, "MAX_DRIVES", 0)
    with pytest.raises(NoScene, match="bus that crosses"):
        street_view_ordering.find(np.random.default_rng(0), "crosses", "bus", Knobs())
