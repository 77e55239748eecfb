"""Let a model write the constrained variants of a CCRV-Bench set: many at once, none paid for twice."""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dodiag.benchmarks.ccrv.construct import Built, NoDraft, Rejection, build, drafted_by_model
from dodiag.benchmarks.ccrv.data import Dataset, Item, ItemKey
from dodiag.benchmarks.ccrv.loader import dataset_of
from dodiag.benchmarks.ccrv.scene import SceneGraph
from dodiag.benchmarks.ccrv.views import view_graph
from dodiag.interventions.prompts import Prompt
from dodiag.problems import DodiagError, UsageError
from dodiag.runners.models import open_adapter
from dodiag.runners.progress import Progress
from dodiag.runners.protocol import Adapter, Finish, Request
from dodiag.runners.reading.cleaning import remove_reasoning
from dodiag.runners.retry import GaveUp, Retrier, RetryPolicy, Stopped
from dodiag.scm.pack import Instance, Question

_AGAIN = "Run the same command again; what is written is kept."


class WriterFailed(DodiagError):
    """The writing model could not be reached; what it has written is kept."""


@dataclass(frozen=True)
class BuiltSet:
    """A set with its variants, and what was not made.

    Attributes
    ----------
    dataset : Dataset
    rejections : tuple of Rejection
    asked : int
        Requests that were sent now.
    """

    dataset: Dataset
    rejections: tuple[Rejection, ...]
    asked: int


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
        A file of everything the writer has replied (JSON lines); what stands in it is not asked again.
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
        If an image has no scene graph, or the drafts cannot be read.
    WriterFailed
        If the writer cannot be reached; the same call goes on.
    """
    if missing := [image.image_id for image in baseline.images if image.image_id not in scenes]:
        shown = ", ".join(map(str, missing[:5]))
        raise UsageError(f"{len(missing)} images have no scene graph: {shown}", "Add them to the file of scene graphs.")
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
        items = list(baseline.items())
        done = 0

        def one(item: Item) -> Built:
            nonlocal done
            built = build(item, scenes[item.key.image_id], drafter, seed, writer_name=adapter.model)
            done += 1
            if progress is not None:
                progress(done)
            return built

        with ThreadPoolExecutor(max_workers=max(1, concurrency)) as pool:
            found = dict(zip((item.key for item in items), pool.map(one, items), strict=True))
        asked = letters.asked
    document = json.loads(json.dumps(baseline.document))
    for image in document:
        for x, questions in image["questions"].items():
            for place, question in enumerate(questions):
                built = found[ItemKey(image["image_id"], x, place)]
                question["main_set_versions"] = list(built.variants)
    rejections = tuple(rejection for built in found.values() for rejection in built.rejections)
    return BuiltSet(dataset_of(document, f"{baseline.source} with variants by {adapter.model}"), rejections, asked)


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
        self._known: dict[str, list[str]] = {}
        self.asked = 0
        try:
            if path.exists():
                # A process that was killed may have left half a line behind.
                whole = path.read_bytes()
                whole = whole[: whole.rfind(b"\n") + 1]
                path.write_bytes(whole)
            else:
                whole = b""
            for line in whole.decode("utf-8").splitlines():
                entry = json.loads(line)
                self._known.setdefault(entry["key"], []).append(entry["reply"])
            self._file = path.open("a", encoding="utf-8")
        except (OSError, ValueError, KeyError, TypeError) as error:
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

    def ask(self, prompt: str) -> str:
        """Return the model's reply to a prompt, from the file where it is there."""
        key = hashlib.sha256(f"{self._adapter.model}\x1f{self._adapter.endpoint}\x1f{prompt}".encode()).hexdigest()
        with self._lock:
            if kept := self._known.get(key):
                return kept[-1]
        reply = asyncio.run_coroutine_threadsafe(self._sent(prompt), self._loop).result()
        with self._lock:
            self.asked += 1
            self._known.setdefault(key, []).append(reply)
            self._file.write(json.dumps({"key": key, "reply": reply}, ensure_ascii=False) + "\n")
            self._file.flush()
        return reply

    async def _sent(self, prompt: str) -> str:
        assert self._retrier is not None
        question = Question(id="draft", unit="E", text="draft", answer="draft", incorrect="none")
        instance = Instance(id="draft", questions=(question,))
        request = Request(Prompt(prompt), {"temperature": 0}, view_graph("items"), instance, question, 0)
        try:
            async with self._retrier.sending(request) as answered:
                reply = answered.reply
        except Stopped:
            raise WriterFailed("the writer cannot be reached", _AGAIN) from None
        except GaveUp as failure:
            if failure.failure.kind.fatal:
                self._retrier.stop()
                raise WriterFailed(f"the writer cannot be reached: {failure}", _AGAIN) from None
            raise NoDraft(f"the writer gave no reply: {failure}") from None
        return "" if reply.text is None or reply.finish is Finish.REFUSAL else reply.text
