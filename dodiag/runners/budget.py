"""What a run may spend: calls, money, time. Each limit is looked at before a call is sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dodiag.interventions.price import CHARACTERS_PER_TOKEN, Assumptions, medium_tokens
from dodiag.interventions.prompts import Prompt
from dodiag.problems import UsageError
from dodiag.runners.ledger import Ledger, ReplyRow


@dataclass(frozen=True, slots=True)
class Budget:
    """What a run may spend from now on; None is no limit.

    Attributes
    ----------
    calls : int or None
        Requests that this process sends, retries not counted.
    cost : float or None
        Money for the whole run, what earlier processes spent included.
    seconds : float or None
        After which nothing is sent any more, retries included; what is in flight may still come in.

    Raises
    ------
    UsageError
        If a limit is not above 0.
    """

    calls: int | None = None
    cost: float | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("--max-calls", self.calls), ("--max-cost", self.cost), ("--deadline", self.seconds)):
            if value is not None and not 0 < value < float("inf"):
                raise UsageError(f"{name} is {value}", "Give a number above 0.")


class Meter:
    """Counts what a run spends, and says why the next call may not be sent.

    A call that is under way counts with the most that a call has cost so far, and before the first reply with what its
    prompt and the longest reply asked for would cost. So a run ends below its limit, unless a single reply costs more
    than every one before it.

    Parameters
    ----------
    budget : Budget
    input_price, output_price : float or None
        Money per million tokens.
    parameters : mapping
        Sampling parameters; ``max_tokens`` bounds a reply.
    ledger : Ledger
        What was spent before.

    Raises
    ------
    UsageError
        If money is limited and a price is unknown.
    """

    def __init__(
        self,
        budget: Budget,
        input_price: float | None,
        output_price: float | None,
        parameters: Mapping[str, Any],
        ledger: Ledger,
    ) -> None:
        if budget.cost is not None and (input_price is None or output_price is None):
            raise UsageError("a limit of money needs prices", "Name them with --price IN,OUT (per million tokens).")
        self._budget = budget
        self._prices = (input_price, output_price)
        longest = parameters.get("max_tokens") or parameters.get("max_completion_tokens")
        self._longest_reply = int(longest) if longest else Assumptions().output_tokens
        _, tokens_in, tokens_out = ledger.usage()
        self.before = self._money(tokens_in, tokens_out)
        self.spent = 0.0
        self.estimated = 0
        self._dearest = 0.0
        self._sent = 0
        self._under_way: dict[int, float] = {}

    @property
    def priced(self) -> bool:
        """Whether money can be counted at all."""
        return None not in self._prices

    def refusal(self, prompt: Prompt) -> str | None:
        """Return why a call may not be sent now, or None where it may."""
        budget = self._budget
        if budget.calls is not None and self._sent >= budget.calls:
            return f"{budget.calls:,} calls were sent, the limit of --max-calls"
        if budget.cost is not None:
            committed = self.before + self.spent + sum(self._under_way.values())
            if committed + self._most(prompt) > budget.cost:
                return f"the next call could exceed --max-cost {budget.cost:g}: {self.before + self.spent:.4f} is spent"
        return None

    def sending(self, prompt: Prompt) -> int:
        """Count a call as under way and return its number, for :meth:`ended`."""
        self._sent += 1
        self._under_way[self._sent] = self._most(prompt) if self.priced else 0.0
        return self._sent

    def ended(self, number: int, row: ReplyRow | None) -> None:
        """Account for a call that is no longer under way; `row` is its reply, if there was one."""
        del self._under_way[number]
        if row is None:
            return
        text = (row.reply or "") + (row.reasoning or "")
        said = (row.input_tokens, len(row.prompt)), (row.output_tokens, len(text))
        self.estimated += any(tokens is None for tokens, _ in said)
        counts = [length / CHARACTERS_PER_TOKEN if tokens is None else tokens for tokens, length in said]
        cost = self._money(counts[0], counts[1])
        self.spent += cost
        self._dearest = max(self._dearest, cost)

    def _most(self, prompt: Prompt) -> float:
        tokens_in = len(prompt.text) / CHARACTERS_PER_TOKEN + sum(map(medium_tokens, prompt.media))
        return max(self._dearest, self._money(tokens_in, self._longest_reply))

    def _money(self, tokens_in: float, tokens_out: float) -> float:
        return ((self._prices[0] or 0.0) * tokens_in + (self._prices[1] or 0.0) * tokens_out) / 1e6
