"""Answer types: canonical forms, sameness, and the wrong answers of state 0."""

import math
from collections import Counter

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import ValidationError

from dodiag.interventions.answer_format import format_instruction
from dodiag.scm.answers import (
    AnswerSpec,
    AnswerType,
    draw_incorrect,
    normalise,
    plain_number,
    same_answer,
    set_difference,
    show_answer,
    surely_has_others,
    unwrapped,
)
from dodiag.scm.coordinates import iou

CHOICE = AnswerSpec(type="choice", choices=("red", "green", "blue"))
INTEGER = AnswerSpec(type="integer", min=0, max=10)
NUMBER = AnswerSpec(type="number", tolerance=0.05)
INTEGERS = AnswerSpec(type="integer_list", min=0, max=9, length=2)
LETTERS = AnswerSpec(type="letter_list", choices=("A", "B", "C"))
LETTER_SET = AnswerSpec(type="set", choices=("red", "green", "blue", "dark red"))
INTEGER_SET = AnswerSpec(type="set", min=-9, max=99)
NUMBER_SET = AnswerSpec(type="set", members="number", tolerance=0.05)
YES_NO = AnswerSpec(type="yes_no")
TRUE_FALSE = AnswerSpec(type="yes_no", true_false=True)
POINT = AnswerSpec(type="coordinate", tolerance=10)
BOX = AnswerSpec(type="coordinate", shape="box")
FRACTIONS = AnswerSpec(type="coordinate", units="fractions", tolerance=0.05)
FRACTION_BOX = AnswerSpec(type="coordinate", units="fractions", shape="box")
PLAIN = AnswerSpec(type="coordinate", units="plain", min=-1, max=1, tolerance=0.01)
TEXT = AnswerSpec(type="text")

CANONICAL = [
    (CHOICE, "b", "B"),
    (CHOICE, "Blue ", "C"),
    (INTEGER, "7", 7),
    (INTEGER, 7.0, 7),
    (NUMBER, "0.30", 0.3),
    (INTEGERS, "3, 4", (3, 4)),
    (INTEGERS, [3, 4], (3, 4)),
    (LETTERS, "b;a;c", ("B", "A", "C")),
    (LETTER_SET, "c, A", ("A", "C")),
    (LETTER_SET, ["blue", "red"], ("A", "C")),
    (INTEGER_SET, [1, -2], (-2, 1)),
    (NUMBER_SET, "1.5, 0.25", (0.25, 1.5)),
    (YES_NO, "Yes", "yes"),
    (YES_NO, False, "no"),
    (TRUE_FALSE, "true", "yes"),
    (TRUE_FALSE, "no", "no"),
    (POINT, [408.5, 153], (408.5, 153.0)),
    (POINT, "(12, 34)", (12.0, 34.0)),
    (BOX, "10, 20, 50, 60", (10.0, 20.0, 50.0, 60.0)),
    (FRACTIONS, [0.12, 1], (0.12, 1.0)),
    (PLAIN, [0.5, -0.25], (0.5, -0.25)),
    (TEXT, "  turn \n left ", "turn left"),
]


@pytest.mark.parametrize(("spec", "written", "canonical"), CANONICAL)
def test_canonical_form(spec, written, canonical):
    assert normalise(written, spec) == canonical
    assert normalise(show_answer(canonical, spec).split(". ")[0], spec) == canonical


@pytest.mark.parametrize(
    ("spec", "written"),
    [
        (CHOICE, "D"),
        (CHOICE, ""),
        (INTEGER, 11),
        (INTEGER, 2.5),
        (INTEGER, True),
        (INTEGER, None),
        (INTEGER, float("nan")),
        (NUMBER, "inf"),
        (INTEGERS, [1]),
        (INTEGERS, [1, 10]),
        (LETTERS, "A, A"),
        (LETTERS, []),
        (LETTER_SET, "A, A"),
        (LETTER_SET, "A, E"),
        (LETTER_SET, []),
        (INTEGER_SET, [1, 1]),
        (INTEGER_SET, [1, 100]),
        (INTEGER_SET, [1.5]),
        (AnswerSpec(type="set", length=2), [1]),
        (AnswerSpec(type="set", members="letter"), "A"),
        (YES_NO, "maybe"),
        (YES_NO, "true"),
        (YES_NO, 1),
        (POINT, [12]),
        (POINT, [12, 34, 56]),
        (POINT, [0.12, 0.34]),
        (POINT, [float("nan"), 3]),
        (POINT, [50, 60, 10, 20]),
        (BOX, [10, 20]),
        (BOX, [10, 20, 10, 60]),
        (FRACTIONS, [12, 34]),
        (PLAIN, [0.5, 2]),
        (TEXT, "  "),
        (TEXT, '""'),
        (TEXT, 3),
    ],
)
def test_invalid_answers_are_refused(spec, written):
    with pytest.raises(ValueError, match=r"\S"):
        normalise(written, spec)


def test_numbers_are_compared_as_numbers():
    assert same_answer(0.1 + 0.2, 0.3, AnswerSpec(type="number"))
    assert same_answer(1.0, 1.04, NUMBER)
    assert not same_answer(1.0, 1.06, NUMBER)
    assert not same_answer(0.0, 1e-12, AnswerSpec(type="number"))


def test_a_choice_is_shown_with_its_option():
    assert show_answer("B", CHOICE) == "B. green"
    assert show_answer("B", AnswerSpec(type="choice", choices=("A", "B"))) == "B"


@pytest.mark.parametrize(
    ("spec", "first", "second", "same"),
    [
        (LETTER_SET, "A, C", "C, A", True),
        (LETTER_SET, "A, C", "A", False),
        (INTEGER_SET, "1, -2", "-2, 1", True),
        (NUMBER_SET, "1, 2", "2.04, 0.96", True),
        (NUMBER_SET, "1, 2", "2.06, 1", False),
        (NUMBER_SET, "1", "1, 1.01", False),
        (YES_NO, True, "yes", True),
        (POINT, [0, 0], [6, 8], True),
        (POINT, [0, 0], [7, 8], False),
        (POINT, [10, 20, 50, 60], [30, 40], True),
        (POINT, [10, 20, 50, 60], [60, 60], True),
        (POINT, [10, 20, 50, 60], [58, 68], False),
        (AnswerSpec(type="coordinate"), [10, 20, 50, 60], [50, 60], True),
        (AnswerSpec(type="coordinate"), [10, 20, 50, 60], [50.5, 60], False),
        (AnswerSpec(type="coordinate"), [3, 4], [3, 4], True),
        (AnswerSpec(type="coordinate"), [0, 0], [0, 0], True),
        (AnswerSpec(type="coordinate"), [3, 4], [3, 5], False),
        (BOX, [0, 0, 10, 10], [0, 0, 10, 5], True),
        (BOX, [0, 0, 10, 10], [0, 0, 10, 4.9], False),
        (AnswerSpec(type="coordinate", shape="box", iou=0.9), [0, 0, 10, 10], [0, 0, 10, 9], True),
        (AnswerSpec(type="coordinate", shape="box", iou=0.9), [0, 0, 10, 10], [0, 0, 10, 8.9], False),
        (FRACTIONS, [0.5, 0.5], [0.53, 0.54], True),
    ],
)
def test_same_answers(spec, first, second, same):
    first, second = normalise(first, spec), normalise(second, spec)
    assert same_answer(first, second, spec) is same
    assert same_answer(second, first, spec) is same


def test_what_a_set_has_wrong_is_told():
    for spec, answer, truth, wrong in [
        (LETTER_SET, "A", "A, C", {"missing"}),
        (LETTER_SET, "A, C", "A", {"surplus"}),
        (INTEGER_SET, "1, 2", "1, 3", {"missing", "surplus"}),
        (NUMBER_SET, "1.04, 2", "1, 2", set()),
        (NUMBER_SET, "1.04, 2", "1, 3", {"missing", "surplus"}),
    ]:
        assert set_difference(normalise(answer, spec), normalise(truth, spec), spec) == wrong


BOXES = st.tuples(st.integers(-50, 50), st.integers(-50, 50), st.integers(1, 50), st.integers(1, 50)).map(
    lambda b: (b[0], b[1], b[0] + b[2], b[1] + b[3])
)


@given(BOXES, BOXES)
def test_intersection_over_union_counts_pixels(first, second):
    def pixels(box):
        return {(x, y) for x in range(box[0], box[2]) for y in range(box[1], box[3])}

    one, other = pixels(first), pixels(second)
    assert iou(first, second) == pytest.approx(len(one & other) / len(one | other))
    assert iou(first, second) == iou(second, first)
    assert iou(first, first) == 1


def test_a_box_around_a_point_is_shown_as_a_point():
    truth = normalise([10, 20, 50, 60], POINT)
    assert show_answer(truth, POINT) == "30, 40"
    assert same_answer(normalise(show_answer(truth, POINT), POINT), truth, POINT)


def test_numbers_are_shown_without_the_noise_of_binary_fractions():
    truth = normalise([0.061, 0.172, 0.815, 0.868], FRACTIONS)
    assert show_answer(truth, FRACTIONS) == "0.438, 0.52"
    assert show_answer(normalise(0.1 + 0.2, NUMBER), NUMBER) == "0.3"
    assert show_answer(normalise([1e-7, 40], NUMBER_SET), NUMBER_SET) == "0.0000001, 40"
    assert show_answer(normalise(1e23, NUMBER), NUMBER) == "1" + "0" * 23
    assert show_answer(12345678901234567, AnswerSpec(type="integer")) == "12345678901234567"


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_plain_number_is_the_number_and_is_plain(number):
    written = plain_number(number)
    assert math.isclose(float(written), number, rel_tol=1e-11)
    assert plain_number(float(written)) == written
    assert ("e" in written) == (number != 0 and not 1e-30 <= abs(float(written)) < 1e31)
    assert not number.is_integer() or abs(number) >= 1e31 or (int(written) == int(written) and float(written) == number)


@pytest.mark.parametrize(
    ("written", "bare"),
    [
        ('"Stop"', "Stop"),
        ("**Stop**", "Stop"),
        ('**"Stop"**', "Stop"),
        ("“turn  *left*”", "turn left"),
        ("\\boxed{\\text{Stop}}", "Stop"),
        ("```\nStop\n```", "Stop"),
        ("```Stop sign```", "Stop sign"),
        ("`Stop`", "Stop"),
        ("'the \"Stop\" sign'", 'the "Stop" sign'),
        ('"a" and "b"', '"a" and "b"'),
        ("2 * 3", "2 * 3"),
        ("*", "*"),
    ],
)
def test_what_a_text_is_wrapped_in_does_not_count(written, bare):
    assert unwrapped(written) == bare
    assert same_answer(normalise(written, TEXT), normalise(bare, TEXT), TEXT)
    assert same_answer(normalise(bare, TEXT), normalise(written, TEXT), TEXT)
    assert normalise(written, TEXT) == " ".join(written.split())


@given(
    st.lists(st.sampled_from(['"', "'", "*", "**", "“", "”", "Stop", "a", " ", ".", "`", "\\boxed{", "}"]), max_size=9)
)
def test_unwrapping_twice_is_unwrapping_once(pieces):
    text = "".join(pieces)
    assert unwrapped(unwrapped(text)) == unwrapped(text)


@pytest.mark.parametrize(
    "mapping",
    [
        {"type": "integer", "members": "letter"},
        {"type": "choice", "true_false": True},
        {"type": "set", "shape": "box"},
        {"type": "set", "members": "colour"},
        {"type": "set", "members": "integer", "choices": ["a1", "b1"]},
        {"type": "coordinate", "shape": "line"},
        {"type": "coordinate", "iou": 0.5},
        {"type": "coordinate", "shape": "box", "iou": 0},
        {"type": "coordinate", "shape": "box", "iou": 1.1},
        {"type": "coordinate", "shape": "box", "tolerance": 5},
        {"type": "coordinate", "units": "fractions", "max": 100},
        {"type": "coordinate", "length": 2},
    ],
)
def test_fields_that_do_not_belong_together_are_refused(mapping):
    with pytest.raises(ValidationError):
        AnswerSpec(**mapping)


def test_the_units_of_a_coordinate_are_asked_for():
    asked = {spec: format_instruction(spec) for spec in (POINT, BOX, FRACTIONS, FRACTION_BOX, PLAIN)}
    assert len(set(asked.values())) == 5
    assert all(("pixels" in text) == (spec.units is None) for spec, text in asked.items())


SPECS = st.one_of(
    st.builds(lambda n: AnswerSpec(type="choice", choices=tuple(f"o{i}" for i in range(n))), st.integers(2, 26)),
    st.builds(
        lambda low, width: AnswerSpec(type="integer", min=low, max=low + width), st.integers(-9, 9), st.integers(1, 9)
    ),
    st.just(AnswerSpec(type="integer")),
    st.just(NUMBER),
    st.just(INTEGERS),
    st.just(LETTERS),
    *map(st.just, (LETTER_SET, INTEGER_SET, NUMBER_SET, YES_NO, POINT, BOX, FRACTIONS, FRACTION_BOX, PLAIN)),
    st.builds(lambda size: AnswerSpec(type="coordinate", shape="box", max=size), st.integers(100, 200)),
)
COORDINATES = {
    POINT: st.one_of(st.tuples(*[st.integers(2, 4000)] * 2), BOXES.map(lambda b: tuple(n + 60 for n in b))),
    FRACTIONS: st.tuples(*[st.integers(0, 100).map(lambda n: n / 100)] * 2),
    FRACTION_BOX: BOXES.map(lambda b: tuple((n + 50) / 150 for n in b)),
    PLAIN: st.tuples(*[st.integers(-100, 100).map(lambda n: n / 100)] * 2),
}


@st.composite
def specs_and_truths(draw):
    spec = draw(SPECS)
    match spec.type:
        case AnswerType.CHOICE:
            truth = draw(st.sampled_from(spec.letters))
        case AnswerType.INTEGER:
            low, high = (-50, 50) if spec.min is None else (int(spec.min), int(spec.max))
            truth = draw(st.integers(low, high))
        case AnswerType.NUMBER:
            truth = draw(st.floats(-100, 100))
        case AnswerType.INTEGER_LIST:
            truth = draw(st.lists(st.integers(0, 9), min_size=2, max_size=2))
        case AnswerType.SET:
            member = {LETTER_SET: st.sampled_from("ABCD"), INTEGER_SET: st.integers(-9, 99)}.get(spec, st.floats(-9, 9))
            truth = draw(st.lists(member, min_size=1, max_size=4, unique=True))
        case AnswerType.YES_NO:
            truth = draw(st.booleans())
        case AnswerType.COORDINATE:
            truth = draw(COORDINATES.get(spec, BOXES.map(lambda b: tuple(n + 50 for n in b))))
            assume(spec.max is None or max(truth) <= spec.max)
        case _:
            truth = draw(st.permutations("ABC"))
    return spec, normalise(truth, spec)


@given(specs_and_truths())
def test_what_is_shown_is_the_truth(pair):
    spec, truth = pair
    shown = show_answer(truth, spec)
    written = shown.split(". ")[0] if spec.type is AnswerType.CHOICE else shown
    assert same_answer(normalise(written, spec), truth, spec)


@given(specs_and_truths(), st.text(max_size=5))
def test_drawn_answers_are_valid_wrong_and_reproducible(pair, seed):
    spec, truth = pair
    drawn = draw_incorrect(truth, spec, seed)
    assert normalise(drawn, spec) == drawn
    assert not same_answer(drawn, truth, spec)
    assert draw_incorrect(truth, spec, seed) == drawn
    assert show_answer(drawn, spec) != show_answer(truth, spec)
    if spec.type is AnswerType.COORDINATE:
        assert len(drawn) == (4 if spec.shape == "box" else 2)
        assert min(truth) < 0 or min(drawn) >= 0
        assert max(drawn) <= (1 if spec.units == "fractions" else spec.max or math.inf)
    if spec.type is AnswerType.SET and len(truth) < 4:
        assert len(drawn) == len(truth)
    if spec.type is AnswerType.INTEGER:
        assert abs(drawn - truth) <= 2
        assert spec.min is not None or truth < 0 or drawn >= 0


def test_every_wrong_choice_is_drawn_equally_often():
    counts = Counter(draw_incorrect("A", CHOICE, str(seed)) for seed in range(2000))
    assert set(counts) == {"B", "C"}
    assert abs(counts["B"] - 1000) < 4.5 * (2000 * 0.25) ** 0.5


@pytest.mark.parametrize(
    ("truth", "spec"),
    [
        (3, AnswerSpec(type="integer", min=3, max=3)),
        (("A",), AnswerSpec(type="letter_list", choices=("A", "B"))),
        ("left", TEXT),
        ((1,), AnswerSpec(type="integer_list", min=1, max=1)),
        (1.0, AnswerSpec(type="number", min=1, max=1)),
        ((1,), AnswerSpec(type="set", min=1, max=1)),
        (("A", "B"), AnswerSpec(type="set", choices=("x", "y"), length=2)),
        ((5.0, 5.0), AnswerSpec(type="coordinate", min=0, max=10, tolerance=20)),
        ((0.0, 0.0, 9.0, 9.0), AnswerSpec(type="coordinate", shape="box", min=0, max=9, iou=0.1)),
    ],
)
def test_where_there_is_no_other_answer_it_says_so(truth, spec):
    with pytest.raises(ValueError, match=r"\S"):
        draw_incorrect(truth, spec, "seed")


@pytest.mark.parametrize(
    "choices", [("only",), tuple("abcdefghijklmnopqrstuvwxyz1"), ("a", "A"), ("a", " "), ("B", "x")]
)
def test_unusable_choices_are_refused(choices):
    with pytest.raises(ValidationError):
        AnswerSpec(type="choice", choices=choices)


@pytest.mark.parametrize(
    "choices",
    [
        ("(B) red", "(A) blue"),
        ("red", "(A)"),
        ("B.", "red"),
        ("b) red", "blue"),
        ("[B] red", "blue"),
        ("B: red", "blue"),
        ("B. red", "A. blue"),
        ("C.red", "A.blue", "B.green"),
    ],
)
def test_choices_that_read_as_the_letter_of_another_one_are_refused_with_the_cure(choices):
    with pytest.raises(ValidationError, match="is the letter of another choice; write choices without letters"):
        AnswerSpec(type="choice", choices=choices)


@pytest.mark.parametrize(
    "choices",
    [
        ("(A) red", "(B) blue"),
        ("A. red", "B. blue"),
        ("(A)", "B"),
        ("(D) red", "blue"),
        ("E. coli", "S. aureus", "B. subtilis"),
        ("Point B", "Point A"),
        ("red", "blue", "(A) and (B)"),
        ("a - b", "b - a"),
        ("f(b)", "f(a)"),
        ("B flat", "A flat"),
    ],
)
def test_choices_with_letters_that_mean_something_else_are_taken(choices):
    assert AnswerSpec(type="choice", choices=choices).choices == choices


def test_lettered_choices_have_to_be_in_order():
    assert AnswerSpec(type="choice", choices={"A": "x", "B": "y"}).choices == ("x", "y")
    with pytest.raises(ValidationError):
        AnswerSpec(type="choice", choices={"B": "x", "A": "y"})


@given(
    st.sampled_from(
        [{"type": "choice", "choices": ["red", "blue"]}, {"type": "integer"}, {"type": "integer", "max": 4}]
    ),
    st.integers(0, 4),
    st.integers(0, 4),
)
def test_what_surely_has_others_has_others(fields, value, low):
    assume(low <= fields.get("max", low))
    spec = AnswerSpec.model_validate(fields if fields["type"] == "choice" else fields | {"min": low})
    truth = "A" if fields["type"] == "choice" else value
    if surely_has_others(truth, spec):
        assert draw_incorrect(truth, spec, "seed") != truth
    else:
        with pytest.raises(ValueError, match="other"):
            draw_incorrect(truth, spec, "seed")
