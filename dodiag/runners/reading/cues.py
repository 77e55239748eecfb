"""Answer cues: the places where a reply says what its answer is.

``Answer: B``, ``the final answer is B``, ``答案是B``, ``\\boxed{B}``, ``<answer>B</answer>``, ``B is correct``. The
last cue that can be read wins; which ones can be read is for the answer type to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from dodiag.runners.reading.cleaning import BOXED, BOXED_END, TAG, TAG_END
from dodiag.runners.reading.tokens import MAX_DIGITS
from dodiag.scm.answers import AnswerType

CONTENT_LIMIT = 2000
"""Characters after a cue that are read."""

CUT = " ..."
"""What ends a content that goes on beyond the limit: the readers of lists take it for a list that is not all there."""


class Cue(NamedTuple):
    """One cue in cleaned text.

    Attributes
    ----------
    start, end : int
        Where the cue itself stands.
    content : str
        What it says: the rest of its line, or the next line where that is empty; of a longer one the whole words within
        ``CONTENT_LIMIT``, and ``CUT``.
    after : int
        Where the content ends.
    strong : bool
        A label (``Answer:``), a box or a tag: what stands there is the answer, whatever it is. A weak cue
        (``the answer is``, or a label before more than is read) is prose that counts only where an answer follows at
        once.
    how : str
        ``cue``, ``boxed`` or ``tag``.
    """

    start: int
    end: int
    content: str
    after: int
    strong: bool
    how: str


_ANSWER = (
    r"answers?|ans\.?|(?:best\ )?guess|réponse|respuesta|risposta|resposta|antwort|antwoord|jawaban|cevap|odpowiedź"
    r"|đáp\ án|ответ|答案|答え|正解|回答|정답|답|الإجابة|الجواب|उत्तर"
)
_NOUNS = {
    AnswerType.CHOICE: "choice|option|selection|opción|opção|opzione",
    AnswerType.INTEGER_LIST: "list|sequence|order|ordering",
    AnswerType.LETTER_LIST: "sequence|order|ordering|ranking|arrangement|顺序",
    AnswerType.SET: "(?:correct|right|true|matching)\\ (?:options?|choices?|letters?|ones)|set|selection|members",
    AnswerType.COORDINATE: "coordinates?|points?|location|position|(?:bounding\\ )?box|bbox(?:_2d)?|point_2d",
}
_VERB = (
    r"(?:is|was|be|are|(?:would|should|must|will|has\ to|have\ to)\ be|(?:seems|appears)\ to\ be|equals|becomes"
    r"|ist|lautet|est|es|è|é)(?![A-Za-z])|应为|应该是|应选|是|为|选|は|은|는|هو"
)


def _pattern(nouns: str | None) -> re.Pattern[str]:
    label = f"(?:(?P<answer>{_ANSWER})|{nouns})" if nouns else f"(?P<answer>{_ANSWER})"
    return re.compile(
        rf"""(?<![A-Za-z]){label}
            (?:\ (?:choice|option|letter|number|value)(?![A-Za-z]))?
            (?:\ (?:correct[aeo]?|corrett?[ao]|final)(?![A-Za-z]))?
            (?:\ ?\([^()\n]{{0,40}}\))?
            (?:\ (?:with\ )?yes(?:\ or\ |/)no(?=:))?
            (?P<about>\ (?:to|for|of)\ [^.:\n]{{1,80}}?(?=\ is\ |:))?
            (?:,?\ (?:therefore|thus|then|hence|here|so)(?![A-Za-z]),?)?
            ["'*_`)\]]{{0,4}}+
            (?:\ ?(?P<colon>[:=]|->)
              |(?:,?\ |(?<=[^\x00-\x7f]))(?P<verb>{_VERB})(?:\ that(?![a-z]))?(?P<verb_colon>\ ?:)?
              |(?P<heading>\n)
              |\ (?:[-—]\ )?(?P<bare>(?=[("']?(?:[A-Z]|\d{{1,9}})[^A-Za-z0-9]{{0,3}}(?:\n|$))))
        | [{BOXED}{TAG}]""",
        re.IGNORECASE | re.VERBOSE,
    )


_DEFAULT = _pattern(None)
_PATTERNS = {kind: _pattern(nouns) for kind, nouns in _NOUNS.items()}

_DEFAULT_WORDS = (BOXED, TAG, "ans", "guess", *_ANSWER.replace("\\ ", " ").split("|")[3:])
_WORDS = {kind: _DEFAULT_WORDS + tuple(re.findall(r"[^\W\d_]{2,}", nouns)) for kind, nouns in _NOUNS.items()}
"""What has to stand in a text for the pattern to match; looking for it is faster."""

_LABEL_PLACE = re.compile(
    r"""[\W_]*(?:(?:so|thus|therefore|hence|and|the|my|final|correct|best|short|right|overall|in|conclusion|is|model|"?final)
        (?![A-Za-z])[\W_]*)*""",
    re.IGNORECASE | re.VERBOSE,
)
"""What may stand before a label in its sentence."""

_NOT_MINE = re.compile(
    r"""\b(?:if|whether|why|when|unless|suppos\w*|assum\w*|possible|potential|candidate|incorrect|wrong|other|another|previous
        |earlier|injected|given|provided|suggested|example|what|which|not\ sure|sub-?question'?s?|no|any|each|every|one
        |format|form|template|typical|e\.g|such\ as
        |first|second|third|fourth|initial|start\w*|original)
        (?:\ \w+){0,3}\W*$""",
    re.IGNORECASE | re.VERBOSE,
)
_ABOUT_ANOTHER = re.compile(r"\b(?:previous|prerequisite|earlier|first|second|sub-?question|other)\b", re.IGNORECASE)
_BEFORE = 60
"""Characters before a cue that decide whether it is one."""

_IF = r"\bif\b(?! (?:i|we) (?:had|have|must|were to|am)\b| (?:forced|pressed|asked|so|not)\b)[^.!?\n]{0,200}?"
_SUPPOSED = re.compile(rf"{_IF}\bwould\b|\bwould\b[^.!?\n]{{0,200}}?{_IF}", re.IGNORECASE)
_SENTENCE_BREAK = re.compile(r"[.!?;\n]")

_REVERSED = re.compile(
    r"""(?<![\w'-])\(?(?P<letter>[A-Z])\)?[.)]?\ (?:is|must\ be|would\ be|seems|seems\ to\ be|appears\ to\ be)
        (?:\ (?:clearly|definitely|therefore|thus|most\ likely|probably|the|my)){0,3}
        \ (?:(?:correct|right|best|final)(?:\ (?:answer|option|choice|one))?|answer|choice|pick)
        (?=\s*(?:[.,;:!)]|$|(?:because|since|as|here|given|due|based|in\ this|for\ this)\b))""",
    re.VERBOSE,
)
_VERDICTS = ("correct", "right", "best", "final", "answer", "choice", "pick")
_UNSURE_OF_LETTER = re.compile(
    r"\b(?:and|or|nor|if|whether|not|neither|either|that|why|both) (?:\w+ )?\W{0,2}$", re.IGNORECASE
)

_CONCLUDED = re.compile(
    r"""(?:\b(?:so|thus|therefore|hence)\b[,:]?|(?<=[a-z][a-z]\ )(?:->|=>))\s
        (?:(?:it's|it\ is|it\ must\ be|that's|i(?:'d|\ would|'ll|\ will)?\ (?:choose|pick|select|say|go\ (?:with|for))
        |i\ guess|option|choice)\ )?
        [("'\[]{0,2}(?P<letter>(?-i:[A-Z]))[)\]"']{0,2}(?=\s*(?:$|\n|[.!](?:\s|$)))""",
    re.VERBOSE | re.IGNORECASE,
)
"""A letter that a sentence ends with as its conclusion: ``so B.``"""
_CHOSEN = re.compile(
    r"(?<![不没非未])(?:选择?|选项(?:是|为)?)\s?[:(]?\s?(?P<letter>[A-Z])\)?(?=\s*(?:$|[.,;!\n]|因为|正确|是正确|是对))"
)
_CALLED_RIGHT = re.compile(
    r"(?<![A-Za-z])(?P<letter>[A-Z])\)?\s?(?:选项|项)?是?(?:正确|对)(?:的|答案|选项)?(?=\s*(?:$|[.,;!\n]))"
)
"""Chinese: ``选B``, ``B正确``."""

WITHDRAWAL = re.compile(
    r"""\b(?:no,?\ wait|wait,?\ no|wait,?\ actually|actually,?\ no|no,?\ actually|no,?\ sorry|sorry,?\ no
        |sorry,?\ i\ meant?|or\ rather|scratch\ that|on\ second\ thoughts?
        |i\ (?:was|am)\ (?:wrong|mistaken)|i\ made\ (?:a|an)\ (?:mistake|error)|let\ me\ correct)\b
        |\b(?:correction|edit)\ ?:
        |\bsorry[,:]\ (?=(?:it's\ |it\ is\ |that's\ |the\ answer\ is\ )?\W{0,3}(?:[a-z]\b|[-+]?\d|yes\b|no\b))""",
    re.IGNORECASE | re.VERBOSE,
)
"""Words that take back what was said before them, an explicit answer included."""

SECOND_THOUGHT = re.compile(
    r"""(?:(?<=[.!?\n]\ )|(?<=[.!?\n]))
        (?:(?:oh|hmm+|wait|actually|hold\ on|no|let\ me\ re-?check|let\ me\ look\ again)\b[,.!\s]*){1,4}""",
    re.IGNORECASE | re.VERBOSE,
)
"""What a sentence begins with that may take back the answer before it, if it gives another one."""

TAKES_BACK = re.compile(
    r"\b(?:wait|actually|hmm+|correction|mistaken?|re-?check|no, (?:it|that))\b|^no[,.]", re.IGNORECASE | re.MULTILINE
)
"""Words that may take back an answer that was given without a cue."""


def _conclusions(text: str, *, labelled: bool) -> Iterator[re.Pattern[str]]:
    """Yield what a letter can be concluded by; a label says more than a conclusion, before it or after it."""
    if not labelled:
        yield _CONCLUDED
    if not text.isascii():
        yield from (_CHOSEN, _CALLED_RIGHT)


def is_supposed(text: str) -> bool:
    """Return whether a text only says what would be: ``if it were red, it would be A``; not ``if I had to guess``."""
    return "would" in text and bool(_SUPPOSED.search(text))


def find_cues(text: str, kind: AnswerType) -> list[Cue]:
    """Return the cues of cleaned text, in order.

    Parameters
    ----------
    text : str
        As ``dodiag.runners.reading.cleaning.plain`` leaves it.
    kind : AnswerType
        Types bring their own nouns: ``the order is`` is a cue for a list, ``option: B`` for a choice.
    """
    lowered = text.lower()
    cues = (
        [cue for match in _PATTERNS.get(kind, _DEFAULT).finditer(text) if (cue := _cue(text, match)) is not None]
        if any(word in lowered for word in _WORDS.get(kind, _DEFAULT_WORDS))
        else []
    )
    if kind is AnswerType.CHOICE and any(word in lowered for word in _VERDICTS):
        cues += [
            Cue(match.start(), match.end(), match["letter"], match.end(), False, "cue")
            for match in _REVERSED.finditer(text)
            if not _UNSURE_OF_LETTER.search(text, max(0, match.start() - 20), match.start())
        ]
    if kind is AnswerType.CHOICE:
        cues += [
            Cue(match.start(), match.end(), match["letter"], match.end(), False, "cue")
            for pattern in _conclusions(text, labelled=any(cue.strong for cue in cues))
            for match in pattern.finditer(text)
        ]
        cues.sort()
    return cues


def _cue(text: str, match: re.Match[str]) -> Cue | None:
    start, end = match.span()
    marker = text[start]
    if marker in (BOXED, TAG):
        return _marked(text, start, marker)
    before = text[max(0, start - _BEFORE) : start]
    breaks = [found.end() for found in _SENTENCE_BREAK.finditer(before)]
    before = before[breaks[-1] :] if breaks else before
    if _NOT_MINE.search(before) or (match["about"] and _ABOUT_ANOTHER.search(match["about"])):
        return None
    if match["verb"] and _SUPPOSED.search(text, start - len(before), end):
        return None
    labelled = bool(_LABEL_PLACE.fullmatch(before))
    if (match["heading"] and not labelled) or (match["bare"] is not None and not match["answer"]):
        return None
    content, after = _content(text, end - 1 if match["heading"] else end)
    if not content:
        return None
    named = bool(match["answer"]) and bool(match["colon"] or match["verb_colon"] or match["heading"])
    strong = labelled and named and not content.endswith(CUT)
    if not strong and content.endswith("?"):
        return None
    return Cue(start, end, content, after, strong, "cue")


def _marked(text: str, start: int, marker: str) -> Cue | None:
    closing = BOXED_END if marker == BOXED else TAG_END
    stop = text.find(closing, start, start + CONTENT_LIMIT)
    if stop < 0:
        stop = text.find("\n", start, start + CONTENT_LIMIT)
    if stop < 0:
        stop = min(len(text), start + CONTENT_LIMIT)
    content = within_limit(text[start + 1 : stop].strip(), goes_on=stop == start + CONTENT_LIMIT < len(text))
    if not content:
        return None
    strong = not content.endswith(CUT)
    return Cue(start, start + 1, content, stop, strong, "boxed" if marker == BOXED else "tag")


def within_limit(text: str, *, goes_on: bool) -> str:
    """Return text; where it goes on beyond what is read, its whole words and ``CUT``.

    A last word that is longer than any number stays, in part: it stands there, and can be no answer.
    """
    if not goes_on:
        return text
    end = max(text.rfind(" "), text.rfind("\n"))
    return (text[:end] if len(text) - end <= MAX_DIGITS else text) + CUT


_CONTENT = re.compile(rf"\s*+([^\n]{{1,{CONTENT_LIMIT}}}+)")
_NOTHING = re.compile(r"[^\w\n]*+\n")


def _content(text: str, start: int) -> tuple[str, int]:
    """Return the rest of the line, or the next line that is not empty, and where it ends."""
    if blank := _NOTHING.match(text, start):
        start = blank.end()
    match = _CONTENT.match(text, start)
    if match is None:
        return "", start
    goes_on = match.end() < len(text) and text[match.end()] != "\n"
    return within_limit(match[1].strip(), goes_on=goes_on), match.end()
