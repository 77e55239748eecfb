"""What a run may spend: calls, money, time; it stops before, says so, and goes on where it stopped."""

import asyncio
import random
import signal
import subprocess
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packs import sums_pack
from servers import completion, failure, serving
from test_ledger import reply

import dodiag
from dodiag.cli import main
from dodiag.interventions.price import TokenPrices
from dodiag.interventions.prompts import Prompt
from dodiag.problems import UsageError
from dodiag.runners.budget import Budget, LimitReached, Meter
from dodiag.runners.ledger import Ledger
from dodiag.runners.retry import RetryPolicy
from dodiag.runners.runner import RunOptions
from dodiag.runners.session import ModelOptions, start

PRICES = {"input_price": 1000.0, "output_price": 10000.0}
COST = (12 * 1000 + 3 * 10000) / 1e6
"""Of one reply of the test server: 12 tokens in, 3 out."""


@pytest.mark.parametrize(("limit", "concurrency"), [(1, 1), (7, 1), (10, 4), (5, 16)])
def test_no_more_calls_are_sent_than_allowed_and_no_fewer(tmp_path, limit, concurrency):
    pack = sums_pack(tmp_path / "p", 4)
    with serving(lambda text, _: "1") as served:
        options = {"base_url": served.url, "concurrency": concurrency}
        first = dodiag.run(pack, "openai/m", tmp_path / "r", max_calls=limit, **options)
        assert served.requests == first.answered == limit
        assert "--max-calls" in first.stopped
        second = dodiag.resume(tmp_path / "r", max_calls=limit)
        assert second.answered == limit == served.requests - limit
        last = dodiag.resume(tmp_path / "r")
    assert last.complete
    assert last.stopped is None
    assert served.requests == 44


@pytest.mark.parametrize("concurrency", [1, 8])
def test_money_is_not_exceeded_and_what_is_left_is_less_than_the_calls_under_way(tmp_path, concurrency):
    pack = sums_pack(tmp_path / "p", 10)
    with serving(lambda text, _: "1") as served:
        options = {"base_url": served.url, "parameters": {"max_tokens": 3}, "concurrency": concurrency, **PRICES}
        found = dodiag.run(pack, "openai/m", tmp_path / "r", max_cost=40 * COST, **options)
        assert "--max-cost" in found.stopped
        assert found.money == pytest.approx(found.answered * COST)
        assert found.money <= 40 * COST
        assert found.answered >= 40 - 3 * 4 * concurrency
        again = dodiag.resume(tmp_path / "r", max_cost=40 * COST)
        assert found.money + again.money <= 40 * COST
        assert again.money_before == pytest.approx(found.money)
        last = dodiag.resume(tmp_path / "r", max_cost=1000 * COST)
    assert last.complete
    assert last.money + last.money_before == pytest.approx(110 * COST)


def test_a_reply_dearer_than_expected_is_expected_from_then_on(tmp_path):
    pack = sums_pack(tmp_path / "p", 10)
    with serving(lambda text, _: "1") as served:
        options = {"base_url": served.url, "parameters": {"max_tokens": 1}, "concurrency": 1, **PRICES}
        found = dodiag.run(pack, "openai/m", tmp_path / "r", max_cost=20.5 * COST, **options)
    assert found.money <= 20.5 * COST
    assert found.answered >= 20 - 2 * 4, (
        "four calls are under way, and a prompt is estimated at less than twice a reply"
    )


def test_tokens_that_are_not_reported_are_estimated_and_counted(tmp_path):
    def silent(text, _):
        from aiohttp import web

        choice = {"index": 0, "message": {"role": "assistant", "content": "8" * 40}, "finish_reason": "stop"}
        return web.json_response({"id": "x", "object": "chat.completion", "model": "m", "choices": [choice]})

    with serving(silent) as served:
        found = dodiag.run(
            sums_pack(tmp_path / "p", 1), "openai/m", tmp_path / "r", base_url=served.url, states=["n"], **PRICES
        )
    assert found.estimated == found.answered > 0
    assert found.money > found.answered * 10 * 10000 / 1e6


def test_the_deadline_ends_a_run_of_calls_that_wait(tmp_path):
    pack = sums_pack(tmp_path / "p", 5)
    with serving(lambda text, _: failure(429, "rate_limit_exceeded", {"Retry-After": "30"})) as served:
        started = time.monotonic()
        found = dodiag.run(pack, "openai/m", tmp_path / "r", base_url=served.url, deadline=1.0)
        assert time.monotonic() - started < 10
    assert found.stopped == "the deadline of 1 s has passed"
    assert not found.complete


def test_what_is_in_flight_at_the_deadline_still_comes_in(tmp_path):
    pack = sums_pack(tmp_path / "p", 20)
    with serving(lambda text, _: completion("1"), delay=0.4) as served:
        found = dodiag.run(pack, "openai/m", tmp_path / "r", base_url=served.url, deadline=1.0, concurrency=4)
        assert found.answered == served.requests
        assert 4 <= found.answered < 220
        assert dodiag.resume(tmp_path / "r", concurrency=64).complete
        assert served.requests == 220


def test_requests_that_are_retries_count(tmp_path):
    """Five requests are five requests, however many calls they belong to."""
    plan = dodiag.make_plan(sums_pack(tmp_path / "p", 4))
    with serving(lambda text, _: failure(500)) as served:
        found = started(plan, tmp_path / "r", served.url, Budget(calls=5))
        assert served.requests == 5
    assert "limit of --max-calls" in found.stopped


@pytest.mark.parametrize("concurrency", [1, 4])
def test_requests_that_may_be_billed_without_a_reply_do_not_exceed_the_money(tmp_path, concurrency):
    """A provider may bill every request that timed out, retries included: each counts before the next is sent."""
    pack = sums_pack(tmp_path / "p", 4)
    most = max(len(text.encode()) for text in prompts_of(pack)) * 1000 / 1e6 + 3 * 10000 / 1e6
    with serving(lambda text, _: "1", delay=0.5) as served:
        found = started(
            dodiag.make_plan(pack), tmp_path / "r", served.url, Budget(cost=4.5 * most), concurrency, timeout=0.1
        )
        assert 4 <= served.requests == found.account.broken_off
        assert served.requests * COST <= 4.5 * most
    with Ledger(tmp_path / "r") as ledger:
        assert ledger.meta("account")["held"] <= 4.5 * most
    assert "--max-cost" in found.stopped


def prompts_of(pack):
    plan = dodiag.make_plan(pack)
    assembler = plan.assembler(False)
    return [assembler.prompt(call.instance, call.question, call.configuration).text for call in plan.calls()]


def started(plan, folder, url, budget, concurrency=4, timeout=30.0, retries=4):
    """Run a plan with quick retries."""
    retry = RetryPolicy(retries, base=0.01, adaptive=False)
    options = ModelOptions(base_url=url, timeout=timeout, parameters={"max_tokens": 3})
    return start(
        plan, "openai/m", folder, options, RunOptions(concurrency, retry, TokenPrices(1000, 10000), True, budget)
    )


def test_requests_given_up_at_the_deadline_are_counted(tmp_path):
    plan = dodiag.make_plan(sums_pack(tmp_path / "p", 4))
    with serving(lambda text, _: "1", delay=2.0) as served:
        found = started(plan, tmp_path / "r", served.url, Budget(seconds=0.3, grace=0.1))
        assert found.account.broken_off == served.requests == 4
    assert "4 requests in flight were given up" in found.stopped


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 12), st.integers(0, 10_000), st.sampled_from([0.5, 3.0, 8.0]))
def test_whatever_becomes_of_calls_none_waits_for_ever_and_the_limit_holds(tmp_path_factory, calls, seed, limit):
    """Calls that break off and ask again, at once or later, beside others that end."""
    draw = random.Random(seed)
    prompt = Prompt("x" * 100)
    most = 100 * 1000 / 1e6
    answered = reply("k", "7")

    async def one(meter):
        try:
            hold = await meter.admit(prompt)
            while draw.random() < 0.5:
                await asyncio.sleep(0)
                hold.broke_off()
                await hold.again()
        except LimitReached:
            return
        await asyncio.sleep(0)
        hold.ended(answered if draw.random() < 0.7 else None)

    async def all_of_them(meter):
        await asyncio.wait_for(asyncio.gather(*(one(meter) for _ in range(calls))), 20)

    with Ledger.create(tmp_path_factory.mktemp("m") / "r", {}) as ledger:
        meter = Meter(Budget(cost=limit), TokenPrices(1000, 0), {"max_tokens": 1}, ledger)
        asyncio.run(all_of_them(meter))
        account = meter.account
        assert account.broken_off * most + account.money <= limit + 1e-9
        meter.save(ledger)
        assert ledger.meta("account")["held"] == pytest.approx(account.broken_off * most)


def test_what_broke_off_outlives_a_process_that_is_killed(tmp_path):
    """It is in no reply, so it is written down within a second of its happening."""
    pack = sums_pack(tmp_path / "p", 4)
    with serving(lambda text, _: "1", delay=1.0) as served:
        code = KILLED.format(pack=str(pack.folder), out=str(tmp_path / "r"), url=served.url)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.returncode == -signal.SIGKILL, done.stderr
    with Ledger(tmp_path / "r") as ledger:
        assert ledger.meta("account")["broken_off"] >= 2
        assert ledger.meta("account")["held"] > 0


KILLED = """
import os, threading, time
from pathlib import Path
import dodiag
from dodiag.runners.ledger import Ledger

def kill_when_written():
    while True:
        time.sleep(0.02)
        if Path({out!r}, "ledger.sqlite").exists():
            with Ledger(Path({out!r})) as ledger:
                if ledger.meta("account"):
                    os.kill(os.getpid(), 9)

threading.Thread(target=kill_when_written, daemon=True).start()
dodiag.run({pack!r}, "openai/m", {out!r}, base_url={url!r}, timeout=0.1, concurrency=2, max_retries=9,
           max_cost=1000.0, input_price=1.0, output_price=1.0)
"""


@pytest.mark.parametrize("options", [{"max_calls": 0}, {"max_cost": -1.0, **PRICES}, {"deadline": float("nan")}])
def test_limits_are_above_0(tmp_path, options):
    with pytest.raises(UsageError, match="above 0"):
        dodiag.run(sums_pack(tmp_path / "p", 1), "sim:default", tmp_path / "r", **options)


def test_money_needs_prices_before_anything_is_written(tmp_path):
    with pytest.raises(UsageError, match="needs prices"):
        dodiag.run(sums_pack(tmp_path / "p", 1), "sim:default", tmp_path / "r", max_cost=1.0)
    assert not (tmp_path / "r").exists()


def test_the_command_says_what_stopped_it_and_what_was_spent(tmp_path, monkeypatch, capsys):
    pack = sums_pack(tmp_path / "p", 2)
    with serving(lambda text, _: "1") as served:
        arguments = ["run", str(pack.folder), "--model", "openai/m", "--base-url", served.url, "--out"]
        monkeypatch.setattr(
            "sys.argv", ["dodiag", *arguments, str(tmp_path / "r"), "--max-calls", "3", "--price", "1000,10000"]
        )
        with pytest.raises(SystemExit) as caught:
            main()
        assert caught.value.code == 3
        captured = capsys.readouterr()
        assert f"{3 * COST:.4f} spent" in captured.out
        assert "3 requests were sent, the limit of --max-calls" in captured.err
        assert "dodiag resume" in captured.err
        monkeypatch.setattr("sys.argv", ["dodiag", "resume", str(tmp_path / "r"), "--quiet"])
        with pytest.raises(SystemExit) as caught:
            main()
    assert caught.value.code == 0
    assert f"({22 * COST:.4f} with what was spent before)" in capsys.readouterr().out


def test_a_limit_of_money_outlives_the_process_until_it_is_lifted(tmp_path):
    pack = sums_pack(tmp_path / "p", 4)
    with serving(lambda text, _: "1") as served:
        options = {"base_url": served.url, "parameters": {"max_tokens": 3}, "concurrency": 2, **PRICES}
        first = dodiag.run(pack, "openai/m", tmp_path / "r", max_cost=15 * COST, **options)
        again = dodiag.resume(tmp_path / "r")
        assert again.stopped is not None
        assert first.money + again.money <= 15 * COST
        assert dodiag.resume(tmp_path / "r", max_cost=float("inf")).complete
    assert served.requests == 44


@pytest.mark.parametrize("continued", ["resume", "run"])
def test_a_limit_that_is_set_later_is_kept_with_its_prices(tmp_path, continued):
    """A run that is given a limit is not continued without it, whether or not it began with one."""
    pack = sums_pack(tmp_path / "p", 4)
    with serving(lambda text, _: "1") as served:
        options = {"base_url": served.url, "parameters": {"max_tokens": 3}, "concurrency": 2}
        dodiag.run(pack, "openai/m", tmp_path / "r", max_calls=5, **options)
        dodiag.resume(tmp_path / "r", max_cost=15 * COST, prices=TokenPrices(1000, 10000))
        sent = served.requests
        again = (
            dodiag.resume(tmp_path / "r")
            if continued == "resume"
            else dodiag.run(pack, "openai/m", tmp_path / "r", **options)
        )
        assert "--max-cost" in again.stopped
        assert again.account.money <= 15 * COST
        assert served.requests == sent
        assert dodiag.resume(tmp_path / "r", max_cost=float("inf")).complete
    with Ledger(tmp_path / "r") as ledger:
        assert ledger.meta("terms")["cost"] is None, "lifted for good"


def test_requests_that_broke_off_count_against_the_money_and_are_shown(tmp_path):
    pack = sums_pack(tmp_path / "p", 2)
    with serving(lambda text, _: "1", delay=2.0) as served:
        options = {"base_url": served.url, "timeout": 0.2, "max_retries": 0, "limit": 1, "states": ["n"], **PRICES}
        found = dodiag.run(pack, "openai/m", tmp_path / "r", **options)
    assert found.failed == found.planned > 0
    assert found.account.broken_off == served.requests == found.planned
    assert found.account.money == 0
    with Ledger(tmp_path / "r") as ledger:
        stored = ledger.meta("account")
    assert stored["broken_off"] == found.planned
    assert stored["held"] == 0, "without a limit of money nothing is held"


def test_cached_and_reasoning_tokens_are_billed_at_their_own_prices_from_a_file(tmp_path, monkeypatch, capsys):
    def thinking(text, _):
        from aiohttp import web

        usage = {
            "prompt_tokens": 100,
            "completion_tokens": 50,
            "prompt_tokens_details": {"cached_tokens": 60},
            "completion_tokens_details": {"reasoning_tokens": 40},
        }
        choice = {"index": 0, "message": {"role": "assistant", "content": "8"}, "finish_reason": "stop"}
        return web.json_response({"model": "m", "choices": [choice], "usage": usage})

    (tmp_path / "prices.yaml").write_text("m: {input: 1000, output: 10000, cached_input: 100, reasoning: 20000}\n")
    each = (40 * 1000 + 60 * 100 + 10 * 10000 + 40 * 20000) / 1e6
    pack = sums_pack(tmp_path / "p", 1)
    with serving(thinking) as served:
        arguments = ["run", str(pack.folder), "--model", "openai/m", "--base-url", served.url]
        arguments += ["--out", str(tmp_path / "r"), "--prices", str(tmp_path / "prices.yaml"), "--deadline", "10m"]
        monkeypatch.setattr("sys.argv", ["dodiag", *arguments])
        with pytest.raises(SystemExit) as caught:
            main()
    assert not caught.value.code
    captured = capsys.readouterr()
    calls = served.requests
    assert f"{calls * each:.4f} spent" in captured.out
    assert f"{100 * calls:,} tokens in ({60 * calls} from the cache), {50 * calls} out ({40 * calls} reasoning)" in (
        captured.out
    )
    assert captured.err.count("expected: ") == 1, "said before the first call"
    expected = next(line for line in captured.err.splitlines() if line.startswith("expected: "))
    assert expected in captured.out, "and beside what it did cost"
    assert f"{calls} calls" in expected
    monkeypatch.setattr("sys.argv", ["dodiag", "resume", str(tmp_path / "r"), "--price", "1,2", "--quiet"])
    with pytest.raises(SystemExit):
        main()
    assert f"({calls * 200 / 1e6:.4f} with what was spent before)" in capsys.readouterr().out


@pytest.mark.parametrize("given", ["soon", "1 fortnight", "-5", "0"])
def test_a_deadline_is_a_length_of_time(tmp_path, monkeypatch, capsys, given):
    monkeypatch.setattr("sys.argv", ["dodiag", "run", "dice_sum", "--out", str(tmp_path / "r"), f"--deadline={given}"])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    assert "deadline" in capsys.readouterr().err
    assert not (tmp_path / "r").exists()
