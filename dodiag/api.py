"""The Python side of the command line: run a pack, continue a run, generate a pack."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Unpack

from dodiag.interventions.plan import Plan, PlanOptions, make_plan
from dodiag.interventions.price import PriceTable, TokenPrices, listed_price, read_prices
from dodiag.opening import open_pack
from dodiag.problems import UsageError, nearest
from dodiag.runners.adapters.function import Function, FunctionAdapter
from dodiag.runners.budget import Budget
from dodiag.runners.models import known_prices
from dodiag.runners.protocol import Adapter
from dodiag.runners.retry import RetryPolicy
from dodiag.runners.runner import RunOptions, RunSummary
from dodiag.runners.session import ModelOptions, start
from dodiag.runners.session import resume as _resume
from dodiag.scm.pack import Pack, load_pack


def run(
    pack: Pack | str | Path,
    model: str | Adapter | Function,
    out: str | Path,
    *,
    plan: Plan | None = None,
    base_url: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    with_media: bool = True,
    timeout: float = 300.0,
    key_variable: str = "OPENAI_API_KEY",
    concurrency: int = 16,
    max_retries: int = 4,
    input_price: float | None = None,
    output_price: float | None = None,
    prices: TokenPrices | PriceTable | str | Path | None = None,
    max_calls: int | None = None,
    max_cost: float | None = None,
    deadline: float | None = None,
    quiet: bool = True,
    **planning: Unpack[PlanOptions],
) -> RunSummary:
    """Run a task pack against a model; a directory that holds the same run is continued.

    Parameters
    ----------
    pack : Pack, str or Path
        A task pack, its folder, or the name of a sample pack such as ``dice_sum``.
    model : str, Adapter or callable
        A model name (``sim:default``, ``openai/NAME``, ``litellm:PROVIDER/NAME``, ``replay:DIR``), an adapter, or a
        function from a Request to text.
    out : str or Path
        The run directory.
    plan : Plan, optional
        A plan of this pack, made before.
    base_url, parameters, with_media, timeout, key_variable
        How the model is reached: server, sampling parameters, whether pictures are sent, seconds per request, name of
        the environment variable with the key.
    concurrency, max_retries : int
        Calls in flight at once; retries of a transient failure.
    input_price, output_price : float, optional
        Money per million tokens.
    prices : TokenPrices, mapping, str or Path, optional
        The model's prices, or a table of prices by model, or the YAML or JSON file of one.
    max_calls, max_cost, deadline : optional
        Requests that may be sent now, money that the run may cost in all, and seconds after which nothing new is sent;
        a run that one of them stops is incomplete and can be continued.
    quiet : bool
        Show no progress line.
    **planning
        Options of :func:`dodiag.make_plan`, such as ``quick=True`` or ``limit=10``, where no plan is given.

    Returns
    -------
    RunSummary
        Read the outcome table with ``dodiag.outcomes(out)``.

    Raises
    ------
    InvalidInput
        If the pack has problems.
    UsageError
        If an option cannot be honoured or `out` holds another run.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> summary = run("dice_sum", lambda request: "7", folder + "/run", quick=True, limit=2)
    >>> summary.answered
    16
    """
    loaded = pack if isinstance(pack, Pack) else open_pack(pack)
    chosen = make_plan(loaded, **planning) if plan is None else plan
    if plan is not None and planning:
        cure = "Give them to make_plan."
        raise UsageError(f"a plan is given, and {', '.join(planning)} beside it", cure)
    if chosen.pack is None or chosen.pack.digest != loaded.digest:
        raise UsageError(f"the plan is not of the pack {loaded.folder}", "Make it with make_plan(pack).")
    if concurrency < 1:
        raise UsageError(f"concurrency is {concurrency}", "Use at least 1.")
    if max_retries < 0:
        raise UsageError(f"the number of retries is {max_retries}", "Use 0 or more.")
    opened: str | Adapter = model if isinstance(model, str) else as_adapter(model)
    model_options = ModelOptions(base_url, with_media, timeout, key_variable, dict(parameters or {}))
    budget = Budget(max_calls, max_cost, deadline)
    name = model if isinstance(model, str) else opened.model if isinstance(opened, Adapter) else ""
    chosen_prices = prices_of(name, prices, input_price, output_price)
    run_options = RunOptions(concurrency, RetryPolicy(max_retries), chosen_prices, quiet, budget)
    return start(chosen, opened, Path(out), model_options, run_options)


def resume(
    run_dir: str | Path,
    *,
    pack: str | Path | None = None,
    concurrency: int | None = None,
    max_retries: int | None = None,
    max_calls: int | None = None,
    max_cost: float | None = None,
    deadline: float | None = None,
    prices: TokenPrices | None = None,
    quiet: bool = True,
) -> RunSummary:
    """Continue an interrupted run: send only the calls that have no answer.

    Parameters
    ----------
    run_dir : str or Path
    pack : str or Path, optional
        Where the task pack is now, if it has moved.
    concurrency, max_retries : int, optional
        Replace those the run was started with.
    max_calls, max_cost, deadline : optional
        As in :func:`run`, from now on. A limit of money holds until it is replaced; ``inf`` lifts it.
    prices : TokenPrices, optional
        Replace those the run was started with.
    quiet : bool

    Raises
    ------
    UsageError
        If the folder holds no run, or the pack has changed since.
    """
    budget = Budget(max_calls, max_cost, deadline)
    changes = {
        "concurrency": concurrency,
        "max_retries": max_retries,
        "quiet": quiet,
        "budget": budget,
        "prices": prices,
    }
    return _resume(Path(run_dir), None if pack is None else Path(pack), changes)[1]


def generate(
    task: str,
    out: str | Path,
    *,
    instances: int | None = None,
    seed: int = 0,
    knobs: Mapping[str, Any] | None = None,
    workers: int = 1,
    progress: Callable[[int], None] | None = None,
) -> Pack:
    """Generate a fresh task pack with known truth and return it.

    What is interrupted is kept in a hidden folder beside `out`, and the same call goes on from there.

    Parameters
    ----------
    task : str
        Slug of a task that has a generator, such as ``dice_sum``.
    out : str or Path
        The folder to write; it must not exist or be empty.
    instances : int, optional
        Default the generator's own (the paper's number).
    seed : int
        The same seed gives the same pack.
    knobs : mapping, optional
        What makes the task easier or harder, by name; each generator's page lists its own.
    workers : int
        Processes; with more than one, a script has to start from ``if __name__ == "__main__":``.
    progress : callable, optional
        Called with the number of finished instances.

    Raises
    ------
    UsageError
        If there is no such generator or knob, or the folder is not empty.
    MissingDependency
        If the generator needs something that is not installed.
    """
    from dodiag.benchmarks.generators import Order
    from dodiag.benchmarks.making import make_pack

    make_pack(Order(task, instances, seed, dict(knobs or {})), Path(out), workers=workers, progress=progress)
    return load_pack(out)


def prices_of(
    model: str,
    prices: TokenPrices | PriceTable | str | Path | None = None,
    input_price: float | None = None,
    output_price: float | None = None,
) -> TokenPrices | None:
    """Return a model's prices from whatever form they are given in; None where none is given.

    Raises
    ------
    UsageError
        If they are given twice, only one of two is given, or a table does not have the model.
    InvalidInput
        If a file has problems.
    """
    pair = input_price, output_price
    if pair != (None, None):
        if prices is not None:
            raise UsageError("input_price and prices are both given", "Give one of them.")
        if input_price is None or output_price is None:
            raise UsageError("one of input_price and output_price is missing", "Give both.")
        return TokenPrices(input_price, output_price)
    if prices is None or isinstance(prices, TokenPrices):
        return prices
    table = read_prices(prices) if isinstance(prices, str | Path) else prices
    found = listed_price(table, model) or known_prices(model)
    if found is None:
        raise UsageError(f"the prices do not have the model {model}", nearest(model, table))
    return found


def as_adapter(model: Adapter | Function) -> Adapter:
    """Return an adapter as it is, and any other callable as one.

    Raises
    ------
    UsageError
        If the object is neither, or an adapter that lacks an attribute.
    """
    if isinstance(model, Adapter):
        return model
    if hasattr(model, "answer"):
        needed = ("model", "endpoint", "sees_media", "free", "close")
        missing = ", ".join(name for name in needed if not hasattr(model, name))
        raise UsageError(f"the adapter {type(model).__name__} has no {missing}", "See dodiag.runners.protocol.Adapter.")
    return FunctionAdapter(model)
