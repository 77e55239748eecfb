"""What state 0 injects: how the wrong answers are spread, what they look like, and what no author may write for one."""

import itertools
import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packs import SUMS, sums_instance, write_pack
from scipy.stats import chisquare

from dodiag.problems import InvalidInput
from dodiag.scm.answers import AnswerSpec, draw_incorrect, normalise, same_answer, show_answer
from dodiag.scm.pack import incorrect_answer, load_pack

FOUR = tuple("wxyz")
LEAST_P = 1e-6
"""Seeds are fixed; a fair draw falls below with this probability once, when the test is written."""

SPACES = {
    # name: (answer type, truth, every wrong answer that may be drawn)
    "choice": ({"type": "choice", "choices": FOUR}, "B", ["A", "C", "D"]),
    "integer": ({"type": "integer"}, 7, [5, 6, 8, 9]),
    "integer at its lower end": ({"type": "integer", "min": 3, "max": 9}, 3, [4, 5]),
    "integer at its upper end": ({"type": "integer", "min": 3, "max": 9}, 9, [7, 8]),
    "integer in a range of two": ({"type": "integer", "min": 3.5, "max": 5.5}, 4, [5]),
    "count of none": ({"type": "integer"}, 0, [1, 2]),
    "negative integer": ({"type": "integer"}, -1, [-3, -2, 0, 1]),
    "number": ({"type": "number", "min": 0, "max": 1, "tolerance": 0.25}, 0.5, [0.0, 1.0]),
    "number beyond its tolerance": ({"type": "number", "tolerance": 1.5}, 10.0, [8, 8.25, 11.75, 12]),
    "integer list": ({"type": "integer_list", "min": 0, "max": 2}, (0, 2), [(1, 2), (2, 2), (0, 1), (0, 0)]),
    "letter list": (
        {"type": "letter_list", "choices": tuple("xyz")},
        ("A", "B", "C"),
        [p for p in itertools.permutations("ABC") if p != ("A", "B", "C")],
    ),
    "set of letters": ({"type": "set", "choices": FOUR}, ("A", "B"), [("B", "C"), ("B", "D"), ("A", "C"), ("A", "D")]),
    "set of every letter": ({"type": "set", "choices": ("x", "y")}, ("A", "B"), [("A",), ("B",)]),
    "set of whole numbers": ({"type": "set", "min": 1, "max": 3}, (1, 3), [(2, 3), (1, 2)]),
    "yes or no": ({"type": "yes_no"}, "yes", ["no"]),
}


@pytest.mark.parametrize(("spec", "truth", "wrong"), SPACES.values(), ids=SPACES)
def test_every_wrong_answer_is_drawn_and_equally_often(spec, truth, wrong):
    counts = Counter(draw_incorrect(truth, AnswerSpec(**spec), f"seed {number}") for number in range(3000))
    assert set(counts) == set(wrong)
    assert len(wrong) == 1 or chisquare([counts[answer] for answer in wrong]).pvalue > LEAST_P


DECIMAL = st.tuples(st.integers(-(10**6), 10**6), st.integers(0, 4)).map(lambda pair: pair[0] / 10 ** pair[1])


@given(truth=DECIMAL, tolerance=st.sampled_from([0.0, 0.05, 0.25, 1.0]), seed=st.text(max_size=3))
def test_a_wrong_number_is_written_like_the_truth(truth, tolerance, seed):
    spec = AnswerSpec(type="number", tolerance=tolerance)
    drawn = draw_incorrect(truth, spec, seed)
    assert not same_answer(drawn, truth, spec)
    decimals = [len(show_answer(answer, spec).partition(".")[2]) for answer in (truth, drawn)]
    assert decimals[1] <= max(2, decimals[0])


@given(truth=st.floats(allow_nan=False, allow_infinity=False), seed=st.text(max_size=3))
def test_a_drawn_number_is_never_the_truth_however_large_it_is(truth, seed):
    spec = AnswerSpec(type="number")
    try:
        drawn = draw_incorrect(truth, spec, seed)
    except ValueError:
        assert abs(truth) > 1e8
    else:
        assert not same_answer(drawn, truth, spec)


@pytest.mark.parametrize("kind", ["integer", "number", "integer_list", "set", "coordinate"])
@pytest.mark.parametrize(
    "value",
    [10**400, "9" * 400, -(10**400), "1e999", float("inf")],
    ids=["int", "digits", "negative int", "exponent", "infinity"],
)
def test_numbers_beyond_floats_are_refused_and_do_not_overflow(kind, value):
    written = [value, value] if kind in ("integer_list", "set", "coordinate") else value
    with pytest.raises(ValueError, match="is not a"):
        normalise(written, AnswerSpec(type=kind))


@pytest.mark.parametrize("digits", ["9007199254740993", "-123456789012345678901234567890"])
def test_whole_numbers_keep_every_digit(digits):
    assert (
        normalise(digits, AnswerSpec(type="integer"))
        == normalise(int(digits), AnswerSpec(type="integer"))
        == int(digits)
    )


@pytest.mark.parametrize("value", [None, ["none"], {"none": 1}])
def test_only_words_and_numbers_name_an_option(value):
    with pytest.raises(ValueError, match="no letter and no option"):
        normalise(value, AnswerSpec(type="choice", choices=("none", "some")))


def asked(answer_type, **question):
    """The sums pack whose X1 has this answer type and whose first instance asks it so."""
    text = SUMS.replace("{type: integer, min: 0, max: 20}", json.dumps(answer_type))
    instance = sums_instance(0)
    instance["questions"][0].update(question)
    return text, [instance]


REFUSED = {
    "box whose middle is in the true box": (
        asked({"type": "coordinate"}, answer=[0, 0, 100, 100], incorrect=[10, 10, 30, 30]),
        "equals the correct one",
        "drawn",
    ),
    "box around the middle of the true box": (
        asked({"type": "coordinate"}, answer=[0, 0, 20, 20], incorrect=[5, 5, 90, 90]),
        "equals the correct one",
        "drawn",
    ),
    "range of one value": (
        asked({"type": "integer", "min": 3, "max": 3}, answer=3),
        "has no incorrect answer",
        "apart",
    ),
    "number too large for a neighbour": (
        asked({"type": "number"}, answer=1e17),
        "has no incorrect answer",
        "'incorrect'",
    ),
    "list of one letter": (
        asked({"type": "letter_list", "choices": ["x", "y"]}, answer=["A"]),
        "one letter has no other order",
        "'incorrect'",
    ),
    "letter that repeats": (
        asked({"type": "letter_list", "choices": ["x", "y"]}, answer=["A", "B", "A"]),
        "names a letter twice",
        "letter_list",
    ),
}


@pytest.mark.parametrize(("pack", "problem", "cure"), REFUSED.values(), ids=REFUSED)
def test_what_would_be_no_wrong_answer_is_refused(tmp_path, pack, problem, cure):
    with pytest.raises(InvalidInput) as caught:
        load_pack(write_pack(tmp_path / "p", *pack))
    (found,) = caught.value.problems
    assert problem in found.problem
    assert cure in found.cure


def test_wrong_answers_depend_on_nothing_but_seed_instance_and_question(tmp_path):
    def drawn(folder, text, instances):
        pack = load_pack(write_pack(folder, text, instances))
        return {(i.id, q.id): incorrect_answer(pack.task, i, q) for i in pack.instances() for q in i.questions}

    instances = [sums_instance(number) for number in range(20)]
    first = drawn(tmp_path / "a", SUMS, instances)
    turned = [{**instance, "questions": instance["questions"][::-1]} for instance in reversed(instances)]
    for instance in turned:
        instance["questions"] = [{**question, "text": "Other words?"} for question in instance["questions"]]
    assert drawn(tmp_path / "b", SUMS.replace("title: Sums", "title: Other"), turned) == first
    assert drawn(tmp_path / "c", SUMS + "seed: 1\n", instances) != first
