"""What a run may spend: calls, money, time; and what it has spent. Limits are looked at before a call is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import inf
from typing import Any, cast

from dodiag.interventions.price import CHARACTERS_PER_TOKEN, TokenPrices, medium_tokens
from dodiag.interventions.prompts import Prompt
from dodiag.problems import UsageError
from dodiag.runners.ledger import Ledger, ReplyRow

ACCOUNT = "account"
"""Entry of the ledger's description with what the run has cost."""

TERMS = "terms"
"""Entry of the ledger's description with the limit of money and the prices that were named last."""

UNBOUNDED_REPLY = 4096
"""Output tokens that a call without ``max_tokens`` is held to need, or twice the longest reply so far."""

CAUTION = 1.5
"""Times the dearest prompt so far, by its size, that a prompt is held to cost."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What a run may spend from now on; None is no limit.

    Attributes
    ----------
    calls : int or None
        Requests that this process sends, retries included.
    cost : float or None
        Money for the whole run, what earlier processes spent included. A run that is continued keeps it; ``inf``
        lifts it.
    seconds : float or None
        After which nothing is sent any more, retries included.
    grace : float
        Seconds that what is in flight then has to come in.

    Raises
    ------
    UsageError
        If a limit is not above 0.
    """

    calls: int | None = None
    cost: float | None = None
    seconds: float | None = None
    grace: float = 30.0

    def __post_init__(self) -> None:
        limits = (("--max-calls", self.calls, inf), ("--max-cost", self.cost, None), ("--deadline", self.seconds, inf))
        for name, value, below in limits:
            if value is not None and not (value > 0 and (below is None or value < below)):
                raise UsageError(f"{name} is {value}", "Give a number above 0.")


@dataclass(frozen=True, slots=True)
class Account:
    """What a run has cost so far, over all processes that worked on it.

    Attributes
    ----------
    replies : int
    input, output, cached, reasoning : int
        Tokens, as far as they are reported. Input includes cached, output includes reasoning.
    unreported : int
        Replies whose tokens the provider did not report. They are not in the tokens; the money has an estimate of them.
    broken_off : int
        Requests that were given up after they were sent, so that the provider may bill them. They are in no number.
    money : float or None
        None where no price is known.
    """

    replies: int = 0
    input: int = 0
    output: int = 0
    cached: int = 0
    reasoning: int = 0
    unreported: int = 0
    broken_off: int = 0
    money: float | None = None


@dataclass(frozen=True, slots=True)
class Terms:
    """What outlives the process that was given it: the run's limit of money, and the prices it is counted in.

    Attributes
    ----------
    cost : float or None
        The most that the whole run may cost; None or ``inf`` is no limit.
    prices : TokenPrices or None

    Raises
    ------
    UsageError
        If money is limited and the prices are not known.
    """

    cost: float | None = None
    prices: TokenPrices | None = None

    def __post_init__(self) -> None:
        if self.limit is not None and self.prices is None:
            cure = "Name them with --price IN,OUT or --prices FILE (per million tokens)."
            raise UsageError("a limit of money needs prices", cure)

    @property
    def limit(self) -> float | None:
        """The limit of money; None where there is none."""
        return None if self.cost == inf else self.cost

    @classmethod
    def agreed(cls, cost: float | None, prices: TokenPrices | None, ledger: Ledger) -> Terms:
        """Return what holds for a run that is continued: what is named now, and else what was named last."""
        stored = ledger.meta(TERMS)
        if stored is None:
            began = ledger.manifest["run_options"]
            stored = {"cost": (began.get("budget") or {}).get("cost"), "prices": _prices_that_began(began)}
        kept = stored["prices"]
        return cls(
            cost=stored["cost"] if cost is None else cost,
            prices=prices if prices is not None or kept is None else TokenPrices(**kept),
        )

    def keep(self, ledger: Ledger) -> None:
        """Store them with the run."""
        ledger.write_meta(TERMS, {**asdict(self), "cost": self.limit})


def _prices_that_began(options: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the prices in a manifest's run options, in the form of any release."""
    if options.get("prices"):
        return dict(options["prices"])
    pair = options.get("input_price"), options.get("output_price")
    return None if None in pair else dict(zip(("input", "output"), pair, strict=True))


def broken_off_together(accounts: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return, of the stored accounts of several runs, what the union of their replies does not tell.

    Runs that share a past count it more than once: money that may be billed is never forgotten.
    """
    return {
        "broken_off": sum(int(account.get("broken_off", 0)) for account in accounts),
        "held": sum(float(account.get("held", 0.0)) for account in accounts),
    }


class LimitReached(Exception):
    """The next request may not be sent; the message says why."""


class Hold:
    """The money that is held back for one call while it is under way."""

    def __init__(self, meter: Meter, prompt: Prompt) -> None:
        self._meter = meter
        self._prompt = prompt

    def broke_off(self) -> None:
        """Count a request that came to no reply and may be billed all the same with the most that it may cost."""
        self._meter.broke_off(self)

    async def again(self) -> None:
        """Wait until a further request of the call fits into the budget.

        Raises
        ------
        LimitReached
            If it cannot fit any more.
        """
        await self._meter.let_out(self, self._prompt)

    def ended(self, row: ReplyRow | None) -> None:
        """Account for the call, which is no longer under way; `row` is its reply, if there was one."""
        self._meter.ended(self, row)


class Meter:
    """Counts what a run spends, and lets no request go out that could exceed its budget, be it a retry.

    A call under way counts with the most that it may cost: its prompt at one token a byte until replies have shown how
    many tokens prompts of its size are, and the longest reply that ``max_tokens`` allows. So does, for good, a request
    that broke off and may be billed. Where money is short, calls wait until those under way have shown what they really
    cost. A run stays below its limit, unless the provider bills more than ``max_tokens``, or none is set and a reply is
    longer than 4,096 tokens and twice every one before it.

    Parameters
    ----------
    budget : Budget
    prices : TokenPrices or None
    parameters : mapping
        Sampling parameters; ``max_tokens`` or ``max_completion_tokens`` bounds a reply.
    ledger : Ledger
        What was spent before.

    Raises
    ------
    UsageError
        If money is limited and the prices are not known.
    """

    def __init__(
        self, budget: Budget, prices: TokenPrices | None, parameters: Mapping[str, Any], ledger: Ledger
    ) -> None:
        self._limit = Terms(budget.cost, prices).limit
        self._budget = budget
        self._prices = prices
        longest = parameters.get("max_completion_tokens") or parameters.get("max_tokens")
        self._longest_allowed = longest if isinstance(longest, int) else None
        several = parameters.get("n")
        self._replies_per_call = several if isinstance(several, int) and several > 0 else 1
        self._longest_reply = 0
        self._tokens_per_size = 0.0
        self._sent = 0
        self._held: dict[Hold, float] = {}
        self._settled = asyncio.Event()
        self._closed = False
        self._counts = dict.fromkeys(("replies", "input", "output", "cached", "reasoning", "unreported"), 0)
        earlier = ledger.meta(ACCOUNT) or {}
        self._broken_off = self._saved = int(earlier.get("broken_off", 0))
        self.before = 0.0
        self.spent = 0.0
        self.estimated = 0
        self._committed = float(earlier.get("held", 0.0))
        """Money that counts against the limit: more than is spent where a cost is not known."""
        for row in ledger.rows("replies"):
            self.before += self._account(cast(ReplyRow, row), held=None)

    @property
    def priced(self) -> bool:
        """Whether money can be counted at all."""
        return self._prices is not None

    @property
    def account(self) -> Account:
        """What the whole run has cost so far."""
        money = self.before + self.spent if self.priced else None
        return Account(**self._counts, broken_off=self._broken_off, money=money)

    @property
    def unsaved(self) -> bool:
        """Whether requests broke off since :meth:`save`, which the replies in the ledger do not tell."""
        return self._broken_off != self._saved

    def save(self, ledger: Ledger) -> None:
        """Keep in the ledger what the run has cost, with what may be billed for requests that broke off."""
        self._saved = self._broken_off
        spare = max(0.0, self._committed - self.before - self.spent)
        ledger.write_meta(ACCOUNT, {**asdict(self.account), "held": spare})

    async def admit(self, prompt: Prompt) -> Hold:
        """Wait until a call fits into the budget, and return what is held back for it.

        Raises
        ------
        LimitReached
            If it cannot fit any more.
        """
        hold = Hold(self, prompt)
        await self.let_out(hold, prompt)
        return hold

    async def let_out(self, hold: Hold, prompt: Prompt) -> None:
        """Let one request of a call go out, with the most that it may cost held back, or raise :class:`LimitReached`.

        A call that waits holds nothing back, so calls never wait for each other.
        """
        self._held.pop(hold, None)
        most = self._most(prompt)
        while True:
            if self._closed:
                raise LimitReached("the run is stopped")
            if self._budget.calls is not None and self._sent >= self._budget.calls:
                raise LimitReached(f"{self._budget.calls:,} requests were sent, the limit of --max-calls")
            if self._limit is None or self._committed + sum(self._held.values()) + most <= self._limit:
                break
            if not self._held:
                spent = self.before + self.spent
                more = "" if self._committed <= spent else f", and {self._committed - spent:.4f} more may be billed"
                raise LimitReached(
                    f"the next call could cost {most:.4f} and exceed --max-cost {self._limit:g}:"
                    f" {spent:.4f} is spent{more}"
                )
            self._settled.clear()
            await self._settled.wait()
        self._sent += 1
        self._held[hold] = most

    def broke_off(self, hold: Hold) -> None:
        """Count a request that may be billed without a reply; what was held back for it is committed."""
        self._broken_off += 1
        self._committed += self._held.pop(hold, 0.0)
        self._settled.set()

    def ended(self, hold: Hold, row: ReplyRow | None) -> None:
        """Account for a call that is no longer under way.

        Parameters
        ----------
        hold : Hold
        row : ReplyRow or None
            Its reply, if there was one.
        """
        held = self._held.pop(hold, 0.0)
        if row is not None:
            self.estimated += row.input_tokens is None or row.output_tokens is None
            self.spent += self._account(row, held)
        self._settled.set()

    def close(self) -> None:
        """Let no call wait any longer."""
        self._closed = True
        self._settled.set()

    def _account(self, row: ReplyRow, held: float | None) -> float:
        """Count a reply and return its cost, estimated from its length where its tokens are not reported."""
        counts = self._counts
        counts["replies"] += 1
        counts["input"] += row.input_tokens or 0
        counts["output"] += row.output_tokens or 0
        counts["cached"] += row.cached_tokens or 0
        counts["reasoning"] += row.reasoning_tokens or 0
        if row.output_tokens is not None:
            self._longest_reply = max(self._longest_reply, row.output_tokens)
        known = row.input_tokens is not None and row.output_tokens is not None
        counts["unreported"] += not known
        if self._prices is None:
            return 0.0
        cost = self._prices.cost(row.input_tokens, row.output_tokens, row.cached_tokens, row.reasoning_tokens)
        if cost is not None:
            self._committed += cost
            return cost
        said = (row.reply or "") + (row.reasoning or "")
        lengths = (row.input_tokens, len(row.prompt)), (row.output_tokens, len(said))
        tokens = [round(length / CHARACTERS_PER_TOKEN) if count is None else count for count, length in lengths]
        estimate = self._prices.cost(tokens[0], tokens[1], row.cached_tokens, row.reasoning_tokens) or 0.0
        self._committed += max(estimate, held or 0.0)
        return estimate

    def learn(self, prompt: Prompt, row: ReplyRow) -> None:
        """Learn from a reply how many tokens prompts of its size are."""
        if self._limit is not None and row.input_tokens is not None:
            self._tokens_per_size = max(self._tokens_per_size, row.input_tokens / _size(prompt))

    def _most(self, prompt: Prompt) -> float:
        """Return the most that a call may cost."""
        if self._prices is None or self._limit is None:
            return 0.0
        factor = CHARACTERS_PER_TOKEN if not self._tokens_per_size else CAUTION * self._tokens_per_size
        if self._longest_allowed is None:
            written = max(UNBOUNDED_REPLY, 2 * self._longest_reply)
        else:
            written = max(self._longest_allowed, self._longest_reply)
        read, written = round(factor * _size(prompt)), written * self._replies_per_call
        prices = self._prices
        dearest = TokenPrices(
            max(prices.input, prices.cached_input or 0.0), max(prices.output, prices.reasoning or 0.0)
        )
        return dearest.cost(read, written) or 0.0


def _size(prompt: Prompt) -> float:
    """Return a prompt's size: about its tokens, and a quarter of its bytes for text."""
    text = len(prompt.text.encode("utf-8", "surrogatepass")) / CHARACTERS_PER_TOKEN
    return max(1.0, text + sum(map(medium_tokens, prompt.media)))
