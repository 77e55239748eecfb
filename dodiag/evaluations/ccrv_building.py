"""Let a model write the constrained variants of a CCRV-Bench set: many at once, none paid for twice."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dodiag.benchmarks.ccrv.construct import Built, Rejection, build, drafted_by_model
from dodiag.benchmarks.ccrv.data import Dataset, Item, ItemKey
from dodiag.benchmarks.ccrv.loader import dataset_of
from dodiag.benchmarks.ccrv.scene import SceneGraph
from dodiag.benchmarks.ccrv.views import view_graph
from dodiag.evaluations.ccrv_spending import Spent, Tokens
from dodiag.interventions.prompts import Prompt
from dodiag.problems import DodiagError, UsageError
from dodiag.runners.models import open_adapter
from dodiag.runners.progress import Progress
from dodiag.runners.protocol import Adapter, Finish, Reply, Request
from dodiag.runners.reading.cleaning import remove_reasoning
from dodiag.runners.retry import GaveUp, Retrier, RetryPolicy, Stopped
from dodiag.scm.pack import Instance, Question

_AGAIN = "Run the same command again; what is written is kept."
_BEGINS = b'{"key": "'
"""How every line of a file of drafts begins, also one that was cut off."""


class WriterFailed(DodiagError):
    """The writing model could not be reached; what it has written is kept."""


class _NoReply(Exception):
    """A request came to no reply; that says nothing about the draft, which is still to be written."""


@dataclass(frozen=True)
class BuiltSet:
    """A set with its variants, and what was not made.

    Attributes
    ----------
    dataset : Dataset
    rejections : tuple of Rejection
    asked : int
        Requests that were answered now.
    spent : Spent
        What that came to.
    """

    dataset: Dataset
    rejections: tuple[Rejection, ...]
    asked: int
    spent: Spent


def build_set(
    baseline: Dataset,
    scenes: Mapping[int, SceneGraph],
    writer: str | Adapter,
    drafts: str | Path,
    *,
    seed: int = 42,
    base_url: str | None = None,
    key_variable: str = "OPENAI_API_KEY",
    timeout: float = 600.0,
    concurrency: int = 10,
    max_retries: int = 4,
    progress: Callable[[int], None] | None = None,
) -> BuiltSet:
    """Make the constrained variants of every baseline item, with texts that a model writes.

    Parameters
    ----------
    baseline : Dataset
    scenes : mapping of int to SceneGraph
        By image id.
    writer : str or Adapter
        A model name as in :func:`dodiag.run`, or an adapter.
    drafts : str or Path
        A file of everything the writer has replied (JSON lines); what stands in it is not asked again. A line that a
        killed process has left half is asked again; any other file is refused as it is.
    seed : int
        Of the distractors among Y1's symbols.
    base_url, key_variable, timeout
        How the writer is reached.
    concurrency, max_retries : int
    progress : callable, optional
        Told how many items are done.

    Raises
    ------
    UsageError
        If an image has no scene graph, the set has variants already, or the drafts cannot be read.
    WriterFailed
        If the writer cannot be reached, or some requests came to no reply: no set is made of what a server has failed
        to answer. The same call goes on.
    """
    if missing := [image.image_id for image in baseline.images if image.image_id not in scenes]:
        shown = ", ".join(map(str, missing[:5]))
        raise UsageError(f"{len(missing)} images have no scene graph: {shown}", "Add them to the file of scene graphs.")
    if any(item.variants for item in baseline.items()):
        cure = "Name the baseline file; the variants of this one would be lost."
        raise UsageError(f"{baseline.source} has constrained variants already", cure)
    adapter = (
        open_adapter(
            writer,
            task=view_graph("items"),
            base_url=base_url,
            with_media=False,
            timeout=timeout,
            key_variable=key_variable,
        )
        if isinstance(writer, str)
        else writer
    )
    with _Correspondence(Path(drafts), adapter, RetryPolicy(max_retries=max_retries), concurrency) as letters:
        drafter = drafted_by_model(letters.ask, read_object)

        def one(item: Item) -> Built | _NoReply:
            try:
                return build(item, scenes[item.key.image_id], drafter, seed, writer_name=adapter.model)
            except _NoReply as failure:
                return failure

        found: dict[ItemKey, Built] = {}
        unanswered: list[tuple[ItemKey, _NoReply]] = []
        items = list(baseline.items())
        with ThreadPoolExecutor(max_workers=max(1, concurrency)) as pool:
            try:
                for done, (item, built) in enumerate(zip(items, pool.map(one, items), strict=True), start=1):
                    if isinstance(built, _NoReply):
                        unanswered.append((item.key, built))
                    else:
                        found[item.key] = built
                    if progress is not None:
                        progress(done)
            except BaseException:
                # Ctrl-C, too: what is in flight comes in, for it is paid for, and nothing more goes out.
                letters.stop()
                raise
        spent = letters.spent()
    if unanswered:
        key, failure = unanswered[0]
        raise WriterFailed(f"{len(unanswered):,} items wait for the writer; {key}: {failure}", _AGAIN)
    document = json.loads(json.dumps(baseline.document))
    for image in document:
        for x, questions in image["questions"].items():
            for place, question in enumerate(questions):
                built = found[ItemKey(image["image_id"], x, place)]
                question["main_set_versions"] = list(built.variants)
    rejections = tuple(rejection for built in found.values() for rejection in built.rejections)
    return BuiltSet(
        dataset_of(document, f"{baseline.source} with variants by {adapter.model}"), rejections, letters.answered, spent
    )


def read_object(reply: str) -> Mapping[str, Any] | None:
    """Return the one JSON object of a reply, wherever it stands; None where there is none, or more than one.

    Examples
    --------
    >>> read_object('Here it is: {"a": {"b": 1}} as asked')
    {'a': {'b': 1}}
    """
    text = remove_reasoning(reply).text
    found: list[Mapping[str, Any]] = []
    place = text.find("{")
    while place >= 0:
        try:
            value, end = json.JSONDecoder(strict=False).raw_decode(text, place)
        except (ValueError, RecursionError):
            end = place + 1
        else:
            found.append(value)
        place = text.find("{", end)
    return found[0] if len(found) == 1 else None


class _Correspondence:
    """Asks one model from many threads; every reply is on disk before it is used."""

    def __init__(self, path: Path, adapter: Adapter, policy: RetryPolicy, concurrency: int) -> None:
        self._adapter = adapter
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="dodiag-writer", daemon=True)
        self._policy, self._concurrency = policy, concurrency
        self._retrier: Retrier | None = None
        self._lock = threading.Lock()
        self._known: dict[str, str] = {}
        self._tokens: list[Tokens] = []
        self._requests = 0
        try:
            whole = path.read_bytes() if path.exists() else b""
            *lines, rest = whole.split(b"\n")
            for line in lines:
                entry = json.loads(line)
                key, reply = entry["key"], entry["reply"]
                if not isinstance(key, str) or not isinstance(reply, str):
                    raise ValueError("a key or a reply is no text")
                self._known[key] = reply
            if rest:
                if rest[: len(_BEGINS)] != _BEGINS[: len(rest)]:
                    raise ValueError("its last line is none of a draft")
                os.truncate(path, len(whole) - len(rest))
            self._file = path.open("a", encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{path} cannot be used: {error.strerror or error}", "Name another file.") from None
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise UsageError(f"{path} is no file of drafts: {error}", "Name a new file.") from None

    def __enter__(self) -> _Correspondence:
        self._thread.start()
        self._retrier = asyncio.run_coroutine_threadsafe(self._ready(), self._loop).result()
        return self

    async def _ready(self) -> Retrier:
        return Retrier(self._adapter, self._policy, Progress(total=0), self._concurrency)

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._adapter.close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._file.close()

    def stop(self) -> None:
        """Let no further request go out."""
        if self._retrier is not None:
            self._loop.call_soon_threadsafe(self._retrier.stop)

    def spent(self) -> Spent:
        """Return what the replies of now came to."""
        return Spent.of(self._adapter.model, self._requests, self._tokens)

    @property
    def answered(self) -> int:
        """Prompts that were answered now."""
        return len(self._tokens)

    def ask(self, prompt: str) -> str:
        """Return the model's reply to a prompt, from the file where it is there."""
        key = hashlib.sha256(f"{self._adapter.model}\x1f{self._adapter.endpoint}\x1f{prompt}".encode()).hexdigest()
        with self._lock:
            if (kept := self._known.get(key)) is not None:
                return kept
        reply = asyncio.run_coroutine_threadsafe(self._sent(prompt), self._loop).result()
        text = "" if reply.text is None or reply.finish is Finish.REFUSAL else reply.text
        with self._lock:
            self._tokens.append((reply.usage.input, reply.usage.output))
            self._known[key] = text
            self._file.write(json.dumps({"key": key, "reply": text}) + "\n")
            self._file.flush()
        return text

    async def _sent(self, prompt: str) -> Reply:
        assert self._retrier is not None
        question = Question(id="draft", unit="E", text="draft", answer="draft", incorrect="none")
        instance = Instance(id="draft", questions=(question,))
        request = Request(Prompt(prompt), {"temperature": 0}, view_graph("items"), instance, question, 0)
        try:
            async with self._retrier.sending(request) as answered:
                self._requests += answered.attempts
                return answered.reply
        except Stopped:
            raise WriterFailed("the writer cannot be reached", _AGAIN) from None
        except GaveUp as failure:
            self._requests += failure.attempts
            if failure.failure.kind.fatal:
                self._retrier.stop()
                raise WriterFailed(f"the writer cannot be reached: {failure}", _AGAIN) from None
            raise _NoReply(str(failure)) from None
