"""Refusals and abstentions: replies that say that there is no answer.

Only looked at where no answer was found, or to keep a number or an option out that stands in such a sentence.
"""

from __future__ import annotations

import re

from dodiag.vocabulary import Outcome

_UNABLE = r"""(?:can(?:'?t|not|\ not)|could(?:n't|\ not)|won't|will\ not|(?:am|'m|are|'re)\ (?:not\ able|unable)\ to
    |do(?:n't|\ not)\ have\ the\ (?:ability|capability)\ to|must\ decline|have\ to\ decline|decline)"""

_DECLINES = re.compile(
    rf"""(?<!\w)(?:i|we|i'm|we're)\ ?{_UNABLE}\b[^.!?\n]{{0,60}}?
        \b(?:help|assist|comply|answer|respond|provide|identify|recogni[sz]e|fulfil|fulfill|engage|continue|discuss|support
            |do\ that)\b
      | \b(?:must|have\ to)\ (?:respectfully\ )?decline\b | \bagainst\ (?:my|the)\ (?:guidelines|policy|policies)\b
      | (?<!\w)i'?m\ sorry,?\ (?:but\ )?i\ (?:can'?t|cannot)\ ?(?:\.|$)""",
    re.IGNORECASE | re.VERBOSE,
)

_MEDIUM = r"(?:image|picture|photo|photograph|video|file|attachment|screenshot|media)s?"

_UNSEEN = re.compile(
    rf"""(?<!\w)(?:i|we|i'm|we're)\ ?{_UNABLE}\ (?:\w+\ ){{0,3}}?
        (?:see|view|access|open|display|process|analy[sz]e|interpret|load)\b
        (?!\ (?:any|an?|the)\ \w+(?:\ \w+){{0,2}}\ (?:in|on)\b)[^.!?\n]{{0,30}}?\b{_MEDIUM}\b
      | (?<!\w)(?:i|we)\ (?:do|did)(?:n't|\ not)\ (?:have\ access\ to|see|receive|get)
        \ (?:the|any|an?|your)\ {_MEDIUM}\b
      | \b{_MEDIUM}\ (?:(?:does|did|do|could|can|would)(?:n't|\ not)|cannot|fails?\ to|failed\ to)
        \ (?:load|be\ (?:loaded|opened|displayed|seen|accessed))\b
      | \bno\ {_MEDIUM}\ (?:was|were|is|has\ been|have\ been)?\ ?(?:provided|attached|uploaded|included|visible)\b
      | \b(?:provide|upload|attach|share)\ (?:me\ )?(?:the|an?|your)\ {_MEDIUM}\b""",
    re.IGNORECASE | re.VERBOSE,
)

_ABSTAINS = re.compile(
    rf"""{_UNABLE}\ (?:\w+\ ){{0,2}}?
        (?:tell|determine|make\ (?:it\ )?out|say|know|decide|judge|conclude|be\ sure|be\ certain)\b
      | \bdo(?:n't|\ not)\ (?:actually\ |really\ )?know\b
      | \b(?:not|n't)\ (?:entirely\ |quite\ |really\ )?(?:sure|certain|clear)\b
      | \b(?:unclear|uncertain|undetermined|indeterminate|unknown)\b | \bno\ idea\b | \bimpossible\ to\b
      | \b(?:cannot|can'?t|can\ not|could\ not|couldn't)\ be\ (?:determined|answered|known|seen|identified)\b
      | \b(?:not\ enough|insufficient)\ (?:information|detail|context|evidence)\b | ^\W*(?:n/a|none|null|nil)\W*$
      | \bnone\ of\ (?:the|these|those|them)\b""",
    re.IGNORECASE | re.VERBOSE,
)


_STILL_ANSWERS = re.compile(
    r"""\b(?:but|however|still|so|yet|nevertheless)\b[^.!?\n]{0,40}?\b
        (?:it\ is|it's|it\ (?:looks|seems|appears)|there\ (?:are|is)
        |i\ (?:can\ )?(?:count|see|think|guess|believe|estimate)|i(?:'d|\ would)\ (?:say|guess|estimate)
        |best\ (?:guess|estimate)|my\ (?:guess|estimate)|the\ answer)\b""",
    re.IGNORECASE | re.VERBOSE,
)


_TELLTALE = (
    "n't", "not", "unable", "cant", "declin", "sorry", "unclear", "uncertain", "determinate", "undetermined", "unknown",
    "no ", "impossible", "insufficient", "n/a", "none", "null", "nil", "against", "please", "if you", "could you",
    "fail",
)  # fmt: skip
"""One of these stands in every refusal and abstention; looking for them is faster than the patterns."""


def _may_abstain(text: str) -> bool:
    lowered = text.lower()
    return any(word in lowered for word in _TELLTALE)


def abstains(text: str) -> bool:
    """Return whether a text gives no answer, by refusing or by not knowing.

    A hedge that goes on to answer ("not sure, but I count 7") is no abstention.
    """
    if not _may_abstain(text):
        return False
    for pattern in (_ABSTAINS, _DECLINES, _UNSEEN):
        if (match := pattern.search(text)) and not _STILL_ANSWERS.search(text, match.end()):
            return True
    return False


def without_answer(text: str) -> tuple[Outcome, str, str]:
    """Say why a reply without an answer has none.

    Parameters
    ----------
    text : str
        The cleaned reply, in which no answer was found.

    Returns
    -------
    tuple of Outcome, str, str
        ``refused`` or ``none``; a flag (``unseen``, ``abstained`` or empty); the words that show it.
    """
    if not _may_abstain(text):
        return Outcome.NONE, "", ""
    if match := _UNSEEN.search(text):
        return Outcome.REFUSED, "unseen", match[0]
    if match := _DECLINES.search(text):
        return Outcome.REFUSED, "", match[0]
    if match := _ABSTAINS.search(text):
        return Outcome.NONE, "abstained", match[0]
    return Outcome.NONE, "", ""


def refuses_at_once(text: str) -> bool:
    """Return whether a free-text reply opens with a refusal; later mentions may be part of an answer."""
    opening = text[:160]
    return bool(_UNSEEN.search(opening) or _DECLINES.search(opening))
