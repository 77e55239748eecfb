"""Chains over dice: truth found again from text and scene, labels, position, what can be told without the picture."""

import importlib.util
import re
from collections import Counter

import numpy as np
import pytest
from chain_truth import BECAUSE, CONDITION, TOTAL, scene_of, violations
from made_scenes import made_scene
from mmcot_sets import image_entry

import dodiag
from dodiag.benchmarks.ccrv.dice_push import table_dice
from dodiag.benchmarks.mmcot import generator
from dodiag.benchmarks.mmcot.dice_chains import Recipe, colour_of, draw_options
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


def blind(recipe, instances, seed=5):
    """Yield what is left to a perfect reasoner without the picture: its texts, all texts, the right one's place."""
    rng = np.random.default_rng(seed)
    while instances:
        options = draw_options(made_scene(rng, int(rng.integers(7, 9))), recipe, rng)
        if options is not None:
            instances -= 1
            kept = [option for option in options if option.type is None or option.type.axis is Axis.VISUAL]
            place = [option.type for option in kept].index(None)
            yield [option.text for option in kept], [option.text for option in options], place


BLIND_INSTANCES = list(blind(Recipe(2, 2), 1000))


def said(text):
    """Return subject, relation, reference, and the numbers that a chain gives."""
    condition, total = CONDITION.search(text), TOTAL.search(text)
    return condition[1], condition[3], condition[4], int(condition[5]), int(total[3]), int(total[4])


def elsewhere(word, text, texts):
    return sum(other.count(word) for other in texts if other != text)


def agreement(name, side):
    """Return whether a name such as 'left red die' and what is said of its place are of one side."""
    named = {"left": -1, "leftmost": -1, "right": 1, "rightmost": 1}.get(name.split()[0], 0)
    return named * side


SIDES = {"further left": -1, "further right": 1}
FEATURES = {
    "letters": lambda text, texts: len(text),
    "number said": lambda text, texts: said(text)[3],
    "other number": lambda text, texts: said(text)[4],
    "total": lambda text, texts: said(text)[5],
    "place in the list": lambda text, texts: texts.index(text),
    "colour of the subject elsewhere": lambda text, texts: elsewhere(said(text)[0].split()[-2], text, texts),
    "colour of the reference elsewhere": lambda text, texts: elsewhere(said(text)[2].split()[-2], text, texts),
    "the reference elsewhere": lambda text, texts: elsewhere(said(text)[2], text, texts),
    "words of the subject": lambda text, texts: len(said(text)[0].split()),
    "words of the reference": lambda text, texts: len(said(text)[2].split()),
    "subject's name fits its place": lambda text, texts: agreement(said(text)[0], SIDES.get(said(text)[1], 0)),
    "reference's name fits its place": lambda text, texts: -agreement(said(text)[2], SIDES.get(said(text)[1], 0)),
    "left or right is told": lambda text, texts: said(text)[1] in SIDES,
}


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("feature", FEATURES.values(), ids=list(FEATURES))
def test_no_simple_rule_finds_the_right_chain_without_the_picture(feature, sign):
    """Among the right chain and the visual distractors; the logical ones are meant to be told by reading."""
    hits, n = 0.0, len(BLIND_INSTANCES)
    for kept, texts, place in BLIND_INSTANCES:
        values = [sign * feature(text, texts) for text in kept]
        best = [index for index, value in enumerate(values) if value == max(values)]
        hits += (place in best) / len(best)
    # A guess among three has the variance 2/9; one that is shared among ties has less.
    assert abs(hits / n - 1 / 3) <= 4.5 * (2 / 9 / n) ** 0.5, hits / n


def test_left_and_right_are_told_only_where_no_name_tells_them():
    told = 0
    for kept, _, _ in BLIND_INSTANCES:
        for subject, relation, reference, *_ in map(said, kept):
            told += relation in SIDES
            assert relation not in SIDES or len(subject.split()) == len(reference.split()) == 2
    assert told > 20


def test_a_colour_that_is_not_there_does_not_stand_out():
    """Where a die in such a colour is turned, no such option's colour stands in another option."""
    rng = np.random.default_rng(8)
    found = 0
    for _ in range(300):
        options = draw_options(made_scene(rng, 8), Recipe(2, 2), rng)
        if options is None or DistractorType.OBJECT_HALLUCINATION not in [option.type for option in options]:
            continue
        found += 1
        texts = [option.text for option in options]
        for option in options:
            if option.type is None or option.type.axis is Axis.VISUAL:
                assert not elsewhere(colour_of(option.claims.subject), option.text, texts)
    assert found > 30


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
            number = re.search(r"\d+", {**item.steps, **item.outcomes}[label])
            assert (number is None) == (kind is DistractorType.PHYSICAL_IMPOSSIBILITY), "no number tells a right one"
            if kind is DistractorType.ATTRIBUTE_ERROR and label[0] == "B":
                assert 7 - int(number[0]) not in values


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
