"""The progress line: one row of any terminal, and no reason for a run to end."""

import asyncio
import contextlib
import fcntl
import os
import struct
import termios
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dodiag.runners.progress import Progress, Wait, _cut, shown


def busy():
    progress = Progress(total=33_931, done=1_234, in_flight=16, failed=3, money=0.1234, places=8)
    progress.waits.add(Wait("rate limit", 1, 4, time.monotonic() + 12))
    progress.paused_until = time.monotonic() + 12
    return progress


def shown_on_a_terminal(columns):
    """Return the first 2,000 bytes, or the first line, that a terminal of some width gets."""
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    async def show():
        with os.fdopen(slave, "w") as stream:
            async with shown(busy(), stream):
                return await asyncio.to_thread(os.read, master, 2000)

    try:
        return asyncio.run(show()).decode()
    finally:
        os.close(master)


@pytest.mark.parametrize("columns", [20, 40, 80])
def test_the_line_fits_into_one_row_so_that_it_can_be_rewritten(monkeypatch, columns):
    monkeypatch.setenv("TERM", "xterm")
    text = shown_on_a_terminal(columns)
    first = text.split("\r\033[K")[1]
    assert len(first) < columns
    assert first.startswith("1,234/33,931 done"[: columns - 2])
    assert first.endswith("…")


def test_a_terminal_that_cannot_rewrite_a_line_gets_whole_ones(monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    text = shown_on_a_terminal(40)
    assert "\033" not in text
    assert text.endswith("\n")


@given(st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), max_size=200), st.integers(2, 120))
def test_a_cut_line_is_narrower_than_its_row_and_a_short_one_is_whole(line, width):
    cut = _cut(line, width)
    assert len(cut) < width
    assert cut == line or (cut.endswith("…") and line.startswith(cut[:-1]))
    assert cut == line or len(line) >= width


def test_a_reader_that_has_gone_away_ends_the_display_and_not_the_run():
    reading, writing = os.pipe()
    os.close(reading)

    stream = os.fdopen(writing, "w")

    async def show():
        async with shown(busy(), stream):
            while len(asyncio.all_tasks()) > 1:
                await asyncio.sleep(0.01)

    asyncio.run(show())
    with contextlib.suppress(BrokenPipeError):
        stream.close()
