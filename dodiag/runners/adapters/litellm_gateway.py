"""Every provider that litellm knows. litellm is imported at the first call, and its own retries are off."""

from __future__ import annotations

import os
from typing import Any

from dodiag.problems import MissingDependency
from dodiag.runners.adapters.chat import REFUSAL_CODES, failure_kind, messages_of, reply_of, seconds_of
from dodiag.runners.adapters.openai_compatible import checked_base_url
from dodiag.runners.protocol import CallFailed, FailureKind, Finish, Reply, Request


def import_litellm() -> Any:
    """Return litellm, quiet and offline.

    Raises
    ------
    MissingDependency
        If it is not installed.
    """
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    try:
        import litellm
    except ImportError:
        raise MissingDependency("litellm is not installed", "Install it with: pip install 'dodiag[litellm]'") from None
    litellm.suppress_debug_info = True
    litellm.telemetry = False
    litellm.drop_params = False
    return litellm


def listed_prices(name: str) -> tuple[float, float] | None:
    """Return litellm's price of a model per million tokens in and out; None where its table has none."""
    entry = import_litellm().model_cost.get(name) or import_litellm().model_cost.get(name.partition("/")[2]) or {}
    prices = entry.get("input_cost_per_token"), entry.get("output_cost_per_token")
    if prices[0] is None or prices[1] is None:
        return None
    return float(prices[0]) * 1e6, float(prices[1]) * 1e6


class LiteLLM:
    """Adapter ``litellm:PROVIDER/NAME``.

    Parameters
    ----------
    name : str
        litellm's own model name, such as ``anthropic/claude-sonnet-4-5``.
    base_url : str, optional
        litellm's ``api_base``.
    sees_media : bool
        False sends the text alone.
    timeout : float
        Seconds that one request may take.
    """

    def __init__(
        self, name: str, base_url: str | None = None, *, sees_media: bool = True, timeout: float = 300.0
    ) -> None:
        self.name = name
        self.model = f"litellm:{name}"
        self.endpoint = "" if base_url is None else checked_base_url(base_url)
        self.sees_media = sees_media
        self.free = False
        self.timeout = timeout
        self._litellm = import_litellm()

    async def answer(self, request: Request) -> Reply:
        """Return the model's reply, or raise :class:`CallFailed`; one request."""
        extra: dict[str, Any] = {}
        if self.endpoint:
            extra["api_base"] = self.endpoint
            if self.name.startswith("openai/") and not os.environ.get("OPENAI_API_KEY"):
                extra["api_key"] = "none"
        try:
            response = await self._litellm.acompletion(
                model=self.name,
                messages=messages_of(request.prompt),
                timeout=self.timeout,
                num_retries=0,
                max_retries=0,
                **extra,
                **request.parameters,
            )
        except Exception as error:
            return self._refused_or_failed(error)
        return reply_of(response.model_dump())

    def _refused_or_failed(self, error: Exception) -> Reply:
        names = {cls.__name__ for cls in type(error).__mro__}
        code = str(getattr(error, "code", "") or "")
        if "ContentPolicyViolationError" in names or code in REFUSAL_CODES:
            return Reply(None, Finish.REFUSAL)
        status = getattr(error, "status_code", None)
        if "Timeout" in names or isinstance(error, TimeoutError):
            kind = FailureKind.TIMEOUT
        elif "APIConnectionError" in names:
            kind = FailureKind.NETWORK
        elif isinstance(status, int):
            text = str(error)
            codes = {code} | ({"insufficient_quota"} if "insufficient_quota" in text else set())
            kind = failure_kind(status, codes)
        else:
            raise error
        headers = getattr(getattr(error, "response", None), "headers", None) or {}
        message = f"{type(error).__name__}: {getattr(error, 'message', error)}"[:500]
        raise CallFailed(kind, message, seconds_of(headers.get("retry-after"))) from None

    async def close(self) -> None:
        """Nothing is held open between calls."""
