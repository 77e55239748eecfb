"""Read yes or no, where asked also true or false: as words of their own, never as parts of words or of prose."""

from __future__ import annotations

import re

from dodiag.runners.reading.cleaning import MARKERS
from dodiag.runners.reading.cues import WITHDRAWAL, is_supposed
from dodiag.runners.reading.refusal import abstains
from dodiag.runners.reading.result import Found, nothing_valid, undecided
from dodiag.scm.answers import NO, YES, AnswerSpec

_YES_WORDS = ("yes", "yep", "yeah", "yup")
_NO_WORDS = ("no", "nope", "nah")
_YES_ELSEWHERE = ("oui", "sí", "sì", "ja", "sim", "да", "是", "是的", "はい", "예", "네", "نعم")
_NO_ELSEWHERE = ("non", "nein", "não", "нет", "否", "不是", "いいえ", "아니요", "아니오", "لا")
_WHOLE = {
    YES: (
        *_YES_WORDS, "absolutely", "definitely", "certainly", "of course", "indeed", "yes indeed",
        *_YES_ELSEWHERE, "对", "对的",
    ),
    NO: (
        *_NO_WORDS, "not at all", "absolutely not", "definitely not", "certainly not", "of course not", "not really",
        *_NO_ELSEWHERE, "不", "不对", "没有",
    ),
}  # fmt: skip
"""What counts where nothing else stands there."""

_WRAP = r"[\s\"'(\[{<*_`|=:>.,~#\-–—" + MARKERS + "]*+"
_LEAD = re.compile(
    rf"""{_WRAP}(?:(?:so|thus|therefore|hence|then|and|but|well|the\ answer|answer|it|that|this|is|would\ be|clearly
        |definitely|certainly|simply|just|actually|probably|most|likely|a|an|i\ (?:would\ |will\ )?(?:think|believe|say)
        |i'(?:d|ll)\ say|the\ statement|the\ claim)(?![\w']){_WRAP})*+""",
    re.IGNORECASE | re.VERBOSE,
)
_END = re.compile(r"[\s\"')\]}*_`>|" + MARKERS + r"]*+(?:$|\.(?! ?\d)|[,;:!\n—–]|- |\(|\[)")
_ANSWERED = re.compile(r" (?:it|there|they|he|she|this|that|these|those|i|we|you|because|since|as)\b", re.IGNORECASE)
_LITERAL = re.compile(r"(true|false)\s*[,}]")
"""The JSON form of yes and no: ``{"answer": true}``."""
_COMMA = re.compile(r"\s?[,.;:!]")
_OTHER = re.compile(r"\W{0,4}(?:(?:and|or)\b)?\W{0,4}(\w++)(?! (?:doubt|question|problem|more|one|other|longer)\b)")
_WORD = re.compile(r"[^\W\d_]+")
_NEGATION = re.compile(r"\b(?:not|never|neither|nor)\W+(?:\w+\W+)?$|n't\W+(?:\w+\W+)?$", re.IGNORECASE)
_NUMBERED = re.compile(r"\bno\. ?(?=\d)", re.IGNORECASE)
_CONDITIONAL = re.compile(
    r"\bif\b[^.!?\n]{0,80}(?:,|\bthen)\s(?:then\s)?(?:yes|no|true|false)\b|\b(?:yes|no|true|false),?\s(?:but\s)?(?:only\s)?(?:if|unless)\b"
    r"|\botherwise,?\s(?:yes|no|true|false)\b",
    re.IGNORECASE,
)
"""An answer on a condition is open: ``yes, if it moves``."""
_CLAUSE = re.compile(r"[.!?;:,\n—–()]|\s-\s")
_TRUTH = re.compile(
    r"""\b(?:is|it's|that's|would\ be|are)\W+(?P<not>not\W+)?(?:\w+ly\W+)?(?P<word>true|false|untrue)
        (?=\W*(?:$|[.,;:!\n]))""",
    re.IGNORECASE | re.VERBOSE,
)


def at_cue(content: str, spec: AnswerSpec, strong: bool, how: str) -> Found | None:
    """Read what stands after an answer cue.

    Parameters
    ----------
    content : str
        One line of cleaned text.
    spec : AnswerSpec
        Of type ``yes_no``.
    strong : bool
        Whether the cue is a label, so that text which is neither word is an invalid answer rather than prose.
    how : str
        The cue's name, kept in the finding.

    Returns
    -------
    Found or None
        None where nothing here can be taken for an answer.
    """
    if (found := _alone(content, spec, how) or _head(content, spec, how)) is not None:
        return found
    if not strong or abstains(content):
        return None
    if literal := _LITERAL.match(content):
        return Found(YES if literal[1] == "true" else NO, literal[1], how)
    return _truth(content, spec, how) or nothing_valid(content, how, "not_an_answer")


def without_cue(text: str, spec: AnswerSpec) -> Found | None:
    """Read a reply without a cue.

    The whole reply; the last line; the first word, where it is a clause of its own that nothing takes back or
    contradicts; the words that stand as clauses of their own, where they agree.
    """
    if (found := _alone(text, spec, "bare")) is not None:
        return found
    if _CONDITIONAL.search(text) or is_supposed(text):
        return undecided(text, "line")
    stated = _clauses(text, spec)
    last = text.rpartition("\n")[2]
    if last != text and (found := _alone(last, spec, "last_line")) is not None:
        others = stated - {found.value}
        if others and all(_alone(line, spec, "line") for line in text.split("\n") if line):
            return nothing_valid(text, "last_line", "several")
        return found.flagged("revised") if others else found
    if (found := _head(text, spec, "head")) is not None:
        if found.value is None:
            return found
        if stated - {found.value} or WITHDRAWAL.search(text) or abstains(text[text.find(found.span) :]):
            return undecided(text, "head")
        return found
    if not stated:
        return None if abstains(text) else _truth(text, spec, "line")
    if len(stated) > 1 or abstains(text) or text.rstrip().endswith("?"):
        return undecided(text, "line")
    return Found(stated.pop(), text, "line")


def _value(word: str, spec: AnswerSpec) -> str | None:
    folded = word.casefold()
    if spec.true_false and folded in ("true", "false"):
        return YES if folded == "true" else NO
    return YES if folded in _YES_WORDS else NO if folded in _NO_WORDS else None


def _alone(text: str, spec: AnswerSpec, how: str) -> Found | None:
    """Read text that is nothing but the answer."""
    words = " ".join(_WORD.findall(text)).casefold()
    if len(text) > len(words) + 40 or text.rstrip().endswith("?"):
        return None
    for value, known in _WHOLE.items():
        if words in known:
            return Found(value, text, how)
    lead = _LEAD.match(text)
    rest = text[lead.end() if lead else 0 :]
    found = _value(rest.strip(" \t\n\"'.,;:!()[]{}*_`|<>=~#" + MARKERS), spec)
    return None if found is None else Found(found, text, how)


def _head(text: str, spec: AnswerSpec, how: str) -> Found | None:
    """Read the word that a text begins with, where a clause ends after it."""
    lead = _LEAD.match(text)
    word = _WORD.match(text, lead.end() if lead else 0)
    value = _value(word[0], spec) if word else None
    if word and value is None and _COMMA.match(text, word.end()):
        value = {**dict.fromkeys(_YES_ELSEWHERE, YES), **dict.fromkeys(_NO_ELSEWHERE, NO)}.get(word[0].casefold())
    if word is None or value is None:
        return None
    other = _OTHER.match(text, word.end())
    second = _value(other[1], spec) if other else None
    if second is not None and second != value:
        return nothing_valid(text, how, "several")
    if not (_END.match(text, word.end()) or _ANSWERED.match(text, word.end())):
        return None
    return Found(value, word[0], how)


def _clauses(text: str, spec: AnswerSpec) -> set[str]:
    """Return the answers that stand as clauses of their own anywhere in a text; ``No. 7`` is a number."""
    found: set[str] = set()
    for clause in _CLAUSE.split(_NUMBERED.sub("number ", text)):
        lead = _LEAD.match(clause)
        value = _value(clause[lead.end() if lead else 0 :].strip(" \"'*_`" + MARKERS), spec)
        if value is not None:
            found.add(value)
    return found


def _truth(text: str, spec: AnswerSpec, how: str) -> Found | None:
    """Read ``the statement is false`` and ``that is not true``, where true or false is asked."""
    if not spec.true_false:
        return None
    found: dict[str, str] = {}
    for match in _TRUTH.finditer(text):
        word = match["word"].lower()
        denied = _NEGATION.search(text, max(0, match.start() - 30), match.start())
        if denied or (match["not"] and word != "true"):
            return undecided(text, how)
        found[NO if match["not"] or word != "true" else YES] = match[0]
    if len(found) > 1 or text.rstrip().endswith("?"):
        return undecided(text, how)
    return next((Found(value, span, how) for value, span in found.items()), None)
