"""Start a run, continue a run: the manifest, the plan-hash guard, and the bridge from plain code to the loop."""

from __future__ import annotations

import asyncio
import contextlib
import json
import platform
import subprocess
import threading
from collections.abc import Coroutine, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

import dodiag
from dodiag.folder_lock import FolderLock, unwritable
from dodiag.interventions.design import Design
from dodiag.interventions.plan import Plan
from dodiag.problems import UsageError
from dodiag.runners.budget import Budget, Terms
from dodiag.runners.estimate import announce, estimate
from dodiag.runners.ledger import LEDGER, Ledger, is_unused
from dodiag.runners.models import open_adapter
from dodiag.runners.protocol import Adapter
from dodiag.runners.retry import RetryPolicy
from dodiag.runners.runner import RunOptions, RunSummary, execute
from dodiag.runners.secrets import refuse_secret_parameters, refuse_secret_url
from dodiag.scm.files import task_of, task_to_dict
from dodiag.scm.graph import TaskGraph
from dodiag.scm.pack import Pack, load_pack
from dodiag.scm.source import Source

PROTECTED = ("model", "endpoint", "sees_media", "parameters")

RESERVED: Mapping[str, str] = {
    "model": "Name the model with --model.",
    "messages": "The plan makes the messages.",
    "stream": "Replies are read whole.",
    "stream_options": "Replies are read whole.",
    "timeout": "Use --timeout.",
    "api_base": "Use --base-url.",
    "base_url": "Use --base-url.",
    "num_retries": "Use --max-retries.",
    "max_retries": "Use --max-retries.",
    "mock_response": "Use sim: models.",
}
"""Names that are no sampling parameters: what they would change is not what the run says of itself."""

LIBRARIES = ("networkx", "numpy", "pydantic", "aiohttp", "pillow", "litellm", "pgmpy")
"""Libraries on which a run's requests and replies can depend; their versions are kept with it."""

LONGEST_TIMEOUT = 86_400.0
"""Seconds that a request may be allowed at the most."""

SLACK = 10.0
"""Seconds that an adapter has to keep to its timeout by itself, before its call is given up."""


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """How a model name is opened; stored in the manifest, so it holds no secret.

    Attributes
    ----------
    base_url : str or None
    with_media : bool
    timeout : float
        Seconds one request may take.
    key_variable : str
        Name of the environment variable with the API key.
    parameters : mapping
        Sampling parameters that are sent with every call.

    Raises
    ------
    UsageError
        If the timeout is no length of time.
    """

    base_url: str | None = None
    with_media: bool = True
    timeout: float = 300.0
    key_variable: str = "OPENAI_API_KEY"
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 < self.timeout <= LONGEST_TIMEOUT:
            raise UsageError(f"--timeout is {self.timeout:g}", "Give seconds above 0, a day at the most.")


def start(
    plan: Plan, model: str | Adapter, folder: Path, model_options: ModelOptions, run_options: RunOptions
) -> RunSummary:
    """Run a plan in a run directory; a directory that holds the same run is continued.

    Raises
    ------
    UsageError
        If the directory holds another run, another process works in it, or a parameter looks like a secret.
    """
    if plan.pack is None:
        raise UsageError(f"task {plan.task.name} has no instances", "Run a task pack; dodiag generate makes one.")
    refuse_secret_parameters(model_options.parameters)
    _refuse_other_parameters(model_options.parameters)
    refuse_secret_url(model_options.base_url)
    if not plan.call_count:
        raise UsageError("the plan has no calls", "None of its instances has a question of the asked units.")
    adapter = _adapter(model, plan, model_options)
    manifest = make_manifest(plan, model, adapter, model_options, run_options)
    _refuse_folder(folder)
    if not (folder / LEDGER).exists():
        Terms(run_options.budget.cost, run_options.prices)
    with contextlib.ExitStack() as stack:
        stack.callback(FolderLock(folder).release)
        if (folder / LEDGER).exists():
            ledger = stack.enter_context(Ledger(folder))
            _refuse_other_run(ledger, manifest, folder)
        else:
            expected = estimate(plan, adapter, run_options, model_options.parameters)
            announce(expected, run_options.quiet)
            manifest["estimate"] = None if expected is None else expected.to_dict()
            ledger = stack.enter_context(Ledger.create(folder, manifest))
        options = bounded(on_its_terms(run_options, ledger), model_options.timeout, adapter)
        return _execute(plan, adapter, ledger, options)


def resume(folder: Path, pack_folder: Path | None, changes: Mapping[str, Any]) -> tuple[Plan, RunSummary]:
    """Continue a run from its directory alone.

    Parameters
    ----------
    folder : Path
        The run directory.
    pack_folder : Path, optional
        Where the pack is now, if it has moved.
    changes : mapping
        Run options that replace the manifest's: ``concurrency``, ``max_retries``, ``quiet``, ``budget``,
        ``prices``.

    Raises
    ------
    UsageError
        If the pack has changed since, or the run was made with a Python callable.
    """
    with contextlib.ExitStack() as stack:
        ledger = stack.enter_context(Ledger(folder))
        manifest = ledger.manifest
        if not manifest["reopenable"]:
            cure = f"Call dodiag.run(..., out='{folder}') with the same function again."
            raise UsageError(f"the model of {folder} is a Python callable", cure)
        plan = plan_of(manifest, pack_folder)
        model_options = ModelOptions(**manifest["model_options"])
        run_options = run_options_of(manifest, changes)
        adapter = _adapter(manifest["model_name"], plan, model_options)
        again = make_manifest(plan, manifest["model_name"], adapter, model_options, run_options)
        _refuse_other_run(ledger, again, folder)
        stack.callback(FolderLock(folder).release)
        options = bounded(on_its_terms(run_options, ledger), model_options.timeout, adapter)
        return plan, _execute(plan, adapter, ledger, options)


def plan_of(manifest: Mapping[str, Any], pack_folder: Path | None = None) -> Plan:
    """Return the plan that a manifest describes, from the pack where it lies now.

    Raises
    ------
    UsageError
        If the pack is gone.
    """
    pack = _pack_of(manifest, pack_folder)
    selection = manifest["selection"]
    return Plan(
        task=pack.task,
        design=Design.from_dict(manifest["design"]),
        pack=pack,
        units=None if selection["units"] is None else tuple(selection["units"]),
        instances=None if selection["instances"] is None else tuple(selection["instances"]),
        limit=selection["limit"],
    )


def _pack_of(manifest: Mapping[str, Any], pack_folder: Path | None) -> Pack:
    folder = pack_folder or Path(manifest["pack"]["path"])
    if not folder.is_dir():
        raise UsageError(f"the pack {folder} of this run is gone", "Name its new place with --pack.")
    return load_pack(folder)


def run_options_of(manifest: Mapping[str, Any], changes: Mapping[str, Any]) -> RunOptions:
    """Return a manifest's run options with some replaced; limits and prices are those of the changes alone."""
    stored = manifest["run_options"]
    chosen = {name: changes.get(name) for name in ("concurrency", "quiet", "max_retries")}
    retry = dict(stored["retry"])
    if chosen["max_retries"] is not None:
        retry["max_retries"] = chosen["max_retries"]
    return RunOptions(
        concurrency=stored["concurrency"] if chosen["concurrency"] is None else chosen["concurrency"],
        retry=RetryPolicy(**retry),
        prices=changes.get("prices"),
        quiet=stored["quiet"] if chosen["quiet"] is None else chosen["quiet"],
        budget=changes.get("budget") or Budget(),
    )


def on_its_terms(options: RunOptions, ledger: Ledger) -> RunOptions:
    """Return run options with the limit of money and the prices that a run was given last, where they name none.

    What they name is kept with the run, so that a limit is not lost by continuing, in whatever way it was set.

    Raises
    ------
    UsageError
        If money is limited and the prices are not known.
    """
    terms = Terms.agreed(options.budget.cost, options.prices, ledger)
    terms.keep(ledger)
    return replace(options, prices=terms.prices, budget=replace(options.budget, cost=terms.cost))


def make_manifest(
    plan: Plan, model: str | Adapter, adapter: Adapter, model_options: ModelOptions, run_options: RunOptions
) -> dict[str, Any]:
    """Return everything that says what a run is, as JSON values and without secrets."""
    assert plan.pack is not None
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "dodiag": dodiag.__version__,
        "revision": _git_revision(),
        "python": platform.python_version(),
        "platform": platform.platform(terse=True),
        "libraries": _versions(),
        "task": plan.task.name,
        "task_version": plan.task.version,
        "task_graph": task_to_dict(plan.task),
        "seed": plan.task.seed,
        "pack": {"path": str(plan.pack.folder.resolve()), "digest": plan.pack.digest},
        "plan_hash": plan.digest,
        "calls": plan.call_count,
        "design": plan.design.to_dict(),
        "selection": {
            "units": None if plan.units is None else list(plan.units),
            "instances": None if plan.instances is None else list(plan.instances),
            "limit": plan.limit,
        },
        "model": adapter.model,
        "model_name": model if isinstance(model, str) else adapter.model,
        "model_description": getattr(adapter, "description", ""),
        "reopenable": isinstance(model, str),
        "endpoint": adapter.endpoint,
        "sees_media": adapter.sees_media,
        "parameters": dict(model_options.parameters),
        "model_options": asdict(model_options),
        "run_options": asdict(run_options),
    }


def task_of_run(folder: Path) -> TaskGraph:
    """Return the task graph of a run, as it was when the run started; the pack is not needed."""
    with Ledger(folder) as ledger:
        return task_of(Source(str(folder), ledger.manifest["task_graph"]))


def _adapter(model: str | Adapter, plan: Plan, options: ModelOptions) -> Adapter:
    if not isinstance(model, str):
        return model
    return open_adapter(
        model,
        task=plan.task,
        base_url=options.base_url,
        with_media=options.with_media,
        timeout=options.timeout,
        key_variable=options.key_variable,
    )


def bounded(options: RunOptions, timeout: float, adapter: Adapter) -> RunOptions:
    """Return run options under which no try takes longer than its timeout, even if its adapter does not keep to it."""
    if adapter.free or options.retry.attempt_timeout is not None:
        return options
    return replace(options, retry=replace(options.retry, attempt_timeout=timeout + SLACK))


def _execute(plan: Plan, adapter: Adapter, ledger: Ledger, options: RunOptions) -> RunSummary:
    summary = run_in_loop(execute(plan, adapter, ledger, options))
    ended = datetime.now(UTC).isoformat(timespec="seconds")
    ledger.write_meta("ended", {"at": ended, **asdict(summary)})
    return summary


Result = TypeVar("Result")


def run_in_loop(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine to its end, from plain code or from inside a notebook's running loop.

    Nothing goes on when it is left: Ctrl-C in a notebook cancels the coroutine, which may still end in order, and is
    raised when it has ended.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    results: list[Result] = []
    errors: list[BaseException] = []
    tasks: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = []
    # A thread is not joined: where Ctrl-C breaks that off, Python takes the thread for ended.
    started, ended = threading.Event(), threading.Event()

    async def to_its_end() -> Result:
        task = asyncio.current_task()
        assert task is not None
        tasks.append((asyncio.get_running_loop(), task))
        started.set()
        return await coroutine

    def work() -> None:
        try:
            results.append(asyncio.run(to_its_end()))
        except BaseException as error:
            errors.append(error)
        finally:
            started.set()
            ended.set()

    interruption: KeyboardInterrupt | None = None
    threading.Thread(target=work, name="dodiag-run").start()
    while not ended.is_set():
        try:
            ended.wait()
        except KeyboardInterrupt as pressed:
            interruption = pressed
            started.wait()
            for loop, task in tasks:
                # The loop may have ended in the meantime.
                with contextlib.suppress(RuntimeError):
                    loop.call_soon_threadsafe(task.cancel)
    if interruption is not None:
        raise interruption
    if errors:
        raise errors[0]
    return results[0]


def _refuse_other_parameters(parameters: Mapping[str, Any]) -> None:
    """Refuse parameters by which a request would not be what the manifest says of it, or would not be JSON."""
    for name, value in parameters.items():
        if name in RESERVED:
            raise UsageError(f"'{name}' is no sampling parameter", RESERVED[name])
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise UsageError(f"parameter '{name}' cannot be sent: {error}", "Give a JSON value.") from None


def _refuse_folder(folder: Path) -> None:
    """Refuse a folder in which no run can start or go on."""
    try:
        if folder.exists() and not folder.is_dir():
            raise UsageError(f"{folder} is a file", "Choose another folder for --out.")
        if not (folder / LEDGER).exists() and not is_unused(folder):
            raise UsageError(f"{folder} is not empty and holds no run", "Choose another folder for --out.")
    except OSError as error:
        raise unwritable(folder, error) from None


def _refuse_other_run(ledger: Ledger, manifest: Mapping[str, Any], folder: Path) -> None:
    stored = ledger.manifest
    if stored["plan_hash"] != manifest["plan_hash"]:
        same_pack = stored["pack"]["digest"] == manifest["pack"]["digest"]
        what = "another plan" if same_pack else "a pack with other content"
        raise UsageError(f"{folder} holds a run of {what}", "Choose another folder for --out.")
    for name in PROTECTED:
        if stored[name] != manifest[name]:
            was, now = json.dumps(stored[name]), json.dumps(manifest[name])
            message = f"{folder} holds a run with another {name.replace('_', ' ')} ({was}, not {now})"
            raise UsageError(message, "Choose another folder for --out.")


def _versions() -> dict[str, str]:
    found = {}
    for name in LIBRARIES:
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def _git_revision() -> str | None:
    """Return the revision of the source checkout that is running, if it is one; ``-dirty`` behind it if edited."""
    source = Path(dodiag.__file__).resolve().parent.parent
    if not (source / ".git").exists():
        return None
    command = ["git", "-C", str(source), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
