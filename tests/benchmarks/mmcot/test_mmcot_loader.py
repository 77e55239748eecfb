"""Loading: every trap of the formats is reported, nothing is repaired; rules of order, shuffle and quality."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mmcot_sets import RIGHT, image_entry, listed, video_entry, write

from dodiag.benchmarks.mmcot.data import ImageSet, VideoSet
from dodiag.benchmarks.mmcot.inspection import KINDS, counts, inspect
from dodiag.benchmarks.mmcot.loader import image_set, load_images, load_set, load_videos, video_set
from dodiag.benchmarks.mmcot.media import find_media
from dodiag.benchmarks.mmcot.notation import links_of
from dodiag.benchmarks.mmcot.shuffling import in_order, quality_of, shuffled
from dodiag.benchmarks.mmcot.taxonomy import DistractorType, parsed_type
from dodiag.problems import InvalidInput, UsageError


def image(**changes):
    return image_set([image_entry(**changes)], "set").items[0]


def kinds(dataset):
    found = counts(inspect(dataset))
    found.pop("size_differs")
    return set(found)


def test_the_kind_of_a_file_is_told_by_its_fields(tmp_path):
    assert isinstance(load_set(write(tmp_path / "i.json", [image_entry()])), ImageSet)
    assert isinstance(load_set(write(tmp_path / "v.json", [video_entry()])), VideoSet)
    broken = video_entry()
    del broken["Key Elements"]
    with pytest.raises(InvalidInput, match="'Key Elements' is missing") as caught:
        load_set(write(tmp_path / "b.json", [broken, video_entry()]))
    assert len(caught.value.problems) == 1


def test_a_key_that_stands_twice_is_refused(tmp_path):
    path = tmp_path / "i.json"
    path.write_text(json.dumps([image_entry()]).replace('"set_A"', '"img_path": "a.jpg", "set_A"'), encoding="utf-8")
    with pytest.raises(UsageError, match="'img_path' stands twice"):
        load_set(path)


def test_a_picture_item_is_read_with_its_right_chains():
    item = image()
    assert item.complete
    assert item.links == {"A1": ("B2", "C3"), "A2": ("B1", "C2"), "A3": ("B3", "C1")}
    assert item.steps["B2"] == "the books slide"


@pytest.mark.parametrize("load", [load_images, load_videos, load_set])
@pytest.mark.parametrize("text", ["{}", "[", "\ud800".encode("utf-8", "surrogatepass"), None])
def test_what_is_no_list_is_refused_with_a_cure(tmp_path, load, text):
    path = tmp_path / "set.json"
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UsageError) as caught:
        load(path)
    assert caught.value.cure


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([], "there are no items"),
        (["x"], "is not a mapping"),
        ([image_entry(set_B=None)], "'set_B' is not a text"),
        ([image_entry(set_B=" ")], "'set_B' is empty"),
        ([{}], "'img_path' is missing"),
        ([image_entry(distractor_type={"B9": "attribute_error"})], "labels 'B9', which is no option"),
        ([image_entry(distractor_type={"B2": "attribute_error"})], "which is in a right chain"),
        ([image_entry(distractor_type={"B4": "attribute_eror"})], "no distractor type 'attribute_eror'"),
        ([image_entry(distractor_type=["B4"])], "is not a mapping"),
        ([image_entry(set_A="A1: a\ud800")], "'set_A' holds one half of a surrogate pair"),
        ([image_entry(note="\udc00")], "'note' holds one half of a surrogate pair"),
    ],
)
def test_problems_of_pictures_are_collected(entries, message):
    with pytest.raises(InvalidInput, match=message):
        image_set(entries, "set")


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"Key Elements": 3}, "not a text"), ({"id": ""}, "empty"), ({"difficulty": 3}, "'difficulty' is not a text")],
)
def test_problems_of_videos_are_collected(changes, message):
    with pytest.raises(InvalidInput, match=message):
        video_set([video_entry(**changes)], "set")


def test_all_problems_come_at_once():
    with pytest.raises(InvalidInput) as caught:
        image_set([{}, image_entry(set_A=1), "x"], "set")
    assert len(caught.value.problems) == 5 + 1 + 1


def test_a_clean_item_has_nothing_odd():
    moved = "A1->B5->C3, A2->B1->C2, A3->B3->C1"
    assert kinds(image_set([image_entry(Right_answer=moved)], "set")) == set()
    assert kinds(video_set([video_entry()], "set")) == set()


STRAIGHT = "A1->B1->C1, A2->B2->C2, A3->B3->C3"


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"Right_answer": STRAIGHT}, "fixed_order"),
        ({"Right_answer": RIGHT + "."}, "answer_unread"),
        ({"Right_answer": "A2->B1->C2, A1->B2->C3, A3->B3->C1"}, "answer_unordered"),
        ({"Right_answer": "A1->B2->C3, A2->B2->C2, A3->B3->C1"}, "answer_repeats"),
        ({"Right_answer": "A1->B7->C3, A2->B1->C2, A3->B3->C1"}, "answer_absent"),
        ({"set_A": listed("A", "x", "y")}, "option_count"),
        ({"set_A": listed("A", "x", "y", "z") + "\nand more"}, "lines_dropped"),
        ({"set_A": "A1: x\nA2: y\n A3: z"}, "lines_dropped"),
        ({"set_B": listed("B", "x", "x", "y", "z", "u", "v")}, "same_content"),
        ({"distractor_type": {"B4": "attribute_error"}}, "half_labelled"),
        ({"set_C": listed("C", "it’s", "b", "c", "d", "e", "f")}, "typographic"),
    ],
)
def test_every_oddity_of_a_picture_is_named(changes, kind):
    assert kind in kinds(image_set([image_entry(**changes)], "set"))


CHAIN = "Counterfactual Causal Chain"


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"id": "unknown"}, "id_unknown"),
        ({CHAIN: "[no hand], [a cup stands inside] → [The cup stays.]"}, "never_correct"),
        ({CHAIN: "[no hand], [a cup stands inside] -> The cup stays."}, "result_unbracketed"),
        ({"Critical Conditions": "[a hand pushes]"}, "pair_count"),
        ({CHAIN: "[no hand], [x] -> [The cup stays.]"}, "not_in_pool"),
        ({"Counterfactual Outcome Pool": "[The cup falls.], [x]"}, "not_in_pool"),
        ({"Key Elements": "[a hand pushes],[a cup stands at the edge], [c]"}, "bracket_inside"),
        ({"Key Elements": "[a hand pushes], [a cup stands at the edge], [a hand pushes]"}, "same_content"),
        ({"Counterfactual Outcome Pool": "[The cup stays.], [The child’s cup]"}, "typographic"),
        ({"difficulty": "brutal", "length_category": "long"}, "unknown_tier"),
        ({"difficulty": "Hard"}, "half_stratum"),
    ],
)
def test_every_oddity_of_a_video_is_named(changes, kind):
    assert kind in kinds(video_set([video_entry(**changes)], "set"))


def test_videos_with_one_id_are_named():
    assert "same_id" in kinds(video_set([video_entry(), video_entry()], "set"))


def test_every_kind_has_a_sentence():
    assert all(KINDS.values())


def test_media_are_found_by_path_or_name_and_missing_ones_told(tmp_path):
    dataset = image_set(
        [image_entry(), image_entry(img_path="../../etc/x.jpg"), image_entry(img_path="a/b.jpg")], "set"
    )
    (tmp_path / "17.jpg").write_bytes(b"x")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.jpg").write_bytes(b"y")
    found = find_media(dataset, tmp_path)
    assert set(found.found) == {"./data/flickr30k/17.jpg", "a/b.jpg"}
    assert found.missing == ("../../etc/x.jpg",)
    with pytest.raises(UsageError, match=r"1 of 3 media .* Flickr30k"):
        found.require()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (STRAIGHT, STRAIGHT),
        ("A2->B1->C2, A1->B2->C3, A3->B3->C1", "A1->B2->C3, A2->B1->C2, A3->B3->C1"),
        ("A3->B3->C1, A1->B2->C3, A2->B1->C2", "A3->B3->C1, A2->B1->C2, A1->B2->C3"),
    ],
)
def test_the_order_of_an_answer_is_mended_as_released_and_its_chains_stay(before, after):
    assert in_order(before) == after
    assert links_of(before) == links_of(after)


def test_an_answer_without_its_first_chain_is_refused():
    with pytest.raises(UsageError, match="no chain of A1"):
        in_order("A2->B1->C2, A3->B3->C1")


@given(st.integers(0, 10**6))
def test_a_shuffle_keeps_contents_chains_and_labels_of_distractors(seed):
    types = {"B4": "attribute_error", "C5": "temporal_shuffle"}
    item = image(distractor_type=types)
    moved = shuffled(item, np.random.default_rng(seed))
    assert sorted(moved.steps.values()) == sorted(item.steps.values())
    assert list(moved.steps) == list(item.steps)
    for slot, (step, outcome) in item.links.items():
        new_step, new_outcome = moved.links[slot]
        assert moved.steps[new_step] == item.steps[step]
        assert moved.outcomes[new_outcome] == item.outcomes[outcome]
    assert {moved.steps.get(k, moved.outcomes.get(k)): v for k, v in moved.types.items()} == {
        "the tap runs": DistractorType.ATTRIBUTE_ERROR,
        "they leave": DistractorType.TEMPORAL_SHUFFLE,
    }
    again = image_set([json.loads(json.dumps(dict(moved.raw)))], "set").items[0]
    assert (again.links, again.steps, again.types) == (moved.links, moved.steps, moved.types)


def test_a_shuffle_puts_every_option_everywhere():
    places = {links_of(shuffled(image(), np.random.default_rng(seed)).right_answer)["A1"] for seed in range(400)}
    assert len(places) == 36


@pytest.mark.parametrize(
    "changes",
    [
        {"set_B": listed("B", *"xxabcd")},
        {"Right_answer": RIGHT.replace("B2", "B9")},
        {"Right_answer": f"{RIGHT}."},
        {"Right_answer": RIGHT.replace(", ", "; ")},
    ],
)
def test_a_shuffle_that_would_guess_or_lose_a_chain_is_refused(changes):
    with pytest.raises(UsageError):
        shuffled(image(**changes), np.random.default_rng(0))


@pytest.mark.parametrize(
    ("reply", "score", "kept"),
    [
        ('{"score": 4.0}', 4.0, True),
        ('{"score": 3.9}', 3.9, False),
        ("score is 4.5", 4.5, True),
        ("no number", 0.0, False),
        ("7", 5.0, True),
        ('{"score": -3}', 1.0, False),
        ('{"score": true, "x": 4.2}', 4.2, True),
        ('{"score": NaN}', 0.0, False),
        ('{"score": 1' + "0" * 400 + "}", 5.0, True),
        ("", 0.0, False),
    ],
)
def test_the_quality_filter_keeps_from_four(reply, score, kept):
    found = quality_of(reply)
    assert (found.score, found.kept) == (score, kept)


def test_an_unknown_type_is_refused_with_the_nearest():
    with pytest.raises(UsageError, match="causal_inversion"):
        parsed_type("causal_invertion")
