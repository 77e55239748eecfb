"""Any server that speaks the OpenAI chat completions format, over aiohttp and without a gateway in between."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from dodiag.problems import UsageError
from dodiag.runners.adapters.chat import messages_of, reply_of
from dodiag.runners.adapters.failures import refused_or_failed
from dodiag.runners.protocol import CallFailed, FailureKind, Reply, Request
from dodiag.runners.secrets import keeps_secret

if TYPE_CHECKING:
    import aiohttp

OPENAI = "https://api.openai.com/v1"


def checked_base_url(base_url: str) -> str:
    """Return a base URL without its trailing slash.

    Raises
    ------
    UsageError
        If it is not an http(s) URL, or carries a secret (user, password or query), which would end up in the ledger.
    """
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError("--base-url is not an http(s) URL", "Write it like http://127.0.0.1:8080/v1.")
    if parts.username or parts.password or parts.query:
        raise UsageError("--base-url carries a secret or a query", "Put the key into the environment instead.")
    return base_url.rstrip("/")


class OpenAICompatible:
    """Adapter ``openai/NAME``: OpenAI itself, vLLM, llama.cpp, Ollama, or any server of that format.

    Parameters
    ----------
    name : str
        The model's name on the server.
    base_url : str, optional
        Up to and including ``/v1``; default OpenAI's.
    sees_media : bool
        False sends the text alone.
    timeout : float
        Seconds that one request may take.
    key_variable : str
        Environment variable that holds the API key. It is read when a request is sent and is never stored.
    """

    def __init__(
        self,
        name: str,
        base_url: str | None = None,
        *,
        sees_media: bool = True,
        timeout: float = 300.0,
        key_variable: str = "OPENAI_API_KEY",
    ) -> None:
        self.name = name
        self.model = f"openai/{name}"
        self.endpoint = checked_base_url(base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI)
        self.sees_media = sees_media
        self.free = False
        self.timeout = timeout
        self.key_variable = key_variable
        keeps_secret(key_variable)
        self._session: aiohttp.ClientSession | None = None

    def _open(self) -> aiohttp.ClientSession:
        import aiohttp

        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                timeout=aiohttp.ClientTimeout(total=self.timeout),
            )
        return self._session

    async def answer(self, request: Request) -> Reply:
        """Return the model's reply, or raise :class:`CallFailed`; one HTTP request."""
        import aiohttp

        key = os.environ.get(self.key_variable)
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        body = {"model": self.name, "messages": messages_of(request.prompt), **request.parameters}
        payload = json.dumps(body).encode()
        try:
            url = f"{self.endpoint}/chat/completions"
            async with self._open().post(url, data=payload, headers=headers) as response:
                content = await response.read()
                status, answer_headers = response.status, response.headers
        except aiohttp.ConnectionTimeoutError:
            raise CallFailed(FailureKind.TIMEOUT, f"no connection within {self.timeout:g} s") from None
        except TimeoutError:
            message = f"no reply within {self.timeout:g} s"
            raise CallFailed(FailureKind.TIMEOUT, message, maybe_billed=True) from None
        except (aiohttp.ClientError, OSError) as error:
            message = f"{type(error).__name__}: {error}"
            connected = not isinstance(error, aiohttp.ClientConnectorError)
            raise CallFailed(FailureKind.NETWORK, message, maybe_billed=connected) from None
        parsed = _parsed(content)
        if status >= 400:
            return refused_or_failed(status, parsed, answer_headers)
        if not isinstance(parsed, dict):
            raise CallFailed(FailureKind.INTERNAL, "the server's reply is not JSON", maybe_billed=True)
        return reply_of(parsed)

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None


def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return content.decode("utf-8", "replace")
