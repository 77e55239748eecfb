"""Chains over dice: truth found again from text and scene, labels, position, what can be told without the picture."""

import importlib.util
import re
from collections import Counter

import numpy as np
import pytest
from chain_truth import BECAUSE, CONDITION, TOTAL, scene_of, violations
from mmcot_sets import image_entry

import dodiag
from dodiag.benchmarks.ccrv.dice_push import table_dice
from dodiag.benchmarks.mmcot import generator
from dodiag.benchmarks.mmcot.dice_chains import Recipe, draw_options
from dodiag.benchmarks.mmcot.dice_items import dice_items
from dodiag.benchmarks.mmcot.dice_questions import META, chain_instance, export_chains
from dodiag.benchmarks.mmcot.inspection import inspect
from dodiag.benchmarks.mmcot.loader import image_set
from dodiag.benchmarks.mmcot.taxonomy import LOGICAL_TYPES, VISUAL_TYPES, Axis, DistractorType
from dodiag.benchmarks.samples import sample_packs
from dodiag.evaluations.mmcot_axes import axes_of_run
from dodiag.problems import UsageError
from dodiag.runners.adapters.function import FunctionAdapter
from dodiag.scm.pack import load_pack

SCENES = tuple(load_pack(sample_packs()["dice_sum"]).instances())
LARGE = [scene for scene in SCENES if len(scene.meta["dice"]) >= 7]
RECIPES = [Recipe(), Recipe(2, 2, poses=True), Recipe(3, 0), Recipe(0, 3), Recipe(1, 1), Recipe(4, 1), Recipe(1, 4)]


def made(recipe, seeds, scenes=LARGE):
    for seed in range(seeds):
        for scene in scenes:
            instance = chain_instance(scene, "i", recipe, np.random.default_rng(seed))
            if instance is not None:
                yield instance


@pytest.mark.parametrize("recipe", RECIPES, ids=str)
def test_the_right_chain_violates_nothing_and_a_distractor_what_its_label_says(recipe):
    found = list(made(recipe, 4))
    assert len(found) >= 12
    for instance in found:
        scene = scene_of(instance.meta)
        question = instance.question("T")
        types = instance.meta[META]["types"]
        assert [letter for letter, kind in types.items() if kind is None] == [question.answer]
        assert len(set(question.choices)) == len(question.choices) == recipe.needed
        axes = Counter(DistractorType(kind).axis for kind in types.values() if kind is not None)
        assert (axes[Axis.VISUAL], axes[Axis.LOGICAL]) == (recipe.visual, recipe.logical)
        for text, kind in zip(question.choices, types.values(), strict=True):
            visual, logical = violations(text, scene)
            assert visual | logical == ({kind} if kind else set()), text
            assert not (visual and logical)


def test_every_step_of_the_right_chain_has_its_answer():
    for instance in made(Recipe(), 2):
        scene = scene_of(instance.meta)
        asked = {question.id: question for question in instance.questions}
        name, other = re.search(r"The (.+ die) is turned.* it and the (.+ die) show", asked["C"].text).groups()
        assert asked["B"].answer == 7 - scene[name][0]
        assert asked["C"].answer == 7 - scene[name][0] + scene[other][0]
        right = asked["A"].choices["ABCD".index(asked["A"].answer)]
        assert right.startswith(f"The {name} lies ")
        assert right.endswith(f" and shows {scene[name][0]}.")
        assert f"The {name}" in asked["T"].choices["ABCDE".index(asked["T"].answer)]


def test_options_tell_nothing_about_each_other():
    """A die that is turned stands in no other option, and no die is said to show two numbers."""
    for instance in made(Recipe(), 12):
        texts = instance.question("T").choices
        subjects = [re.search(r"The ([a-z ]+ die)[a-z ,]* lies ", text)[1] for text in texts]
        for subject, text in zip(subjects, texts, strict=True):
            assert not any(re.search(rf"\b{subject}\b", other) for other in texts if other is not text)
        said = {}
        for text in texts:
            for form, name, number in ((CONDITION, 1, 5), (TOTAL, 2, 3), (BECAUSE, 3, 4)):
                if (found := form.search(text)) is not None:
                    said.setdefault(found[name], set()).add(found[number])
        assert len(said) > 5
        assert all(len(numbers) == 1 for numbers in said.values()), said


def test_every_place_and_every_type_comes_up_and_no_place_is_favoured():
    places, kinds = Counter(), Counter()
    for instance in made(Recipe(poses=True), 60):
        types = instance.meta[META]["types"]
        places[instance.question("T").answer] += 1
        kinds.update(kind for kind in types.values() if kind)
    assert set(kinds) == {kind.value for kind in (*VISUAL_TYPES, *LOGICAL_TYPES)}
    n = places.total()
    deviation = 4.5 * (n * 0.2 * 0.8) ** 0.5
    assert all(abs(places[letter] - n / 5) <= deviation for letter in "ABCDE")


def test_without_poses_there_is_no_action_misperception():
    for instance in made(Recipe(4, 0), 3):
        assert DistractorType.ACTION_MISPERCEPTION.value not in instance.meta[META]["types"].values()


BLIND = [
    ("fewest letters", lambda texts: min(texts, key=len)),
    ("smallest number said", lambda texts: min(texts, key=lambda text: int(re.search(r"shows (\d), and", text)[1]))),
    ("largest total", lambda texts: max(texts, key=lambda text: int(re.search(r"make (\d+)", text)[1]))),
    ("most named reference", lambda texts: max(texts, key=lambda text: sum(reference(text) in t for t in texts))),
    ("plainest name", lambda texts: min(texts, key=lambda text: len(re.search(r"The ([a-z ]+) die", text)[1]))),
]


def reference(text):
    return re.search(r"than the ([a-z ]+ die)", text)[1]


@pytest.mark.parametrize(("name", "rule"), BLIND, ids=[name for name, _ in BLIND])
def test_simple_rules_without_the_picture_do_not_find_the_right_chain(name, rule):
    """Among the right chain and the visual distractors; the logical ones are meant to be told by reading."""
    hits = n = 0
    for instance in made(Recipe(2, 2), 40):
        question = instance.question("T")
        kept = [
            text
            for text, kind in zip(question.choices, instance.meta[META]["types"].values(), strict=True)
            if kind is None or DistractorType(kind).axis is Axis.VISUAL
        ]
        right = question.choices["ABCDE".index(question.answer)]
        hits += rule(kept) == right
        n += 1
    # Scenes repeat, so the band is that of a sample a quarter as large.
    assert abs(hits / n - 1 / 3) <= 4 * (2 / 9 / (n / 4)) ** 0.5, hits / n


def test_too_few_dice_allow_no_options():
    small = next(scene for scene in SCENES if len(scene.meta["dice"]) == 4)
    assert draw_options(table_dice(small), Recipe(), np.random.default_rng(0)) is None


@pytest.mark.parametrize(("visual", "logical"), [(0, 0), (-1, 2), (5, 4)])
def test_a_recipe_out_of_range_is_refused(visual, logical):
    with pytest.raises(UsageError):
        Recipe(visual, logical)


@pytest.mark.parametrize("knobs", [{"fewest": 5}, {"most": 10}, {"visual": 6}, {"fewest": 8, "most": 7}])
def test_knobs_that_leave_too_few_dice_are_refused(knobs):
    with pytest.raises(UsageError):
        generator.Knobs(**knobs)


def test_a_pack_of_another_task_or_without_facts_is_refused(tmp_path):
    pack = load_pack(sample_packs()["dice_sum"])
    with pytest.raises(UsageError, match="no scene"):
        export_chains(pack, tmp_path / "x", Recipe(4, 4))
    bare = SCENES[0].model_copy(update={"meta": {}})
    with pytest.raises(UsageError, match="does not say where"):
        chain_instance(bare, "i", Recipe(), np.random.default_rng(0))


@pytest.fixture(scope="module")
def chains(tmp_path_factory):
    out = tmp_path_factory.mktemp("chains") / "pack"
    written = export_chains(load_pack(sample_packs()["dice_sum"]), out, Recipe())
    assert written.instances + len(written.left_out) == 24
    return load_pack(out)


def test_the_same_seed_gives_the_same_pack(tmp_path, chains):
    export_chains(load_pack(sample_packs()["dice_sum"]), tmp_path / "again", Recipe())
    export_chains(load_pack(sample_packs()["dice_sum"]), tmp_path / "other", Recipe(), seed=1)
    assert load_pack(tmp_path / "again").digest == chains.digest
    assert load_pack(tmp_path / "other").digest != chains.digest


def reader(chains, axis):
    """Return a model that rejects every distractor of one axis and takes the first one of the other, if it can."""
    labels = {}
    for instance in chains.instances():
        types = instance.meta[META]["types"]
        wanted = [letter for letter, kind in types.items() if kind and DistractorType(kind).axis is not axis]
        labels[instance.question("T").choices] = wanted[0]

    def said(request):
        for choices, letter in labels.items():
            if all(choice in request.prompt.text for choice in choices):
                return letter
        return "A"

    return FunctionAdapter(said, name=f"rejects-{axis}")


@pytest.mark.parametrize("axis", list(Axis))
def test_two_models_with_one_accuracy_and_opposite_failures_are_told_apart(tmp_path, chains, axis):
    out = tmp_path / "run"
    dodiag.run(chains, reader(chains, axis), out, quick=True)
    rows = {row.axis: row for row in axes_of_run(out).rows}
    other = Axis.LOGICAL if axis is Axis.VISUAL else Axis.VISUAL
    n = chains.instance_count
    assert (rows[axis].failed, rows[other].failed, rows[axis].right) == (0, n, 0)
    assert (rows[axis].shown.value, rows[axis].possible.value) == (0.0, 1.0)
    assert (rows[other].shown.value, rows[other].possible.value) == (1.0, 1.0)


def test_steps_of_the_chain_have_scores_of_the_common_planner(tmp_path, chains):
    out = tmp_path / "run"
    dodiag.run(chains, "sim:default", out, limit=4)
    table = dodiag.outcomes(out)
    assert {score.prerequisite for score in dodiag.contributions(table, chains.task)} == {"A", "B", "C"}
    assert {(row.unit) for row in dodiag.capabilities(table, chains.task)} == {"A", "B", "C", "T"}


def test_items_in_the_released_format_are_complete_labelled_and_true():
    entries = list(dice_items(load_pack(sample_packs()["dice_sum"]), 5))
    dataset = image_set(entries, "dice")
    assert len(entries) >= 20
    assert {finding.kind for finding in inspect(dataset)} == {"size_differs"}
    assert set(entries[0]) == {*image_entry(), "distractor_type"}
    scenes = {scene.media[0]: scene_of(scene.meta) for scene in SCENES}
    for item in dataset.items:
        scene = scenes[item.path.removeprefix("./")]
        total = sum(value for value, _, _ in scene.values())
        assert item.complete
        assert len(item.types) == 6
        for slot, (step, outcome) in item.links.items():
            name = re.match(r"The (.+ die) is turned", item.conditions[slot])[1]
            turned = 7 - scene[name][0]
            assert re.fullmatch(rf"It then shows {turned} pips? on top\.", item.steps[step])
            assert item.outcomes[outcome] == f"All dice together then show {total - scene[name][0] + turned} pips."
        values = {scene[re.match(r"The (.+ die) is", text)[1]][0] for text in item.conditions.values()}
        for label, kind in item.types.items():
            number = int(re.search(r"\d+", {**item.steps, **item.outcomes}[label])[0])
            if kind is DistractorType.ATTRIBUTE_ERROR and label[0] == "B":
                assert 7 - number not in values


def has_renderer():
    if importlib.util.find_spec("mujoco") is None:
        return False
    try:
        generator.prepare()
    except dodiag.problems.MissingDependency:
        return False
    return True


@pytest.mark.skipif(not has_renderer(), reason="needs MuJoCo and a GL library")
def test_the_generator_draws_the_same_instance_again_and_its_truth_holds():
    instance, media = generator.draw(3, 1)
    again, same = generator.draw(3, 1)
    assert (instance, media) == (again, same)
    assert set(media) == set(instance.media)
    for text, kind in zip(instance.question("T").choices, instance.meta[META]["types"].values(), strict=True):
        visual, logical = violations(text, scene_of(instance.meta))
        assert visual | logical == ({kind} if kind else set())
    assert generator.task(3).seed == 3
