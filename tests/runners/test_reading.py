"""What replies come to: a table of cases, and laws that hold for every reply."""

from __future__ import annotations

import re
import time
import unicodedata
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from dodiag.interventions.answer_format import format_instruction
from dodiag.problems import UsageError
from dodiag.runners.reading import Reading, read_answer
from dodiag.runners.reading.cleaning import remove_reasoning
from dodiag.runners.reading.surface import strict_value
from dodiag.runners.reading.tokens import points_may_part_thousands
from dodiag.runners.reading.words import word_numbers
from dodiag.scm.answers import (
    Answer,
    AnswerSpec,
    AnswerType,
    Members,
    Shape,
    Units,
    normalise,
    plain_number,
    show_answer,
)
from dodiag.vocabulary import Outcome

TABLE = Path(__file__).with_name("replies.tsv")
KINDS = ("H01", "H02", "H04", "H05", "H06", "H07", "H09", "H11", "H12", "H13", "H18", "H20", "H21")

OPTIONS = ("red", "green", "blue", "dark red")
CHOICE = AnswerSpec(type=AnswerType.CHOICE, choices=OPTIONS)
INTEGER = AnswerSpec(type=AnswerType.INTEGER)
NUMBER = AnswerSpec(type=AnswerType.NUMBER)
INTEGERS = AnswerSpec(type=AnswerType.INTEGER_LIST)
LETTERS = AnswerSpec(type=AnswerType.LETTER_LIST, choices=("Image 1", "Image 2", "Image 3", "Image 4"), length=4)
LETTER_SET = AnswerSpec(type=AnswerType.SET, choices=OPTIONS)
INTEGER_SET = AnswerSpec(type=AnswerType.SET)
NUMBER_SET = AnswerSpec(type=AnswerType.SET, members=Members.NUMBER)
YES_NO = AnswerSpec(type=AnswerType.YES_NO)
TRUE_FALSE = AnswerSpec(type=AnswerType.YES_NO, true_false=True)
POINT = AnswerSpec(type=AnswerType.COORDINATE)
BOX = AnswerSpec(type=AnswerType.COORDINATE, shape=Shape.BOX)
FRACTIONS = AnswerSpec(type=AnswerType.COORDINATE, units=Units.FRACTIONS)
TEXT = AnswerSpec(type=AnswerType.TEXT)
SPECS = (
    *(CHOICE, INTEGER, NUMBER, INTEGERS, LETTERS, TEXT),
    *(LETTER_SET, INTEGER_SET, NUMBER_SET, YES_NO, TRUE_FALSE, POINT, BOX, FRACTIONS),
)
SOME_SPEC = st.sampled_from(
    (
        *SPECS,
        AnswerSpec(type=AnswerType.INTEGER, min=1, max=12),
        AnswerSpec(type=AnswerType.CHOICE, choices=("Yes", "No")),
    )
)


def _unescape(text: str) -> str:
    named = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\"}
    return re.sub(r"\\(u[0-9a-f]{4}|.)", lambda m: named.get(m[1]) or chr(int(m[1][1:], 16)), text)


def _cases() -> list[tuple[str, ...]]:
    lines = TABLE.read_text(encoding="utf-8").split("\n")
    return [tuple(line.split("\t")) for line in lines if line and not line.startswith("#")]


FIELDS: dict[str, Callable[[str], Any]] = {
    "length": int,
    "true_false": lambda text: text == "1",
    "members": str,
    "shape": str,
    "units": str,
}
"""Fields of an answer mapping that are no real numbers."""


def _spec(spec: str, choices: str) -> dict[str, Any]:
    kind, *settings = spec.split()
    mapping: dict[str, Any] = {"type": kind}
    for setting in settings:
        name, _, value = setting.partition("=")
        mapping[name] = FIELDS.get(name, float)(value)
    return mapping | ({"choices": choices.split("|")} if choices else {})


PARSE: dict[str, Callable[[str], Answer]] = {
    "choice": str,
    "integer": int,
    "number": float,
    "integer_list": lambda text: tuple(int(part) for part in text.split(",")),
    "letter_list": lambda text: tuple(part.strip() for part in text.split(",")),
    "set": lambda text: tuple(_entry(part.strip()) for part in text.split(",")),
    "yes_no": str,
    "coordinate": lambda text: tuple(float(part) for part in text.split(",")),
    "text": str,
}


def _entry(text: str) -> str | int | float:
    return text if text.isalpha() else float(text) if "." in text else int(text)


@pytest.mark.parametrize("case", _cases(), ids=lambda case: case[0])
def test_reply_of_the_table(case: tuple[str, ...]) -> None:
    _, spec, choices, reply, finish, outcome, value, flags = case
    mapping = _spec(spec, choices)
    reading = read_answer(None if reply == "<None>" else _unescape(reply), mapping, finish=finish)
    assert reading.outcome == outcome, reading
    assert reading.value == (PARSE[mapping["type"]](value) if outcome == "value" else None), reading
    seen = set(reading.flags) | {f"how={reading.how}"} | ({"strict"} if reading.strict else set())
    for flag in filter(None, flags.split(",")):
        assert (flag[1:] not in seen) if flag.startswith("!") else (flag in seen), reading


def test_the_table_covers_the_known_faults() -> None:
    ids = [case[0] for case in _cases()]
    assert len(ids) == len(set(ids))
    assert len(ids) >= 200
    for kind in KINDS:
        assert sum(name.split(".")[0] == kind for name in ids) >= 3, kind


@pytest.mark.parametrize(
    "spec",
    [
        {"type": "colour"},
        {"type": "integer", "min": 3, "max": 1},
        {"type": "integer", "colour": "red"},
        {"type": "choice", "choices": ["red"]},
        {"type": "choice"},
        {"type": "letter_list"},
        {},
    ],
)
def test_an_invalid_answer_mapping_is_a_usage_error(spec: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        read_answer("B", spec)


def test_an_unknown_finish_is_a_usage_error() -> None:
    with pytest.raises(UsageError):
        read_answer("B", CHOICE, finish="lenght")


def test_lettered_choices_are_taken_as_they_stand_in_graph_files() -> None:
    reading = read_answer("Answer: blue", {"type": "choice", "choices": {"A": "red", "B": "blue"}})
    assert (reading.outcome, reading.value) == (Outcome.VALUE, "B")


def test_strict_and_lenient_readings_stand_side_by_side() -> None:
    strict, lenient = read_answer("B", CHOICE), read_answer("It is green.", CHOICE)
    assert (strict.value, strict.strict_value) == ("B", "B")
    assert (lenient.value, lenient.strict_value) == ("B", None)


# Laws for every text

PIECES = st.sampled_from(
    [
        "Answer: ", "answer is ", "B", "A dog", " or ", "**", "$", "\\boxed{", "}", "<think>", "</think>", "<answer>",
        "\n", "1.", "7", "-", ",", "(", ")", "½", "٣", "three", " not ", "red", "dark red", "I can't ",
        "see the image", " = ", "%", "no wait", "Yes", "No", ". ", "1,234", "10^", "²", "\ud835", "\u200b", "’", "→",
        "1.234", "; 2.5", "minus ", "e5", "|-7|", ".(3)", "x+", "\n2, 3", "navy ", "9" * 310,
        "A, C, B, D", "(12, 34)", "x=", "y: 5", "[0.1, ", "{", "true", "<point>", "all of them", "/", ":", "#", "`",
        "~~",
    ]
)  # fmt: skip
ANY_TEXT = st.one_of(
    st.text(max_size=60),
    st.text(st.characters(codec=None), max_size=30),
    st.lists(PIECES, max_size=14).map("".join),
)


@given(ANY_TEXT, SOME_SPEC, st.sampled_from(["stop", "length", "refusal"]))
@example("\ud835", CHOICE, "stop")
@example("<think>" * 3, INTEGER, "length")
@example("ANSWER: 13:", AnswerSpec(type=AnswerType.INTEGER, min=1, max=12), "length")
def test_every_text_has_a_reading_that_is_valid_and_repeatable(text: str, spec: AnswerSpec, finish: str) -> None:
    reading = read_answer(text, spec, finish=finish)
    assert reading == read_answer(text, spec, finish=finish)
    assert reading.outcome in (Outcome.VALUE, Outcome.NONE, Outcome.INVALID, Outcome.REFUSED, Outcome.TRUNCATED)
    assert (reading.value is not None) == (reading.outcome is Outcome.VALUE)
    if reading.outcome is Outcome.VALUE:
        assert normalise(reading.value, spec) == reading.value
        assert reading.strict or "lenient" in reading.flags
    assert not reading.strict or reading.outcome is Outcome.VALUE
    if finish == "length":
        assert reading.outcome in (Outcome.VALUE, Outcome.TRUNCATED)
        assert reading.outcome is Outcome.TRUNCATED or "cut" in reading.flags
    if finish == "refusal":
        assert reading.outcome is Outcome.REFUSED
    assert len(reading.span) <= 200


ASKED = st.sampled_from(["B", "7", "1.5", "1, -2", "B, A", "no", "true", "12, 34", "1, 2, 3, 4", "0.5, 0.25", "7."])


@given(ANY_TEXT, ASKED, st.sampled_from(["{}\n{}", "{}\nAnswer: {}", "{}Answer: {}", "{1}"]), st.sampled_from(SPECS))
def test_what_a_strict_reader_takes_the_lenient_one_takes_too(
    text: str, asked: str, form: str, spec: AnswerSpec
) -> None:
    """Both readings are recorded by one value: the strict one is the same, or there is none."""
    assume(spec.type is not AnswerType.TEXT)
    reply = form.format(text, asked)
    strict = strict_value(remove_reasoning(reply).text, spec)
    reading = read_answer(reply, spec)
    assert reading.strict_value == strict
    assert strict is None or reading.value == strict


def _has_number(text: str) -> bool:
    folded = unicodedata.normalize("NFKC", text)
    return any(char.isnumeric() for char in text + folded) or bool(word_numbers(folded))


@given(ANY_TEXT)
def test_no_number_comes_out_of_a_reply_without_one(text: str) -> None:
    assume(not _has_number(text))
    for spec in (INTEGER, NUMBER, INTEGERS, INTEGER_SET, NUMBER_SET, POINT, BOX, FRACTIONS):
        assert read_answer(text, spec).value is None


LETTERLESS = st.text(st.sampled_from("efghijklmnopqrstuvwxyz .,\n!?-"), max_size=60)


@given(LETTERLESS)
def test_no_letter_comes_out_of_a_reply_that_names_none(text: str) -> None:
    reading = read_answer(text, AnswerSpec(type=AnswerType.CHOICE, choices=("cab", "bad", "add", "dab")))
    assert reading.value is None


ARTICLE_NOUNS = st.sampled_from(["dog", "car on the left", "man. He walks", "tree and a house", "red-haired woman"])


@given(
    st.sampled_from(
        ["A {}", "A {} is there.", "There is a {}.", "I see a {}.", "I think it is a {}", "It may be A {}?"]
    ),
    ARTICLE_NOUNS,
)
def test_an_article_or_a_pronoun_is_never_a_letter(form: str, noun: str) -> None:
    options = tuple(f"option number {i}" for i in range(12))
    assert read_answer(form.format(noun), AnswerSpec(type=AnswerType.CHOICE, choices=options)).value is None


# Round trips: whatever the style, the value comes back

WRAPPINGS = (
    "{}", "{}.", "({})", "[{}]", "**{}**", "`{}`", "${}$", "\\({}\\)", "\\boxed{{{}}}", "$$\\boxed{{\\text{{{}}}}}$$",
    "Answer: {}", "ANSWER: **{}**", "**Answer:** {}", "The answer is {}.", "The final answer is **{}**.",
    "Final answer: {}", "Answer：{}", "<answer>{}</answer>", '{{"answer": "{}"}}',
    "<think>Answer: A or 999?</think>{}", "答案：{}", "The picture shows a street.\n\nAnswer: {}", "### Answer\n\n{}",
    "  {}\n\n", "Answer: {}<|im_end|>", "Answer:\u00a0\u200b{}", "The wrong answer is A. The answer is {}.",
    "Answer: {}\n\nThis follows from the shape.",
)  # fmt: skip
ANY_WRAPPING = st.sampled_from(WRAPPINGS)


def _read_back(reply: str, spec: AnswerSpec, value: Answer) -> Reading:
    reading = read_answer(reply, spec)
    assert (reading.outcome, reading.value) == (Outcome.VALUE, value), (reply, reading)
    return reading


FULL_WIDTH = str.maketrans({char: chr(ord(char) + 0xFEE0) for char in "0123456789ABCD"})
ARABIC = str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")
AS_IS: dict[int, str] = {}


@given(
    st.sampled_from("ABCD"),
    ANY_WRAPPING,
    st.sampled_from(["{0}", "{0}. {1}", "{0}) {1}", "{0}: {1}", "{1}", "Option {0}"]),
)
def test_a_choice_comes_back(letter: str, wrapping: str, form: str) -> None:
    body = form.format(letter, OPTIONS["ABCD".index(letter)])
    _read_back(wrapping.format(body), CHOICE, letter)


@given(st.sampled_from("ABCD"), st.sampled_from("ABCD"))
def test_a_letter_with_the_text_of_another_option_is_no_answer(letter: str, other: str) -> None:
    assume(letter != other)
    for form in ("Answer: {}. {}", "{}. {}", "The answer is {} ({}).", "\\boxed{{{}: {}}}"):
        reading = read_answer(form.format(letter, OPTIONS["ABCD".index(other)]), CHOICE)
        assert reading.outcome is Outcome.INVALID
        assert "contradiction" in reading.flags


@given(st.sampled_from("ABCD"), st.sampled_from("ABCD"))
def test_two_letters_where_one_is_asked_are_no_answer(first: str, second: str) -> None:
    assume(first != second)
    for form in ("{}{}", "{} or {}", "{}, {}", "{}/{}", "{} and {}", "({}) or ({})"):
        for cue in ("{}", "Answer: {}", "The answer is {}.", "\\boxed{{{}}}"):
            assert read_answer(cue.format(form.format(first, second)), CHOICE).outcome is Outcome.INVALID


@given(
    st.integers(-(10**6), 10**6),
    ANY_WRAPPING,
    st.sampled_from([AS_IS, FULL_WIDTH, ARABIC]),
    st.sampled_from(["{}", "{:,}", "{}.0", "{} dots"]),
    st.sampled_from(["-", "−", "–"]),
)
def test_an_integer_comes_back(value: int, wrapping: str, digits: dict[int, str], form: str, minus: str) -> None:
    body = form.format(value).replace("-", minus).translate(digits)
    _read_back(wrapping.format(body), INTEGER, value)


UNITS = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
]
TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


@given(
    st.integers(20, 99),
    st.integers(0, 9),
    st.sampled_from(["{}", "Answer: {}", "The answer is {}.", "There are {}.", "**{}**"]),
)
def test_an_integer_in_words_comes_back(value: int, hundreds: int, form: str) -> None:
    words = TENS[value // 10 - 2] + (f"-{UNITS[value % 10]}" if value % 10 else "")
    if hundreds:
        words = f"{UNITS[hundreds]} hundred and {words}"
    _read_back(form.format(words.capitalize()), INTEGER, 100 * hundreds + value)


@given(st.integers(-(10**5), 10**5), ANY_WRAPPING, st.sampled_from(["{}", "{:,}", "{} m", "about {}"]))
def test_a_number_comes_back(hundredths: int, wrapping: str, form: str) -> None:
    value = hundredths / 100
    body = form.format(value)
    _read_back(wrapping.format(body), NUMBER, value)


@given(
    st.lists(st.integers(-99, 99), min_size=1, max_size=6), ANY_WRAPPING, st.sampled_from([", ", ",", "; ", " and "])
)
def test_an_integer_list_comes_back(values: list[int], wrapping: str, separator: str) -> None:
    reading = _read_back(wrapping.format(separator.join(map(str, values))), INTEGERS, tuple(values))
    assert ("duplicates" in reading.flags) <= (len(set(values)) < len(values))


@given(st.permutations("ABCD"), ANY_WRAPPING, st.sampled_from([", ", ",", " > ", " → ", "", " ", "-", " then ", "; "]))
def test_a_letter_list_comes_back(order: list[str], wrapping: str, separator: str) -> None:
    _read_back(wrapping.format(separator.join(order)), LETTERS, tuple(order))


@given(
    st.permutations("ABCD"), st.sampled_from(["{n}. {x}", "{n}) {x}", "- {x}", "{x}", "{n}. **{x}**", "{n}. Image {k}"])
)
def test_a_letter_list_with_one_entry_a_line_comes_back(order: list[str], form: str) -> None:
    lines = [form.format(n=n, x=letter, k="ABCD".index(letter) + 1) for n, letter in enumerate(order, 1)]
    for head in ("", "Answer:\n", "**Final Answer:**\n\n", "The order is:\n"):
        _read_back(head + "\n".join(lines), LETTERS, tuple(order))


@given(
    st.sets(st.sampled_from("ABCD"), min_size=1).flatmap(lambda members: st.permutations(sorted(members))),
    ANY_WRAPPING,
    st.sampled_from([", ", ",", "; ", " and ", "/", " & ", ""]),
    st.booleans(),
)
def test_a_set_of_letters_comes_back_in_any_order(
    members: list[str], wrapping: str, separator: str, repeated: bool
) -> None:
    written = separator.join([*members, members[0]] if repeated else members)
    reading = _read_back(wrapping.format(written), LETTER_SET, tuple(sorted(members)))
    assert ("duplicates" in reading.flags) == repeated


@given(
    st.lists(st.integers(-99, 99), min_size=1, max_size=6),
    ANY_WRAPPING,
    st.sampled_from(["{}", "[{}]", "\\{{{}\\}}"]),
    st.sampled_from([", ", ",", "; ", " and "]),
)
def test_a_set_of_integers_comes_back_in_any_order(values: list[int], wrapping: str, form: str, separator: str) -> None:
    written = form.format(separator.join(map(str, values)))
    reading = _read_back(wrapping.format(written), INTEGER_SET, tuple(sorted(set(values))))
    assert ("duplicates" in reading.flags) == (len(set(values)) < len(values))


@given(
    st.lists(st.integers(-9999, 9999).map(lambda n: n / 100), min_size=1, max_size=6),
    ANY_WRAPPING,
    st.sampled_from([", ", "; ", " and "]),
)
def test_a_set_of_numbers_comes_back(values: list[float], wrapping: str, separator: str) -> None:
    written = separator.join(f"{value:.2f}" for value in values)
    _read_back(wrapping.format(written), NUMBER_SET, tuple(sorted(set(values))))


WRITTEN_NUMBER = st.one_of(
    st.floats(-1e6, 1e6).map(lambda number: float(plain_number(number))),
    st.integers(-(10**6), 10**6).map(lambda n: n / 1000),
    st.floats(allow_nan=False, allow_infinity=False, min_value=1e-9, max_value=1e30).map(
        lambda number: float(plain_number(number))
    ),
)


@given(st.lists(WRITTEN_NUMBER, min_size=1, max_size=5, unique=True), ANY_WRAPPING, st.sampled_from([", ", "; "]))
def test_numbers_as_a_prompt_shows_them_come_back_as_a_set(values: list[float], wrapping: str, separator: str) -> None:
    """What state 1 shows to a model, and what it then says again, is the truth and not other numbers."""
    truth = normalise(values, NUMBER_SET)
    written = show_answer(truth, NUMBER_SET).replace(", ", separator)
    reading = _read_back(wrapping.format(written), NUMBER_SET, truth)
    assert ("ambiguous" in reading.flags) == points_may_part_thousands(written)


@given(
    st.integers(0, 999),
    st.integers(-40, 40),
    st.sampled_from(["{}", "**{}**", "{}.", "The answer is **{}**.", "Answer: {}.", "It is {}, so it is."]),
    st.sampled_from(["{:.2e}", "{:.2E}", "{:.0e}"]),
)
def test_a_number_with_an_exponent_comes_back(digits: int, exponent: int, wrapping: str, form: str) -> None:
    written = form.format(digits * 10.0**exponent)
    _read_back(wrapping.format(written), NUMBER, float(written))
    exact = Fraction(written)
    assert read_answer(wrapping.format(written), INTEGER).value == (int(exact) if exact.denominator == 1 else None)


@given(
    st.sampled_from(["9" * 400, "1e400", "9" * 3000, "1e99999", "-" + "9" * 400]),
    st.integers(0, 99),
    st.sampled_from(
        [
            "Answer: {}, {}",
            "{}, {}",
            "{1}, {0}",
            "Answer: {1}, {0}",
            "It is {} or {}.",
            "Answer: {}\n\nThere are {} dice.",
        ]
    ),
)
def test_a_number_too_long_to_compare_competes_like_any_other(long: str, short: int, form: str) -> None:
    for spec in (INTEGER, NUMBER, INTEGERS, INTEGER_SET, NUMBER_SET, POINT):
        assert read_answer(form.format(long, short), spec).value is None


@given(
    st.integers(1, 700), st.sampled_from(["Answer: {}", "Answer:\n{}", "The list is {}.", "<answer>{}</answer>", "{}"])
)
@example(120, "Answer:\n{}")
@example(500, "Answer: {}")
@example(700, "<answer>{}</answer>")
def test_of_a_long_list_all_entries_are_read_or_none(count: int, form: str) -> None:
    values = tuple(range(1000, 1000 + count))
    for spec, separators in ((INTEGERS, (", ", "\n", ",\n")), (INTEGER_SET, (", ", "\n")), (NUMBER_SET, (", ", "\n"))):
        for separator in separators:
            if "is {}" in form and "\n" in separator:
                continue
            reading = read_answer(form.format(separator.join(map(str, values))), spec)
            assert reading.value == values if count <= 200 else reading.value in (values, None), (spec, separator)


@given(st.integers(0, 2600), st.sampled_from(["Answer: {}{}", "Answer: {}{} dots", "The answer is {}{}"]))
@example(1996, "Answer: {}{}")
@example(1999, "Answer: {}{}")
def test_a_number_is_never_read_in_part(length: int, form: str) -> None:
    """Wherever the part of a long line ends that is read after a cue, it does not end inside a number."""
    reply = form.format(("x " * length)[:length], 1234)
    assume(length == 0 or reply[reply.index("1234") - 1] == " ")
    assert read_answer(reply, INTEGER).value in (1234, None)


@given(st.sampled_from(["yes", "no"]), ANY_WRAPPING, st.sampled_from([str, str.upper, str.capitalize]))
def test_yes_and_no_come_back(word: str, wrapping: str, form: Callable[[str], str]) -> None:
    for spec in (YES_NO, TRUE_FALSE):
        _read_back(wrapping.format(form(word)), spec, word)
    truth = {"yes": "true", "no": "false"}[word]
    _read_back(wrapping.format(form(truth)), TRUE_FALSE, word)
    assert read_answer(wrapping.format(form(truth)), YES_NO).value is None


@given(st.text(st.sampled_from("yesnopartufl -"), max_size=30), st.sampled_from(["{}", "The {} is there.", "({})"]))
def test_yes_and_no_are_never_parts_of_words(text: str, form: str) -> None:
    assume(not re.search(r"(?<![a-z])(?:yes|no|yep|nope|yeah|yup|nah|non|not)(?![a-z])", text))
    assert read_answer(form.format(text), YES_NO).value is None


POINT_FORMS = (
    "{0}, {1}", "({0}, {1})", "[{0},{1}]", "x={0}, y={1}", "x: {0} px, y: {1} px", '{{"x": {0}, "y": {1}}}',
    "({0}; {1})",    "<point>{0} {1}</point>", "[[{0}, {1}]]", '[{{"point_2d": [{0}, {1}], "label": "7"}}]',
)  # fmt: skip
BOX_FORMS = (
    "{0}, {1}, {2}, {3}", "({0}, {1}, {2}, {3})", "[{0},{1},{2},{3}]", "({0}, {1}), ({2}, {3})",
    "[[{0}, {1}], [{2}, {3}]]", "x1={0}, y1={1}, x2={2}, y2={3}",
    '{{"xmin": {0}, "ymin": {1}, "xmax": {2}, "ymax": {3}}}',
    "({0},{1}) to ({2},{3})", "left: {0}, top: {1}, right: {2}, bottom: {3}",
    '[{{"bbox_2d": [{0}, {1}, {2}, {3}], "label": "7"}}]',
)  # fmt: skip


@given(
    st.tuples(*[st.floats(0, 1)] * 2),
    st.sampled_from(["{}", "({})", "Answer: {}", "The answer is **{}**.", "<point>{}</point>", "The point is [{}]."]),
)
@example((0.061 / 2 + 0.815 / 2, 0.52), "({})")
def test_a_point_with_all_its_decimals_comes_back(point: tuple[float, float], form: str) -> None:
    for written in (", ".join(map(repr, point)), ", ".join(f"{number:.25f}" for number in point)):
        _read_back(form.format(written), FRACTIONS, tuple(float(number) for number in written.split(", ")))


PIXEL = st.one_of(st.integers(2, 4000), st.integers(20, 40000).map(lambda n: n / 10))
COORDINATE_WRAPPINGS = [
    form for form in WRAPPINGS if form not in ('{{"answer": "{}"}}', "\\boxed{{{}}}", "$$\\boxed{{\\text{{{}}}}}$$")
]
"""Without those that no JSON object can stand in."""


@given(PIXEL, PIXEL, st.sampled_from(COORDINATE_WRAPPINGS), st.sampled_from(POINT_FORMS))
def test_a_point_comes_back(x: float, y: float, wrapping: str, form: str) -> None:
    _read_back(wrapping.format(form.format(x, y)), POINT, (float(x), float(y)))


@given(PIXEL, PIXEL, PIXEL, PIXEL, st.sampled_from(COORDINATE_WRAPPINGS), st.sampled_from(BOX_FORMS))
def test_a_box_comes_back(x: float, y: float, width: float, height: float, wrapping: str, form: str) -> None:
    corners = (x, y, round(x + width, 1), round(y + height, 1))
    _read_back(wrapping.format(form.format(*corners)), BOX, tuple(map(float, corners)))


@given(st.integers(1, 999), st.integers(1, 999), st.sampled_from(POINT_FORMS))
def test_fractions_and_pixels_are_never_taken_for_each_other(x: int, y: int, form: str) -> None:
    fractions = form.format(x / 1000, y / 1000)
    assert read_answer(fractions, FRACTIONS).value == (x / 1000, y / 1000)
    assert read_answer(fractions, POINT).value is None
    assert read_answer(form.format(x + 1, y + 1), FRACTIONS).value is None


@given(st.integers(2, 99), st.integers(2, 99), st.sampled_from(["{} dice in {} rows", "{} red, then {} blue dice"]))
def test_two_unequal_numbers_without_a_conclusion_are_no_answer(first: int, second: int, form: str) -> None:
    reading = read_answer(form.format(first, second), INTEGER)
    assert (reading.outcome is Outcome.NONE) == (first != second)
    assert first == second or "ambiguous" in reading.flags
    for conclusion in ("so {}", "in total {}", "which makes {}", "thus there are {}"):
        reply = f"{form.format(first, second)}, {conclusion.format(first + second)}."
        assert read_answer(reply, INTEGER).value == first + second


@given(
    st.lists(
        st.sampled_from(["the", "dog", "runs", "to", "left", "because", "it", "saw", "a", "cat"]),
        min_size=1,
        max_size=8,
    )
)
def test_a_text_comes_back(words: list[str]) -> None:
    answer = " ".join(words)
    for form in (
        "{}",
        "Answer: {}",
        "**Answer:** {}",
        "<think>hm</think>\n{}",
        "<answer>{}</answer>",
        "Hm.\nFinal answer: {}",
    ):
        _read_back(form.format(answer), TEXT, answer)


ASKED_FORMS: tuple[tuple[AnswerSpec, str, Answer], ...] = (
    (CHOICE, "B", "B"),
    (INTEGER, "7", 7),
    (NUMBER, "0.5", 0.5),
    (INTEGERS, "1, -2", (1, -2)),
    (LETTERS, "B, A, D, C", ("B", "A", "D", "C")),
    (LETTER_SET, "B, A", ("A", "B")),
    (INTEGER_SET, "1, -2", (-2, 1)),
    (NUMBER_SET, "1.5, -2", (-2.0, 1.5)),
    (YES_NO, "no", "no"),
    (TRUE_FALSE, "false", "no"),
    (POINT, "12, 34.5", (12.0, 34.5)),
    (BOX, "10, 20, 50, 60", (10.0, 20.0, 50.0, 60.0)),
    (FRACTIONS, "0.5, 1", (0.5, 1.0)),
    (TEXT, "the dog", "the dog"),
)


@pytest.mark.parametrize(("spec", "reply", "value"), ASKED_FORMS)
def test_what_the_prompt_asks_for_is_read_strictly(spec: AnswerSpec, reply: str, value: Answer) -> None:
    for form in ("{}", "{}\n", "Answer: {}", "<think>hm</think>{}"):
        reading = read_answer(form.format(reply), spec)
        assert (reading.value, reading.strict_value) == (value, value)
    instruction = format_instruction(spec)
    assert instruction.startswith("Answer with")
    assert "$" not in instruction


# Laws of saying the same in other ways


MARKUP = (
    "**{}**", "`{}`", "```\n{}\n```", "$\\boxed{{{}}}$", "<answer>{}</answer>", "> {}", "### Answer\n{}", "✅ **{}**",
    "【答案】{}",
    '```json\n{{"answer": "{}"}}\n```', "<|begin_of_box|>{}<|end_of_box|>",
)  # fmt: skip
CANONICAL = st.one_of(
    st.sampled_from("ABCD").map(lambda letter: (CHOICE, letter, letter)),
    st.integers(0, 10**6).map(lambda n: (INTEGER, str(n), n)),
    st.lists(st.integers(0, 99), min_size=2, max_size=5).map(lambda ns: (INTEGERS, ", ".join(map(str, ns)), tuple(ns))),
    st.permutations("ABCD").map(lambda order: (LETTERS, ", ".join(order), tuple(order))),
    st.sampled_from(["yes", "no"]).map(lambda word: (YES_NO, word, word)),
)


@given(CANONICAL, st.sampled_from(MARKUP))
def test_markup_around_an_answer_changes_nothing(said: tuple[AnswerSpec, str, Answer], markup: str) -> None:
    spec, text, value = said
    _read_back(markup.format(text), spec, value)


@given(
    CANONICAL, st.sampled_from(["{0}\n\nAnswer: {0}", "Answer: {0}\n\nThe final answer is {0}.", "Answer: {0}\n{0}"])
)
def test_an_answer_that_is_said_again_is_the_same_answer(said: tuple[AnswerSpec, str, Answer], form: str) -> None:
    spec, text, value = said
    reading = _read_back(form.format(text), spec, value)
    assert "revised" not in reading.flags


@given(st.lists(st.integers(0, 99), min_size=2, max_size=5), st.lists(st.integers(0, 99), min_size=2, max_size=5))
def test_two_lists_below_each_other_are_not_one(first: list[int], second: list[int]) -> None:
    lines = "\n".join(", ".join(map(str, values)) for values in (first, second))
    for form in ("{}", "Answer: {}", "[{}]"):
        reading = read_answer(form.format(lines), INTEGERS)
        assert reading.value == (tuple(first) if first == second else None)


@given(CANONICAL, st.sampled_from(WRAPPINGS))
def test_what_was_read_is_read_again_as_itself(said: tuple[AnswerSpec, str, Answer], wrapping: str) -> None:
    spec, text, _ = said
    value = read_answer(wrapping.format(text), spec).value
    assert value is not None
    written = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    again = read_answer(written, spec)
    assert (again.value, again.strict) == (value, True)


COLOURS = ("red", "green", "blue", "yellow")


@given(
    st.permutations(COLOURS),
    st.sampled_from(COLOURS),
    st.sampled_from([
        "{}", "It is {}.", "Answer: {}", "The die is {}.", "not {other} but {}", "Is it {other}? No. It is {}.",
        "{}, not {other}",
        "The answer is {}.", "It isn't {other}. It's {}.", "\\boxed{{{}}}",
    ]),
)  # fmt: skip
def test_the_letter_that_is_read_goes_with_the_text_of_the_option(order: list[str], colour: str, form: str) -> None:
    other = next(name for name in COLOURS if name != colour)
    spec = AnswerSpec(type=AnswerType.CHOICE, choices=tuple(order))
    _read_back(form.format(colour, other=other), spec, "ABCD"[order.index(colour)])


@given(st.sampled_from("BCD"), st.sampled_from("ABCD"), st.sampled_from([" ", "\n", "\n\n"]), st.booleans())
def test_the_text_of_an_option_never_outweighs_another_letter(letter: str, named: str, gap: str, first: bool) -> None:
    colour = OPTIONS["ABCD".index(named)]
    mention = f"The {colour} die is behind it."
    for form in ("{}", "So {}.", "Hence, ({}).", "{} fits.", "It's {}.", "{} it is!"):
        stated = form.format(letter)
        reading = read_answer(gap.join([mention, stated] if first else [stated, mention]), CHOICE)
        assert reading.value in (letter, None) or named == letter


@given(st.integers(2, 6), st.sampled_from([
    "Opposite faces of a die sum to 7, so the bottom face is {}.",
    "The bottom face is {} because opposite faces add up to 7.",
    "The bottom face is {}. Opposite faces sum to 7.",
    "The hidden face is {0}, since 7 - {other} = {0}.",
    "Since opposite faces sum to 7, the hidden face is 7 - {other} = {0}.",
]))  # fmt: skip
def test_a_rule_or_a_reason_is_not_the_answer(face: int, form: str) -> None:
    _read_back(form.format(face, other=7 - face), INTEGER, face)


@given(
    st.integers(1, 40),
    st.integers(1, 40),
    st.sampled_from(["{} {a}\n{} {b}", "{}: {a}\n{}: {b}", "so {a} red and {b} blue"]),
)
def test_parts_beside_each_other_are_no_answer(a: int, b: int, form: str) -> None:
    assume(a != b)
    assert read_answer(form.replace("{}", "Red:", 1).replace("{}", "Blue:").format(a=a, b=b), INTEGER).value is None


# No reply takes long

REPEATED = (
    "(", "1,", "answer: ", "the answer is ", "answer\n", "$", "\\boxed{", "\\text{", "\\frac{", "{", "9", " ", "\n",
    "\t \n", "*", "_", "`", "~", "#", ">", "<", "<think>", "</think>", "not red ", "red ", "A, ", "A ", "B\n",
    "A or ", "1 + ", "1 = ", "1 = 1, so 2, ", "three ", "one and ", "no wait ", "I cannot ", "I can't see ", ".",
    "3-", "3 of ", "1. ", "1. a\n", "[1, ", "[1, 2] ", "-", '"', "'", "1:2:", "minus ", "1e5", "1'", ":", "no, ",
    "image 3 ", "option B ", "yes ", "yes, ", "is not true ", "x=1 ", "x: ", "(1, 2) ", "(1, 2), ", "1, 2, 3, 4 ",
    "<point>", "A and C ", "all ", "so 1 ", "are 1 ", "**1** ", "½", "١", "\ud835", "so the ", "(A) ", "is ", "->", "x",
    "√", "√(", "2π", "2x + ", "1 because ", "if red ", "if would ",
    "a = 1, ", "a: 1\n", "so B. ", "选A", "not A but ", "but not A or B ", "1,000, ", "opposite faces sum ",
    "red? no ", "yes if ",
    "1e5, ", "1.234, ", "1e", "|-7|", "3.(3)", "x+5 ", "navy blue ", "blue-ish ", "1\u0305",
    "\\sqrt{", '{"answer": ', "🟢", "⁻", "it's B. ",
)  # fmt: skip
FEWER, MORE = 2_500, 10_000
TIMED = (CHOICE, INTEGER, INTEGERS, LETTERS, TEXT, LETTER_SET, NUMBER_SET, TRUE_FALSE, POINT, BOX)


def _seconds(text: str) -> float:
    """Return the best of two processor times to read a text as every type, alone and between answers."""
    best = float("inf")
    for _ in range(2):
        start = time.process_time()
        for spec in TIMED:
            read_answer(text, spec)
        read_answer(f"Answer: B\n{text}\nAnswer: 7", CHOICE)
        best = min(best, time.process_time() - start)
    return best


@pytest.mark.parametrize("piece", REPEATED, ids=repr)
def test_time_grows_with_length_and_not_with_its_square(piece: str) -> None:
    # four times the text takes four times as long; sixteen times would be quadratic
    fewer = _seconds(piece * (FEWER // len(piece)))
    more = _seconds(piece * (MORE // len(piece)))
    assert more < 9 * fewer + 0.1
