"""The OpenAI chat format, shared by every adapter that speaks it: messages out, replies and failures in."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from dodiag.interventions.prompts import Medium, Prompt
from dodiag.runners.adapters.failures import refused_or_failed
from dodiag.runners.protocol import CallFailed, FailureKind, Finish, Reply, Usage

REFUSED = frozenset({"content_filter", "refusal", "safety", "prohibited_content", "blocklist", "recitation"})
"""Reasons to finish that mean the model, or a filter around it, refused."""

CUT_OFF = frozenset({"length", "max_tokens", "model_length", "model_context_window_exceeded"})
"""Reasons to finish that mean the reply was cut off."""

BROKEN = frozenset({"error", "abort", "cancelled"})
"""Reasons to finish that mean the server, not the model, ended the reply."""

TEXT_PARTS = (None, "text", "output_text")
"""Types of the parts of a message that are its text."""

MOST_TOKENS = 2**53
"""A server that reports more has not counted: no number is better than that one."""


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
        If the body is no chat completion, or an error sent as a success. A choice without a message, or with content
        that is neither text nor parts, is no answer of the model, unless it says that it was refused or cut off.
    """
    if not isinstance(body, Mapping):
        raise _no_completion()
    if body.get("error"):
        return _failed_success(body)
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, Mapping):
        raise _no_completion()
    reason = str(choice.get("finish_reason") or "").lower()
    if choice.get("error") or reason in BROKEN:
        return _failed_success({"error": choice.get("error") or f"the reply ended with '{reason}'"})
    message, ended_early = choice.get("message"), reason in REFUSED | CUT_OFF
    if not isinstance(message, Mapping):
        if message is not None or not ended_early:
            raise _no_completion()
        message = {}
    content, refusal = message.get("content"), message.get("refusal")
    if not isinstance(content, str | list | None) or not isinstance(refusal, str | None):
        raise _no_completion()
    finish = Finish.LENGTH if reason in CUT_OFF else Finish.STOP
    if refusal or reason in REFUSED:
        finish = Finish.REFUSAL
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    return Reply(
        text=refusal or _text(content),
        finish=finish,
        reasoning=reasoning if isinstance(reasoning, str) else None,
        usage=usage_of(body.get("usage")),
        model=body.get("model") if isinstance(body.get("model"), str) else None,
    )


def _no_completion() -> CallFailed:
    return CallFailed(FailureKind.INTERNAL, "the server's reply is not a chat completion", maybe_billed=True)


def _failed_success(body: Mapping[str, Any]) -> Reply:
    """Read an error that came with status 200, as gateways send it after the headers are gone."""
    error = body.get("error")
    code = error.get("code") if isinstance(error, Mapping) else None
    status = code if isinstance(code, int) and 400 <= code < 600 else 200
    return refused_or_failed(status, body, {})


def _text(content: str | list[Any] | None) -> str | None:
    """Return the text of a message; parts of other types, such as reasoning, are no part of the answer."""
    if not isinstance(content, list):
        return content
    parts = [part.get("text") for part in content if isinstance(part, Mapping) and part.get("type") in TEXT_PARTS]
    return "".join(part for part in parts if isinstance(part, str))


def usage_of(usage: Any) -> Usage:
    """Return the tokens that a completion reports, brought to one meaning.

    Input includes what was read from a cache, and output includes reasoning. Servers that leave reasoning out of the
    output (Gemini, Grok) are recognised by their total. A count that is missing or no count stays unknown.

    Examples
    --------
    >>> usage_of({"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 40})
    Usage(input=10, output=30, cached=None, reasoning=None)
    """
    if not isinstance(usage, Mapping):
        return Usage()
    read, written, total = (_count(usage, name) for name in ("prompt_tokens", "completion_tokens", "total_tokens"))
    cached = _count(usage.get("prompt_tokens_details"), "cached_tokens")
    for name in ("prompt_cache_hit_tokens", "cached_tokens"):
        cached = _count(usage, name) if cached is None else cached
    reasoning = _count(usage.get("completion_tokens_details"), "reasoning_tokens")
    if written is not None:
        if read is not None and total is not None:
            written = max(written, total - read)
        if reasoning is not None and reasoning > written:
            written += reasoning
    return Usage(read, written, cached, reasoning)


def _count(table: Any, name: str) -> int | None:
    value = table.get(name) if isinstance(table, Mapping) else None
    return value if type(value) is int and 0 <= value < MOST_TOKENS else None
