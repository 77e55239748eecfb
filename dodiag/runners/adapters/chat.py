"""The OpenAI chat format, shared by every adapter that speaks it: messages out, replies and failures in."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from time import time
from typing import Any

from dodiag.interventions.prompts import Medium, Prompt
from dodiag.runners.protocol import CallFailed, FailureKind, Finish, Reply, Usage

REFUSAL_CODES = {"content_policy_violation", "content_filter", "moderation_blocked", "responsible_ai_policy_violation"}
QUOTA_CODES = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "insufficient_balance"}


def messages_of(prompt: Prompt) -> list[dict[str, Any]]:
    """Return a prompt as one user message: the media first, then the text."""
    if not prompt.media:
        return [{"role": "user", "content": prompt.text}]
    parts = [_part(medium) for medium in prompt.media]
    return [{"role": "user", "content": [*parts, {"type": "text", "text": prompt.text}]}]


def _part(medium: Medium) -> dict[str, Any]:
    kind = "video_url" if medium.mime.startswith("video/") else "image_url"
    url = f"data:{medium.mime};base64,{base64.b64encode(medium.data).decode()}"
    return {"type": kind, kind: {"url": url}}


def reply_of(body: Mapping[str, Any]) -> Reply:
    """Return the reply in a chat completion.

    Raises
    ------
    CallFailed
        If the body is no chat completion.
    """
    try:
        choice = body["choices"][0]
        message = choice.get("message") or {}
    except (KeyError, IndexError, TypeError, AttributeError):
        raise CallFailed(FailureKind.INTERNAL, "the server's reply is not a chat completion") from None
    refusal = message.get("refusal")
    text = refusal or _text(message.get("content"))
    reason = choice.get("finish_reason")
    if refusal or reason in REFUSAL_CODES:
        finish = Finish.REFUSAL
    else:
        finish = Finish.LENGTH if reason in ("length", "max_tokens") else Finish.STOP
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    return Reply(
        text=text,
        finish=finish,
        reasoning=reasoning if isinstance(reasoning, str) else None,
        usage=_usage(body.get("usage") or {}),
        model=body.get("model") if isinstance(body.get("model"), str) else None,
    )


def _text(content: Any) -> str | None:
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else None


def _usage(usage: Mapping[str, Any]) -> Usage:
    def count(table: Any, name: str) -> int | None:
        value = table.get(name) if isinstance(table, Mapping) else None
        return value if isinstance(value, int) else None

    return Usage(
        input=count(usage, "prompt_tokens"),
        output=count(usage, "completion_tokens"),
        cached=count(usage.get("prompt_tokens_details"), "cached_tokens"),
        reasoning=count(usage.get("completion_tokens_details"), "reasoning_tokens"),
    )


def refused_or_failed(status: int, body: Any, retry_after: str | None) -> Reply:
    """Return a refusal that came as an HTTP error.

    Parameters
    ----------
    status : int
        HTTP status, 400 or above.
    body : Any
        The parsed body, or its text.
    retry_after : str or None
        The header of that name.

    Raises
    ------
    CallFailed
        For every other error, with its kind.
    """
    error = body.get("error", body) if isinstance(body, dict) else {}
    error = error if isinstance(error, dict) else {"message": error}
    code = str(error.get("code") or error.get("type") or "")
    message = str(error.get("message") or (body if isinstance(body, str) else "")).strip()[:500]
    if code in REFUSAL_CODES:
        return Reply(message or None, Finish.REFUSAL)
    kind = failure_kind(status, {code, str(error.get("type"))})
    raise CallFailed(kind, f"HTTP {status}: {message or code or 'no message'}", seconds_of(retry_after))


def failure_kind(status: int, codes: set[str]) -> FailureKind:
    """Return the kind of failure of an HTTP status and the error codes beside it."""
    if codes & QUOTA_CODES or status == 402:
        return FailureKind.QUOTA
    match status:
        case 429:
            return FailureKind.RATE_LIMIT
        case 401 | 403:
            return FailureKind.AUTH
        case 408 | 504:
            return FailureKind.TIMEOUT
        case 502 | 503 | 529:
            return FailureKind.OVERLOADED
        case _ if status >= 500:
            return FailureKind.INTERNAL
        case _:
            return FailureKind.BAD_REQUEST


def seconds_of(retry_after: str | None) -> float | None:
    """Return the seconds that a Retry-After header asks for, given as a number or a date; None if it says nothing."""
    if not retry_after:
        return None
    try:
        return max(0.0, float(retry_after))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time())
    except (TypeError, ValueError):
        return None
