"""Model names: which adapter a name such as ``openai/gpt-5.4`` or ``sim:default`` stands for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dodiag.interventions.price import TokenPrices
from dodiag.problems import UsageError
from dodiag.runners.protocol import Adapter
from dodiag.scm.graph import TaskGraph

FORMS = "sim:PRESET, sim:FILE.yaml, openai/NAME, litellm:PROVIDER/NAME or replay:DIR"


def open_adapter(
    name: str,
    *,
    task: TaskGraph,
    base_url: str | None = None,
    with_media: bool = True,
    timeout: float = 300.0,
    key_variable: str = "OPENAI_API_KEY",
) -> Adapter:
    """Return the adapter that a model name stands for.

    Parameters
    ----------
    name : str
        ``sim:PRESET`` or ``sim:FILE.yaml`` (a structural simulator), ``openai/NAME`` (any server of that format, see
        `base_url`), ``litellm:PROVIDER/NAME``, ``replay:DIR`` (another run's ledger).
    task : TaskGraph
        Simulator parameters are checked against it.
    base_url : str, optional
        Server of ``openai/`` and ``litellm:`` models.
    with_media : bool
        False sends the text alone.
    timeout : float
        Seconds that one request may take.
    key_variable : str
        Environment variable with the API key of ``openai/`` models.

    Raises
    ------
    UsageError
        If the name has none of these forms.
    MissingDependency
        If the adapter's library is not installed.
    """
    options: dict[str, Any] = {"sees_media": with_media, "timeout": timeout}
    if name.startswith("sim:"):
        from dodiag.runners.adapters.simulated import SimulatedAdapter

        return SimulatedAdapter.from_name(name.removeprefix("sim:"), task)
    if name.startswith("openai/") and len(name) > len("openai/"):
        from dodiag.runners.adapters.openai_compatible import OpenAICompatible

        return OpenAICompatible(name.removeprefix("openai/"), base_url, key_variable=key_variable, **options)
    if name.startswith("litellm:") and len(name) > len("litellm:"):
        from dodiag.runners.adapters.litellm_gateway import LiteLLM

        return LiteLLM(name.removeprefix("litellm:"), base_url, **options)
    if name.startswith("replay:"):
        from dodiag.runners.adapters.replay import Replay

        return Replay(Path(name.removeprefix("replay:")))
    raise UsageError(f"'{name}' is not a model name", f"Use {FORMS}.")


def known_prices(name: str) -> TokenPrices | None:
    """Return what a model costs per million tokens, where that is known.

    Simulators and replays cost nothing; the prices of ``litellm:`` models are those of the installed litellm. Of other
    models nothing is known.

    Raises
    ------
    MissingDependency
        If the name needs litellm and it is not installed.
    """
    if name.startswith(("sim:", "replay:")):
        return TokenPrices(0.0, 0.0)
    if name.startswith("litellm:"):
        from dodiag.runners.adapters.litellm_gateway import listed_prices

        return listed_prices(name.removeprefix("litellm:"))
    return None
