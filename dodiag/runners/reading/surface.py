"""The asked surface form: the bare answer, or a last line ``Answer:`` with the bare answer.

The strict reading, and the fast path: a million replies are mostly one letter or one number.
"""

from __future__ import annotations

import re
from functools import lru_cache

from dodiag.runners.reading.result import NO_FLAGS, Reading
from dodiag.runners.reading.tokens import may_be_one_number, may_part_thousands, points_may_part_thousands
from dodiag.scm.answers import Answer, AnswerSpec, AnswerType, Members, normalise
from dodiag.vocabulary import Outcome

_INTEGER = r"-?[0-9]{1,18}"
_NUMBER = _INTEGER + r"(?:\.[0-9]{1,18})?"
_FORMS = {
    AnswerType.CHOICE: re.compile(r"[A-Z]"),
    AnswerType.INTEGER: re.compile(_INTEGER),
    AnswerType.NUMBER: re.compile(_NUMBER),
    AnswerType.INTEGER_LIST: re.compile(rf"{_INTEGER}(?:, ?{_INTEGER}){{0,200}}"),
    AnswerType.LETTER_LIST: re.compile(r"[A-Z](?:, ?[A-Z]){0,25}"),
    AnswerType.YES_NO: re.compile(r"yes|no|Yes|No|YES|NO"),
    AnswerType.COORDINATE: re.compile(rf"{_NUMBER}(?:, ?{_NUMBER}){{1,3}}"),
}
_TRUE_FALSE = re.compile(r"true|false|True|False|TRUE|FALSE")
_MEMBERS = {
    Members.LETTER: _FORMS[AnswerType.LETTER_LIST],
    Members.INTEGER: _FORMS[AnswerType.INTEGER_LIST],
    Members.NUMBER: re.compile(rf"{_NUMBER}(?:, ?{_NUMBER}){{0,200}}"),
}
_LABEL = re.compile(r"[Aa](?:nswer|NSWER):[ \t]*")
_LONGEST_FAST = 64


def read_bare(text: str, spec: AnswerSpec) -> Reading | None:
    """Return the reading of a reply that is exactly the asked surface form; None for every other reply."""
    body = text.strip()
    if len(body) > _LONGEST_FAST or spec.type is AnswerType.TEXT:
        return None
    how = "bare"
    if label := _LABEL.match(body):
        body, how = body[label.end() :], "cue"
    if len(body) == 1 and spec.type is AnswerType.CHOICE:
        return _letter_reading(body, how) if body in spec.letters else None
    value = surface_value(body, spec)
    return None if value is None else Reading(Outcome.VALUE, value, NO_FLAGS, how, True, body)


@lru_cache(maxsize=64)
def _letter_reading(letter: str, how: str) -> Reading:
    return Reading(Outcome.VALUE, letter, NO_FLAGS, how, True, letter)


def surface_value(body: str, spec: AnswerSpec) -> Answer | None:
    """Return the value of a bare answer in the asked form, None where it is not in that form or not valid."""
    if not _form(spec).fullmatch(body) or (_is_real(spec) and points_may_part_thousands(body)):
        return None
    if spec.type is AnswerType.SET and may_be_one_number(body):
        return None
    if spec.type in (AnswerType.INTEGER_LIST, AnswerType.SET) and may_part_thousands(body):
        return None
    if spec.type is AnswerType.COORDINATE and body.count(",") + 1 != spec.of_shape.size:
        return None
    try:
        return normalise(body, spec)
    except ValueError:
        return None


def _form(spec: AnswerSpec) -> re.Pattern[str]:
    if spec.type is AnswerType.SET:
        return _MEMBERS[spec.of_members]
    return _TRUE_FALSE if spec.true_false else _FORMS[spec.type]


def _is_real(spec: AnswerSpec) -> bool:
    return spec.type is AnswerType.NUMBER or (spec.type is AnswerType.SET and spec.of_members is Members.NUMBER)


def strict_value(visible: str, spec: AnswerSpec) -> Answer | None:
    """Return the value that a strict reader takes from a reply.

    Parameters
    ----------
    visible : str
        The reply without its reasoning, otherwise as written.
    spec : AnswerSpec
        Not of type ``text``.

    Returns
    -------
    Answer or None
        None where the reply is not a bare answer and its last line is not ``Answer:`` and a bare answer.
    """
    body = visible.strip()
    line = body[body.rfind("\n") + 1 :].strip()
    label = _LABEL.match(line)
    if label is None and line != body:
        return None
    return surface_value(line[label.end() :] if label else line, spec)
