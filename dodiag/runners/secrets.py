"""Keep keys out of everything that is stored or shown: messages of servers can repeat what they were sent."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

from dodiag.problems import UsageError

NAME = re.compile(r"(^|[_-])(api_?key|key|token|secret|password|authorization|credentials?)$", re.IGNORECASE)
"""Names of parameters and environment variables whose values are secrets."""

SHORTEST = 8
"""Shorter values are too common in ordinary text to be taken out."""

LONGEST = 500
"""Characters of a server's message that are kept."""

_VARIABLES: set[str] = set()
"""Further environment variables that hold a secret, whatever their names."""

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
        if len(value) >= SHORTEST and (name in _VARIABLES or NAME.search(name)):
            for form in {value, quote(value, safe=""), json.dumps(value)[1:-1]}:
                text = text.replace(form, "***")
    return _SHAPES.sub(_hidden, text)


def keeps_secret(variable: str) -> None:
    """Say that an environment variable holds a secret; its value is taken out of messages from now on."""
    _VARIABLES.add(variable)


def stored_message(text: str) -> str:
    """Return what is kept of a server's message: no secrets, and not too long.

    It is cut after the secrets are taken out: half a key is not recognised as one.
    """
    return redacted(text.strip()[: 40 * LONGEST])[:LONGEST]


def refuse_secret_parameters(parameters: Mapping[str, Any]) -> None:
    """Refuse sampling parameters that hold a secret, however deep: they are stored with the run.

    Raises
    ------
    UsageError
        If one has the name of a secret, or its value is one or looks like one.
    """
    for name, value in parameters.items():
        if (secret := _secret_in(name, value)) is not None:
            cure = "Secrets come from the environment; parameters are stored with the run."
            raise UsageError(f"parameter '{secret}' looks like a secret", cure)


def _secret_in(name: str, value: Any) -> str | None:
    if NAME.search(name) or (isinstance(value, str) and redacted(value) != value):
        return name
    if isinstance(value, Mapping):
        inner = (_secret_in(str(key), item) for key, item in value.items())
    elif isinstance(value, list | tuple):
        inner = (_secret_in("", item) for item in value)
    else:
        return None
    found = next((secret for secret in inner if secret is not None), None)
    return None if found is None else f"{name}.{found}".strip(".")


def _hidden(found: re.Match[str]) -> str:
    kept = found["scheme"] or found["bearer"] or found["named"] or ""
    return f"{kept}***{'@' if found['scheme'] else ''}"


def refuse_secret_url(url: str | None) -> None:
    """Refuse a server's address that holds a secret: addresses are stored with the run.

    Raises
    ------
    UsageError
        If it is no URL, has a user name or password, or a query field with the name of a secret.
    """
    if url is None:
        return
    try:
        parts = urlsplit(url)
    except ValueError as error:
        message = f"the server's address is no URL: {error}"
        raise UsageError(message, "Write it like http://127.0.0.1:8080/v1.") from None
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
