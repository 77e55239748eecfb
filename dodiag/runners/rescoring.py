"""Read the stored replies of a run again, and judge what only a judge can score; no reply is paid for twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dodiag.folder_lock import FolderLock
from dodiag.interventions.plan import Call, Plan
from dodiag.problems import UsageError
from dodiag.runners.judging.judge import Judge, Judged, Pending, judge_all
from dodiag.runners.judging.verdicts import Item, NoVerdict, Verdict
from dodiag.runners.ledger import CallRow, Ledger, LedgerWriter, ReplyRow, VerdictRow
from dodiag.runners.models import open_adapter
from dodiag.runners.protocol import Adapter
from dodiag.runners.reading.cleaning import remove_reasoning
from dodiag.runners.retry import RetryPolicy
from dodiag.runners.scoring import Scored, score
from dodiag.runners.secrets import refuse_secret_url
from dodiag.runners.session import plan_of, run_in_loop
from dodiag.scm.answers import AnswerType, show_answer
from dodiag.scm.pack import correct_answer, spec_of
from dodiag.vocabulary import Outcome

JUDGE = "judge"
"""The entry of the ledger's description that says whose verdicts count."""

JUDGES = "judges"
"""The entry that lists every judge that was asked."""


@dataclass(frozen=True, slots=True)
class Rescored:
    """What rescoring came to.

    Attributes
    ----------
    calls, changed : int
        Answered calls, and those whose outcome, value or way of reading changed.
    outcomes : mapping of (str, str) to int
        Changed calls by old and new outcome, ``solved`` and ``not solved`` told apart.
    units : mapping of str to int
        Changed calls by unit.
    judged : int
        Items that were sent to the judge now.
    unscored : int
        Calls that still wait for a verdict.
    stopped : str or None
        Why judging ended early.
    """

    calls: int
    changed: int
    outcomes: Mapping[tuple[str, str], int]
    units: Mapping[str, int]
    judged: int
    unscored: int
    stopped: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as JSON values."""
        changes = [{"from": a, "to": b, "calls": n} for (a, b), n in sorted(self.outcomes.items())]
        return {
            "calls": self.calls,
            "changed": self.changed,
            "changes": changes,
            "units": dict(self.units),
            "judged": self.judged,
            "unscored": self.unscored,
            "stopped": self.stopped,
        }


def rescore(
    run_dir: str | Path,
    judge: str | Adapter | None = None,
    *,
    pack: str | Path | None = None,
    base_url: str | None = None,
    key_variable: str = "OPENAI_API_KEY",
    timeout: float = 300.0,
    concurrency: int = 16,
    max_retries: int = 4,
    mismatch: bool = False,
    dry_run: bool = False,
) -> Rescored:
    """Read every stored reply again with the present reader, and judge what is still unscored.

    Without a judge no call is made at all: replies are read again, and stored verdicts of the judge that was used last
    are applied. With a judge, each distinct (question, reference, answer) that it has not judged yet is sent once.
    Replies are never touched. Doing it again changes nothing and costs nothing.

    Parameters
    ----------
    run_dir : str or Path
    judge : str or Adapter, optional
        A model name as in :func:`dodiag.run`, or an adapter.
    pack : str or Path, optional
        Where the pack is now, if it has moved.
    base_url, key_variable, timeout
        How the judge is reached.
    concurrency, max_retries : int
        Of the judge's calls.
    mismatch : bool
        Ask the judge also about replies of other types in which no allowed answer was found. One that it finds correct
        is solved; any other stays what it was.
    dry_run : bool
        Change nothing and ask nobody; say what would change, verdicts still to come left out.

    Raises
    ------
    UsageError
        If the folder is not a run directory, another process works in it, or the pack's content has changed.
    """
    folder = Path(run_dir)
    with Ledger(folder) as ledger:
        plan = plan_of_run(ledger, pack)
        lock = FolderLock(folder)
        try:
            asker = _opened(judge, plan, base_url, key_variable, timeout)
            used = _judge_of(ledger, asker, mismatch)
            judged = Judged(0)
            if asker is not None and not dry_run:
                ledger.write_meta(JUDGE, used)
                ledger.write_meta(JUDGES, [j for j in ledger.meta(JUDGES) or [] if j != used] + [used])
                retry = RetryPolicy(max_retries=max_retries)
                writer = LedgerWriter(ledger.path)
                try:
                    pending = _pending(plan, ledger, asker, mismatch)
                    judged = run_in_loop(judge_all(asker, pending, plan.task, writer, concurrency, retry))
                finally:
                    writer.close()
            return _applied(plan, ledger, used, judged, dry_run)
        finally:
            lock.release()


def plan_of_run(ledger: Ledger, pack: str | Path | None = None) -> Plan:
    """Return the plan of a run, from the pack where it lies now.

    Raises
    ------
    UsageError
        If the pack is gone or its content has changed.
    """
    manifest = ledger.manifest
    plan = plan_of(manifest, None if pack is None else Path(pack))
    if plan.digest != manifest["plan_hash"]:
        raise UsageError(f"the pack of {ledger.folder} has changed since", "Name the pack that was run with --pack.")
    return plan


def _opened(judge: str | Adapter | None, plan: Plan, base_url: str | None, key: str, timeout: float) -> Judge | None:
    if judge is None:
        return None
    if not isinstance(judge, str):
        return Judge(judge)
    refuse_secret_url(base_url)
    adapter = open_adapter(
        judge, task=plan.task, base_url=base_url, with_media=False, timeout=timeout, key_variable=key
    )
    return Judge(adapter)


def _judge_of(ledger: Ledger, judge: Judge | None, mismatch: bool) -> dict[str, Any] | None:
    """Return whose verdicts count: the judge that is asked now, or else the one that was asked last."""
    if judge is None:
        found: dict[str, Any] | None = ledger.meta(JUDGE)
        return found
    return {
        "model": judge.adapter.model,
        "endpoint": judge.adapter.endpoint,
        "parameters": dict(judge.parameters),
        "mismatch": mismatch,
    }


def answered(plan: Plan, ledger: Ledger) -> Iterator[tuple[Call, CallRow, ReplyRow]]:
    """Yield the calls of the plan that have an answer, with their reply."""
    rows = ledger.calls()
    row = next(rows, None)
    for call in plan.calls():
        if row is None:
            return
        if row.position == call.position:
            reply = ledger.reply(row.key)
            if reply is None:
                message = f"{ledger.path} has lost the reply to call {row.position}"
                raise UsageError(message, "Restore the ledger from a copy.")
            yield call, row, reply
            row = next(rows, None)


def item_of(plan: Plan, call: Call, reply: ReplyRow, scored: Scored, mismatch: bool) -> Item | None:
    """Return what a judge would be asked about a reply, or None where exact reading decides.

    Parameters
    ----------
    mismatch : bool
        Whether a reply in which no allowed answer was found is judged too, whatever the type of the answer.
    """
    spec = spec_of(plan.task, call.question)
    if spec.type is AnswerType.TEXT and scored.outcome is Outcome.UNSCORED:
        answer = str(scored.reading.value)
    elif mismatch and scored.outcome in (Outcome.NONE, Outcome.INVALID) and reply.reply:
        answer = remove_reasoning(reply.reply).text.strip()
    else:
        return None
    return Item(call.question.text, show_answer(correct_answer(plan.task, call.question), spec), answer)


def _pending(plan: Plan, ledger: Ledger, judge: Judge, mismatch: bool) -> list[Pending]:
    """Return the distinct items without a verdict of this judge."""
    found: dict[str, Pending] = {}
    for call, row, reply in answered(plan, ledger):
        scored = score(plan.task, call.question, reply.to_reply())
        item = item_of(plan, call, reply, scored, mismatch)
        if item is None:
            continue
        key = judge.key(item)
        stored = ledger.verdict(key)
        if key not in found and (stored is None or stored.reason == NoVerdict.ERROR):
            found[key] = Pending(key, item, call, row.key)
    return list(found.values())


def _applied(plan: Plan, ledger: Ledger, used: Mapping[str, Any] | None, judged: Judged, dry_run: bool) -> Rescored:
    changed: list[CallRow] = []
    outcomes: Counter[tuple[str, str]] = Counter()
    units: Counter[str] = Counter()
    calls = unscored = 0
    for call, row, reply in answered(plan, ledger):
        calls += 1
        scored = score(plan.task, call.question, reply.to_reply())
        item = None if used is None else item_of(plan, call, reply, scored, used["mismatch"])
        verdict = None
        if item is not None and used is not None:
            verdict = ledger.verdict(item.key(used["model"], used["endpoint"], used["parameters"]))
        new = _read_again(row, scored, verdict)
        unscored += new.outcome == Outcome.UNSCORED
        if new != row:
            changed.append(new)
            outcomes[_label(row), _label(new)] += 1
            units[row.unit] += 1
    if changed and not dry_run:
        writer = LedgerWriter(ledger.path)
        try:
            writer.replace_calls(changed)
        finally:
            writer.close()
    return Rescored(calls, len(changed), outcomes, units, judged.asked, unscored, judged.stopped)


def _read_again(row: CallRow, scored: Scored, verdict: VerdictRow | None) -> CallRow:
    new = replace(row, **scored.columns())
    if verdict is None:
        return new
    flags = {flag for flag in new.flags.split(",") if flag}
    if verdict.verdict == Verdict.UNSCORED:
        return replace(new, flags=",".join(sorted(flags | {str(verdict.reason)})))
    correct = verdict.verdict == Verdict.CORRECT
    flags.add(f"judged by {verdict.judge}".replace(",", " "))
    if scored.outcome is not Outcome.UNSCORED and not correct:
        return replace(new, flags=",".join(sorted(flags)))
    return replace(new, outcome=Outcome.VALUE.value, solved=int(correct), how="judge", flags=",".join(sorted(flags)))


def _label(row: CallRow) -> str:
    if row.outcome != Outcome.VALUE:
        return row.outcome
    return "solved" if row.solved else "not solved"
