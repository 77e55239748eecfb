"""Send the calls of a job with one client, and print what it cost and what came of it.

    python perf/clients.py CLIENT JOB.json

The driver starts it: in an environment with dodiag for `dodiag`, in the peers' own for all others. A few calls that are
not counted come first, so that imports are not measured. Clients that are libraries get 64 workers that take the next
line of the job; harnesses run as their documentation says, with the job as their data set. Each keeps what it keeps by
default. A line of the output starts with RESULT and is JSON.
"""

from __future__ import annotations

import asyncio
import base64
import functools
import itertools
import json
import os
import resource
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

from jobs import Job

KEY = "not-a-key"
WARM = 16
"""Calls before the measurement."""

Send = Callable[[dict[str, Any]], Awaitable[Any]]
Outcome = dict[str, Any]


class Measure:
    """Wall and CPU time of a block, and this process's peak memory at its end."""

    def __enter__(self) -> Measure:
        self._wall, self._cpu = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.wall = time.perf_counter() - self._wall
        self.cpu = time.process_time() - self._cpu

    def shown(self, outcome: Outcome) -> None:
        """Print the result line."""
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print("RESULT " + json.dumps({"wall": self.wall, "cpu": self.cpu, "peak": peak, **outcome}), flush=True)


def lines_of(job: Job) -> Iterator[dict[str, Any]]:
    """Yield the lines of a job."""
    with Path(job.lines).open() as stream:
        yield from map(json.loads, stream)


@functools.lru_cache(maxsize=16)
def data_url(path: str) -> str:
    """Return a picture as a data URL; the calls of one instance come one after another and share it."""
    return "data:image/png;base64," + base64.b64encode(Path(path).read_bytes()).decode()


def messages_of(line: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a line as chat messages, the same that dodiag sends."""
    if not line["picture"]:
        return [{"role": "user", "content": line["text"]}]
    picture = {"type": "image_url", "image_url": {"url": data_url(line["picture"])}}
    return [{"role": "user", "content": [picture, {"type": "text", "text": line["text"]}]}]


async def pooled(job: Job, send: Send) -> None:
    """Send the warm-up and then the job through a library, and print the result."""
    contents: Counter[str] = Counter()

    async def work(source: Iterator[dict[str, Any]]) -> None:
        for line in source:
            try:
                contents[f"reply {await send(line)!r}"] += 1
            except Exception as error:
                contents[type(error).__name__] += 1

    async def all_of(source: Iterator[dict[str, Any]]) -> None:
        await asyncio.gather(*(work(source) for _ in range(job.concurrency)))

    if job.options.get("warm", True):
        await all_of(itertools.islice(lines_of(job), WARM))
        contents.clear()
    with Measure() as measure:
        await all_of(lines_of(job))
    measure.shown({"outcome": dict(contents)})


def run_aiohttp(job: Job) -> None:
    """Send with aiohttp alone: the least that the requests can cost."""
    import aiohttp

    async def work() -> None:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

            async def send(line: dict[str, Any]) -> Any:
                body = {"model": "m", "messages": messages_of(line)}
                async with session.post(f"{job.url}/v1/chat/completions", json=body) as response:
                    return (await response.json())["choices"][0]["message"]["content"]

            await pooled(job, send)

    asyncio.run(work())


def run_openai(job: Job) -> None:
    """Send with the OpenAI SDK."""
    import openai

    async def work() -> None:
        client = openai.AsyncOpenAI(api_key=KEY, base_url=f"{job.url}/v1", **job.options.get("client", {}))

        async def send(line: dict[str, Any]) -> Any:
            messages: Any = messages_of(line)
            reply = await client.chat.completions.create(model="m", messages=messages)
            return reply.choices[0].message.content

        await pooled(job, send)

    asyncio.run(work())


def run_litellm(job: Job) -> None:
    """Send with litellm."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    import litellm

    litellm.telemetry = False
    litellm.suppress_debug_info = True
    options = job.options.get("client", {})

    async def send(line: dict[str, Any]) -> Any:
        messages = messages_of(line)
        reply = await litellm.acompletion(
            model="openai/m", api_base=f"{job.url}/v1", api_key=KEY, messages=messages, **options
        )
        return reply.choices[0].message.content

    asyncio.run(pooled(job, send))


LM_EVAL_TASK = """task: sums
dataset_path: json
dataset_kwargs: {{data_files: {{test: {lines}}}}}
test_split: test
output_type: generate_until
doc_to_text: "{{{{text}}}}"
doc_to_target: "{{{{answer}}}}"
generation_kwargs: {{until: [], do_sample: false, max_gen_toks: 8}}
metric_list: [{{metric: exact_match, aggregation: mean, higher_is_better: true}}]
metadata: {{version: 1.0}}
"""


def run_lm_eval(job: Job) -> None:
    """Evaluate with lm-eval's local-chat-completions."""
    folder = Path(job.folder)
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "OPENAI_API_KEY": KEY, "HF_HOME": str(folder / "hf")}
    os.environ.update(offline)
    import logging

    import lm_eval
    from lm_eval.tasks import TaskManager

    tasks = folder / "tasks"
    tasks.mkdir(exist_ok=True)
    (tasks / "sums.yaml").write_text(LM_EVAL_TASK.format(lines=job.lines))
    logging.getLogger("lm_eval").setLevel(logging.CRITICAL)
    manager = TaskManager(include_path=str(tasks), include_defaults=False)
    reach = {"model": "m", "base_url": f"{job.url}/v1/chat/completions", "num_concurrent": job.concurrency}
    cached = {"use_cache": str(folder / "cache")} if job.options.get("cache") else {}

    def evaluate(limit: int | None) -> Any:
        return lm_eval.simple_evaluate(
            model="local-chat-completions",
            model_args={**reach, "max_retries": 3, "tokenized_requests": False},
            tasks=["sums"],
            task_manager=manager,
            apply_chat_template=True,
            bootstrap_iters=0,
            log_samples=True,
            limit=limit,
            verbosity="CRITICAL",
            **cached,
        )

    if job.options.get("warm", True):
        evaluate(WARM)
    with Measure() as measure:
        results = evaluate(None)
    samples = results["samples"]["sums"]
    contents = Counter(f"reply {sample['resps'][0][0]!r}" for sample in samples)
    measure.shown({"outcome": dict(contents), "score": results["results"]["sums"].get("exact_match,none")})


def run_inspect(job: Job) -> None:
    """Evaluate with inspect-ai: generate, then match."""
    os.environ.update(MOCK_API_KEY=KEY, MOCK_BASE_URL=f"{job.url}/v1")
    from inspect_ai import Task, eval, eval_retry
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ChatMessageUser, ContentImage, ContentText
    from inspect_ai.scorer import match
    from inspect_ai.solver import generate

    def sample(index: int, line: dict[str, Any]) -> Sample:
        if not line["picture"]:
            return Sample(id=index, input=line["text"], target=line["answer"])
        content: list[Any] = [ContentImage(image=line["picture"]), ContentText(text=line["text"])]
        return Sample(id=index, input=[ChatMessageUser(content=content)], target=line["answer"])

    def task(limit: int | None) -> Task:
        samples = [sample(index, line) for index, line in enumerate(itertools.islice(lines_of(job), limit))]
        return Task(dataset=MemoryDataset(samples), solver=generate(), scorer=match(numeric=True), name="sums")

    folder = Path(job.folder)
    options = {"display": "none", "max_connections": job.concurrency, **job.options.get("client", {})}
    if job.options.get("warm", True):
        eval(task(WARM), model="openai-api/mock/m", log_dir=str(folder / "warm"), **options)
    logs = folder / "logs"
    with Measure() as measure:
        if job.options.get("retry"):
            last = max(logs.glob("*.eval"))
            log = eval_retry(str(last), log_dir=str(logs), **options)[0]
        else:
            log = eval(task(None), model="openai-api/mock/m", log_dir=str(logs), **options)[0]
    samples = log.samples or []
    contents: Counter[str] = Counter()
    for one in samples:
        if one.error:
            contents[f"error {one.error.message.split('(')[0][:40]}"] += 1
        else:
            output = one.output
            stop = output.stop_reason if output.choices else "no choice"
            contents[f"reply {output.completion!r}" + ("" if stop == "stop" else f" ({stop})")] += 1
    scores = log.results.scores if log.results else []
    score = scores[0].metrics["accuracy"].value if scores else None
    measure.shown({"outcome": dict(contents), "score": score, "status": log.status})


def run_dodiag(job: Job) -> None:
    """Run with dodiag, ledger on, from the pack's folder to the last row on the disk."""
    import dodiag

    folder = Path(job.folder)
    reach: dict[str, Any] = {"base_url": f"{job.url}/v1", "concurrency": job.concurrency, "units": [job.unit]}
    if job.options.get("warm", True):
        dodiag.run(job.pack, "openai/m", folder / "warm", limit=2, **reach)
    with Measure() as measure:
        summary = dodiag.run(job.pack, "openai/m", folder / "run", **reach)
    measure.shown({"outcome": {"answered": summary.answered, "failed": summary.failed}})


CLIENTS: dict[str, Callable[[Job], None]] = {
    "aiohttp": run_aiohttp,
    "dodiag": run_dodiag,
    "openai": run_openai,
    "litellm": run_litellm,
    "lm-eval": run_lm_eval,
    "inspect-ai": run_inspect,
}


if __name__ == "__main__":
    CLIENTS[sys.argv[1]](Job.read(Path(sys.argv[2])))
