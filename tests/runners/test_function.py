"""Python callables as models: whatever they do, the run ends, and what was answered is kept."""

import asyncio
import os
import signal

import pytest
from packs import sums_pack

import dodiag
from dodiag.problems import UsageError
from dodiag.runners.protocol import Reply
from dodiag.runners.runner import STOPPING


@pytest.fixture
def pack(tmp_path):
    return sums_pack(tmp_path / "p", 4)


def run(pack, function, folder, **options):
    return dodiag.run(pack, function, folder, **{"concurrency": 1, "max_retries": 0, "timeout": 5.0, **options})


def test_a_list_of_replies_that_comes_to_its_end_is_an_error_and_no_endless_wait(pack, tmp_path):
    replies = iter(["7"] * 5)
    with pytest.raises(RuntimeError, match="raised StopIteration"):
        run(pack, lambda request: next(replies), tmp_path / "r")
    assert len(dodiag.outcomes(tmp_path / "r")) == 5


def test_a_call_that_cancels_itself_does_not_vanish(pack, tmp_path):
    def plain(request):
        raise asyncio.CancelledError

    async def waiting(request):
        raise asyncio.CancelledError

    with pytest.raises(RuntimeError, match="raised CancelledError"):
        run(pack, plain, tmp_path / "plain")
    with pytest.raises(UsageError, match="cancelled a call by itself"):
        run(pack, waiting, tmp_path / "waiting")


@pytest.mark.parametrize("result", [7, b"7", ["7"], Reply(7), Reply(b"7")])
def test_what_is_no_text_is_refused_by_name(pack, tmp_path, result):
    with pytest.raises(UsageError, match="returned"):
        run(pack, lambda request: result, tmp_path / "r")


def test_an_adapter_that_returns_no_reply_is_refused_by_name(pack, tmp_path):
    class Mine:
        model, endpoint, sees_media, free = "mine", "", False, False

        async def answer(self, request):
            return "7"

        async def close(self):
            pass

    with pytest.raises(UsageError, match="the model mine returned str"):
        dodiag.run(pack, Mine(), tmp_path / "r")


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_order_to_end_from_inside_a_function_is_obeyed(pack, tmp_path, error):
    asked = []

    def answer(request):
        asked.append(request)
        if len(asked) > 3:
            raise error
        return "7"

    with pytest.raises(error):
        run(pack, answer, tmp_path / "r")
    assert len(asked) == 4
    assert len(dodiag.outcomes(tmp_path / "r")) == 3


def signalling(number, after):
    """A model that sends its own process a signal with one of its calls."""
    asked = []

    async def answer(request):
        asked.append(request)
        if len(asked) == after:
            os.kill(os.getpid(), number)
        await asyncio.sleep(0)
        return "7"

    return answer


@pytest.fixture
def handlers():
    before = {number: signal.getsignal(number) for number in STOPPING}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", STOPPING)
def test_every_signal_to_end_ends_a_run_in_order_and_is_handled_as_before_afterwards(pack, tmp_path, handlers, number):
    def mine(*_):
        raise AssertionError("the run did not take the signal")

    signal.signal(number, mine)
    found = run(pack, signalling(number, 5), tmp_path / "r")
    assert (found.interrupted, found.stopped) == (True, "interrupted")
    assert 5 <= found.answered == len(dodiag.outcomes(tmp_path / "r")) < 44
    assert signal.getsignal(number) is mine


@pytest.mark.parametrize("number", STOPPING)
def test_a_signal_that_is_ignored_stays_ignored(pack, tmp_path, handlers, number):
    """As under nohup, or in the background of a script."""
    signal.signal(number, signal.SIG_IGN)
    assert run(pack, signalling(number, 5), tmp_path / "r").complete
    assert signal.getsignal(number) is signal.SIG_IGN


def test_a_closed_terminal_may_say_so_twice(pack, tmp_path, handlers):
    async def answer(request):
        os.kill(os.getpid(), signal.SIGHUP)
        await asyncio.sleep(0)
        os.kill(os.getpid(), signal.SIGHUP)
        return "7"

    found = run(pack, answer, tmp_path / "r", concurrency=3)
    assert found.interrupted
    assert found.answered == len(dodiag.outcomes(tmp_path / "r")) > 0
