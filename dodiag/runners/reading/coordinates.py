"""Read a point or a box: ``(12, 34)``, ``x=12, y=34``, ``{"x": 12, "y": 34}``, ``[10, 20, 50, 60]`` and their like."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from dodiag.runners.reading.cleaning import MARKERS
from dodiag.runners.reading.refusal import abstains
from dodiag.runners.reading.result import Found, nothing_valid, undecided
from dodiag.scm.answers import AnswerSpec, Shape, Units

_NUMBER = r"[-+]?(?:\d++(?:\.\d++)?|\.\d++)(?:[eE][-+]?\d{1,4}+)?"
_UNIT = r"(?: ?(?:px|pixels?))?"
_SEPARATOR = r"(?: ?[,;|] ?| )"


def _run(count: int) -> str:
    return _SEPARATOR.join([rf"~?({_NUMBER}){_UNIT}"] * count)


_TUPLES = {count: re.compile(_run(count)) for count in (2, 4)}
_RUNS = {
    count: re.compile(rf"(?<![\w.%+-])(?<!\d[,;|] )(?<!\d[ ,;|]){_run(count)}(?![\w%]|[.,;]? ?[-+]?\.?\d)")
    for count in (2, 4)
}
"""Runs without brackets: not a part of a longer one."""
_BRACKETED = re.compile(r"[(\[{<] ?([^()\[\]{}<>\n]{3,160}) ?[)\]}>]")
_ELEMENT = re.compile(r"<(points?|box|bbox|coordinates?|loc|location)>([^<>\n]{3,160})</\1>", re.IGNORECASE)
_KEYED = re.compile(
    rf"""(?<![\w.-])["']?(?P<key>[xy](?:[ _-]?(?:min|max|0|1|2))?|left|top|right|bottom|w|h|width|height)["']?
        \s?(?:[=:≈~]|\bis\b)\s?["']?~?(?P<value>{_NUMBER})(?![\w.]*\d|%|\ %|,\d)""",
    re.IGNORECASE | re.VERBOSE,
)
_POINT_KEYS = ("x", "y")
_BOX_KEYS = (
    ("x1", "y1", "x2", "y2"),
    ("x0", "y0", "x1", "y1"),
    ("xmin", "ymin", "xmax", "ymax"),
    ("left", "top", "right", "bottom"),
)
_SIZE_KEYS = (("x", "y", "width", "height"), ("x", "y", "w", "h"), ("left", "top", "width", "height"))
_BETWEEN_CORNERS = re.compile(
    r"""\s?(?:[,;]|->|-|to\b|and\b|,\ ?and\b)?\s?(?:the\ )?
        (?:(?:bottom|lower)[ -]?right(?:\ corner)?(?:\ (?:is|at))?)?[\s:=]*""",
    re.IGNORECASE | re.VERBOSE,
)

_LEAD = re.compile(
    r"""[\s\"'*_`|=:>.,~#≈{(\[\-"""
    + MARKERS
    + r"""]*+(?:(?:so|thus|therefore|hence|the|a|an|at|in|is|are|it|it's|that|of|from|points?|pixels?|coordinates?
        |position|location|located|spot|centre|center|centred|centered|box|bounding|bbox|bbox_2d|point_2d|answer|approximately
        |about|around|roughly|exactly|probably|i\ (?:would\ |can\ )?(?:click|say|tap|think|mark|see)|on|should|be|would
        |final|top[ -]?left|corner|its|their|has|x|y)(?![\w'])[\s\"'*_`|=:>.,~#≈{(\[-]*+)*+""",
    re.IGNORECASE | re.VERBOSE,
)
"""What may stand before the numbers themselves."""
_OTHER_ORDER = re.compile(
    r"""\b(?:y[ _]?(min|max|[012]|)\W{1,4}x[ _]?\1|row\W{1,4}col(?:umn)?|top\W{1,4}left\W{1,4}bottom
        |x\W{1,4}y\W{1,4}(?:w|h|width|height)|c[xy]\W{1,4}c[xy])\b""",
    re.IGNORECASE | re.VERBOSE,
)
"""Names without numbers that say that the numbers stand in another order than the asked one."""
_LOCATES = re.compile(
    r"\b(?:at|around|near|point|pixel|coordinates?(?:\sare|\sis)?|position(?:\sis)?|located\sat|location(?:\sis)?|click|box(?:\sis)?)"
    r"[\s:=]*(?:(?:approximately|about|roughly|around)\s)?$",
    re.IGNORECASE,
)
_DENIED = re.compile(r"(?:\bnot|n't|\bnever|\binstead of|\brather than)\s(?:\w+\s){0,2}\W?$", re.IGNORECASE)
_ALTERNATIVE = re.compile(r"[\s,;]*(?:or|and)\b|\s?[,;/]\s?[(\[{]", re.IGNORECASE)
_SENTENCE_BREAK = re.compile(r"[.!?](?=\s)|\n")
_DIGITS_ONLY = re.compile(r"[\s.,;:()\[\]{}+\-|]*\d[\s\d.,;:()\[\]{}+\-|%]*")
_LIMIT = 2000
"""Characters of a reply's end that are searched."""


class _Place(NamedTuple):
    """Numbers that may be the answer, and where they stand; `plain` where no bracket or key marks them as one."""

    start: int
    end: int
    value: tuple[float, ...]
    plain: bool = False


def at_cue(content: str, block: str, spec: AnswerSpec, strong: bool, how: str) -> Found | None:
    """Read the point or box that stands after an answer cue.

    Parameters
    ----------
    content : str
        The line after the cue.
    block : str
        The lines after the cue up to an empty one, for an object over several lines.
    spec : AnswerSpec
        Of type ``coordinate``.
    strong : bool
        Whether the cue is a label, so that text without a coordinate is an invalid answer rather than prose.
    how : str
        The cue's name, kept in the finding.

    Returns
    -------
    Found or None
        None where no coordinate stands here.
    """
    if _OTHER_ORDER.search(content):
        return nothing_valid(content, how, "ambiguous")
    text, places = content, _places(content, spec)
    if not places and block != content and (strong or content[-1:] in "{[(,"):
        text, places = block, _places(block, spec)
    text = _flat(text)
    if places and (strong or _is_head(text, places[0])):
        return _first(text, places, how)
    if not strong or abstains(content):
        return None
    return nothing_valid(content, how, _misfit(text))


def without_cue(text: str, spec: AnswerSpec) -> Found | None:
    """Read a reply without a cue.

    The whole reply, its last line, or the only point or box of the last sentence that has one.
    """
    text = _flat(text[-_LIMIT:])
    if _OTHER_ORDER.search(text):
        return undecided(text, "bare")
    last = text.rpartition("\n")[2]
    for part, how in ((text, "bare"), (last, "last_line")):
        places = _places(part, spec)
        if places and len({place.value for place in places}) > 1 and _is_all(part, places):
            return nothing_valid(part, how, "several")
        if places and (_is_all(part, places) or (how == "bare" and part[0] in "{[" and not _prose(part))):
            return _first(part, places, how)
    if _DIGITS_ONLY.fullmatch(text):
        return nothing_valid(text, "bare", _misfit(text))
    return _in_prose(text, spec)


def misfit(value: tuple[float, ...], spec: AnswerSpec) -> str:
    """Return the flag that says why numbers of the right count are no answer of this type."""
    if len(value) == 4 and not (value[0] < value[2] and value[1] < value[3]):
        return "not_a_box"
    return "fractions" if spec.in_units is Units.PIXELS and max(value) <= 1 and min(value) >= 0 else "out_of_range"


def _in_prose(text: str, spec: AnswerSpec) -> Found | None:
    ends = [match.end() for match in _SENTENCE_BREAK.finditer(text)]
    for start, end in reversed(list(zip([0, *ends], [*ends, len(text)], strict=True))):
        sentence = text[start:end]
        places = [
            place
            for place in _places(sentence, spec)
            if not _DENIED.search(sentence, max(0, place.start - 40), place.start)
            and (not place.plain or _LOCATES.search(sentence, max(0, place.start - 40), place.start))
        ]
        if not places:
            continue
        if len({place.value for place in places}) > 1 or sentence.rstrip().endswith("?") or abstains(sentence):
            return undecided(sentence, "run")
        return Found(places[0].value, sentence[places[0].start : places[0].end], "run")
    return None


def _first(text: str, places: list[_Place], how: str) -> Found:
    """Return the first place; where others follow it has to stand at the head, and not as one of two alternatives."""
    first = places[0]
    found = Found(first.value, text[first.start : first.end], how)
    if len({place.value for place in places}) == 1:
        return found
    if not _is_head(text, first) or _ALTERNATIVE.match(text, first.end):
        return nothing_valid(text, how, "several")
    return found.flagged("several")


def _is_head(text: str, place: _Place) -> bool:
    lead = _LEAD.match(text)
    return place.start <= (lead.end() if lead else 0)


def _is_all(text: str, places: list[_Place]) -> bool:
    """Return whether a text is nothing but these places and words that only introduce them."""
    if not _is_head(text, places[0]):
        return False
    position = places[0].end
    rest = ""
    for place in places[1:]:
        rest += text[position : place.start]
        position = max(position, place.end)
    return not re.search(r"\w", (rest + text[position:]).replace("and", "").replace("or", ""))


def _prose(text: str) -> bool:
    return bool(re.search(r"[A-Za-z]{2,} [A-Za-z]{2,} [A-Za-z]{2,}", text))


def _misfit(text: str) -> str:
    if "%" in text:
        return "percent"
    return "wrong_length" if re.search(r"\d", text) else "not_an_answer"


def _flat(text: str) -> str:
    """Return text in which elements and nested brackets are single brackets, and signs are plain."""
    return _ELEMENT.sub(r"(\2)", text) if "<" in text else text


def _places(text: str, spec: AnswerSpec) -> list[_Place]:
    text = _flat(text)
    count = spec.of_shape.size
    found = list(_bracketed(text, count))
    found += _keyed(text, spec.of_shape)
    found += [
        _Place(match.start(), match.end(), tuple(map(float, match.groups())), True)
        for match in _RUNS[count].finditer(text)
        if not any(place.start <= match.start() < place.end for place in found)
    ]
    return sorted(found)


def _bracketed(text: str, count: int) -> Iterator[_Place]:
    """Yield the coordinates in brackets, and the boxes that exactly two points in a row make."""
    corners: list[_Place] = []
    for match in _BRACKETED.finditer(text):
        for size in {2, count}:
            numbers = _TUPLES[size].fullmatch(match[1].strip())
            if numbers is None:
                continue
            place = _Place(match.start(), match.end(), tuple(map(float, numbers.groups())))
            if size == count:
                yield place
            elif corners and _BETWEEN_CORNERS.fullmatch(text, corners[-1].end, place.start):
                corners.append(place)
            else:
                yield from _corner_box(corners)
                corners = [place]
    yield from _corner_box(corners)


def _corner_box(corners: list[_Place]) -> Iterator[_Place]:
    if len(corners) == 2:
        first, second = corners
        yield _Place(first.start, second.end, first.value + second.value)


def _keyed(text: str, shape: Shape) -> Iterator[_Place]:
    """Yield the coordinates whose numbers are named; a key that comes again begins another one."""
    named: dict[str, float] = {}
    start = end = 0
    for match in _KEYED.finditer(text):
        key = re.sub(r"[ _-]", "", match["key"].lower())
        if key in named:
            yield from _from_keys(named, start, end, shape)
            named = {}
        if not named:
            start = match.start()
        named[key] = float(match["value"])
        end = match.end()
    yield from _from_keys(named, start, end, shape)


def _from_keys(named: dict[str, float], start: int, end: int, shape: Shape) -> Iterator[_Place]:
    if shape is Shape.POINT:
        if set(named) == set(_POINT_KEYS):
            yield _Place(start, end, (named["x"], named["y"]))
        return
    for keys in _BOX_KEYS:
        if set(named) == set(keys):
            yield _Place(start, end, tuple(named[key] for key in keys))
    for x, y, width, height in _SIZE_KEYS:
        if set(named) == {x, y, width, height}:
            left, top = named[x], named[y]
            yield _Place(start, end, (left, top, left + named[width], top + named[height]))
