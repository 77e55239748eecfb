"""The Surround Localization generator: its packs are sound, repeatable, and true to where things stand."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import street_packs
import truth_surround_localization as truth
from hypothesis import given, settings
from hypothesis import strategies as st

from dodiag.benchmarks.cadet import surround_localization
from dodiag.benchmarks.cadet.street.asking import NoScene, Rejected
from dodiag.benchmarks.cadet.street.cameras import RING
from dodiag.benchmarks.cadet.street.scene import View
from dodiag.benchmarks.cadet.street.state import Vehicle
from dodiag.benchmarks.cadet.surround_localization_scene import (
    Interval,
    hour_margin,
    hour_of,
    interval,
    surroundings,
    wrapped,
)
from dodiag.problems import UsageError
from dodiag.scm.files import load_task
from dodiag.scm.pack import Pack

INSTANCES, SEED = 3, 11


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    return street_packs.write(
        surround_localization, tmp_path_factory.mktemp("surround") / "pack", SEED, range(INSTANCES)
    )


def test_a_pack_has_the_papers_questions_per_instance(pack: Pack) -> None:
    wanted = {"X1": 7, "X2": 8, "X3": 14, "X4": 1, "X5": 1, "Y": 1}
    assert pack.questions_per_unit == {unit: count * INSTANCES for unit, count in wanted.items()}
    published = load_task("surround_localization").published["questions"]
    assert published == {unit: count * surround_localization.INSTANCES for unit, count in wanted.items()}


def test_a_pack_is_sound(pack: Pack) -> None:
    street_packs.has_the_shipped_graph(pack, SEED)
    street_packs.requires_only_prerequisites(pack)
    street_packs.annotates_inside_the_pictures(pack)
    assert (pack.task.units["Y"].answer.min, pack.task.units["Y"].answer.max) == (1, 12)
    assert pack.instance_ids == tuple(f"surround_localization-s{SEED}-{index:04d}" for index in range(INSTANCES))


def test_reading_the_truth_solves_every_unit(pack: Pack) -> None:
    street_packs.is_solved_by_its_truth(pack)


def test_the_same_seed_and_index_give_the_same_bytes(pack: Pack) -> None:
    street_packs.is_drawn_again_alike(surround_localization, pack, SEED, 2)


def test_answers_follow_from_where_things_stand(pack: Pack) -> None:
    assert truth.disagreements(pack.folder) == []


@pytest.mark.parametrize("unit", ["X1", "X2", "X3", "X4", "X5", "Y"])
def test_a_wrong_answer_would_be_found(pack: Pack, tmp_path: Path, unit: str) -> None:
    assert truth.disagreements(street_packs.spoilt(pack, tmp_path / "spoilt", unit)) != []


def test_every_camera_has_one_picture_and_the_target_is_whole_in_just_one(pack: Pack) -> None:
    for instance in pack.instances():
        assert sorted(instance.meta["cameras"]) == sorted(RING)
        target = instance.meta["target"]
        shares = sorted(seen[target][1] for seen in instance.meta["seen"] if target in seen)
        assert shares[-1] >= 0.85
        assert len(shares) == 1 or shares[-2] <= 0.7


def test_options_are_things_of_the_scene_and_the_target_is_one_unless_it_is_seen_in_part(pack: Pack) -> None:
    for instance in pack.instances():
        names = {thing["name"] for thing in instance.meta["things"]}
        target = next(thing["name"] for thing in instance.meta["things"] if thing["id"] == instance.meta["target"])
        for question in instance.by_unit["X1"]:
            assert set(question.choices or ()) <= names
            part = instance.meta["seen"][int(question.id[-1]) - 1].get(instance.meta["target"])
            assert (target in (question.choices or ())) == (part is None or part[1] >= 0.85)


# The clock and the ring


@settings(max_examples=100, deadline=None)
@given(st.floats(-720, 720))
def test_an_hour_is_the_nearest_of_twelve(bearing: float) -> None:
    hour = hour_of(bearing)
    off = abs(wrapped(bearing + 30 * hour))
    assert 1 <= hour <= 12
    assert off <= 15 + 1e-9
    assert hour_margin(bearing) == pytest.approx(15 - off)


@pytest.mark.parametrize(("x", "y", "hour"), [(10, 0, 12), (0, -10, 3), (-10, 0, 6), (0, 10, 9), (10, 5.8, 11)])
def test_hours_run_clockwise_from_ahead(x: float, y: float, hour: int) -> None:
    thing = Vehicle("a", "motorcycle", "red", x, y, 0)
    assert hour_of(interval(thing, (0, 0, 0)).middle) == hour
    turned = Vehicle("a", "motorcycle", "red", -y, x, 0)
    assert hour_of(interval(turned, (0, 0, 90)).middle) == hour, "the clock turns with the ego vehicle"


def test_things_before_one_another_overlap_across_the_rear_too() -> None:
    left, right = Interval(176, 181, 178, 9), Interval(-180, -175, -178, 12)
    assert left.overlaps(right)
    assert not Interval(150, 160, 155, 9).overlaps(right)
    assert Interval(118, 124, 121, 9).inside("side left")
    assert not Interval(121, 127, 124, 9).inside("rear left")


def test_a_target_stands_on_the_wanted_hour_clear_of_its_borders() -> None:
    found = Counter[int]()
    rng = np.random.default_rng(3)
    while found.total() < 8:
        hour = (12, 3, 6, 9, 11, 5, 7, 10)[found.total()]
        try:
            place = surroundings(rng, hour, "pedestrian", 5.0, 1)
        except Rejected:
            continue
        seen = interval(place.snapshot[place.target], place.ego)
        assert hour_of(seen.middle) == hour
        assert hour_margin(seen.middle) >= 5
        assert sum(seen.inside(camera) for camera in RING) == 1
        found[hour] += 1
    assert len(found) == 8


def test_only_what_is_seen_well_is_said_to_be_there() -> None:
    assert surround_localization.clear(View(300, 400, (0, 0, 20, 20)))
    assert not surround_localization.clear(View(300, 900, (0, 0, 20, 20))), "hidden"
    assert not surround_localization.clear(View(100, 100, (0, 0, 10, 10))), "small"


# What goes wrong


@pytest.mark.parametrize(("knob", "value"), [("margin", 1.0), ("margin", 11.0), ("extra", -1), ("extra", 9)])
def test_a_knob_out_of_range_is_named(knob: str, value: float) -> None:
    with pytest.raises(UsageError, match=f"knob {knob}"):
        surround_localization.Knobs(**{knob: value})  # type: ignore[arg-type]


def test_a_search_that_finds_nothing_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surround_localization, "MAX_STREETS", 0)
    with pytest.raises(NoScene, match="car at 3 o'clock"):
        surround_localization.find(np.random.default_rng(0), 3, "car", surround_localization.Knobs())
