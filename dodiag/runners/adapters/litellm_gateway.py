"""Every provider that litellm knows. litellm is imported at the first call, and its own retries are off."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dodiag.interventions.price import TokenPrices
from dodiag.problems import MissingDependency
from dodiag.runners.adapters.chat import messages_of, reply_of
from dodiag.runners.adapters.failures import ServerError, asked_wait, read_error
from dodiag.runners.adapters.openai_compatible import checked_base_url
from dodiag.runners.protocol import CallFailed, FailureKind, Finish, Reply, Request

KINDS = {
    "Timeout": FailureKind.TIMEOUT,
    "TimeoutError": FailureKind.TIMEOUT,
    "PaymentRequiredError": FailureKind.QUOTA,
    "BudgetExceededError": FailureKind.QUOTA,
    "ContextWindowExceededError": FailureKind.CONTEXT_LENGTH,
    "AuthenticationError": FailureKind.AUTH,
    "PermissionDeniedError": FailureKind.AUTH,
    "LiteLLMUnknownProvider": FailureKind.NOT_FOUND,
    "UnsupportedParamsError": FailureKind.BAD_REQUEST,
}
"""Exceptions of litellm whose class says more than their status; others are read as a server's error."""


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


def listed_prices(name: str) -> TokenPrices | None:
    """Return litellm's prices of a model; None where its table has none."""
    table = import_litellm().model_cost
    entry = table.get(name) or table.get(name.partition("/")[2]) or {}
    named = {
        "input": "input_cost_per_token",
        "output": "output_cost_per_token",
        "cached_input": "cache_read_input_token_cost",
        "reasoning": "output_cost_per_reasoning_token",
    }
    prices = {ours: 1e6 * float(entry[theirs]) for ours, theirs in named.items() if entry.get(theirs) is not None}
    return TokenPrices(**prices) if {"input", "output"} <= prices.keys() else None


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
        """Read an exception of litellm, whose class, status and wrapped body each say a part of what went wrong."""
        names = [cls.__name__ for cls in type(error).__mro__]
        said = server_error(error)
        if "ContentPolicyViolationError" in names or said.refused:
            return Reply(None, Finish.REFUSAL)
        named = next((KINDS[name] for name in names if name in KINDS), None)
        if named is None and said.status is None:
            named = FailureKind.NETWORK if "APIConnectionError" in names else FailureKind.INTERNAL
        kind = said.kind if named is None else named
        if named is FailureKind.AUTH and said.kind is FailureKind.QUOTA:
            kind = FailureKind.QUOTA
        message = f"{type(error).__name__}: {getattr(error, 'message', error)}"
        billed = kind in (FailureKind.TIMEOUT, FailureKind.NETWORK)
        raise CallFailed(kind, message, asked_wait(_headers(error), said), maybe_billed=billed) from None

    async def close(self) -> None:
        """Nothing is held open between calls."""


def server_error(error: Exception) -> ServerError:
    """Return what a litellm exception repeats of the server's error.

    litellm puts the body into its message, behind the name of the provider's exception; what is no JSON there is read
    as a plain message.
    """
    status = getattr(error, "status_code", None)
    status = status if isinstance(status, int) and "APIConnectionError" not in _names(error) else None
    text = str(getattr(error, "message", "") or error)
    found = read_error(status, _body_in(text, getattr(error, "body", None)))
    plain = read_error(status, {"message": text})
    codes = {str(getattr(error, name, None) or "").lower() for name in ("code", "type")} - {""}
    return replace(
        found,
        codes=found.codes | codes,
        message=found.message or text,
        wait=plain.wait if found.wait is None else found.wait,
    )


def _names(error: Exception) -> set[str]:
    return {cls.__name__ for cls in type(error).__mro__}


def _body_in(text: str, body: Any) -> Any:
    if isinstance(body, Mapping):
        return body
    start = text.find("{")
    if start >= 0:
        for candidate in (text[start:], text[start:].replace("\\n", "\n").replace("\\'", "'")):
            try:
                found, _ = json.JSONDecoder().raw_decode(candidate)
            except (ValueError, RecursionError):
                continue
            if isinstance(found, Mapping):
                return found
    return text


def _headers(error: Exception) -> Mapping[str, str]:
    for holder in (getattr(error, "response", None), error):
        for name in ("headers", "litellm_response_headers"):
            headers = getattr(holder, name, None)
            if isinstance(headers, Mapping) and headers:
                return headers
    return {}
