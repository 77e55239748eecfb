# ruff: noqa: N802
"""Faults that users of other harnesses reported: no kind is possible here, and the inputs are others than reported.

A number H.. is that of the project's list of known faults. Every one is here or in :data:`ELSEWHERE`.
"""

import asyncio
import base64
import hashlib
import io
import json
import os
import random
import re
import shutil
import sys
import time
from collections import Counter
from email.utils import formatdate
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest
from packs import SUMS, maze_pack, picture, sums_instance, sums_pack, write_pack
from servers import completion, failure, serving

import dodiag
from dodiag.cli import main
from dodiag.problems import DodiagError, InvalidInput, UsageError
from dodiag.runners.judging.verdicts import NoVerdict, Verdict, read_verdict
from dodiag.runners.keys import request_key
from dodiag.runners.ledger import LEDGER, Ledger
from dodiag.runners.protocol import Finish
from dodiag.runners.retry import RetryPolicy
from dodiag.runners.runner import RunOptions
from dodiag.runners.session import ModelOptions, start

ROOT = Path(__file__).parent.parent

KNOWN = [
    *("H01", "H02", "H04", "H05", "H06", "H07", "H09", "H11", "H12", "H13", "H14", "H16", "H17", "H18", "H20", "H21"),
    *("H22", "H23", "H24", "H25", "H26", "H28", "H29", "H30", "H31", "H33", "H34", "H35", "H36", "H37", "H40", "H42"),
    "H43",
]

ELSEWHERE = {
    "H01": ["tests/runners/test_reading.py::test_the_table_covers_the_known_faults"],
    "H11": ["tests/runners/test_reading.py::test_an_integer_list_comes_back"],
    "H16": ["tests/runners/test_judging.py::test_a_verdict_that_is_cut_off_is_none"],
    "H17": ["tests/runners/test_rescoring.py::test_one_bad_reply_costs_its_own_item_alone"],
    "H18": ["tests/runners/test_runner.py::test_null_content_at_the_token_limit_is_truncated_and_not_retried"],
    "H21": ["tests/runners/test_runner.py::test_refusals_are_refusals_whatever_their_form"],
    "H26": ["tests/runners/test_transfer.py::test_the_union_has_what_any_part_has"],
    "H28": [
        "tests/scm/test_pack.py::test_duplicates_are_refused",
        "tests/interventions/test_plan.py::test_the_hash_changes_with_what_is_asked_and_with_nothing_else",
    ],
    "H30": ["tests/runners/test_runner.py::test_one_bad_item_costs_its_retries_and_nobody_else"],
    "H31": ["tests/runners/test_runner.py::test_rate_limits_slow_the_whole_model_and_lose_nothing"],
    "H33": [
        "tests/runners/test_interruption.py::test_ctrl_c_ends_soon_keeps_every_answer_and_says_how_to_go_on",
        "tests/runners/test_interruption.py::test_a_second_ctrl_c_ends_at_once",
    ],
    "H34": ["tests/interventions/test_plan.py::test_memory_of_planning_does_not_grow_with_the_pack"],
    "H35": ["perf/transport.py::main"],
    "H40": ["tests/bounds/test_scores.py::test_wilson_is_wilson_where_every_instance_has_one_question"],
    "H43": ["tests/test_cli_show.py::test_a_reply_is_shown_word_for_word_and_can_do_nothing"],
}
"""Where a fault has a test of its own; speed is measured (perf/), not tested against a clock."""


def test_every_known_fault_has_a_test():
    here = {name.split("_")[1] for name in globals() if name.startswith("test_H")}
    assert set(KNOWN) == here | set(ELSEWHERE)
    for places in ELSEWHERE.values():
        for place in places:
            file, _, function = place.partition("::")
            assert re.search(rf"^def {function}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE), place


COLOURS = {"type": "choice", "choices": ["red", "blue", "green", "black"]}
ORDER = {"type": "letter_list", "choices": ["red", "blue", "green", "black"]}
YES_NO = {"type": "choice", "choices": ["yes", "no"]}
INTEGER, NUMBER, INTEGERS = {"type": "integer"}, {"type": "number"}, {"type": "integer_list"}


def read(text, spec, finish="stop"):
    """What a reply came to: the value, or the name of the outcome."""
    found = dodiag.read_answer(text, spec, finish=finish)
    assert (found.outcome.value == "value") == (found.value is not None)
    return found.outcome.value if found.value is None else found.value


@pytest.mark.parametrize(
    "reply",
    [
        "\\boxed{\\text{C}}",
        "Final answer: $\\mathbf{C}$",
        "**Answer**: **(C)**",
        "`ANSWER: C`",
        "> ANSWER: C",
        "Answer: \\(C\\)",
        "__Answer:__ _C_",
        "答案：Ｃ",
        "ANSWER: ***C***.",
        "### Answer\n\n**C**",
    ],
)
def test_H01_a_letter_is_found_in_any_wrapping(reply):
    assert read(reply, COLOURS) == "C"


def test_H01_the_prompt_shows_no_placeholder_that_a_model_could_copy(tmp_path):
    prompts = []

    def answer(request):
        prompts.append(request.prompt.text)
        return "A"

    dodiag.run(sums_pack(tmp_path / "p", 1), answer, tmp_path / "r")
    assert prompts
    assert not [prompt for prompt in prompts if "$" in prompt or "LETTER" in prompt]


@pytest.mark.parametrize(
    ("reply", "value", "revised"),
    [
        ("Answer: A\nActually no.\nAnswer: b", "B", True),
        ("The answer is A. Wait, that is wrong. The answer is D.", "D", True),
        ("answer: d\nANSWER: D", "D", False),
        ("Answer: A\n\nAnswer: B\n\nANSWER: c", "C", True),
        ("ANSWER: BD", "invalid", False),
        ("Answer: ABCD", "invalid", False),
        ("Answer: B or C", "invalid", False),
        ("Answer: E", "invalid", False),
    ],
)
def test_H02_the_last_cue_counts_and_never_a_prefix(reply, value, revised):
    assert read(reply, COLOURS) == value
    assert ("revised" in dodiag.read_answer(reply, COLOURS).flags) == revised


@pytest.mark.parametrize("spec", [COLOURS, YES_NO, ORDER, INTEGER, NUMBER, INTEGERS], ids=lambda spec: spec["type"])
@pytest.mark.parametrize(
    "reply",
    [
        "",
        "   \n",
        "The image did not load, could you send it again?",
        "Hmm.",
        "???",
        "As requested, the answer follows below:",
        "It depends on how one looks.",
        "None of that can be told from here.",
    ],
)
def test_H04_nothing_is_drawn_where_nothing_can_be_read(reply, spec):
    found = {read(reply, spec) for _ in range(20)}
    assert found <= {"none", "refused", "invalid"}
    assert len(found) == 1


@pytest.mark.parametrize(
    ("truth", "reply", "same"),
    [
        (7, "so it is 17", False),
        (7, "so it is 70", False),
        (7, "the total is −7", False),
        (-7, "the total is −7", True),
        (-7, "the total is –7", True),
        (-7, "it is 7", False),
        (12, "exactly 012", True),
        (0.5, "10.5", False),
        (0.5, ".5", True),
        (2.50, "it is 2.5", True),
        (1, "11", False),
        (100, "1", False),
    ],
)
def test_H05_numbers_are_compared_as_numbers(truth, reply, same):
    value = read(reply, NUMBER)
    assert isinstance(value, float)
    assert (value == truth) is same


@pytest.mark.parametrize(
    ("spec", "reply", "value"),
    [
        (INTEGER, "Answer: 7!", 7),
        (INTEGER, "(7).", 7),
        (INTEGER, "There are *7*;", 7),
        (INTEGER, '"7"', 7),
        (NUMBER, "€7.50", 7.5),
        (NUMBER, "it costs £1,250.75.", 1250.75),
        (NUMBER, "7.50$", 7.5),
        (NUMBER, "¥300!", 300.0),
        (NUMBER, "35% of 200", 35.0),
        (NUMBER, "35 % of the 200 cars", 35.0),
    ],
)
def test_H06_what_is_glued_to_a_number_is_not_part_of_it(spec, reply, value):
    assert read(reply, spec) == value


@pytest.mark.parametrize(
    ("reply", "value"),
    [("I count 7, ..., that is all", 7), ("7,,,", 7), ("it is 7 . . .", 7), ("7 ;;, .", 7), ("...", "none")],
)
def test_H07_a_run_of_marks_is_no_number(reply, value):
    assert read(reply, INTEGER) == value


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        *(
            ("".join(chr(zero + int(d)) for d in "307"), 307)
            for zero in (0x0660, 0x06F0, 0x0966, 0x09E6, 0x0E50, 0xFF10)
        ),
        ("total ७", 7),
        ("¾", 0.75),
        ("①", 1),
        ("⑳", 20),
    ],
)
def test_H09_digits_of_other_scripts_are_digits(reply, value):
    assert read(reply, NUMBER) == value
    assert read(f"the answer is {reply}", NUMBER) == value


@pytest.mark.parametrize(
    ("spec", "reply", "value"),
    [
        (INTEGERS, "3; 2", (3, 2)),
        (INTEGERS, "[3, -2]", (3, -2)),
        (INTEGERS, "3 and -2", (3, -2)),
        (INTEGERS, "- 3\n- 2", (3, 2)),
        (INTEGERS, "(3,2)", (3, 2)),
        (INTEGERS, "3, 3, 2", (3, 3, 2)),
        (ORDER, "ANSWER: D/A", ("D", "A")),
        (ORDER, "D > A > B", ("D", "A", "B")),
        (ORDER, "D, D", "invalid"),
    ],
)
def test_H11_lists_keep_their_order_whatever_separates_them(spec, reply, value):
    assert read(reply, spec) == value


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("No, nobody knows.", "B"),
        ("Yes. Nothing else is on it.", "A"),
        ("Yesterday it rained.", "none"),
        ("It is notable.", "none"),
        ("Nothing of note.", "none"),
        ("I cannot know.", "none"),
        ("Absolutely not.", "B"),
        ("NO!", "B"),
    ],
)
def test_H12_yes_and_no_are_words_and_not_parts_of_words(reply, value):
    assert read(reply, YES_NO) == value


@pytest.mark.parametrize("reply", ["A", "B.", "Answer: C", "The answer is (D).", "option B"])
@pytest.mark.parametrize("spec", [INTEGER, NUMBER, INTEGERS], ids=lambda spec: spec["type"])
def test_H13_a_letter_is_no_number(reply, spec):
    assert read(reply, spec) in ("none", "invalid")


@pytest.mark.parametrize(
    ("reply", "value"), [("A dozen: 12.", 12), ("There are 4 cars, see B.", 4), ("I see five.", 5), ("C is 3", 3)]
)
def test_H13_a_number_is_read_as_a_number_whatever_letters_stand_around_it(reply, value):
    assert read(reply, INTEGER) == value


@pytest.mark.parametrize(
    "reply",
    [
        "Verdict: correct.",
        "CORRECT",
        "I would mark this as correct, all in all.",
        '{"verdict": "correct?"}',
        '{"verdict": ["correct"]}',
        '{"score": 0.9}',
        "verdict=correct",
        "<verdict>correct</verdict>",
    ],
)
def test_H14_prose_is_no_verdict_in_either_direction(reply):
    for text in (reply, reply.replace("orrect", "ncorrect")):
        found = read_verdict(text, "token-1")
        assert (found.verdict, found.reason) == (Verdict.UNSCORED, NoVerdict.PARSE)


@pytest.mark.parametrize(
    ("reply", "finish", "verdict", "reason"),
    [
        ('Sets {a} and {b} differ.\n```\n{"verdict": "incorrect", "why": "{a}"}\n```\n', "stop", "incorrect", None),
        ('```json\n{"pass": false, "reason": "a } brace"}\n```', "stop", "incorrect", None),
        ("{'score': 1, 'reason': 'fine',}", "stop", "correct", None),
        ('{"verdict": "correct", "why": "as the ref', "length", "unscored", NoVerdict.TRUNCATED),
        ('```json\n{"verdict":', "length", "unscored", NoVerdict.TRUNCATED),
        ("Let me think about {x", "length", "unscored", NoVerdict.TRUNCATED),
    ],
)
def test_H16_json_is_found_in_fences_and_after_prose_and_not_completed(reply, finish, verdict, reason):
    found = read_verdict(reply, "token-1", Finish(finish))
    assert (found.verdict, found.reason) == (verdict, reason)


@pytest.fixture
def one_call(tmp_path):
    """Run one call of one question against a server, and return its row and its stored reply."""

    def ask(respond, **options):
        plan = dodiag.make_plan(sums_pack(tmp_path / "p", 1), units=["X1"])
        with serving(respond) as served:
            run(plan, "openai/m", tmp_path / "r", base_url=served.url, **options)
        (row,) = dodiag.outcomes(tmp_path / "r").to_dict("records")
        with Ledger(tmp_path / "r") as ledger:
            calls = list(ledger.calls())
            return row, ledger.reply(calls[0].key) if calls else None, served

    return ask


QUICK = RetryPolicy(max_retries=2, base=0.01, longest=0.02)


def run(plan_or_pack, model, out, policy=QUICK, concurrency=8, **options):
    plan = plan_or_pack if isinstance(plan_or_pack, dodiag.Plan) else dodiag.make_plan(plan_or_pack)
    return start(plan, model, out, ModelOptions(**options), RunOptions(concurrency, policy, quiet=True))


@pytest.mark.parametrize(
    "message",
    [
        {"text": "", "reasoning": "it may be 7"},
        {"text": None, "reasoning": "it may be 7"},
        {"text": "<think>it may be 7", "reasoning_content": None},
        {"text": None},
        {"text": "\n\n"},
    ],
)
def test_H18_a_budget_spent_on_reasoning_is_truncated(one_call, message):
    row, stored, served = one_call(lambda text, _: completion(message.pop("text", None), "length", **message))
    assert (row["outcome"], row["solved"], served.requests) == ("truncated", 0, 1)
    assert pd.isna(row["value"])
    assert stored.reply is None or "None" not in stored.reply


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("<think>a\n\nANSWER: B</think>\n\nC", "C"),
        ("<thinking>\nA\n\nor B\n</thinking>\nD", "D"),
        ("<reasoning>Answer: A</reasoning>\nAnswer: B", "B"),
        ("<think>it is B\n\n", "none"),
    ],
)
def test_H20_reasoning_is_taken_out_before_anything_is_read(reply, value):
    assert read(reply, COLOURS) == value


def test_H20_no_stop_sequence_is_sent_unless_it_is_asked_for(one_call):
    _, _, served = one_call(lambda text, _: "7")
    assert set(served.bodies[0]) == {"model", "messages"}


@pytest.mark.parametrize(
    "respond",
    [
        lambda: completion("0", "content_filter"),
        lambda: completion("0", refusal="I would rather not."),
        lambda: completion(None, "content_filter", content_filter_results={"hate": {"filtered": True}}),
        lambda: failure(400, "content_filter"),
        lambda: failure(403, "content_policy_violation"),
        lambda: completion("I'm sorry, but I can't assist with that."),
        lambda: completion("I’m unable to help with this request."),
    ],
)
def test_H21_a_refusal_is_a_refusal_even_with_an_answer_beside_it(one_call, respond):
    row, stored, served = one_call(lambda text, _: respond())
    assert (row["outcome"], row["solved"], served.requests) == ("refused", 0, 1)
    assert pd.isna(row["value"])
    assert stored is not None, "it is a reply, paid for, and no failure of the infrastructure"


def digests(run_dir):
    with Ledger(run_dir) as ledger:
        return {call.position: ledger.reply(call.key).prompt_digest for call in ledger.calls()}


def test_H22_the_picture_is_part_of_the_key_and_its_place_is_not(tmp_path):
    """Same text, other bytes at the same path: another key. The same bytes at another path: the same key."""
    pack = maze_pack(tmp_path / "m", 1, 1)
    dodiag.run(pack, lambda request: "A", tmp_path / "r1")
    moved = tmp_path / "elsewhere"
    shutil.copytree(tmp_path / "m", moved)
    dodiag.run(moved, lambda request: "A", tmp_path / "r2")
    (moved / "media" / "0.png").write_bytes(picture(colour="#aa0000"))
    dodiag.run(moved, lambda request: "A", tmp_path / "r3")
    first, second, third = (digests(tmp_path / name) for name in ("r1", "r2", "r3"))
    assert first == second
    assert not set(first.values()) & set(third.values())
    renamed = tmp_path / "renamed"
    shutil.copytree(tmp_path / "m", renamed)
    (renamed / "media" / "0.png").rename(renamed / "media" / "other.png")
    lines = (renamed / "instances.jsonl").read_text(encoding="utf-8").replace("media/0.png", "media/other.png")
    (renamed / "instances.jsonl").write_text(lines, encoding="utf-8")
    dodiag.run(renamed, lambda request: "A", tmp_path / "r4")
    assert digests(tmp_path / "r4") == first


def test_H23_whatever_changes_a_reply_changes_the_key():
    base = {"model": "m1", "endpoint": "http://a/v1", "parameters": {"temperature": 0}, "prompt": "p", "draw": 0}
    changed = [
        {},
        {"model": "m2"},
        {"endpoint": "http://b/v1"},
        {"parameters": {"temperature": 0.7}},
        {"parameters": {"temperature": 0, "max_tokens": 16}},
        {"parameters": {"temperature": 0, "max_tokens": 4000}},
        {"parameters": {"temperature": 0, "seed": 1}},
        {"parameters": {"temperature": None}},
        {"parameters": {}},
        {"prompt": "system p"},
        {"draw": 1},
        {"model": "m1http://a/v1", "endpoint": ""},
    ]
    keys = [request_key(**{**base, **change}) for change in changed]
    assert len(set(keys)) == len(changed)
    one, other = {"temperature": 0, "seed": 1}, {"seed": 1, "temperature": 0}
    assert request_key(**{**base, "parameters": one}) == request_key(**{**base, "parameters": other})


def test_H24_draws_come_back_one_by_one_from_a_stored_run(tmp_path):
    plan = dodiag.make_plan(sums_pack(tmp_path / "p", 2), units=["X2"], draws=3)
    dodiag.run(plan.pack, lambda request: "ACB"[request.draw], tmp_path / "r", plan=plan, parameters={"temperature": 1})
    dodiag.run(plan.pack, f"replay:{tmp_path / 'r'}", tmp_path / "again", plan=plan)
    for name in ("r", "again"):
        table = dodiag.outcomes(tmp_path / name)
        assert [json.loads(value) for value in table["value"]] == ["A", "C", "B"] * 2
        assert table["draw"].tolist() == [0, 1, 2] * 2


def test_H25_a_failure_is_never_a_reply(tmp_path):
    """Five failures of several forms, then the server works: the next run asks again and stores answers alone."""
    forms = [(500, "boom"), (503, "busy"), (400, "bad"), (404, "no such model"), (500, "")]
    broken = {"now": True}

    def answer(text, _):
        return failure(*forms[len(text) % len(forms)]) if broken["now"] else "3"

    with serving(answer) as served:
        run(sums_pack(tmp_path / "p", 1), "openai/m", tmp_path / "r", base_url=served.url)
        with Ledger(tmp_path / "r") as ledger:
            assert ledger.empty
        table = dodiag.outcomes(tmp_path / "r")
        assert set(table["outcome"]) == {"error"}
        assert table["solved"].isna().all()
        broken["now"] = False
        assert dodiag.resume(tmp_path / "r").complete
    with Ledger(tmp_path / "r") as ledger:
        assert {row.reply for row in ledger.rows("replies")} == {"3"}
    assert set(dodiag.outcomes(tmp_path / "r")["outcome"]) <= {"value", "none"}


def test_H26_a_short_last_run_hides_nothing_of_an_earlier_one(tmp_path):
    """The first process answers 47 calls, the next one few, and the last finds all of them."""
    pack = sums_pack(tmp_path / "p", 8)
    with serving(lambda text, _: "3") as served:
        options = {"base_url": served.url, "concurrency": 4}
        first = dodiag.run(pack, "openai/m", tmp_path / "r", max_calls=47, **options)
        short = dodiag.run(pack, "openai/m", tmp_path / "r", max_calls=5, **options)
        last = dodiag.run(pack, "openai/m", tmp_path / "r", **options)
        assert (short.reused, last.reused) == (first.answered, first.answered + short.answered)
        assert first.answered >= 47
        assert last.complete
        assert served.requests == last.planned == 88
        assert max(served.prompts.values()) == 1


def test_H28_an_instance_keeps_its_id_its_answers_and_its_key_wherever_it_stands(tmp_path):
    """Ids, drawn incorrect answers and keys are the same in any order of the file and in any selection."""
    instances = [sums_instance(index) for index in range(12)]
    shuffled = [sums_instance(index) for index in range(12)]
    random.Random(5).shuffle(shuffled)
    assert shuffled != instances
    write_pack(tmp_path / "p", SUMS, instances)
    write_pack(tmp_path / "q", SUMS, shuffled)
    seen = {}
    for name, pack, chosen in (
        ("whole", "p", None),
        ("other order", "q", None),
        ("selected", "p", ["s00009", "s00002", "s00005"]),
    ):
        out = tmp_path / name
        dodiag.run(tmp_path / pack, lambda request: request.instance.id[-1], out, instances=chosen)
        with Ledger(out) as ledger:
            seen[name] = {
                (call.instance, call.question, call.configuration): (call.key, ledger.reply(call.key).prompt)
                for call in ledger.calls()
            }
    assert seen["whole"] == seen["other order"]
    assert {place[0] for place in seen["selected"]} == {"s00002", "s00005", "s00009"}
    assert seen["selected"].items() <= seen["whole"].items()
    with pytest.raises(UsageError, match="holds a run of"):
        dodiag.run(tmp_path / "q", lambda request: "1", tmp_path / "whole")


def test_H29_neither_workers_nor_arrival_nor_failures_change_the_table(tmp_path):
    pack = sums_pack(tmp_path / "p", 9)

    async def answer(request):
        number = int.from_bytes(hashlib.sha256(request.prompt.text.encode()).digest()[:2])
        await asyncio.sleep((number * (1 + os.getpid()) % 7) / 2000)
        return ("3", "B", "I cannot help with that.", "", "it is 4 or 5", "none")[number % 6]

    tables = []
    for concurrency in (1, 3, 16):
        dodiag.run(pack, answer, tmp_path / str(concurrency), concurrency=concurrency)
        tables.append(dodiag.outcomes(tmp_path / str(concurrency)).to_csv(index=False).encode())
    assert tables[0] == tables[1] == tables[2]
    assert len(set(dodiag.outcomes(tmp_path / "1")["outcome"])) > 2


@pytest.mark.parametrize("status", [500, 502, 503, 529])
def test_H30_retries_are_counted_shown_and_end(tmp_path, status):
    pack = sums_pack(tmp_path / "p", 4)
    bad = "Which number is on card 2?"
    with serving(lambda text, _: failure(status) if text.startswith(bad) else "1") as served:
        summary = run(pack, "openai/m", tmp_path / "r", base_url=served.url)
        asked = {text: count for text, count in served.prompts.items() if text.startswith(bad)}
    assert list(asked.values()) == [3]
    assert (summary.failed, summary.answered) == (1, 43)
    with Ledger(tmp_path / "r") as ledger:
        (failed,) = ledger.open_failures()
        assert (failed.attempts, str(status) in failed.message) == (3, True)


def test_H30_a_server_that_never_answers_ends_by_itself():
    policy = RetryPolicy()
    assert policy.max_retries < 10
    assert policy.call_deadline < 3600
    assert ModelOptions().timeout <= 600


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (429, "billing_hard_limit_reached"),
        (403, "insufficient_quota"),
        (402, "payment_required"),
        (400, "insufficient_quota"),
    ],
)
def test_H31_a_used_up_quota_stops_the_model_and_a_rate_limit_does_not(tmp_path, status, code):
    pack = sums_pack(tmp_path / "p", 30)
    with serving(lambda text, _: failure(status, code)) as served:
        summary = run(pack, "openai/m", tmp_path / "r", base_url=served.url, concurrency=4)
        assert served.requests <= 8
        assert "quota" in summary.stopped
        assert Counter(body["model"] for body in served.bodies) == {"m": served.requests}


@pytest.mark.parametrize("form", ["seconds", "date"])
def test_H31_a_rate_limit_holds_the_whole_model_for_as_long_as_it_says(tmp_path, form):
    times = []

    def answer(text, _):
        times.append(time.time())
        if len(times) > 1:
            return "1"
        until = formatdate(times[0] + 2, usegmt=True) if form == "date" else "1"
        return failure(429, "rate_limit_exceeded", {"Retry-After": until})

    with serving(answer) as served:
        summary = run(sums_pack(tmp_path / "p", 1), "openai/m", tmp_path / "r", base_url=served.url, concurrency=1)
        assert summary.complete
        assert served.requests == summary.planned + 1
    assert times[1] - times[0] >= 0.95


def noise(seed):
    """A picture that does not compress."""
    from PIL import Image

    out = io.BytesIO()
    Image.frombytes("RGB", (256, 256), random.Random(seed).randbytes(256 * 256 * 3)).save(out, "PNG")
    return out.getvalue()


def test_H34_a_ledger_holds_the_hash_of_a_picture_and_never_the_picture(tmp_path):
    """Many calls on large pictures: the run directory stays as small as with small ones."""
    sizes = {}
    for name, make in (("small", lambda index: picture(size=(256, 256))), ("large", noise)):
        folder = maze_pack(tmp_path / name, 3, 2).folder
        for index in range(3):
            (folder / "media" / f"{index}.png").write_bytes(make(index))
        with serving(lambda text, _: "A") as served:
            dodiag.run(folder, "openai/m", tmp_path / f"run {name}", base_url=served.url)
            if name == "large":
                assert sum(len(json.dumps(body)) for body in served.bodies) > 10 * 250_000
        sizes[name] = sum(file.stat().st_size for file in (tmp_path / f"run {name}").rglob("*"))
    assert sizes["large"] <= sizes["small"] * 1.2
    assert b"base64" not in (tmp_path / "run large" / LEDGER).read_bytes()


UNPAIRED = ["\ud835", "7 \udc00", "\ud835\ud835 7", "\udfff7", "a\ud800b\udfffc"]


def test_H36_a_lone_surrogate_reaches_every_table_and_no_write_fails(tmp_path):
    """In the reply, in the reasoning, and in an answer of type text: stored, scored, exported and shown."""
    task = SUMS.replace('choice, choices: ["one", "two", "three", "four"]', "text")

    def change(instance):
        instance["questions"][1] |= {"answer": "a word", "incorrect": "another"}

    instances = [sums_instance(index) for index in range(len(UNPAIRED))]
    for instance in instances:
        change(instance)
    pack = dodiag.load_pack(write_pack(tmp_path / "p", task, instances))

    def answer(request):
        return UNPAIRED[int(request.instance.id[1:])]

    dodiag.run(pack, answer, tmp_path / "r")
    with Ledger(tmp_path / "r") as ledger:
        rows = {(row.instance, ledger.reply(row.key).reply) for row in ledger.calls()}
    assert rows == {(f"s{index:05d}", text) for index, text in enumerate(UNPAIRED)}
    table = dodiag.outcomes(tmp_path / "r")
    table.to_parquet(tmp_path / "t.parquet")
    pd.testing.assert_frame_equal(dodiag.read_outcomes(tmp_path / "t.parquet"), table)
    assert dodiag.capabilities(table, pack.task)
    for arguments in (["show", tmp_path / "r"], ["show", tmp_path / "r", "--json"], ["show", tmp_path / "r", "--list"]):
        done = command(*arguments)
        assert done.code == 0, done.err


class Done(NamedTuple):
    """How a command ended."""

    code: int | None
    out: str
    err: str


def command(*arguments):
    """Run the command line with a standard output as a terminal has it: UTF-8, which takes no lone surrogate."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", "strict") for _ in range(2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["dodiag", *map(str, arguments)])
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        with pytest.raises(SystemExit) as caught:
            main()
    for stream in (out, err):
        stream.flush()
    shown, told = (stream.buffer.getvalue().decode() for stream in (out, err))
    return Done(caught.value.code, shown, told)


@pytest.mark.parametrize("form", ["JPEG", "GIF", "WEBP", "PNG"])
@pytest.mark.parametrize("name", ["0.png", "0.jpg", "0"])
def test_H37_the_type_sent_is_that_of_the_bytes(tmp_path, form, name):
    from PIL import Image

    folder = maze_pack(tmp_path / "m", 1, 1).folder
    (folder / "media" / "0.png").unlink()
    (folder / "media" / name).write_bytes(picture(form))
    lines = (folder / "instances.jsonl").read_text(encoding="utf-8").replace("media/0.png", f"media/{name}")
    (folder / "instances.jsonl").write_text(lines, encoding="utf-8")
    with serving(lambda text, _: "A") as served:
        dodiag.run(folder, "openai/m", tmp_path / "r", base_url=served.url, units=["X1"])
    (body,) = served.bodies
    (url,) = [part["image_url"]["url"] for part in body["messages"][0]["content"] if part["type"] == "image_url"]
    declared, _, data = url.partition(";base64,")
    with Image.open(io.BytesIO(base64.b64decode(data))) as sent:
        assert declared == f"data:image/{sent.format.lower()}"
        assert sent.size == (200, 150)


@pytest.mark.parametrize("data", [b"just text\n", b"", b"<svg/>", b"\x89PNG\r\n\x1a\n", b"%PDF-1.7"])
def test_H37_what_is_no_picture_is_refused_before_any_request(tmp_path, data):
    """Even where it belongs to the last instance: nothing is paid for before it is found."""
    folder = maze_pack(tmp_path / "m", 4, 1).folder
    (folder / "media" / "3.png").write_bytes(data)
    with serving(lambda text, _: "A") as served:
        with pytest.raises(DodiagError, match=r"media/3\.png"):
            dodiag.run(folder, "openai/m", tmp_path / "r", base_url=served.url)
        assert served.requests == 0


STATES = ("1", "0", "n")


def counted(task, solved, sizes):
    """Outcomes of the target under its homogeneous configurations: `solved[state]` questions of each."""
    configurations = {state: ",".join(f"{u}={state}" for u in task.prerequisites(task.target)) for state in STATES}
    rows = [
        {"instance": f"i{i}", "question": f"q{i}-{j}", "configuration": configurations[state], "solved": int(j < n)}
        for state, per_instance in solved.items()
        for i, (n, size) in enumerate(zip(per_instance, sizes, strict=True))
        for j in range(size)
    ]
    base = {"model": "m", "task": task.name, "unit": task.target, "step": None, "draw": 0, "outcome": "value"}
    return pd.DataFrame([{**base, **row} for row in rows])


@pytest.fixture(scope="module")
def task():
    return dodiag.load_task("dice_sum")


@pytest.mark.parametrize(
    ("solved", "sizes"),
    [
        ([0] * 20, [1] * 20),
        ([1] * 20, [1] * 20),
        ([0] * 3, [1] * 3),
        ([6] * 5, [6] * 5),
        ([0] * 40, [3] * 40),
        ([0, 1], [1, 1]),
    ],
)
def test_H40_thin_evidence_has_wide_limits_and_they_belong_to_the_estimate(task, solved, sizes):
    found = dodiag.capabilities(counted(task, dict.fromkeys(STATES, solved), sizes), task)
    for metric in ("NC", "IC", "RC"):
        (score,) = found.where(unit="Y", metric=metric)
        assert score.value == pytest.approx(sum(solved) / sum(sizes))
        assert 0 <= score.lower <= score.value <= score.upper <= 1
        assert score.upper - score.lower > 1 / (2 * len(sizes)), "never 0, and not narrower than instances allow"


def test_H40_copies_within_an_instance_are_not_evidence(task):
    """Six questions that stand or fall together are one observation: 20 instances of 6 give the limits of 20."""
    solved = [1] * 9 + [0] * 11
    one, six = (
        dodiag.capabilities(counted(task, {"n": [size * s for s in solved]}, [size] * 20), task).where(metric="NC")[0]
        for size in (1, 6)
    )
    assert (one.lower, one.upper) == pytest.approx((six.lower, six.upper), abs=0.02)
    assert (one.n, six.n) == (20, 120)


def test_H40_scores_and_findings_of_unanimous_data_claim_no_certainty(task):
    table = full_table(task, lambda configuration, index: int("0" not in configuration and "n" not in configuration))
    for finding in dodiag.diagnose(table, task, ["1,n"]):
        score = finding.score
        if score.value is not None and score.limit_lower is not None:
            assert score.limit_lower <= score.value <= score.limit_upper
            assert score.limit_upper > score.limit_lower


def full_table(task, solve, count=12, contrasts=("1,n",)):
    """Outcomes of the target under all that some contrasts need, by a rule on configuration and instance."""
    plan = dodiag.make_plan(task, contrasts=contrasts, states=STATES, units=[task.target])
    rows = [
        {"instance": f"i{i}", "question": "y", "configuration": c.text, "solved": solve(c.text, i)}
        for c in plan.configurations(task.target)
        for i in range(count)
    ]
    base = {"model": "m", "task": task.name, "unit": task.target, "step": None, "draw": 0, "outcome": "value"}
    return pd.DataFrame([{**base, **row} for row in rows])


def test_H42_a_group_without_usable_data_is_null_and_the_others_are_untouched(task):
    whole = full_table(task, lambda configuration, index: index % 2)
    holes = whole.copy()
    arm = "X1=1,X2=n,X3=n"
    assert arm in set(holes["configuration"])
    holes["solved"] = holes["solved"].astype("Float64")
    holes.loc[holes["configuration"] == arm, ["outcome", "solved"]] = ["error", pd.NA]
    before = {key(score): score for score in dodiag.contributions(whole, task, ["1,n"])}
    after = {key(score): score for score in dodiag.contributions(holes, task, ["1,n"])}
    changed = {name for name in before if before[name] != after[name]}
    assert changed
    assert {name[1] for name in changed} == {"X1"}
    for name in changed:
        score = after[name]
        assert (score.value, score.lower, score.upper, score.n) == (None, None, None, 0)
        assert score.reason
    findings = dodiag.diagnose(holes, task, ["1,n"])
    (finding,) = [f for f in findings if (f.metric, f.prerequisite) == ("S", "X1")]
    assert (finding.score.value, finding.adjusted) == (None, None)
    assert finding.words
    assert len([f for f in findings if f.metric == "S" and f.score.value is not None]) == 2


def key(score):
    return score.metric, score.prerequisite, score.contrast


def test_H42_a_group_of_one_has_no_limits(task):
    one = full_table(task, lambda configuration, index: 1, count=1)
    for score in dodiag.capabilities(one, task):
        assert (score.n, score.value) == (1, 1.0)
        assert score.lower is score.upper is None
        assert score.reason
    for score in dodiag.contributions(one, task, ["1,n"]):
        assert score.limit_lower is score.limit_upper is None
    for finding in dodiag.diagnose(one, task, ["1,n"]):
        assert finding.adjusted is None


@pytest.mark.parametrize(("always", "score", "bound"), [(1, "S", "PS"), (0, "N", "PN")])
def test_H42_a_bound_whose_event_never_happened_is_null(task, always, score, bound):
    """Where nothing fails there is no failure to repair; where nothing succeeds there is no success to lose.

    The score itself keeps the paper's convention and is marked as 0 by convention, without limits.
    """
    found = dodiag.contributions(full_table(task, lambda configuration, index: always), task, ["1,n"])
    for row in found.where(metric=bound):
        assert (row.value, row.lower, row.upper, row.limit_lower, row.limit_upper) == (None,) * 5
        assert row.reason
    for row in found.where(metric=score):
        assert (row.denominator, row.suppressed, row.limit_lower, row.limit_upper) == (0.0, True, None, None)
        assert row.reason
    other = found.where(metric="N" if score == "S" else "S")
    assert [row.value for row in other] == [0.0] * 3
    assert all(row.limit_lower < row.limit_upper for row in other)


WILD = [
    "<img src=x onerror=alert(1)>",
    "<scratchpad>hm</scratchpad> 3",
    "</script><script>1</script>",
    "[red]3[/red] [/nothing] [link=file:///etc/passwd]x[/link]",
    "\x1b[2J\x1b[1;31m3\x1b]8;;http://x\x1b\\y\x1b]8;;\x1b\\",
    "3\rmalicious\x08\x08",
    "\u202e3\u2066\u200b",
    "\x9b2J3\x84",
    ":smile: 3 **bold** `x`",
]
TITLE = 'a"><b [b]&</p'


def obeyed(text):
    """Characters that a terminal obeys or hides."""
    return sorted({c for c in text if (ord(c) < 32 and c != "\n") or 127 <= ord(c) < 160 or c in "\u202e\u2066\u200b"})


def test_H43_model_text_is_shown_word_for_word_and_obeyed_nowhere(tmp_path):
    text = SUMS.replace("First Number", "'" + TITLE + "'").replace("Second Number", "'[/] <i>'")
    pack = dodiag.load_pack(write_pack(tmp_path / "p", text, [sums_instance(i) for i in range(len(WILD))]))
    assert pack.task.units["X1"].title == TITLE
    dodiag.run(pack, lambda request: WILD[int(request.instance.id[1:])], tmp_path / "r")
    for index, reply in enumerate(WILD):
        out = command("show", tmp_path / "r", "--instance", f"s{index:05d}", "--configuration", "", "--unit", "X1")
        assert out.code == 0, out.err
        assert not obeyed(out.out)
        if not obeyed(reply):
            assert reply in out.out
        told = command("show", tmp_path / "r", "--instance", f"s{index:05d}", "--unit", "X1", "--json")
        assert json.loads(told.out)[0]["reply"] == reply
    for arguments in (["scores"], ["diagnose"], ["show", "--list"]):
        out = command(arguments[0], tmp_path / "r", *arguments[1:])
        assert out.code == 0, out.err
        assert not obeyed(out.out)
    assert TITLE in command("scores", tmp_path / "r").out


@pytest.mark.parametrize("form", ["dot", "mermaid", "graphml", "json", "yaml"])
def test_H43_a_name_with_quotes_and_tags_breaks_no_drawing(tmp_path, form):
    from xml.etree import ElementTree as ET

    file = tmp_path / "task.yaml"
    file.write_text(SUMS.replace("First Number", "'" + TITLE + "'"), encoding="utf-8")
    done = command("draw", file, "--format", form)
    assert done.code == 0, done.err
    if form == "graphml":
        assert f"X1 {TITLE}" in [node.text for node in ET.fromstring(done.out).iter()]
    elif form == "json":
        assert json.loads(done.out)["units"]["X1"]["title"] == TITLE
    elif form in ("dot", "mermaid"):
        assert 'a">' not in done.out, "a quote ends no label"


def test_the_problems_of_a_pack_are_found_before_anything_is_paid_for(tmp_path):
    """H28, H37: two instances with one id and a file that is no picture, reported together."""
    folder = maze_pack(tmp_path / "m", 3, 1).folder
    (folder / "media" / "1.png").write_bytes(b"no picture")
    file = folder / "instances.jsonl"
    file.write_text(file.read_text(encoding="utf-8").replace('"m2"', '"m0"'), encoding="utf-8")
    with serving(lambda text, _: "A") as served:
        with pytest.raises(InvalidInput) as caught:
            dodiag.run(folder, "openai/m", tmp_path / "r", base_url=served.url)
        assert served.requests == 0
    assert {p.where.split(",")[0] for p in caught.value.problems} == {"instance m0", "instance m1"}
