"""The one place that turns a reply into an outcome."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from dodiag.problems import UsageError
from dodiag.runners.protocol import Finish
from dodiag.runners.reading import choice, coordinates, lists, numbers, sets, yes_no
from dodiag.runners.reading.cleaning import MARKERS, plain, remove_reasoning
from dodiag.runners.reading.cues import CONTENT_LIMIT, CUT, SECOND_THOUGHT, WITHDRAWAL, Cue, find_cues, within_limit
from dodiag.runners.reading.refusal import refuses_at_once, without_answer
from dodiag.runners.reading.result import NO_FLAGS, SPAN_LIMIT, Found, Reading, nothing_valid
from dodiag.runners.reading.surface import read_bare, strict_value
from dodiag.runners.reading.text import read_text
from dodiag.scm.answers import AnswerSpec, AnswerType, normalise
from dodiag.vocabulary import Outcome

_FINISHES = {finish.value: finish for finish in Finish} | {
    "content_filter": Finish.REFUSAL,
    "max_tokens": Finish.LENGTH,
}
"""Our own names, and the two that callers without an adapter bring from a provider."""
_CUES_READ = 64
"""Cues from the end that are read; earlier ones cannot change the answer, only tell that it was revised."""

_SINGLE_NUMBERS = (AnswerType.INTEGER, AnswerType.NUMBER)
_LISTS = (AnswerType.INTEGER_LIST, AnswerType.LETTER_LIST, AnswerType.SET)


def read_answer(text: str | None, spec: AnswerSpec | Mapping[str, Any], *, finish: str = "stop") -> Reading:
    """Read a model's reply by the declared answer type.

    Parameters
    ----------
    text : str or None
        The reply as the model gave it; None where the provider sent no content.
    spec : AnswerSpec or mapping
        The answer mapping of the graph file, plus ``choices`` where the question has them.
    finish : str
        Why the reply ended: ``stop``, ``length`` (token limit) or ``refusal`` (a provider's filter).

    Returns
    -------
    Reading
        Outcome, canonical value, flags and evidence. Whatever the text, nothing is guessed: a reply whose answer is
        open to more than one reading has no value.

    Raises
    ------
    UsageError
        If `spec` is not a valid answer mapping, a type that needs choices has none, or `finish` is not known.

    Examples
    --------
    >>> read_answer("The answer is **B**.", {"type": "choice", "choices": ["red", "blue"]}).value
    'B'
    >>> read_answer("It is 3 or 4.", {"type": "integer"}).outcome
    <Outcome.INVALID: 'invalid'>
    """
    declared = spec if isinstance(spec, AnswerSpec) else _declared(spec)
    ending = _FINISHES.get(finish)
    if ending is None:
        raise UsageError(f"'{finish}' is not a way for a reply to end", f"Use {', '.join(Finish)}.")
    if declared.choices is None and declared.needs_choices:
        raise UsageError(f"an answer of type {declared.type} has no choices", "Give the question's choices with it.")
    if ending is Finish.REFUSAL:
        return Reading(Outcome.REFUSED, how="finish", span=(text or "")[:SPAN_LIMIT])
    if text and ending is Finish.STOP and (bare := read_bare(text, declared)) is not None:
        return bare
    return _read(text or "", declared, cut=ending is Finish.LENGTH)


def _declared(spec: Mapping[str, Any]) -> AnswerSpec:
    try:
        return AnswerSpec.model_validate(spec)
    except ValidationError as error:
        reasons = "; ".join(
            ": ".join(filter(None, (".".join(map(str, problem["loc"])), problem["msg"]))) for problem in error.errors()
        )
        raise UsageError(f"the answer mapping is not valid: {reasons}", "See the answer types of task files.") from None


def _read(text: str, spec: AnswerSpec, *, cut: bool) -> Reading:
    visible, removed, unclosed = remove_reasoning(text)
    flags = frozenset({"reasoning_removed"}) if removed else NO_FLAGS
    if unclosed:
        flags |= {"reasoning_unclosed"}
    if spec.type is AnswerType.TEXT:
        return _read_free_text(visible, spec, flags, cut=cut)
    cleaned = plain(visible)
    found = _find(cleaned, spec) if cleaned else None
    if found is not None and found.undecided and spec.type in _SINGLE_NUMBERS:
        found = numbers.by_emphasis(found, visible, spec) or found
    if found is not None:
        flags |= found.flags
        if found.how in ("boxed", "tag"):
            flags |= {"boxed"}
    if found is not None and found.value is not None and (not cut or _survives_cut(cleaned, found, spec)):
        reading = _validated(found, spec, flags | {"cut"} if cut else flags, strict_value(visible, spec))
        if not cut or reading.outcome is Outcome.VALUE:
            return reading
    if cut:
        return Reading(Outcome.TRUNCATED, None, flags, found.how if found else "", span=_evidence(found))
    if found is None or found.undecided:
        return _nothing(cleaned, flags, found)
    return Reading(Outcome.INVALID, None, flags, found.how, span=_evidence(found))


def _validated(found: Found, spec: AnswerSpec, flags: frozenset[str], strict: object) -> Reading:
    try:
        value = normalise(found.value, spec)
    except ValueError:
        return Reading(Outcome.INVALID, None, flags | {_reason(found, spec)}, found.how, span=_evidence(found))
    is_strict = strict is not None and strict == value
    return Reading(
        Outcome.VALUE, value, flags if is_strict else flags | {"lenient"}, found.how, is_strict, _evidence(found)
    )


def _reason(found: Found, spec: AnswerSpec) -> str:
    entries = found.value
    if isinstance(entries, tuple):
        if spec.type is AnswerType.COORDINATE:
            return coordinates.misfit(tuple(map(float, entries)), spec)
        if spec.type is AnswerType.LETTER_LIST and len(set(entries)) < len(entries):
            return "duplicates"
        if spec.length is not None and len(entries) != spec.length:
            return "wrong_length"
    return "out_of_range"


def _nothing(cleaned: str, flags: frozenset[str], found: Found | None = None) -> Reading:
    outcome, flag, span = without_answer(cleaned)
    if flag:
        flags |= {flag}
    if outcome is Outcome.REFUSED:
        return Reading(outcome, None, flags, "refusal", span=span)
    return Reading(outcome, None, flags, found.how if found else "", span=span or _evidence(found))


def _evidence(found: Found | None) -> str:
    return found.span.strip(" \n" + MARKERS)[:SPAN_LIMIT] if found else ""


def _survives_cut(cleaned: str, found: Found, spec: AnswerSpec) -> bool:
    """Return whether an answer is complete although the reply was cut.

    It has to stand after a cue, and something has to follow it: digits, lists and option texts may go on. Only a
    single letter after a cue may be the last thing.
    """
    if found.how not in ("cue", "boxed", "tag"):
        return False
    letter = spec.type is AnswerType.CHOICE and found.span == found.value
    return letter or not cleaned.rstrip(" .,").endswith(found.span.rstrip(" .,"))


def _read_free_text(visible: str, spec: AnswerSpec, flags: frozenset[str], *, cut: bool) -> Reading:
    found, complete = read_text(visible)
    if cut and not (found and complete):
        return Reading(Outcome.TRUNCATED, None, flags, span=_evidence(found))
    if found is None:
        return Reading(Outcome.NONE, None, flags)
    if refuses_at_once(plain(str(found.value))):
        return _nothing(plain(visible), flags)
    strict = found.value if found.how == "whole" or "\n" not in visible.strip() else None
    return _validated(found, spec, flags | {"cut"} if cut else flags, strict)


def _find(cleaned: str, spec: AnswerSpec) -> Found | None:
    """Return what the last readable cue says, or else what the rules for replies without a cue find."""
    last: Found | None = None
    place: Cue | None = None
    revised = False
    for cue in reversed(find_cues(cleaned, spec.type)[-_CUES_READ:]):
        found = _at_cue(cleaned, cue, spec)
        if last is None and cue.strong and (found is None or "not_an_answer" in found.flags):
            after = _elsewhere(cleaned[cue.after :], spec)
            return after if after is not None and after.value is not None else found
        if found is None:
            continue
        if last is None:
            last, place = found, cue
        elif found.value is not None and found.value != last.value:
            revised = True
            break
    if last is None or place is None:
        return _elsewhere(cleaned, spec)
    if withdrawal := _withdrawn(cleaned, place.end):
        after = _elsewhere(cleaned[withdrawal:], spec)
        return after.flagged("revised") if after else nothing_valid(last.span, last.how, "revised", "ambiguous")
    if (taken_back := _taken_back(cleaned, place, last, spec)) is not None:
        return taken_back
    if _contradicted(cleaned[place.end if spec.type is AnswerType.SET else place.after :], last, spec):
        return nothing_valid(last.span, last.how, "several")
    return last.flagged("revised") if revised else last


_SHORT_LINE = 16


def _contradicted(after: str, found: Found, spec: AnswerSpec) -> bool:
    """Return whether the last line after a cue is a bare answer too, and another one; for sets, what adds to it."""
    if spec.type is AnswerType.SET:
        return sets.names_more(after, found, spec)
    line = after.rstrip().rpartition("\n")[2]
    if found.value is None or spec.type in _LISTS or not line or len(line) > _SHORT_LINE:
        return False
    other = _elsewhere(line, spec)
    return other is not None and other.how == "bare" and other.value is not None and other.value != found.value


def _taken_back(cleaned: str, place: Cue, last: Found, spec: AnswerSpec) -> Found | None:
    """Return the answer that a second thought after a cue gives, or that it leaves open which one counts; else None."""
    thoughts = list(SECOND_THOUGHT.finditer(cleaned, place.end))
    if last.value is None or not thoughts:
        return None
    rest = cleaned[thoughts[-1].end() :].strip()
    line = rest.partition("\n")[0]
    new = _at_cue(rest, Cue(0, 0, line, len(line), False, "cue"), spec) if line else None
    if new is not None and new.value is not None:
        return new.flagged("revised") if new.value != last.value else None
    other = _elsewhere(rest, spec)
    if other is not None and other.value not in (None, last.value):
        return nothing_valid(last.span, last.how, "revised", "ambiguous")
    return None


def _withdrawn(cleaned: str, start: int) -> int:
    """Return where the last withdrawal after a place ends, 0 where there is none."""
    end = 0
    for match in WITHDRAWAL.finditer(cleaned, start):
        end = match.end()
    return end


def _at_cue(cleaned: str, cue: Cue, spec: AnswerSpec) -> Found | None:
    match spec.type:
        case AnswerType.CHOICE:
            return choice.at_cue(cue.content, spec, cue.strong, cue.how)
        case AnswerType.YES_NO:
            return yes_no.at_cue(cue.content, spec, cue.strong, cue.how)
        case AnswerType.SET:
            return sets.at_cue(cue.content, _block(cleaned, cue), spec, cue.strong, cue.how)
        case AnswerType.COORDINATE:
            return coordinates.at_cue(cue.content, _block(cleaned, cue), spec, cue.strong, cue.how)
        case AnswerType.INTEGER_LIST | AnswerType.LETTER_LIST:
            return lists.at_cue(cue.content, _block(cleaned, cue), spec, cue.strong, cue.how)
        case _:
            return numbers.at_cue(cue.content, spec, cue.strong, cue.how)


def _block(cleaned: str, cue: Cue) -> str:
    """Return what follows a cue up to an empty line, or up to the limit."""
    if cue.content.endswith(CUT):
        return cue.content
    end = cleaned.find("\n\n", cue.after)
    end = len(cleaned) if end < 0 else end
    stop = min(end, cue.after + CONTENT_LIMIT)
    return within_limit((cue.content + cleaned[cue.after : stop]).rstrip(), goes_on=stop < end)


def _elsewhere(text: str, spec: AnswerSpec) -> Found | None:
    text = text.strip()
    if not text:
        return None
    match spec.type:
        case AnswerType.CHOICE:
            return choice.without_cue(text, spec)
        case AnswerType.YES_NO:
            return yes_no.without_cue(text, spec)
        case AnswerType.SET:
            return sets.without_cue(text, spec)
        case AnswerType.COORDINATE:
            return coordinates.without_cue(text, spec)
        case AnswerType.INTEGER_LIST | AnswerType.LETTER_LIST:
            return lists.without_cue(text, spec)
        case _:
            return numbers.without_cue(text, spec)
