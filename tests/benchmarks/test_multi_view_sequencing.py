"""The Multi-View Sequencing generator: its packs are sound, repeatable, and true to the encounter."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import street_packs
import truth_multi_view_sequencing as truth

from dodiag.benchmarks.cadet import multi_view_sequencing
from dodiag.benchmarks.cadet.multi_view_sequencing import Knobs, direction_of_time
from dodiag.benchmarks.cadet.multi_view_sequencing_scene import (
    ENCOUNTERS,
    MEETS,
    MIN_GAP,
    OVERTAKEN,
    OVERTAKES,
    STANDS,
    Encounter,
    _shown_third,
    encounter,
)
from dodiag.benchmarks.cadet.street.asking import NoScene, Rejected
from dodiag.benchmarks.cadet.street.scene import View
from dodiag.benchmarks.cadet.street.state import KINDS, Building
from dodiag.problems import UsageError
from dodiag.scm.files import load_task
from dodiag.scm.pack import Pack

INSTANCES, SEED = 3, 13


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    return street_packs.write(
        multi_view_sequencing, tmp_path_factory.mktemp("sequencing") / "pack", SEED, range(INSTANCES)
    )


def one(what: str, kind: str = "car", seed: int = 0) -> Encounter:
    rng = np.random.default_rng(seed)
    for _ in range(60_000):
        try:
            return encounter(rng, what, kind, 5, 4)
        except Rejected:
            continue
    raise AssertionError("no encounter")


def test_a_pack_has_the_papers_questions_per_instance(pack: Pack) -> None:
    wanted = {"X1": 5, "X2": 9, "X3": 10, "X4": 1, "X5": 1, "Y": 1}
    assert pack.questions_per_unit == {unit: count * INSTANCES for unit, count in wanted.items()}
    published = load_task("multi_view_sequencing").published["questions"]
    assert published == {unit: count * multi_view_sequencing.INSTANCES for unit, count in wanted.items()}


def test_a_pack_is_sound(pack: Pack) -> None:
    street_packs.has_the_shipped_graph(pack, SEED)
    street_packs.requires_only_prerequisites(pack)
    street_packs.annotates_inside_the_pictures(pack)
    assert pack.task.units["Y"].answer.length == 5


def test_reading_the_truth_solves_every_unit(pack: Pack) -> None:
    street_packs.is_solved_by_its_truth(pack)


def test_the_same_seed_and_index_give_the_same_bytes(pack: Pack) -> None:
    street_packs.is_drawn_again_alike(multi_view_sequencing, pack, SEED, 1)


def test_answers_follow_from_the_encounter(pack: Pack) -> None:
    assert truth.disagreements(pack.folder) == []


@pytest.mark.parametrize("unit", ["X1", "X2", "X3", "X4", "X5", "Y"])
def test_a_wrong_answer_would_be_found(pack: Pack, tmp_path: Path, unit: str) -> None:
    assert truth.disagreements(street_packs.spoilt(pack, tmp_path / "spoilt", unit)) != []


def test_the_camera_of_picture_a_is_told_and_not_asked(pack: Pack) -> None:
    for instance in pack.instances():
        camera = instance.meta["cameras"][instance.meta["order"][0]]
        assert all(f"Picture A was taken by the {camera} camera." in question.text for question in instance.questions)
        assert "X2-camera-A" not in {question.id for question in instance.questions}


# Encounters


@pytest.mark.parametrize("what", sorted(set(ENCOUNTERS)))
@pytest.mark.parametrize("kind", KINDS)
def test_an_encounter_is_what_it_is_called(what: str, kind: str) -> None:
    found = one(what, kind)
    ahead = [found.reference(moment).x - found.egos[moment][0] for moment in range(5)]
    falls = [before - after for before, after in pairwise(ahead)]
    assert all(abs(fall) >= MIN_GAP - 0.01 for fall in falls)
    assert all(fall < 0 for fall in falls) == (what == OVERTAKES)
    way = found.reference(4).x - found.reference(0).x
    assert {STANDS: way == 0, MEETS: way < 0, OVERTAKES: way > 0, OVERTAKEN: way > 0}[what]
    assert all(after > before for before, after in pairwise([x for x, _ in found.egos]))
    assert len(set(found.cameras)) >= 3


def test_a_reference_that_stands_is_parked_clear_of_junctions() -> None:
    for seed in range(6):
        found = one(STANDS, seed=seed)
        place = found.reference(0)
        assert abs(place.y) == pytest.approx(abs(found.layout.parking_lane()))
        assert all(abs(street.x - place.x) >= 16 for street in found.layout.streets)


def test_a_mirror_swaps_left_and_right_and_nothing_else() -> None:
    found = one(MEETS)
    other = found.mirrored()
    assert other.mirrored() == found
    for moment in range(5):
        assert other.distance(moment) == pytest.approx(found.distance(moment))
        assert other.cameras[moment] == found.cameras[moment].replace("left", "RIGHT").replace("right", "left").lower()
        corner = np.array((found.reference(moment).x, found.reference(moment).y, 1.0))
        across, down = found.camera(moment).project(corner)
        assert other.camera(moment).project(corner * (1, -1, 1)) == pytest.approx((640 - across, down))
    assert View(9, 9, (10, 20, 110, 60)).mirrored(640).box == (530, 20, 630, 60)


def test_half_of_the_instances_keep_to_the_left(pack: Pack) -> None:
    """An oncoming or an overtaking vehicle, and the ego vehicle's own lane, tell on which side traffic keeps."""
    sides = [instance.meta["egos"][0][1] > 0 for instance in pack.instances()]
    assert set(sides) == {True, False}


def test_the_reference_is_not_mostly_in_the_middle_third() -> None:
    found = [one(what, seed=seed) for what in (STANDS, MEETS, OVERTAKEN) for seed in range(10)]
    middle = [_shown_third(encounter, moment) == 1 for encounter in found for moment in range(5)]
    # Without the thinning it is 0.54; 30 encounters of 5 pictures have a standard error of 0.04.
    assert np.mean(middle) < 0.5


# The direction of time


def test_a_house_tells_the_direction_of_time_if_it_falls_back_and_has_no_double() -> None:
    found = one(STANDS)
    houses = (
        Building("one", "cream", 0, 20, 10, 10, 10, style=1),
        Building("two", "grey", 10, 20, 10, 10, 10, style=1),
        Building("three", "grey", 40, 20, 10, 10, 10, style=1),
    )
    found = replace(found, layout=replace(found.layout, buildings=houses))
    seen = [{"one": 40.0}, {"one": 58.0}, {"one": 60.0}, {}, {}]
    evidence = direction_of_time(found, seen)
    assert evidence is not None
    assert (evidence.house, evidence.moments) == ("one", (0, 2))
    assert direction_of_time(found, [{"one": 40.0}, {"one": 45.0}, {}, {}, {}]) is None, "it hardly turns"
    assert direction_of_time(found, [{"two": 40.0}, {"two": 80.0}, {"three": 30.0}, {}, {}]) is None, "it has a double"
    assert direction_of_time(found, [{"one": -40.0}, {"one": -80.0}, {}, {}, {}]) is not None, "on the right as well"


# What goes wrong


@pytest.mark.parametrize(("knob", "value"), [("frames", 2), ("frames", 7), ("traffic", -1), ("traffic", 13)])
def test_a_knob_out_of_range_is_named(knob: str, value: int) -> None:
    with pytest.raises(UsageError, match=f"knob {knob}"):
        Knobs(**{knob: value})


def test_a_search_that_finds_nothing_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multi_view_sequencing, "MAX_ENCOUNTERS", 0)
    with pytest.raises(NoScene, match="van well"):
        multi_view_sequencing.find(np.random.default_rng(0), MEETS, "van", Knobs())
