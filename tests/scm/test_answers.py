"""Answer types: canonical forms, sameness, and the wrong answers of state 0."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from dodiag.scm.answers import AnswerSpec, AnswerType, draw_incorrect, normalise, same_answer, show_answer

CHOICE = AnswerSpec(type="choice", choices=("red", "green", "blue"))
INTEGER = AnswerSpec(type="integer", min=0, max=10)
NUMBER = AnswerSpec(type="number", tolerance=0.05)
INTEGERS = AnswerSpec(type="integer_list", min=0, max=9, length=2)
LETTERS = AnswerSpec(type="letter_list", choices=("A", "B", "C"))
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
        (TEXT, "  "),
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


SPECS = st.one_of(
    st.builds(lambda n: AnswerSpec(type="choice", choices=tuple(f"o{i}" for i in range(n))), st.integers(2, 26)),
    st.builds(
        lambda low, width: AnswerSpec(type="integer", min=low, max=low + width), st.integers(-9, 9), st.integers(1, 9)
    ),
    st.just(AnswerSpec(type="integer")),
    st.just(NUMBER),
    st.just(INTEGERS),
    st.just(LETTERS),
)


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
        case _:
            truth = draw(st.permutations("ABC"))
    return spec, normalise(truth, spec)


@given(specs_and_truths(), st.text(max_size=5))
def test_drawn_answers_are_valid_wrong_and_reproducible(pair, seed):
    spec, truth = pair
    drawn = draw_incorrect(truth, spec, seed)
    assert normalise(drawn, spec) == drawn
    assert not same_answer(drawn, truth, spec)
    assert draw_incorrect(truth, spec, seed) == drawn
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


def test_lettered_choices_have_to_be_in_order():
    assert AnswerSpec(type="choice", choices={"A": "x", "B": "y"}).choices == ("x", "y")
    with pytest.raises(ValidationError):
        AnswerSpec(type="choice", choices={"B": "x", "A": "y"})
