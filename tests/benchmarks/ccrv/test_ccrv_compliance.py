"""The constraints' rules: the worked examples of the released scorer, row by row."""

import json

import pytest
from ccrv_sets import document
from hypothesis import given
from hypothesis import strategies as st

from dodiag.benchmarks.ccrv.compliance import HYPHENS, PUNCTUATION, comply, used_terms, why_not_minimal, words_of
from dodiag.benchmarks.ccrv.data import X_KEYS, ItemKey, LimitSpec, PointSpec
from dodiag.benchmarks.ccrv.loader import dataset_of
from dodiag.benchmarks.ccrv.pixels import NO_SIZE, expanded_box, harmonised, strict

Y1 = [
    ("Node_C catches Node_A with its hand.", ["man", "frisbee"], []),
    ("The MAN (Node_C) stops Node_A", ["man", "frisbee"], ["man"]),
    ("the man's hand", ["man", "frisbee"], ["man"]),
    ("man-made", ["man", "frisbee"], ["man"]),
    ("frisbee-like", ["man", "frisbee"], ["frisbee"]),
    ("a woman", ["man", "woman"], ["woman"]),
    ("men and women", ["man", "woman", "person"], []),
    ("people", ["man", "woman", "person"], []),
    ("persons", ["man", "woman", "person"], []),
    ("humanoid, manual, snowman, personal", ["human", "man", "person"], []),
    ("Node_man, frisbee_like, 2man, shoe2", ["man", "frisbee", "shoe"], []),
    ("mané", ["man"], ["man"]),
    ("black  watch", ["black watch"], []),
    ("black\nwatch", ["black watch"], []),
    ("black watch", ["black watch"], ["black watch"]),
    ("Node_B heads toward Node_A", ["head", "heads"], ["heads"]),
    ("a short distance", ["short", "shorts"], ["short"]),
    ("", ["man"], []),
    ("man", ["", "  ", " MAN "], ["man"]),
]


@pytest.mark.parametrize(("answer", "terms", "used"), Y1)
def test_y1_finds_terms_literally_between_boundaries_of_ascii(answer, terms, used):
    assert list(used_terms(answer, tuple(terms))) == used


Y4 = [
    ("man catches frisbee", 4, 1),
    ("man catches frisbee.", 4, 0),
    ("the man catches the frisbee", 4, 0),
    ("the man catches the frisbee", 5, 1),
    ("coffee-cup falls off table", 4, 0),
    ("coffee-cup falls off table", 5, 1),
    ("coffee‑cup falls", 3, 1),
    ("man — catches — frisbee", 3, 1),
    ("- man catches frisbee", 3, 1),
    ("man's hand stops frisbee", 5, 0),
    ("man’s hand stops frisbee", 4, 1),
    ("“man catches frisbee”", 3, 1),
    ('"man catches frisbee"', 4, 0),
    ("man catches frisbee…", 3, 1),
    ("man catches frisbee...", 3, 0),
    ("3 hands push knife", 4, 1),
    ("3.5 kg falls", 4, 0),
    ("1,000 drops", 4, 0),
    ("man\ncatches frisbee", 4, 0),
    ("man catches frisbee\n", 3, 1),
    ("man\tcatches\u00a0frisbee", 3, 1),
    ("man\u200bcatches frisbee", 2, 1),
    ("Node_A hits Node_B", 5, 0),
    ("cut/slice deepens", 4, 0),
    ("**man catches frisbee**", 5, 0),
    ("Answer: man catches frisbee", 5, 0),
    ("man & woman push", 5, 0),
    ("人抓飞盘。", 3, 1),
    ("---", 3, 0),
    ("...", 3, 0),
    ("", 3, 0),
    ("cof\u00adfee falls", 2, 1),
    ("coffee\u2015cup falls", 2, 1),
    ("man−frisbee contact", 3, 1),
    ("café table tips", 3, 1),
    ("table tips over 🎉", 4, 1),
]


def limit(words, **fields):
    return LimitSpec(csr_rule="dynamic_word_limit", allowed_max_words=words, **fields)


@pytest.mark.parametrize(("answer", "words", "verdict"), Y4)
def test_y4_counts_words_and_ascii_punctuation(answer, words, verdict):
    assert int(not why_not_minimal(answer, limit(words))) == verdict


@pytest.mark.parametrize("bad", [None, 0, -1, "4", 4.0, True])
def test_y4_fails_where_its_limit_is_no_whole_number(bad):
    assert "no whole number" in why_not_minimal("man", limit(bad))


def test_y4_reports_words_before_punctuation():
    assert "words" in why_not_minimal("a b c d.", limit(3))
    assert "punctuation ." in why_not_minimal("a b c.", limit(3))


def test_y4_options_are_those_of_the_specification():
    assert not why_not_minimal("man. falls", limit(2, forbid_punctuation=False))
    assert not why_not_minimal("man\nfalls", limit(2, forbid_extra_text=False))


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [("coffee-cup falls", 1), ("- man falls", 0), ("man — falls", 0), ("man- falls", 0), ("self‑made cup", 1)],
)
def test_y4_as_the_paper_words_it_takes_hyphens_inside_words_alone(answer, verdict):
    assert int(not why_not_minimal(answer, limit(4), strict_hyphen=True)) == verdict


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=30))
def test_y4_words_hold_no_punctuation_and_no_hyphen(text):
    for word in words_of(text):
        assert not set(word) & (PUNCTUATION | HYPHENS)


BOX = PointSpec(
    csr_rule="grounded_causal_explanation",
    target_object_id=1,
    target_true_name="frisbee",
    target_bbox_xyxy=(356, 92, 461, 214),
    csr_bbox_margin_fraction=0.075,
)
WHY = "Explanation: the hand meets the frisbee here"

STRICT = [
    (f"Coordinate: [408.5, 153.0]\n{WHY}", 1),
    (f"coordinate: (408, 153) px\n{WHY}", 1),
    (f"  Coordinate: x=408 y=153\n{WHY}", 1),
    (f"{WHY}\nCoordinate: [408, 153]", 1),
    (f"Let me look.\nCoordinate: [408, 153]\n{WHY}", 1),
    ("Coordinate: [408, 153]\nExplanation:\nthe hand meets the frisbee here", 1),
    (f"Coordinate: [408, 153]\nCoordinate: [1, 1]\n{WHY}", 1),
    (f"Coordinate: [348.125, 82.85]\n{WHY}", 1),
    (f"Coordinate: [348.12, 82.85]\n{WHY}", 0),
    (f"**Coordinate:** [408, 153]\n{WHY}", 0),
    (f"Coordinate：[408, 153]\n{WHY}", 0),
    ('{"coordinate": [408, 153], "explanation": "the hand meets the frisbee here"}', 0),
    ("The place is [408, 153], where the hand meets it.", 0),
    (f"Coordinate: [408, 153] {WHY}", 0),
    (f"Coordinate: [408, 153] (95% sure)\n{WHY}", 0),
    (f"Coordinate: [1,024, 153]\n{WHY}", 0),
    (f"Coordinate: [4.08e2, 153]\n{WHY}", 0),
    (f"Coordinate: [356, 92, 461, 214]\n{WHY}", 0),
    (f"Coordinate: [400-153]\n{WHY}", 0),
    (f"Coordinate: [0.82, 0.46]\n{WHY}", 0),
    (f"Coordinate: [817, 460]\n{WHY}", 0),
    ("Coordinate: [408, 153]\nExplanation: it is here", 0),
    ("", 0),
]


@pytest.mark.parametrize(("answer", "verdict"), STRICT)
def test_y2_as_released_wants_two_labelled_lines_in_raw_pixels(answer, verdict):
    assert int(strict(answer, BOX)[0]) == verdict


def test_y2_reads_a_hyphen_between_numbers_as_a_sign_and_says_outside():
    assert strict(f"Coordinate: [400-153]\n{WHY}", BOX)[1] == "its point lies outside the target"


@pytest.mark.parametrize(
    ("margin", "left"),
    [
        (0.075, 348.125),
        ("much", 348.125),
        pytest.param(10**400, 348.125, id="huge"),
        (float("nan"), 348.125),
        (0.9, 329.75),
        (-1, 356),
    ],
)
def test_y2_margin_is_held_between_0_and_a_quarter(margin, left):
    spec = BOX.model_copy(update={"csr_bbox_margin_fraction": margin})
    assert expanded_box(spec)[0] == pytest.approx(left)


HARMONISED = [
    (f"Coordinate: [408.5, 153.0]\n{WHY}", "raw"),
    (f"**Coordinate:** [408, 153]\n{WHY}", "raw"),
    (f"- **Coordinate**: (x=408, y=153)\n- **Explanation**: {WHY[13:]}", "raw"),
    (f"Coordinate：[408, 153]\n{WHY}", "raw"),
    ('{"coordinate": [408, 153], "explanation": "the hand meets the frisbee here"}', "raw"),
    ('```json\n{"point": {"x": 408, "y": 153}, "reason": "the hand meets the frisbee"}\n```', "raw"),
    ('{"x": 408, "y": 153, "explanation": "the hand meets the frisbee"}', "raw"),
    ("The place is [408, 153], where the hand meets it.", "raw"),
    (f"Coordinate: 408, 153\n{WHY}", "raw"),
    (f"[817, 460]\n{WHY}", "norm1000"),
    (f"Coordinate: [408, 153]\nAgain [408, 153.0]\n{WHY}", "raw"),
    (f"Coordinate: [408, 153]\nor [10, 10]\n{WHY}", None),
    (f"Coordinate: [356, 92, 461, 214]\n{WHY}", None),
    (f"Coordinate: [0.82, 0.46]\n{WHY}", None),
    ("Coordinate: [408, 153]\nExplanation: it is here", None),
    ("[408, 153]", None),
    ('{"coordinate": [408, 153]}\nExplanation: the hand meets the frisbee here', "raw"),
    ('{"answer": {"coordinate": [408, 153], "explanation": "the hand meets the frisbee"}}', "raw"),
    ('{"coordinate": [408, 153], "explanation": "the hand meets it\nright here"}', "raw"),
    # A short explanation is not made longer by the debris of its form.
    ("Coordinate: [408, 153] Explanation: it is here", None),
    ("**Coordinate**: [408, 153]  **Explanation**: short", None),
    ("Coordinate: 408, 153 Explanation: it is here.", None),
    ('{"point_2d": [408, 153], "label": "hand of man"}', None),
    ('```json\n[{"point_2d": [408, 153], "label": "hand"}]\n```', None),
    # Places that contradict each other name no point.
    ("Coordinate: 10, 10\nExplanation: the hand meets it at (408, 153) there", None),
    ('Coordinate: [1, 1]\n{"coordinate": [408, 153], "explanation": "the hand meets the frisbee here"}', None),
    ("Coordinate: 408, 153\nLocation: 2 of 3 hands\nReason: the hand meets the frisbee", "raw"),
    # Numbers that no float holds are a point outside, not an error.
    (f'{{"coordinate": [1{"0" * 400}, 153], "explanation": "the hand meets the frisbee here"}}', None),
    ('{"a": ' * 900 + "1" + "}" * 900, None),
    ("{ " * 50 + '{"coordinate": [408, 153], "explanation": "the hand meets the frisbee here"}', "raw"),
    (WHY, None),
    ("", None),
]


@pytest.mark.parametrize(("answer", "interpretation"), HARMONISED)
def test_y2_as_reported_takes_one_pair_in_any_form_and_pixels_or_thousandths(answer, interpretation):
    found = harmonised(answer, BOX, (500, 333))
    assert (found.passed, found.interpretation) == (interpretation is not None, interpretation)


PIECES = ("{", "}", "[", "]", '"point"', '"explanation"', ":", ",", "408", "153", "1e999", "NaN", "null", "\n", "x=")


@given(st.lists(st.sampled_from((*PIECES, "Coordinate:", "Explanation:", "the hand meets it", "(", ")")), max_size=16))
def test_y2_reads_any_text_and_says_why_it_fails(pieces):
    found = harmonised(" ".join(pieces), BOX, (500, 333))
    assert found.passed == (not found.reason) == (found.interpretation is not None)


def test_y2_without_the_pictures_size_tests_pixels_only_and_says_so():
    found = harmonised(f"[817, 460]\n{WHY}", BOX, None)
    assert (found.passed, found.notes) == (False, (NO_SIZE,))
    assert NO_SIZE in harmonised(f"[408, 153]\n{WHY}", BOX, None).notes


def test_y2_never_reads_a_pair_between_0_and_1_as_shares():
    whole = BOX.model_copy(update={"target_bbox_xyxy": (200, 100, 300, 200)})
    assert not harmonised(f"[0.5, 0.5]\n{WHY}", whole, (500, 300)).passed


@given(st.floats(-50, 700), st.floats(-50, 700), st.tuples(st.integers(1, 2000), st.integers(1, 2000)))
def test_y2_rules_agree_wherever_raw_pixels_pass(x, y, size):
    answer = f"Coordinate: [{x:.2f}, {y:.2f}]\n{WHY}"
    found = harmonised(answer, BOX, size)
    if strict(answer, BOX)[0]:
        assert found.interpretation in ("raw", "both")
    elif found.passed:
        assert found.interpretation == "norm1000"


def test_a_variant_is_held_to_its_own_rule_and_y3_waits_for_a_judge():
    item = dataset_of(document(), "set").by_key[ItemKey(7, X_KEYS[0], 0)]
    modes = {y: comply(variant, variant.adapted_ground_truth, size=(300, 200)) for y, variant in item.variants.items()}
    assert [modes[y].csr for y in ("Y1", "Y2", "Y3", "Y4")] == [1, 1, None, 1]
    assert [modes[y].mode for y in ("Y1", "Y2", "Y3", "Y4")] == [
        "forbidden_term_scan",
        "harmonised",
        "judge",
        "word_limit",
    ]
    json_answer = json.dumps({"coordinate": [120, 80], "explanation": "the cup is tipped here by a hand"})
    assert comply(item.variants["Y2"], json_answer).csr == 1
    assert comply(item.variants["Y2"], json_answer, y2="strict").csr == 0
