"""The dice set: its truth by another method, its texts, and packs that need no judge."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dodiag.benchmarks.ccrv.data import X_KEYS, Y_IDS, ItemKey
from dodiag.benchmarks.ccrv.dice import LEAST_GAP, dice_set, scene_graph, shown_after
from dodiag.benchmarks.ccrv.dice_packs import export_dice_ladder, export_dice_levels
from dodiag.benchmarks.ccrv.dice_push import CLEAR, short_name, way
from dodiag.benchmarks.ccrv.inspection import counts, inspect, reference_complies
from dodiag.benchmarks.ccrv.loader import dataset_of, written
from dodiag.benchmarks.ccrv.packs import export_items, export_ladder
from dodiag.benchmarks.ccrv.scene import focus
from dodiag.benchmarks.ccrv.views import LADDERS, VIEWS, view_graph
from dodiag.benchmarks.samples import sample_packs
from dodiag.problems import UsageError
from dodiag.scm.pack import correct_answer, load_pack, spec_of

PACK = load_pack(sample_packs()["dice_sum"])
SET = dice_set(PACK)


def square(x, y, size, angle):
    turned = np.array(((np.cos(angle), -np.sin(angle)), (np.sin(angle), np.cos(angle))))
    return np.array(((-1, -1), (1, -1), (1, 1), (-1, 1))) @ turned.T * size / 2 + (x, y)


def apart(first, second):
    """Whether two convex outlines are apart, by the separating axes of their edges."""
    for outline in (first, second):
        for corner, following in zip(outline, np.roll(outline, -1, axis=0), strict=True):
            normal = np.array((following[1] - corner[1], corner[0] - following[0]))
            a, b = first @ normal, second @ normal
            if a.max() < b.min() or b.max() < a.min():
                return True
    return False


@given(st.floats(20, 60), st.floats(-25, 25), st.floats(0, 1.6), st.floats(0, 1.6), st.floats(0, 6.28))
def test_a_slide_touches_where_separating_axes_say_so(x, y, first_angle, second_angle, direction):
    along = np.array((np.cos(direction), np.sin(direction)))
    across = np.array((-along[1], along[0]))
    first, second = square(0, 0, 16, first_angle), square(*(x * along + y * across), 12, second_angle)
    overlap, distance = way(first, second, along)
    if overlap > 0.01:
        assert apart(first + (distance - 0.01) * along, second)
        assert not apart(first + (distance + 0.01) * along, second)
    elif overlap < -0.01:
        assert all(apart(first + step * along, second) for step in np.arange(0, 100, 0.5))


def outline(points):
    """Return the corners of a hull of eight projected vertices, in order around its centre."""
    unique = np.unique(points.round(3), axis=0)
    centre = unique.mean(axis=0)
    far = [p for p in unique if np.hypot(*(p - centre)) > 0.9 * np.hypot(*(unique - centre).T).max()]
    return np.array(sorted(far, key=lambda p: np.arctan2(*(p - centre))))


@pytest.mark.parametrize("scenario", SET.scenarios, ids=lambda s: f"{s.image_id}-{s.push.direction}")
def test_the_truth_of_a_slide_is_found_by_sliding_in_small_steps(scenario):
    push = scenario.push
    azimuth = np.radians(scenario.instance.meta["camera"]["azimuth"])
    along = np.array((np.sin(azimuth), -np.cos(azimuth))) * (1 if push.direction == "right" else -1)

    outlines = {die.object_id: outline(die.outline) for die in scenario.dice}
    reach = max(die.edge for die in scenario.dice) * 1.5

    def touched(moved, dice):
        at = outlines[moved.object_id]
        for step in np.arange(0, 250, 1.0):
            here = at + step * along
            near = [d for d in dice if np.hypot(*(here.mean(0) - outlines[d.object_id].mean(0))) < reach]
            hit = [die for die in near if not apart(here, outlines[die.object_id])]
            if hit:
                return hit, step
        return [], None

    others = [die for die in scenario.dice if die is not push.moved]
    hit, step = touched(push.moved, others)
    assert hit == [push.first]
    assert step == pytest.approx(push.gap * push.moved.edge, abs=1.01)
    assert touched(push.moved, [die for die in others if die is not push.first])[0] == [push.second]
    for rival in others:
        if rival is not push.first:
            hit, _ = touched(rival, [die for die in scenario.dice if die is not rival])
            assert push.first not in hit


def test_a_slide_meets_a_die_by_a_good_part_of_its_edge_and_goes_a_visible_way():
    for scenario in SET.scenarios:
        push = scenario.push
        azimuth = np.radians(scenario.instance.meta["camera"]["azimuth"])
        along = np.array((np.sin(azimuth), -np.cos(azimuth))) * (1 if push.direction == "right" else -1)
        for die in (push.first, push.second):
            assert way(push.moved.outline, die.outline, along)[0] >= CLEAR * min(push.moved.edge, die.edge)
        assert push.gap >= LEAST_GAP


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("red die", "red die"),
        ("right one of the two white dice", "right white die"),
        ("middle one of the three black dice", "middle black die"),
        ("leftmost of the three red dice", "leftmost red die"),
    ],
)
def test_names_are_short(name, short):
    assert short_name(name) == short


def test_the_set_passes_its_own_checks_and_every_reference_its_own_constraint():
    assert SET.rejections == ()
    assert (len(SET.dataset.images), len(SET.scenarios)) == (7, 10)
    found = [(v.family, reference_complies(v)) for _, v in SET.dataset.variants()]
    assert all(found.count((y, None if y == "Y3" else 1)) == 40 for y in Y_IDS)
    assert set(counts(inspect(SET.dataset))) <= {"question_count", "same_target"}
    assert dataset_of(SET.dataset.document, "again").images == SET.dataset.images
    assert written(SET.dataset) == written(dice_set(PACK).dataset)


def test_references_say_what_the_scene_says():
    for scenario in SET.scenarios:
        push = scenario.push
        items = [SET.dataset.by_key[ItemKey(scenario.image_id, x, scenario.q_idx)] for x in X_KEYS]
        named = [push.first.name, str(shown_after(push.first)), push.moved.name, push.second.name]
        for item, expected in zip(items, named, strict=True):
            assert expected in item.ground_truth_answer
            assert item.variants["Y3"].spec.false_premise != item.ground_truth_answer
            pointed = focus(scene_graph(scenario), item.target_object_id).pointed_at(item.key.x)
            assert pointed.object_id == item.variants["Y2"].spec.target_object_id
        pointed = [item.variants["Y2"].spec.target_object_id for item in items]
        asked = [push.first, push.first, push.moved, push.second]
        assert pointed == [die.object_id for die in asked]


def test_a_pack_of_another_task_is_refused(tmp_path):
    export_dice_levels(SET, tmp_path / "levels")
    with pytest.raises(UsageError, match="ccrv_levels"):
        dice_set(load_pack(tmp_path / "levels"))


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_is_a_task_graph_with_discovery_or_the_level_before_as_prerequisite(view):
    task = view_graph(view)
    parents = {unit: task.parents(unit) for unit in task.units}
    expected = {"items": {"E": (), "A": ("E",)}, "levels": {"L1": (), "L2": ("L1",), "L3": ("L2",)}}
    assert parents == expected.get(view, {"X1": (), LADDERS.get(view, "")[:2]: ("X1",)})


def test_views_have_names():
    with pytest.raises(UsageError, match="Did you mean 'levels'"):
        view_graph("level")


@pytest.mark.parametrize("view", list(LADDERS))
def test_ladder_packs_ask_each_slide_after_its_own_discovery(tmp_path, view):
    export_dice_ladder(SET, tmp_path / "pack", view)
    pack = load_pack(tmp_path / "pack")
    assert set(pack.questions_per_unit.values()) == {10}
    for instance in pack.instances():
        for question in instance.by_unit[pack.task.target]:
            assert question.requires == (f"X1-{question.id[-1]}",)


def test_level_packs_hold_the_truth_and_no_place_among_the_options_is_favoured(tmp_path):
    export_dice_levels(SET, tmp_path / "pack")
    pack = load_pack(tmp_path / "pack")
    assert pack.questions_per_unit == {"L1": 10, "L2": 10, "L3": 20}
    truths = {(s.instance.id, s.q_idx): s.push for s in SET.scenarios}
    places = []
    for instance in pack.instances():
        for question in instance.questions:
            push = truths[instance.id, int(question.id.split("-")[1])]
            letter = correct_answer(pack.task, question)
            chosen = question.choices[spec_of(pack.task, question).letters.index(letter)]
            given = push.moved.name if question.unit == "L2" or question.id.endswith("X4") else None
            assert f"the {given}" not in question.choices
            if question.unit == "L2":
                assert chosen == f"the {push.first.name}"
                places.append(letter)
            elif question.id.endswith("X4"):
                assert chosen == f"the {push.second.name}"
            elif question.id.endswith("X2"):
                assert int(chosen) == 7 - push.first.value
    assert len(set(places)) >= 3


def test_item_packs_inject_reference_rationale_or_symbols_and_false_premises(tmp_path):
    written_pack = export_items(SET.dataset, SET.pictures, tmp_path / "items")
    assert (written_pack.instances, written_pack.questions, written_pack.left_out) == (7, 400, ())
    pack = load_pack(tmp_path / "items")
    instance = next(iter(pack.instances()))
    item = SET.dataset.by_key[ItemKey(int(instance.id), X_KEYS[0], 0)]
    plain, symbols = instance.question("X1-0-Y4-E"), instance.question("X1-0-Y1-E")
    assert plain.answer == f"{item.ground_truth_answer} {item.rationale}"
    assert plain.incorrect == item.variants["Y3"].spec.false_premise
    assert symbols.answer == item.variants["Y1"].adapted_ground_truth
    assert instance.question("X1-0-base").requires == ("X1-0-base-E",)
    assert instance.question("X1-0-Y2").text.endswith(item.variants["Y2"].constrained_question)
    for secret in (item.rationale, item.ground_truth_answer, "target_bbox"):
        assert secret not in instance.question("X1-0-base").text


def test_what_lacks_a_false_premise_is_left_out_and_said(tmp_path):
    raw = dice_set(PACK).dataset.document
    for entry in raw[0]["questions"][X_KEYS[0]]:
        del entry["main_set_versions"][2]["constraint_spec"]["false_premise"]
    dataset = dataset_of(raw, "less")
    found = export_items(dataset, SET.pictures, tmp_path / "items")
    assert {entry.where for entry in found.left_out} == {"image 2, X1_discovery 0", "image 2, X1_discovery 1"}
    ladder = export_ladder(dataset, SET.pictures, tmp_path / "ladder", "prediction")
    assert (ladder.instances, [entry.where for entry in ladder.left_out]) == (6, ["image 2"])


def test_a_pack_is_never_written_over_something(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "file").write_text("x")
    with pytest.raises(UsageError, match="not empty"):
        export_dice_levels(SET, tmp_path / "there")
    with pytest.raises(UsageError, match="is a file"):
        export_dice_levels(SET, tmp_path / "there" / "file")
