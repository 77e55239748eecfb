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

PATH = "/chat/completions"
"""Where a server answers, behind its base URL."""

BEGIN = 120
"""Characters of a reply that is no JSON, to tell by what it is."""

MOST_BYTES = 64 * 2**20
"""Bytes of a response, unpacked, that are read: no reply is longer, and a broken server cannot fill the memory."""


def checked_base_url(base_url: str) -> str:
    """Return a base URL without its trailing slash.

    Raises
    ------
    UsageError
        If it is not an http(s) URL, carries a secret (user, password or query), which would end up in the ledger, or
        names the path of the chat completions too.
    """
    cure = "Write it like http://127.0.0.1:8080/v1."
    base_url = base_url.strip()
    try:
        parts = urlsplit(base_url)
        whole = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 and not parts.fragment
    except ValueError:
        whole = False
    if not whole or any(character.isspace() for character in base_url):
        raise UsageError("--base-url is not an http(s) URL", cure)
    if parts.username or parts.password or parts.query:
        raise UsageError("--base-url carries a secret or a query", "Put the key into the environment instead.")
    if parts.path.rstrip("/").endswith(PATH):
        raise UsageError(f"--base-url ends with {PATH}", f"Leave that out: {cure[0].lower()}{cure[1:]}")
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

    Raises
    ------
    UsageError
        If the address is none, the key cannot be sent, or OpenAI's own server is named without a key.
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
        if not self._authorization() and self.endpoint == OPENAI:
            cure = "Set it, name another one with --api-key-env, or name your own server with --base-url."
            raise UsageError(f"{key_variable} is not set, and {OPENAI} answers nobody without a key", cure)
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

        headers = {"Content-Type": "application/json"} | self._authorization()
        body = {"model": self.name, "messages": messages_of(request.prompt), **request.parameters}
        payload = json.dumps(body).encode()
        try:
            url = f"{self.endpoint}{PATH}"
            # A redirection would send prompts, pictures and key to another address than the run names, or lose them.
            async with self._open().post(url, data=payload, headers=headers, allow_redirects=False) as response:
                content = await _read(response)
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
        if 300 <= status < 400:
            place = answer_headers.get("Location", "another place")
            raise CallFailed(FailureKind.NOT_FOUND, f"HTTP {status}: the server is at {place}, name that in --base-url")
        parsed = _parsed(content)
        if status >= 400:
            return refused_or_failed(status, parsed, answer_headers)
        if not isinstance(parsed, dict):
            kind, begin = answer_headers.get("Content-Type", "no type"), str(parsed)[:BEGIN]
            message = f"the server's reply is not JSON ({kind}): {begin}" if begin else "the server's reply is empty"
            raise CallFailed(FailureKind.INTERNAL, message, maybe_billed=True)
        return reply_of(parsed)

    def _authorization(self) -> dict[str, str]:
        """Return the header with the key, where there is one.

        Raises
        ------
        UsageError
            If the key cannot be sent; it is not repeated.
        """
        key = os.environ.get(self.key_variable, "").strip()
        if not key.isprintable():
            cure = "Set it to the key alone, without line ends."
            raise UsageError(f"the environment variable {self.key_variable} holds control characters", cure)
        return {"Authorization": f"Bearer {key}"} if key else {}

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None


async def _read(response: aiohttp.ClientResponse) -> bytes:
    """Return a response's body, as far as it is of a size that a reply can have."""
    read = bytearray()
    async for chunk in response.content.iter_any():
        read += chunk
        if len(read) > MOST_BYTES:
            response.close()
            message = f"the server's reply is longer than {MOST_BYTES >> 20} MiB"
            raise CallFailed(FailureKind.INTERNAL, message, maybe_billed=True)
    return bytes(read)


def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return content.decode("utf-8", "replace")
