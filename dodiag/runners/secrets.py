"""Keep keys out of everything that is stored or shown: messages of servers can repeat what they were sent."""

from __future__ import annotations

import os
import re
from urllib.parse import parse_qsl, urlsplit

from dodiag.problems import UsageError

NAME = re.compile(r"(^|[_-])(api_?key|key|token|secret|password|authorization|credentials?)$", re.IGNORECASE)
"""Names of parameters and environment variables whose values are secrets."""

SHORTEST = 8
"""Shorter values are too common in ordinary text to be taken out."""

_SHAPES = re.compile(
    r"(?P<scheme>://)[^/\s:@]+:[^/\s@]+@"
    r"|\b(?P<bearer>bearer\s+)[\w.~+/=-]{8,}"
    r"|(?P<named>(?:api[_-]?key|access[_-]?token|token|secret|password)[\"']?\s*[=:]\s*[\"']?)[\w.~+/-]{8,}"
    r"|\b(?:sk|pk|rk|key|gsk|xai|hf)[-_][\w-]{12,}"
    r"|\bAIza[\w-]{20,}",
    re.IGNORECASE,
)


def redacted(text: str) -> str:
    """Return text without the values of secret environment variables and without what has the shape of a key.

    Examples
    --------
    >>> redacted("bad key sk-abcdefghijkl1234, Authorization: Bearer abcdefgh12345")
    'bad key ***, Authorization: Bearer ***'
    """
    for name, value in os.environ.items():
        if len(value) >= SHORTEST and NAME.search(name):
            text = text.replace(value, "***")
    return _SHAPES.sub(_hidden, text)


def _hidden(found: re.Match[str]) -> str:
    kept = found["scheme"] or found["bearer"] or found["named"] or ""
    return f"{kept}***{'@' if found['scheme'] else ''}"


def refuse_secret_url(url: str | None) -> None:
    """Refuse a server's address that holds a secret: addresses are stored with the run.

    Raises
    ------
    UsageError
        If it has a user name or password, or a query field with the name of a secret.
    """
    if url is None:
        return
    parts = urlsplit(url)
    if parts.username or parts.password:
        what = "a user name"
    elif secret := next(
        (name for name, _ in parse_qsl(parts.query, keep_blank_values=True) if NAME.search(name)), None
    ):
        what = f"'{secret}'"
    else:
        return
    message = f"the server's address holds {what}, and addresses are stored with the run"
    raise UsageError(message, "Give the key in the environment variable named by --api-key-env.")
