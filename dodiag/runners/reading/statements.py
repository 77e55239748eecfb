"""Which of the numbers in one statement are answers: equations, ranges, labels, shares, denials, conclusions."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

from dodiag.runners.reading.result import NO_FLAGS
from dodiag.runners.reading.tokens import Number


class Item(NamedTuple):
    """A number that a statement gives, or a group of numbers that come to none.

    Attributes
    ----------
    value : int, float or None
        None for a group without a result.
    start, end : int
        Where it stands in the statement.
    flags : frozenset of str
        Of the number.
    reason : str
        Why there is no value: ``expression``, ``range``, ``listed``, ``bound`` (``at least 7``) or ``not_an_answer``.
    total : bool
        Whether the statement calls it a total, or it is the result of an equation and no later number is concluded.
    """

    value: int | float | None
    start: int
    end: int
    flags: frozenset[str] = NO_FLAGS
    reason: str = ""
    total: bool = False


_GAP = 40
"""Longest text between two numbers that can join them."""

_WORDS = r"(?: ?[A-Za-z]+){0,2}[\s)\]]{0,2}"
_OPERATOR = re.compile(_WORDS + r"(?:[-+*×·⋅÷/]|\b(?:x|plus|minus|times|divided by)\b)[\s([]{0,2}")
_EQUALS = re.compile(_WORDS + r"(?:=|≈|->|\b(?:equals|makes|gives)\b)[\s(\[€£¥]{0,2}")
_EQUALS_AFTER_OPERATOR = re.compile(r",?\s(?:(?:which|that)\s)?(?:is|makes|gives|equals|leaves)\s")
"""Between a calculation and its result; between two numbers it may say anything: ``6, which is 2 more than 4``."""
_RANGE = re.compile(
    r"\s?(?:[-~—±]|\+/-)\s?|,?\s(?:to|through|up to|(?:or )?(?:maybe|possibly|perhaps|even)|or)\s", re.IGNORECASE
)
_BOUND = re.compile(
    r"(?:(?<![-=])[<>≥≤]\s?=?\s?|\b(?:(?:more|less|fewer|greater|higher|lower|larger|smaller)\sthan|at\sleast|at\smost"
    r"|over|under|above|below|(?<!add\s)(?<!adds\s)(?<!adding\s)(?<!sum\s)(?<!sums\s)up\sto"
    r"|as\s(?:many|few|much|little)\sas|(?:minimum|maximum)(?:\sof)?)\s)$",
    re.IGNORECASE,
)
"""Before a number that is only a bound of the answer."""
_BOUND_AFTER = re.compile(
    r"\+(?!\s?\d)|\s(?:or\s(?:more|less|fewer|higher|lower|greater|above|below)|at\s(?:the\s)?(?:most|least))\b",
    re.IGNORECASE,
)
_CONCLUDED = re.compile(
    r"\b(?:it's|it\sis|is|are|makes?|gives?|gets?|so|thus|therefore|leaves|have|has|total)\s$", re.IGNORECASE
)
_LISTED = re.compile(r"\s?(?:&|and|,\s?and)\s", re.IGNORECASE)
_COMMA = re.compile(r"\s?[,;|]\s?")
_LIST_GOES_ON = re.compile(r"\s?(?:[,;.!?)\]|]|and\b|or\b|&|$)", re.IGNORECASE)
_SHARE = re.compile(
    r"\s?(?:[A-Za-z]+\s)?(?:(?:are|is|were)\s)?(?:out\s)?of\s(?:a\stotal\sof\s)?(?:(?:the|these|those|all|a)\s)?(?:total\s)?",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"""\b(?:images?|pictures?|photos?|figures?|fig\.?|frames?|views?|panels?|steps?|questions?|unit|parts?|sections?|tables?|chapter|page
        |die|dice|cameras?|videos?|scenes?|options?|cases?|examples?|prerequisites?|version|rule|row|column|line|level|player|lane|route
        |room|floor|cell|\#)
        \s?(?:no\.?\s?|number\s)?[(\#]?$""",
    re.IGNORECASE | re.VERBOSE,
)
_CONFIDENCE = re.compile(
    r"\b(?:confidence|probability|certainty)(?:\s(?:level|score))?[\"')]?\s?(?:is|of|=|:)?\s?$", re.IGNORECASE
)
_SURE = re.compile(r"\s(?:sure|certain|confident|confidence|certainty)\b", re.IGNORECASE)
_DENIED = re.compile(
    r"(?:\bnot|n't|\binstead of|\brather than|\bno longer|\bnever)"
    r"\s(?:(?:be|really|just|the|exactly|only|counting|including)\s){0,2}$"
    r"|\b(?:(?:at\s)?first|initially|originally|previously)\s(?:thought|said|counted|saw|guessed|got)\s(?:(?:it|there|that)\s(?:was|were)\s)?$",
    re.IGNORECASE,
)
_RULE = re.compile(r"\bopposite\b[^.\n]{0,40}\b(?:sum|add|total|always|equal)s?\b[^.\n\d]{0,20}$", re.IGNORECASE)
"""Before the constant of a rule that is quoted, not counted: ``opposite faces of a die sum to 7``."""
_RULE_BEFORE = 90
_TOTAL_BEFORE = re.compile(
    r"""(?:一共|总共|共有|共计|合计|总计|总数|所以|因此)[有是为:,\s]{0,4}$
        |\b(?:in\ total|totals?|sums?|altogether|overall|results?|difference|product|quotient)\b,?
        (?:\s(?:of|is|are|there|to|we|have|i|count|get|it|comes|up|number)\b)*[\s,:=(€£¥]*$""",
    re.IGNORECASE | re.VERBOSE,
)
_TOTAL_AFTER = re.compile(r"(?:\s[A-Za-z]+){0,3},?\s(?:in total|altogether|in all|all in all|overall)\b", re.IGNORECASE)
_TOTAL_GOES_ON = re.compile(r"\s(?:\d|of\b|is\b|are\b|there\b|we\b|i\b|it\b|that\b)", re.IGNORECASE)
"""After a word for a total that belongs to the next number: ``2 dogs, altogether 7``."""
_BEFORE = 40
_CONCLUDING = 80


def resolve(text: str, numbers: list[Number], *, cued: bool) -> list[Item]:
    """Return what the numbers of one statement come to, in order.

    Parameters
    ----------
    text : str
        One statement, or the content of a cue.
    numbers : list of Number
        Its numbers, at least one.
    cued : bool
        After a cue, labels (``image 2``) count too.

    Returns
    -------
    list of Item
        Empty where every number is a label, a denied one or the base of a share.
    """
    first = numbers[0]
    counting = [
        number
        for number in numbers
        if not _labels(text, number, cued=cued) and not (_is_rule(text, number) and not (cued and number is first))
    ]
    items: list[Item] = []
    claimed = 0  # where the words end that call the number before them a total
    for chain in _chains(text, counting) if counting else ():
        start = chain[0][1].start
        before = text[max(0, start - _BEFORE, claimed) : start]
        if not _DENIED.search(before):
            items.append(_item(text, chain, before))
        after = _TOTAL_AFTER.match(text, chain[-1][1].end)
        if after and not _TOTAL_GOES_ON.match(text, after.end()):
            claimed = after.end()
    return _with_results(text, _without_reasons(text, items))


_BECAUSE = re.compile(r"\b(?:because|since)\b|,\sas\s|\((?:since|because|as)\s", re.IGNORECASE)
_AFTER_REASON = re.compile(r"\b(?:so|thus|therefore|hence|then|total|altogether|which|answer)\b|->|→", re.IGNORECASE)


def _without_reasons(text: str, items: list[Item]) -> list[Item]:
    """Leave out the numbers that only say why those before them are so: ``2, because opposite faces sum to 7``."""
    for reason in _BECAUSE.finditer(text):
        given = [item for item in items if item.end <= reason.start()]
        if any(item.value is not None for item in given):
            return items if _AFTER_REASON.search(text, reason.end()) else given
    return items


_CONCLUSION = re.compile(
    r"""(?:[=≈]|->|\b(?:so|thus|therefore|hence|altogether|overall|totals?|total+ing|sums?|(?<!sub-)(?<!given\s)(?<!provided\s)(?<!previous\s)answer
        |results?|equals|equal\sto|makes?
        |making|gives?|giving|gets?|leaves|leaving|comes\sto|that\sis|concludes?|final(?:ly)?)\b
        |\b(?:so|thus|therefore|hence)\b(?:,?\s[a-z'-]+){1,6}?(?=\s(?:is|shows?|must\sbe|equals)\s$))
        (?:,?\s(?:there|it|it's|that|that's|this|they|we|i|you|are|is|be|would|must|should|have|has|get|see|count|say|show|shows
        |make|makes|up|of|to|in|all|the|a|only|exactly|about|just|number|total|final)){0,6}[\s,:(\[€£¥]*$""",
    re.IGNORECASE | re.VERBOSE,
)
"""Before a number that a statement concludes."""
_STATED = re.compile(
    r"""\b(?:are|is|were|was|there's|it's|see|sees|count|counted|find|found|show|shows|has|have|contains?)
        (?:\s(?:only|exactly|just|about|around|approximately|a\stotal\sof))?\s$""",
    re.IGNORECASE | re.VERBOSE,
)
"""Before a number that a statement gives, though others may stand beside it."""
_NAMED = re.compile(r"(?:^|[,;(]|\b(?:and|where|with)\b)[\s\"']*(?:the\s)?[A-Za-z_][\w ]{0,30}?[\"']?\s?[=:]\s?$")
"""Before a number that belongs to a name: ``slope = 2, intercept = 1``."""
_TARGET = re.compile(r"\bY\s?[=:]\s?$")
_PREREQUISITE = re.compile(r"\bX\d")
_COORDINATED = re.compile(
    r"[^(\[:;.\d]*(?:\band\b|,|&|\bplus\b)\s?(?!of which|where|because|since|as\b|not\b)[^(\[:;.\d]*"
)
"""Between two numbers of equal standing: ``3 red and 4 blue``."""
_CORRECTED = re.compile(
    r"\bbut,?\s(?:actually,?\s|really,?\s|in\sfact,?\s)?(?:i\s(?:can\s)?(?:only\s)?(?:see|count|find)"
    r"|it\sis|it's|there\sare|the\s\w+\sis)\s(?:only\s|actually\s|really\s)?$",
    re.IGNORECASE,
)
"""Before a number at the end of a statement that sets another one right: ``they say 8, but I see 7``."""
_WORD = re.compile(r"\w")
_SUBORDINATE = re.compile(
    r"(?<!results )(?<!resulting )(?<!resulted )\b(?:in|across|per|from|within|among|along|over|between|by|with)\s"
    r"(?:(?:the|these|those|all|a|each|about|only)\s){0,2}$",
    re.IGNORECASE,
)
"""Before a number that says where or how the things are that are counted: ``in 2 rows``."""


def concluded(text: str, items: list[Item]) -> Item | None:
    """Return the number that a statement with unequal numbers gives as its answer; None where it leaves that open.

    The last one that is concluded (``so 7``, ``= 7``), unless another one stands beside it (``so 3 red and 4 blue``) or
    both are only named (``a = 3, b = 4``); or else the only one that is stated (``there are 7``) where every other one
    is subordinate (``in 2 rows``): beside ``and 4 blue ones`` the stated number is a part of it.
    """
    valued = [item for item in items if item.value is not None]
    named = [item for item in valued if _NAMED.search(text, max(0, item.start - _BEFORE), item.start)]
    only_named = len({item.value for item in named}) > 1
    conclusions = [
        item
        for item in valued
        if concludes(text, [item]) and not (only_named and item in named and not _is_target(text, item))
    ]
    if conclusions:
        return None if _has_another_beside(text, conclusions[-1], valued) else conclusions[-1]
    last = valued[-1] if valued else None
    if last is not None and _is_corrected(text, last):
        return last
    main = [item for item in valued if not _SUBORDINATE.search(text, max(0, item.start - _BEFORE), item.start)]
    values = {item.value for item in main}
    if len(values) == 1 and _STATED.search(text, max(0, main[0].start - _BEFORE), main[0].start):
        return main[0]
    return None


def concludes(text: str, items: list[Item]) -> bool:
    """Return whether a statement concludes any of these numbers (``so 7``, ``= 7``)."""
    valued = [item for item in items if item.value is not None]
    return any(_CONCLUSION.search(text, max(0, item.start - _CONCLUDING), item.start) for item in valued)


def _is_corrected(text: str, item: Item) -> bool:
    """Return whether a number ends a statement and sets another one right."""
    before = _CORRECTED.search(text, max(0, item.start - _CONCLUDING), item.start)
    return before is not None and _WORD.search(text, item.end) is None


def _is_target(text: str, item: Item) -> bool:
    """Return whether a number is named as the target beside its prerequisites: ``X1 = 3, X2 = 4, Y = 7``."""
    return bool(
        _TARGET.search(text, max(0, item.start - _BEFORE), item.start) and _PREREQUISITE.search(text, 0, item.start)
    )


def _has_another_beside(text: str, conclusion: Item, valued: list[Item]) -> bool:
    """Return whether an unequal number is coordinated with a concluded one; its parts, which make it up, are not."""
    later = [item for item in valued if item.start >= conclusion.end]
    unequal = [item for item in later if item.value != conclusion.value]
    if not unequal or sum(item.value or 0 for item in later) == conclusion.value:
        return False
    gap = text[conclusion.end : unequal[0].start]
    subordinate = _SUBORDINATE.search(text, max(0, unequal[0].start - _BEFORE), unequal[0].start)
    return len(gap) <= _CONCLUDING and bool(_COORDINATED.fullmatch(gap)) and not subordinate


def is_subordinate(text: str, span: str) -> bool:
    """Return whether the last place of a number in a statement says where or how things are: ``in 2 rows``."""
    start = text.rfind(span)
    return bool(_SUBORDINATE.search(text, max(0, start - _BEFORE), start))


def _with_results(text: str, items: list[Item]) -> list[Item]:
    """Call the result of an equation a total, and every number that is concluded after it."""
    results = [place for place, item in enumerate(items) if item.reason == "result"]
    if not results:
        return items
    return [
        item._replace(reason="", total=True)
        if item.reason == "result"
        or (place > results[0] and _CONCLUDED.search(text, max(0, item.start - _BEFORE), item.start))
        else item
        for place, item in enumerate(items)
    ]


def _labels(text: str, number: Number, *, cued: bool) -> bool:
    """Return whether a number names a thing (``image 2``) or says how sure the reply is."""
    before = text[max(0, number.start - _BEFORE) : number.start]
    if not cued and _LABEL.search(before):
        return True
    return bool(_CONFIDENCE.search(before)) or ("percent" in number.flags and bool(_SURE.match(text, number.end)))


def _is_rule(text: str, number: Number) -> bool:
    return _RULE.search(text, max(0, number.start - _RULE_BEFORE), number.start) is not None


Chain = list[tuple[str, Number]]
"""Numbers that belong together, each with what joins it to the one before: ``=``, ``op``, ``range``, ``listed``."""


def _chains(text: str, numbers: list[Number]) -> list[Chain]:
    chains: list[Chain] = [[("", numbers[0])]]
    for previous, number in pairwise(numbers):
        gap = text[previous.end : number.start] if number.start - previous.end <= _GAP else "\n"
        joiner = _joiner(gap, number, text)
        if chains[-1][-1][0] == "op" and _EQUALS_AFTER_OPERATOR.fullmatch(gap):
            joiner = "="
        if joiner == "share":
            continue
        if joiner:
            chains[-1].append((joiner, number))
        else:
            chains.append([("", number)])
    return chains


def _joiner(gap: str, number: Number, text: str) -> str:
    if _EQUALS.fullmatch(gap):
        return "="
    if gap == " - ":
        return "op"
    if _RANGE.fullmatch(gap) or text[number.start] == "±":
        return "range"
    if _OPERATOR.fullmatch(gap) or (text[number.start] in "+-" and gap in ("", " ")):
        return "op"
    if gap == " " or _LISTED.fullmatch(gap) or (_COMMA.fullmatch(gap) and _LIST_GOES_ON.match(text, number.end)):
        return "listed"
    return "share" if _SHARE.fullmatch(gap) else ""


def _item(text: str, chain: Chain, before: str) -> Item:
    start, end = chain[0][1].start, chain[-1][1].end
    total = bool(_TOTAL_BEFORE.search(before)) or bool(_TOTAL_AFTER.match(text, end))
    if len(chain) == 1:
        number = chain[0][1]
        if (_BOUND.search(before) and text[end : end + 1] != ">") or _BOUND_AFTER.match(text, end):
            return Item(None, start, end, reason="bound", total=total)
        return Item(number.value, start, end, number.flags, "" if number.value is not None else "not_an_answer", total)
    joiners = [joiner for joiner, _ in chain[1:]]
    if "=" in joiners:
        result = _result(chain)
        if result is None:
            return Item(None, start, end, reason="expression", total=total)
        reason = "result" if result.value is not None else "expression"
        return Item(result.value, result.start, result.end, result.flags, reason, total)
    reason = "range" if "range" in joiners else "listed" if set(joiners) == {"listed"} else "expression"
    return Item(None, start, end, reason=reason, total=total)


def _result(chain: Chain) -> Number | None:
    """Return the result of an equation: its last side that is a single number."""
    sides: list[list[Number]] = [[]]
    for joiner, number in chain:
        if joiner == "=":
            sides.append([])
        sides[-1].append(number)
    singles = [side[0] for side in sides if len(side) == 1]
    return singles[-1] if singles else None
