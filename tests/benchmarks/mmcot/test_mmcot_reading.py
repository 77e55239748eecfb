"""The released readers, trap by trap, and the lenient ones beside them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mmcot_sets import PREDICTION, RIGHT, prediction, video_entry

from dodiag.benchmarks.mmcot.lenient import folded, lenient_links, lenient_parts
from dodiag.benchmarks.mmcot.notation import chain_of, cleaned, is_correct, links_of, list_of, options_of

GOLD = {"A1": ("B2", "C3"), "A2": ("B1", "C2"), "A3": ("B3", "C1")}


def without(*slots):
    return {slot: link for slot, link in GOLD.items() if slot not in slots}


@pytest.mark.parametrize(
    ("reply", "strict", "lenient"),
    [
        (RIGHT, GOLD, GOLD),
        ("A1 -> B2 -> C3,A2->B1->C2, A3->B3->C1", GOLD, GOLD),
        ("A1->B2->C3\nA2->B1->C2\nA3->B3->C1", {}, GOLD),
        ("A1->B2->C3,\nA2->B1->C2,\nA3->B3->C1", GOLD, GOLD),
        (f"Answer: {RIGHT}", without("A1"), GOLD),
        (f"{RIGHT}.", without("A3"), GOLD),
        (f"```\n{RIGHT}\n```", without("A1", "A3"), GOLD),
        (f"**{RIGHT}**", without("A1", "A3"), GOLD),
        (RIGHT.replace("->", "→"), {}, GOLD),
        (RIGHT.lower(), {}, GOLD),
        ("A1->B2, A2->B1->C2", {"A2": ("B1", "C2")}, {"A2": ("B1", "C2")}),
        ("A4->B1->C1", {}, {}),
        (RIGHT.replace(", ", "; "), {}, GOLD),
        (f"{RIGHT}, A1->B1->C1", {**GOLD, "A1": ("B1", "C1")}, {**GOLD, "A1": ("B1", "C1")}),
        ("A1->B2->C3 or A1->B1->C1", {}, {}),
        ("A1->B2->C3 and again A1->B2->C3", {}, {"A1": ("B2", "C3")}),
        ("A11->B2->C3, A1->B2->C33", {"A1": ("B2", "C33")}, {"A1": ("B2", "C33")}),
        ("(A1 ⇒ B2 ⇒ C3) `A2`->`B1`->`C2`; A3 \\rightarrow B3 \\rightarrow C1", {}, GOLD),
        ("A1 leads to B2 and C3", {}, {}),
        ("A1->B2->C3 or C4; A2->B1->C2", {}, {"A2": ("B1", "C2")}),
        ("A1->B2->C3/C4", {}, {}),
        ("**A1->B2->C3** (C4)", {}, {}),
        ("A1->B2->C3->C4", {}, {}),
        ("A1->B2->C3 (C3, as B2 shows)", {}, {"A1": ("B2", "C3")}),
        ("A1->B2->C3\nC4: the water rises", {}, {"A1": ("B2", "C3")}),
        ("", {}, {}),
        (None, {}, {}),
    ],
)
def test_chains_of_a_picture_are_read_as_released_and_leniently(reply, strict, lenient):
    assert links_of(reply) == strict
    assert lenient_links(reply) == lenient


@given(st.text(alphabet="A123B->, \nC.;→*", max_size=60))
def test_whatever_is_read_whole_as_released_is_read_the_same_leniently(text):
    strict = links_of(text)
    if len(strict) == 3:
        assert lenient_links(text) == strict
    assert all(set(link) for link in lenient_links(text).values())


def test_options_are_the_lines_that_begin_with_their_label():
    text = "B1: it tips\nand falls\n B2: indented\n- B3: bulleted\nB4:bare\nC1: other\n"
    assert options_of(text, "B") == {"B1": "it tips", "B4": "bare"}
    assert options_of("B1: a\nB1: b", "B") == {"B1": "b"}


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("[a], [b]", ["a", "b"]),
        ("[[a], [b]]", ["a", "b"]),
        ("[a],[b]", ["a],[b"]),
        ("[a],  [b]", ["a],  [b"]),
        (" [a], [b]", ["[a", "b"]),
        ("[a], [b] ", ["a", "b]"]),
        ("[a [left]], [b]", ["a [left]", "b"]),
        ("[ a ], [b]", ["a", "b"]),
        ("", [""]),
    ],
)
def test_lists_are_split_as_released(text, entries):
    assert list_of(text) == entries


@pytest.mark.parametrize("text", ["[a], [b]", "[a] -> [b] -> [c]", "[a] → [b]", "[a->b], [c] -> [d]"])
def test_a_chain_has_exactly_one_arrow(text):
    assert chain_of(text) is None


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ('{"a": 1}', '{"a": 1}'),
        ('```json\n{"a": 1}\n```', '{"a": 1}'),
        ('```\n{"a": 1}\n```', '{"a": 1}'),
        ('Here:\n{"a":\n1} fine', '{"a":\n1}'),
        ("nothing", "nothing"),
        ("", ""),
    ],
)
def test_json_is_cut_out_of_a_reply(reply, text):
    assert cleaned(reply) == text


ENTRY = video_entry()
CONDITIONS, CHAIN = ENTRY["Critical Conditions"], ENTRY["Counterfactual Causal Chain"]
SWAPPED = {
    "chosen_conditions": "[a cup stands at the edge], [a hand pushes]",
    "counterfactual_conditions": "[a cup stands inside], [no hand]",
    "counterfactual_chain": "[a cup stands inside], [no hand] -> [The cup stays.]",
}
BARE = {
    "counterfactual_result": "The cup stays.",
    "counterfactual_chain": "[no hand], [a cup stands inside] -> The cup stays.",
}
TWICE = {"counterfactual_conditions": "[no hand], [no hand], [a cup stands inside]"}


@pytest.mark.parametrize(
    ("changes", "strict", "lenient"),
    [
        ({}, True, True),
        (SWAPPED, True, True),
        ({"counterfactual_chain": SWAPPED["counterfactual_chain"]}, True, True),
        ({"counterfactual_result": "The cup stays."}, False, True),
        (BARE, False, True),
        ({"counterfactual_result": " [The cup stays.] "}, True, True),
        ({"counterfactual_result": "[The cup stays]"}, False, True),
        ({"counterfactual_result": "[the cup stays.]"}, False, True),
        ({"counterfactual_result": "[The cup falls.]"}, False, False),
        ({"chosen_conditions": "[a hand  pushes], [a cup stands at the edge]"}, False, True),
        ({"chosen_conditions": "[a hand pushes],[a cup stands at the edge]"}, False, True),
        ({"chosen_conditions": ["a hand pushes", "a cup stands at the edge"]}, False, True),
        ({"chosen_conditions": "[a hand pushes], [a cup stands at the edge], [a lamp is on]"}, False, False),
        ({"chosen_conditions": "[a hand pushes]"}, False, False),
        ({"counterfactual_chain": PREDICTION["counterfactual_chain"].replace("->", "→")}, False, True),
        ({"counterfactual_chain": PREDICTION["counterfactual_chain"].replace("->", "=>")}, False, True),
        ({"counterfactual_chain": PREDICTION["counterfactual_chain"].replace(" -> ", "->")}, False, True),
        ({"counterfactual_chain": ""}, False, True),
        (TWICE, False, True),
        (
            {**TWICE, "counterfactual_chain": "[no hand], [no hand], [a cup stands inside] -> [The cup stays.]"},
            True,
            True,
        ),
        ({"counterfactual_conditions": "[no hand], [a lamp is off]"}, False, False),
    ],
)
def test_answers_about_videos_are_compared_as_released_and_in_substance(changes, strict, lenient):
    text = prediction(**changes)
    assert is_correct(CONDITIONS, CHAIN, cleaned(text)) is strict
    assert lenient_parts(CONDITIONS, CHAIN, text).correct is lenient


def test_curly_quotes_are_wrong_as_released_and_right_in_substance():
    gold = "[a], [b] -> [The child’s lamp breaks.]"
    said = {**PREDICTION, "chosen_conditions": "[a], [b]", "counterfactual_conditions": "[a], [b]"}
    said |= {"counterfactual_result": "[The child's lamp breaks.]"}
    said |= {"counterfactual_chain": "[a], [b] -> [The child's lamp breaks.]"}
    text = json.dumps(said)
    assert not is_correct("[a], [b]", gold, text)
    assert lenient_parts("[a], [b]", gold, text).correct


@pytest.mark.parametrize("text", ["", "no", "[1]", '{"chosen_conditions": "[a]"}', "null", '{"a": ', None])
def test_what_is_no_answer_is_wrong(text):
    assert not is_correct(CONDITIONS, CHAIN, text)
    assert not lenient_parts(CONDITIONS, CHAIN, text).correct


def test_an_unreadable_gold_chain_can_never_be_met():
    broken = "[x -> y], [z] -> [w]"
    assert not is_correct("[x], [z]", broken, prediction())
    assert not lenient_parts("[x], [z]", broken, prediction()).correct


WORDS = st.text(alphabet="abZ '’.,[]->", min_size=1, max_size=12)


@given(st.lists(WORDS, min_size=2, max_size=2), st.lists(WORDS, min_size=2, max_size=2), WORDS)
def test_what_is_correct_as_released_is_correct_in_substance(chosen, replaced, result):
    conditions, causes = (", ".join(f"[{entry}]" for entry in entries) for entries in (chosen, replaced))
    chain = f"{causes} -> [{result}]"
    values = (conditions, causes, f"[{result}]", chain)
    text = json.dumps(dict(zip(PREDICTION, values, strict=True)))
    if is_correct(conditions, chain, text):
        parts = lenient_parts(conditions, chain, text)
        assert (parts.conditions, parts.replacements, parts.result) == (True, True, True)


@given(st.text(max_size=30))
def test_folding_twice_is_folding_once(text):
    assert folded(folded(text)) == folded(text)
