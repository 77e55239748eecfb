"""The runner against a real server: nothing lost, nothing sent twice, infrastructure never mistaken for the model."""

import itertools
import json
import os
import threading
import time

import pandas as pd
import pytest
from packs import maze_pack, sums_pack
from servers import completion, failure, serving

import dodiag
from dodiag.problems import DodiagError, UsageError
from dodiag.runners.ledger import Ledger
from dodiag.runners.protocol import CallFailed, FailureKind, Reply
from dodiag.runners.retry import RetryPolicy
from dodiag.runners.runner import RunOptions
from dodiag.runners.session import ModelOptions, start

QUICK = RetryPolicy(max_retries=2, base=0.01, longest=0.02)


def run(plan_or_pack, model, out, policy=QUICK, concurrency=8, **options):
    plan = plan_or_pack if isinstance(plan_or_pack, dodiag.Plan) else dodiag.make_plan(plan_or_pack)
    return start(plan, model, out, ModelOptions(**options), RunOptions(concurrency, policy, quiet=True))


def test_every_call_is_answered_once_and_the_table_is_in_plan_order(tmp_path):
    pack = sums_pack(tmp_path / "p", 6)
    with serving(lambda text, _: "7") as served:
        summary = run(pack, "openai/m", tmp_path / "r", base_url=served.url)
        assert summary.complete
        assert served.requests == summary.answered == 6 * 11
        assert served.most_in_flight <= 8
    table = dodiag.outcomes(tmp_path / "r")
    plan = dodiag.make_plan(pack)
    assert [tuple(row) for row in table[["instance", "question", "configuration", "draw"]].itertuples(index=False)] == [
        (c.instance.id, c.question.id, c.configuration.text, c.draw) for c in plan.calls()
    ]
    assert set(table["model"]) == {"openai/m"}
    assert set(table["outcome"]) == {"value", "invalid", "none"} or set(table["outcome"]) <= {
        "value",
        "none",
        "invalid",
    }


def test_the_request_is_what_the_prompt_says(tmp_path):
    pack = maze_pack(tmp_path / "m", 1, 1)
    plan = dodiag.make_plan(pack, units=["X1"])
    with serving(lambda text, _: "A") as served:
        run(plan, "openai/m", tmp_path / "r", base_url=served.url, parameters={"temperature": 0, "max_tokens": 5})
    (body,) = served.bodies
    assert body["model"] == "m"
    assert (body["temperature"], body["max_tokens"]) == (0, 5)
    picture, text = body["messages"][0]["content"]
    assert picture["image_url"]["url"].startswith("data:image/png;base64,")
    assert text["text"].startswith("In which corner")
    with Ledger(tmp_path / "r") as ledger:
        (call,) = ledger.calls()
        row = ledger.reply(call.key)
        assert row.prompt == text["text"]
        assert json.loads(row.media)[0][0] == "image/png"
        assert (row.reply, row.provider_model, row.input_tokens, row.output_tokens) == ("A", "served-model", 12, 3)


def test_a_text_model_is_sent_no_picture(tmp_path):
    plan = dodiag.make_plan(maze_pack(tmp_path / "m", 1, 1), units=["X1"])
    with serving(lambda text, _: "A") as served:
        run(plan, "openai/m", tmp_path / "r", base_url=served.url, with_media=False)
    assert isinstance(served.bodies[0]["messages"][0]["content"], str)


def test_one_bad_item_costs_its_retries_and_nobody_else(tmp_path):
    """H30: a request that always gets HTTP 500, retries = 2: three requests, then a stored error."""
    pack = sums_pack(tmp_path / "p", 6)
    bad = "Which number is written in box 3?"
    with serving(lambda text, _: failure(500) if text.startswith(bad) else "1") as served:
        summary = run(pack, "openai/m", tmp_path / "r", base_url=served.url)
        assert sum(n for text, n in served.prompts.items() if text.startswith(bad)) == 3
    assert (summary.failed, summary.answered) == (1, 65)
    assert not summary.complete
    table = dodiag.outcomes(tmp_path / "r")
    row = table[(table["instance"] == "s00003") & (table["unit"] == "X1")].iloc[0]
    assert row["outcome"] == "error"
    assert pd.isna(row["solved"])
    found = dodiag.capabilities(table, pack.task).where(unit="X1", metric="NC")[0]
    assert (found.n, found.missing) == (5, 1)
    with serving(lambda text, _: "1") as served:
        port = served.url
        again = run(pack, "openai/m", tmp_path / "r2", base_url=port)
        assert again.complete


def test_calls_that_wait_for_a_retry_hold_nobody_up(tmp_path):
    """With 4 places and 6 calls that fail for seconds, the other calls go on at the full rate meanwhile."""
    pack = sums_pack(tmp_path / "p", 30)
    times = []

    def answer(text, before):
        if "box 1?" in text or "card 1?" in text or "box and card 1?" in text:
            return failure(500) if before < 1 else "1"
        times.append(time.monotonic())
        return "1"

    slow = RetryPolicy(max_retries=1, base=6.0, longest=6.0)
    with serving(answer, delay=0.005) as served:
        summary = run(pack, "openai/m", tmp_path / "r", policy=slow, concurrency=4, base_url=served.url)
        assert summary.complete
        assert served.most_in_flight <= 4
    assert max(later - earlier for earlier, later in itertools.pairwise(times)) < 2.5


def test_the_deadline_of_a_call_begins_with_its_first_try_and_not_with_its_turn(tmp_path):
    """One place, and four calls that wait for it: the last has its retry like the first."""
    plan = dodiag.make_plan(sums_pack(tmp_path / "p", 5), units=["X1"], states=["n"])
    policy = RetryPolicy(max_retries=1, base=0.01, call_deadline=1.0, adaptive=False)
    with serving(lambda text, before: failure(500) if before < 1 else "1", delay=0.3) as served:
        assert run(plan, "openai/m", tmp_path / "r", policy=policy, concurrency=1, base_url=served.url).complete
        assert served.requests == 10


def test_failed_calls_are_sent_again_on_resume_and_only_those(tmp_path):
    pack = sums_pack(tmp_path / "p", 5)
    broken = {"now": True}

    def answer(text, _):
        return failure(400) if broken["now"] and "box 2?" in text and "sum" not in text else "1"

    with serving(answer) as served:
        run(pack, "openai/m", tmp_path / "r", base_url=served.url)
        sent = served.requests
        broken["now"] = False
        summary = dodiag.resume(tmp_path / "r")
        assert served.requests - sent == summary.answered == 1
        assert summary.complete
    assert len(dodiag.outcomes(tmp_path / "r")) == 55


def test_an_empty_run_of_the_same_command_sends_nothing(tmp_path):
    pack = sums_pack(tmp_path / "p", 3)
    with serving(lambda text, _: "1") as served:
        run(pack, "openai/m", tmp_path / "r", base_url=served.url)
        sent = served.requests
        summary = run(pack, "openai/m", tmp_path / "r", base_url=served.url)
        assert (served.requests - sent, summary.reused, summary.answered) == (0, 33, 0)


def test_prompts_that_coincide_are_paid_for_once(tmp_path):
    """1t and 1 come to the same prompt where nothing is drawn; the reply is shared, even when asked at once."""
    pack = sums_pack(tmp_path / "p", 4)
    plan = dodiag.make_plan(pack, contrasts=["t,n", "1,n"], units=["Y"])
    with serving(lambda text, _: "1", delay=0.02) as served:
        summary = run(plan, "openai/m", tmp_path / "r", base_url=served.url, concurrency=64)
        assert summary.answered == plan.call_count
        assert max(served.prompts.values()) == 1
        assert served.requests < plan.call_count


def test_draws_are_separate_calls(tmp_path):
    """H24: repeated draws never collapse to one."""
    pack = sums_pack(tmp_path / "p", 1)
    plan = dodiag.make_plan(pack, units=["X1"], draws=3)
    with serving(lambda text, before: str(before)) as served:
        run(plan, "openai/m", tmp_path / "r", base_url=served.url, concurrency=1)
        assert served.requests == 3
    values = [json.loads(value) for value in dodiag.outcomes(tmp_path / "r")["value"]]
    assert values == [0, 1, 2]


def test_rate_limits_slow_the_whole_model_and_lose_nothing(tmp_path):
    """H31: wait what Retry-After says, for the model and not only for the request."""
    state = {"limited_at": None}

    def answer(text, before):
        now = time.monotonic()
        if state["limited_at"] is None:
            state["limited_at"] = now
            return failure(429, "rate_limit_exceeded", {"Retry-After": "0.5"})
        if now - state["limited_at"] < 0.4:
            state["early"] = state.get("early", 0) + 1
        return "1"

    pack = sums_pack(tmp_path / "p", 4)
    with serving(answer, delay=0.05) as served:
        summary = run(pack, "openai/m", tmp_path / "r", base_url=served.url, concurrency=4)
        assert summary.complete
        assert served.requests == 44 + 1
    assert state.get("early", 0) <= 4 + 3


@pytest.mark.parametrize(
    ("status", "code", "reason"),
    [(429, "insufficient_quota", "quota"), (401, "invalid_api_key", "key"), (403, "forbidden", "key")],
)
def test_quota_and_auth_stop_the_model_after_a_handful_of_requests(tmp_path, status, code, reason):
    pack = sums_pack(tmp_path / "p", 40)
    with serving(lambda text, _: failure(status, code)) as served:
        summary = run(pack, "openai/m", tmp_path / "r", base_url=served.url, concurrency=4)
        assert served.requests <= 8
    assert reason in summary.stopped
    assert not summary.complete
    with serving(lambda text, _: "1") as served, pytest.raises(UsageError, match="another endpoint"):
        run(pack, "openai/m", tmp_path / "r", base_url=served.url)


def test_quota_that_runs_out_keeps_what_was_answered(tmp_path):
    pack = sums_pack(tmp_path / "p", 20)
    count = {"n": 0}

    def answer(text, _):
        count["n"] += 1
        return failure(429, "insufficient_quota") if count["n"] > 50 else "1"

    with serving(answer) as served:
        summary = run(pack, "openai/m", tmp_path / "r", base_url=served.url, concurrency=4)
        assert (summary.answered, "quota" in summary.stopped) == (50, True)
        count["n"] = -1000
        again = dodiag.resume(tmp_path / "r")
        assert (again.reused, again.answered, again.complete) == (50, 170, True)


def test_a_server_that_is_not_there_stops_the_run_and_says_so(tmp_path):
    pack = sums_pack(tmp_path / "p", 40)
    with serving(lambda text, _: "1") as served:
        url = served.url
    summary = run(pack, "openai/m", tmp_path / "r", base_url=url, concurrency=4)
    assert "calls all failed" in summary.stopped
    assert summary.failed < 20


REFUSALS = [
    completion("", "content_filter"),
    completion("I cannot help", "content_filter"),
    completion(None, refusal="I will not"),
    failure(400, "content_policy_violation"),
]


@pytest.mark.parametrize("index", range(len(REFUSALS)))
def test_refusals_are_refusals_whatever_their_form(tmp_path, index):
    """H21: refused in all four, counted apart, a failure of the model and not of the infrastructure."""
    forms = [
        lambda: completion("", "content_filter"),
        lambda: completion("I cannot help", "content_filter"),
        lambda: completion(None, refusal="I will not"),
        lambda: failure(400, "content_policy_violation"),
    ]
    plan = dodiag.make_plan(sums_pack(tmp_path / "p", 1), units=["X1"])
    with serving(lambda text, _: forms[index]()) as served:
        run(plan, "openai/m", tmp_path / "r", base_url=served.url)
        assert served.requests == 1
    (row,) = dodiag.outcomes(tmp_path / "r").to_dict("records")
    assert (row["outcome"], row["solved"]) == ("refused", 0)


def test_null_content_at_the_token_limit_is_truncated_and_not_retried(tmp_path):
    """H18: HTTP 200, content null, finish_reason length."""
    plan = dodiag.make_plan(sums_pack(tmp_path / "p", 1), units=["X1"])
    with serving(lambda text, _: completion(None, "length", reasoning_content="let me see 3 4 5")) as served:
        run(plan, "openai/m", tmp_path / "r", base_url=served.url)
        assert served.requests == 1
    (row,) = dodiag.outcomes(tmp_path / "r").to_dict("records")
    assert (row["outcome"], row["solved"], pd.isna(row["value"])) == ("truncated", 0, True)
    with Ledger(tmp_path / "r") as ledger:
        (call,) = ledger.calls()
        assert ledger.reply(call.key).reasoning == "let me see 3 4 5"
        assert ledger.reply(call.key).reply is None


@pytest.mark.parametrize("reply", ["ok \ud835", "\x00", "a" * 1_000_000, "\u202e7", "<think>"])
def test_any_text_is_stored_and_read_back_equal(tmp_path, reply):
    """H36: a lone surrogate kills no write."""
    plan = dodiag.make_plan(sums_pack(tmp_path / "p", 1), units=["X1"])
    run(plan, dodiag_function(lambda request: reply), tmp_path / "r")
    with Ledger(tmp_path / "r") as ledger:
        (call,) = ledger.calls()
        assert ledger.reply(call.key).reply == reply


def dodiag_function(function, **options):
    from dodiag.runners.adapters.function import FunctionAdapter

    return FunctionAdapter(function, "fn", **options)


@pytest.mark.parametrize("body", [b"not json", b"[]", b"{}", b'{"choices": []}', b'{"choices": [null]}', b"\xff"])
def test_replies_that_are_no_completions_are_failures_not_answers(tmp_path, body):
    from aiohttp import web

    plan = dodiag.make_plan(sums_pack(tmp_path / "p", 1), units=["X1"])
    with serving(lambda text, _: web.Response(body=body)) as served:
        summary = run(plan, "openai/m", tmp_path / "r", base_url=served.url)
        assert served.requests == 3
    assert summary.failed == 1


def test_concurrency_changes_nothing_but_time(tmp_path):
    """H29: random delays, concurrency 1 and 32, byte-identical tables."""
    pack = sums_pack(tmp_path / "p", 8)
    texts = []
    for concurrency in (1, 32):
        with serving(lambda text, _: str(len(text) % 9), delay=0.002) as served:
            url = served.url
            out = tmp_path / str(concurrency)
            run(pack, "openai/m", out, base_url=url, concurrency=concurrency)
        texts.append(dodiag.outcomes(out).to_csv(index=False))
    assert texts[0] == texts[1]


def test_replay_answers_without_a_call_and_gives_the_same_table(tmp_path):
    pack = sums_pack(tmp_path / "p", 4)
    with serving(lambda text, _: str(len(text) % 9)) as served:
        run(pack, "openai/m", tmp_path / "r", base_url=served.url)
    summary = run(pack, f"replay:{tmp_path / 'r'}", tmp_path / "again")
    assert summary.complete
    first, second = (dodiag.outcomes(tmp_path / name) for name in ("r", "again"))
    pd.testing.assert_frame_equal(first, second)
    longer = sums_pack(tmp_path / "q", 5)
    partial = run(longer, f"replay:{tmp_path / 'r'}", tmp_path / "more")
    assert (partial.answered, partial.failed) == (44, 11)


def test_functions_may_be_plain_or_async_and_see_the_question(tmp_path):
    pack = sums_pack(tmp_path / "p", 2)

    async def answer(request):
        return Reply(str(request.question.answer))

    for index, function in enumerate((answer, lambda request: str(request.question.answer))):
        run(pack, dodiag_function(function), tmp_path / str(index))
        assert dodiag.outcomes(tmp_path / str(index))["solved"].all()


def test_no_option_is_ignored_and_no_plan_runs_on_another_pack(tmp_path):
    pack, other = sums_pack(tmp_path / "p", 2), sums_pack(tmp_path / "q", 3)
    plan = dodiag.make_plan(pack, quick=True)
    with pytest.raises(UsageError, match="limit, draws beside it"):
        dodiag.run(pack, "sim:default", tmp_path / "r", plan=plan, limit=1, draws=2)
    for wrong in (dodiag.make_plan(other), dodiag.make_plan(pack.task)):
        with pytest.raises(UsageError, match="not of the pack"):
            dodiag.run(pack, "sim:default", tmp_path / "r", plan=wrong)
    assert not (tmp_path / "r").exists()
    assert dodiag.run(sums_pack(tmp_path / "copy", 2), "sim:default", tmp_path / "r", plan=plan).complete


def test_blocking_functions_run_side_by_side(tmp_path):
    pack = sums_pack(tmp_path / "p", 8)
    together = threading.Barrier(40, timeout=30)
    waited = threading.Semaphore(40)

    def answer(request):
        if waited.acquire(blocking=False):
            together.wait()
        return "1"

    assert run(pack, dodiag_function(answer), tmp_path / "r", concurrency=40).complete


def test_an_adapter_of_ones_own_is_four_attributes_and_two_methods(tmp_path):
    class Mine:
        model, endpoint, sees_media, free = "mine", "", False, False

        async def answer(self, request):
            return Reply("3")

        async def close(self):
            pass

    pack = sums_pack(tmp_path / "p", 2)
    assert dodiag.run(pack, Mine(), tmp_path / "r").complete
    assert set(dodiag.outcomes(tmp_path / "r")["model"]) == {"mine"}
    del Mine.free
    with pytest.raises(UsageError, match="the adapter Mine has no free"):
        dodiag.run(pack, Mine(), tmp_path / "x")


def test_a_functions_own_mistake_is_raised_and_what_was_answered_is_kept(tmp_path):
    pack = sums_pack(tmp_path / "p", 6)

    def answer(request):
        if request.instance.id == "s00004":
            raise ZeroDivisionError("mine")
        return "1"

    with pytest.raises(ZeroDivisionError, match="mine"):
        run(pack, dodiag_function(answer), tmp_path / "r", concurrency=1)
    assert len(dodiag.outcomes(tmp_path / "r")) == 44


def test_transient_failures_of_a_function_are_retried(tmp_path):
    tries = {"n": 0}

    def answer(request):
        tries["n"] += 1
        if tries["n"] < 3:
            raise CallFailed(FailureKind.OVERLOADED, "busy")
        return "1"

    plan = dodiag.make_plan(sums_pack(tmp_path / "p", 1), units=["X1"])
    assert run(plan, dodiag_function(answer), tmp_path / "r").complete
    with Ledger(tmp_path / "r") as ledger:
        (call,) = ledger.calls()
        assert ledger.reply(call.key).attempts == 3


def test_a_run_directory_holds_one_run(tmp_path):
    pack = sums_pack(tmp_path / "p", 2)
    run(pack, "sim:default", tmp_path / "r")
    for plan, model, options, message in (
        (dodiag.make_plan(pack, quick=True), "sim:default", {}, "another plan"),
        (dodiag.make_plan(sums_pack(tmp_path / "q", 3)), "sim:default", {}, "other content"),
        (dodiag.make_plan(pack), "sim:oracle", {}, "another model"),
        (dodiag.make_plan(pack), "sim:default", {"parameters": {"temperature": 1}}, "another parameters"),
    ):
        with pytest.raises(UsageError, match=message):
            run(plan, model, tmp_path / "r", **options)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match="is not empty"):
        run(pack, "sim:default", tmp_path / "full")
    assert (tmp_path / "full" / "notes.txt").read_text() == "mine"


def test_resume_refuses_what_it_cannot_continue(tmp_path):
    pack = sums_pack(tmp_path / "p", 2)
    with pytest.raises(UsageError, match="not a run directory"):
        dodiag.resume(tmp_path)
    run(pack, dodiag_function(lambda request: "1"), tmp_path / "f")
    with pytest.raises(UsageError, match="Python callable"):
        dodiag.resume(tmp_path / "f")
    run(pack, "sim:default", tmp_path / "r")
    pack.folder.rename(tmp_path / "moved")
    with pytest.raises(UsageError, match="is gone"):
        dodiag.resume(tmp_path / "r")
    assert dodiag.resume(tmp_path / "r", pack=tmp_path / "moved").complete
    lines = (tmp_path / "moved" / "instances.jsonl").read_text()
    (tmp_path / "moved" / "instances.jsonl").write_text(lines.replace("box 0", "box zero"))
    with pytest.raises(UsageError, match="other content"):
        dodiag.resume(tmp_path / "r", pack=tmp_path / "moved")


def test_damaged_ledgers_are_reported(tmp_path):
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "ledger.sqlite").write_bytes(b"not a database" * 1000)
    with pytest.raises(UsageError, match="cannot be read"):
        dodiag.outcomes(tmp_path / "r")


def test_secrets_are_neither_taken_nor_stored(tmp_path, monkeypatch):
    pack = sums_pack(tmp_path / "p", 1)
    monkeypatch.setenv("MY_KEY", "sk-very-secret")
    with serving(lambda text, _: "1") as served:
        run(pack, "openai/m", tmp_path / "r", base_url=served.url, key_variable="MY_KEY")
        assert served.headers[0]["Authorization"] == "Bearer sk-very-secret"
        for url in ("http://user:pass@127.0.0.1/v1", served.url + "?key=abc", "ftp://x", "nonsense"):
            with pytest.raises(UsageError) as caught:
                run(pack, "openai/m", tmp_path / "x", base_url=url)
            assert "pass" not in str(caught.value)
            assert "abc" not in str(caught.value)
    for name in ("api_key", "Authorization", "access_token", "x-secret"):
        with pytest.raises(UsageError, match="looks like a secret"):
            run(pack, "openai/m", tmp_path / "x", parameters={name: "v"})
    for file in (tmp_path / "r").rglob("*"):
        assert b"very-secret" not in file.read_bytes()


def test_unknown_model_names_say_what_is_known(tmp_path):
    pack = sums_pack(tmp_path / "p", 1)
    for name in ("gpt-5.4", "", "openai/", "litellm:", "sim"):
        with pytest.raises(UsageError, match="openai/NAME"):
            run(pack, name, tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_a_full_disk_is_an_error_and_keeps_what_is_there(tmp_path, monkeypatch):
    """SQLite's own page limit stands for the disk: writes fail with 'database or disk is full'."""
    import sqlite3

    pack = sums_pack(tmp_path / "p", 60)
    connect = sqlite3.connect

    def small(*args, **kwargs):
        connection = connect(*args, **kwargs)
        connection.execute("PRAGMA max_page_count = 60")
        return connection

    monkeypatch.setattr(sqlite3, "connect", small)
    with pytest.raises(DodiagError, match="cannot be written"):
        run(pack, dodiag_function(lambda request: "1" * 2000), tmp_path / "r", concurrency=2)
    monkeypatch.undo()
    kept = len(dodiag.outcomes(tmp_path / "r"))
    assert kept < 660
    summary = run(pack, dodiag_function(lambda request: "1" * 2000), tmp_path / "r")
    assert (summary.reused, summary.complete) == (kept, True)


def test_a_run_inside_a_notebooks_loop_works(tmp_path):
    import asyncio

    pack = sums_pack(tmp_path / "p", 2)

    async def cell():
        return run(pack, "sim:default", tmp_path / "r")

    assert asyncio.run(cell()).complete


def test_the_manifest_says_what_the_run_is(tmp_path):
    pack = sums_pack(tmp_path / "p", 2)
    run(pack, "sim:default", tmp_path / "r")
    with Ledger(tmp_path / "r") as ledger:
        manifest = ledger.manifest
        assert manifest["plan_hash"] == dodiag.make_plan(pack).digest
        assert manifest["pack"]["digest"] == pack.digest
        assert manifest["model"] == "sim:default"
        assert manifest["dodiag"] == dodiag.__version__
        assert ledger.meta("ended")["answered"] == 22
        assert {"created", "revision", "python", "platform", "libraries", "seed", "design", "parameters"} <= set(
            manifest
        )


def test_os_environment_is_left_alone(tmp_path):
    before = dict(os.environ)
    run(sums_pack(tmp_path / "p", 1), "sim:default", tmp_path / "r")
    assert {k: v for k, v in os.environ.items() if not k.startswith("PYTEST")} == {
        k: v for k, v in before.items() if not k.startswith("PYTEST")
    }
