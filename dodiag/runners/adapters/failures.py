"""What a server's error means: its kind, the wait it asks for, and whether it is a refusal of the model.

Servers of one format differ in how they say the same thing, so an error is read from its status, from every code in
its body, and last from phrases of its message that are known word for word. `tests/runners/test_failures.py` holds
bodies of each server that is told apart.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from time import time
from typing import Any

from dodiag.interventions.price import seconds_of_span
from dodiag.runners.protocol import CallFailed, FailureKind, Finish, Reply
from dodiag.runners.secrets import stored_message

POLICY_CODES = frozenset(
    {
        "content_policy_violation",
        "content_filter",
        "moderation_blocked",
        "responsible_ai_policy_violation",
        "responsibleaipolicyviolation",
        "invalid_prompt",
        "prohibited_content",
    }
)
QUOTA_CODES = frozenset(
    {
        "insufficient_quota",
        "billing_hard_limit_reached",
        "billing_not_active",
        "billing_error",
        "insufficient_balance",
        "insufficient_credits",
        "payment_required",
        "budget_exceeded",
    }
)
AUTH_CODES = frozenset(
    {
        "invalid_api_key",
        "authentication_error",
        "autherror",
        "permission_error",
        "permission_denied",
        "permissiondenied",
        "api_key_invalid",
        "unauthenticated",
        "account_deactivated",
    }
)
CONTEXT_CODES = frozenset({"context_length_exceeded", "exceed_context_size_error", "context_window_exceeded"})
MISSING_CODES = frozenset({"model_not_found", "deploymentnotfound"})
RATE_CODES = frozenset(
    {
        "rate_limit_exceeded",
        "rate_limit_error",
        "ratelimitreached",
        "resource_exhausted",
        "too_many_requests",
        "throttlingexception",
        "service_tier_capacity_exceeded",
    }
)
OVERLOAD_CODES = frozenset(
    {"overloaded_error", "server_overloaded", "engine_overloaded", "unavailable", "unavailable_error", "slow_down"}
)
TIMEOUT_CODES = frozenset({"timeout_error", "deadline_exceeded", "timeout"})

_POLICY = re.compile(
    r"output blocked by content filtering policy|content violates usage guidelines"
    r"|requires moderation|flagged as potentially violating|triggering .{0,40}content management policy",
    re.IGNORECASE,
)
_QUOTA = re.compile(
    r"credit balance is too low|insufficient (?:balance|credits|funds)|exceeded your current quota"
    r"|free-models-per-day|(?:billing|spend(?:ing)?) (?:hard )?limit|requires more credits",
    re.IGNORECASE,
)
_AUTH = re.compile(r"api key not valid|invalid subscription key|incorrect api key|invalid api key", re.IGNORECASE)
_CONTEXT = re.compile(
    r"maximum context length|context (?:length|window|size)|prompt is too long|input is too long"
    r"|input token count.{0,40}exceeds|maximum number of tokens allowed",
    re.IGNORECASE,
)
_TOO_LARGE = re.compile(r"request too large", re.IGNORECASE)
_OVERLOADED = re.compile(r"overloaded|server busy|maximum pending requests", re.IGNORECASE)
_DAILY = re.compile(r"per[-_ ]?day", re.IGNORECASE)
_SAID_WAIT = re.compile(
    r"(?:try again|retry) (?:in|after) ((?:\d+(?:\.\d+)? ?(?:ms|s|m|h)(?:econds?|in(?:utes?)?|ours?)? ?)+)"
)
_LONG_UNITS = re.compile(r"(s|m|h)(?:econds?|in(?:utes?)?|ours?)")

_RESETS = re.compile(r"^(?:x-ratelimit-reset-(.+)|anthropic-ratelimit-(.+)-reset)$")
_EPOCH_MILLISECONDS, _EPOCH_SECONDS = 1e11, 1e9
"""Larger reset values are points in time, smaller ones are spans."""


@dataclass(frozen=True, slots=True)
class ServerError:
    """An error as its server described it.

    Attributes
    ----------
    status : int or None
        HTTP status; None where none is known.
    codes : frozenset of str
        Every code, type, status and reason in the body, in lower case.
    message : str
    quotas : tuple of str
        Names of the quotas that were exceeded (Google).
    wait : float or None
        Seconds that the body asks to wait.
    """

    status: int | None
    codes: frozenset[str] = frozenset()
    message: str = ""
    quotas: tuple[str, ...] = ()
    wait: float | None = None

    @property
    def refused(self) -> bool:
        """Whether the content was refused: an answer of the model, not a failure around it."""
        return self.status not in (401, 402, 404) and bool(self.codes & POLICY_CODES or _POLICY.search(self.message))

    @property
    def kind(self) -> FailureKind:
        """The kind of failure."""
        status, codes, message = self.status, self.codes, self.message
        if self.quotas:
            return FailureKind.QUOTA if any(map(_DAILY.search, self.quotas)) else FailureKind.RATE_LIMIT
        if codes & QUOTA_CODES or status == 402 or _QUOTA.search(message):
            return FailureKind.QUOTA
        if _TOO_LARGE.search(message):
            return FailureKind.BAD_REQUEST
        if codes & CONTEXT_CODES or (status not in (401, 403, 404, 429) and _CONTEXT.search(message)):
            return FailureKind.CONTEXT_LENGTH
        if status in (401, 403) or codes & AUTH_CODES or _AUTH.search(message):
            return FailureKind.AUTH
        if status == 404 or codes & MISSING_CODES:
            return FailureKind.NOT_FOUND
        if status == 429 or (status in (None, 200) and codes & RATE_CODES):
            return FailureKind.RATE_LIMIT
        if status in (408, 504, 522, 524) or codes & TIMEOUT_CODES:
            return FailureKind.TIMEOUT
        if status in (425, 502, 503, 529) or codes & OVERLOAD_CODES:
            return FailureKind.OVERLOADED
        if status is not None and status >= 500 and _OVERLOADED.search(message):
            return FailureKind.OVERLOADED
        if status in (None, 200, 409) or (status >= 500 and status not in (501, 505)):
            return FailureKind.INTERNAL
        return FailureKind.BAD_REQUEST


def read_error(status: int | None, body: Any) -> ServerError:
    """Return the error in a response's body, whatever its shape: none is guessed beyond what it says.

    Parameters
    ----------
    status : int or None
        HTTP status.
    body : Any
        The parsed body, or its text.
    """
    if isinstance(body, list):
        body = body[0] if body else {}
    if not isinstance(body, Mapping):
        return ServerError(status, message=str(body).strip() if isinstance(body, str) else "")
    inner = body.get("error")
    error: Mapping[str, Any] = inner if isinstance(inner, Mapping) else body
    message = error.get("message") or (inner if isinstance(inner, str) else None) or error.get("detail") or ""
    raw = error.get("metadata")
    if isinstance(raw, Mapping) and isinstance(raw.get("raw"), str):
        message = f"{message}: {raw['raw']}"
    details = [detail for detail in _listed(error.get("details")) if isinstance(detail, Mapping)]
    quotas = tuple(
        str(violation.get("quotaId") or violation.get("quotaMetric") or "")
        for detail in details
        for violation in _listed(detail.get("violations"))
        if isinstance(violation, Mapping)
    )
    waits = (seconds_of_span(detail.get("retryDelay")) for detail in details)
    text = str(message).strip()
    asked = next((wait for wait in waits if wait is not None), None)
    return ServerError(
        status=status,
        codes=frozenset(_codes(body, error, details)),
        message=text,
        quotas=tuple(quota for quota in quotas if quota),
        wait=_said_wait(text) if asked is None else asked,
    )


def _codes(body: Mapping[str, Any], error: Mapping[str, Any], details: list[Mapping[str, Any]]) -> Iterator[str]:
    deeper = error.get("innererror")
    places = [body, error, deeper if isinstance(deeper, Mapping) else {}]
    values = [place.get(name) for place in places for name in ("code", "type", "status")]
    values += [detail.get("reason") for detail in details]
    for value in values:
        if isinstance(value, str):
            yield value.lower()


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def refused_or_failed(status: int, body: Any, headers: Mapping[str, str]) -> Reply:
    """Return a refusal that came as an error.

    Parameters
    ----------
    status : int
        HTTP status, or 200 for an error in the body of a success.
    body : Any
        The parsed body, or its text.
    headers : mapping
        The response's headers; names in any case.

    Raises
    ------
    CallFailed
        For every other error, with its kind and the wait that the server asks for.
    """
    error = read_error(status, body)
    if error.refused:
        return Reply(stored_message(error.message) or None, Finish.REFUSAL)
    said = error.message or ", ".join(sorted(error.codes)) or "no message"
    raise CallFailed(
        error.kind,
        f"HTTP {status}: {said}",
        asked_wait(headers, error),
        maybe_billed=error.kind is FailureKind.TIMEOUT,
    )


def asked_wait(headers: Mapping[str, str], error: ServerError | None = None) -> float | None:
    """Return the seconds that a server asks to wait; None where it says nothing that can be understood.

    In order: ``retry-after-ms``, ``Retry-After`` as seconds or as a date (the longest, where a gateway adds its own),
    what the body says, and the reset times of limits that have nothing left.

    Parameters
    ----------
    headers : mapping
        Names in any case.
    error : ServerError, optional
    """
    found = {str(name).lower(): str(value).strip() for name, value in headers.items()}
    for name in ("retry-after-ms", "x-ms-retry-after-ms"):
        if (milliseconds := _number(found.get(name))) is not None:
            return milliseconds / 1000
    asked = [seconds_of(str(value).strip()) for name, value in headers.items() if str(name).lower() == "retry-after"]
    if waits := [seconds for seconds in asked if seconds is not None]:
        return max(waits)
    if error is not None and error.wait is not None:
        return error.wait
    return _until_reset(found)


def _until_reset(headers: Mapping[str, str]) -> float | None:
    """Return when the limits that are used up are reset; where none says so, when the first one is."""
    waits: list[float] = []
    used_up: list[float] = []
    for name, value in headers.items():
        if name in ("x-ratelimit-reset", "ratelimit-reset"):
            remaining = headers.get(name.replace("reset", "remaining"))
        elif found := _RESETS.match(name):
            of = found[1] or found[2]
            remaining = headers.get(f"x-ratelimit-remaining-{of}") or headers.get(f"anthropic-ratelimit-{of}-remaining")
        else:
            continue
        if (wait := _span_or_moment(value)) is not None:
            (used_up if _number(remaining) == 0 else waits).append(wait)
    return max(used_up) if used_up else min(waits, default=None)


def _span_or_moment(text: str) -> float | None:
    value = _number(text)
    if value is not None:
        if value >= _EPOCH_MILLISECONDS:
            return max(0.0, value / 1000 - time())
        return max(0.0, value - time()) if value >= _EPOCH_SECONDS else value
    if (span := seconds_of_span(text)) is not None:
        return span
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if moment.tzinfo is None else max(0.0, moment.timestamp() - time())


def seconds_of(retry_after: str | None) -> float | None:
    """Return the seconds that a Retry-After header asks for, given as a number or a date; None if it says nothing.

    Examples
    --------
    >>> seconds_of("1.5"), seconds_of("-3"), seconds_of("nan"), seconds_of("soon")
    (1.5, 0.0, None, None)
    """
    if not retry_after:
        return None
    try:
        value = float(retry_after)
    except ValueError:
        pass
    else:
        return max(0.0, value) if math.isfinite(value) else None
    try:
        moment = parsedate_to_datetime(retry_after)
        # A date of HTTP is in Greenwich time, also where it does not say so.
        moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        return max(0.0, moment.timestamp() - time())
    except (TypeError, ValueError, OverflowError):
        return None


def _said_wait(message: str) -> float | None:
    found = _SAID_WAIT.search(message)
    return None if found is None else seconds_of_span(_LONG_UNITS.sub(r"\1", found[1]))


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text else math.nan
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None
