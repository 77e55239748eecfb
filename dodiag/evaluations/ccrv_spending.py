"""What the calls of a judge or of a writer came to: requests, tokens, and money where the price is known."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from dodiag.runners.models import known_prices

Tokens = tuple[int | None, int | None]
"""Input and output tokens of what one question was answered by; None where the server did not say."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What some calls came to.

    Attributes
    ----------
    requests : int
        That were sent, retries and questions that were asked twice included.
    input, output : int
        Tokens, of the answers whose server reported them.
    unreported : int
        Answers of which the input or the output is not known.
    money : float or None
        At the model's listed price, for the answers; None where it is not known, or tokens are not. Requests that broke
        off may be billed as well.
    """

    requests: int
    input: int
    output: int
    unreported: int
    money: float | None

    @classmethod
    def of(cls, model: str, requests: int, tokens: Iterable[Tokens]) -> Spent:
        """Return what the answers of a model came to, at its listed price."""
        each = list(tokens)
        read, written = (sum(reply[place] or 0 for reply in each) for place in (0, 1))
        unreported = sum(None in reply for reply in each)
        prices = known_prices(model)
        money = None if prices is None or unreported else prices.cost(read, written)
        return cls(requests, read, written, unreported, money)

    def to_dict(self) -> dict[str, Any]:
        """Return the sums as JSON values."""
        return asdict(self)

    def __str__(self) -> str:
        """Return the account in one line, for people."""
        parts = [f"{self.requests:,} requests", f"{self.input:,} tokens in", f"{self.output:,} tokens out"]
        if self.unreported:
            parts.append(f"{self.unreported:,} answers without a count of tokens")
        if self.requests:
            parts.append("price unknown" if self.money is None else f"{self.money:.4f} in money")
        return ", ".join(parts)
