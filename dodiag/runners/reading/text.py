"""Read free text: the answer as the model wrote it, for a judge to compare."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from dodiag.runners.reading.cleaning import TAG, TAG_END
from dodiag.runners.reading.result import Found
from dodiag.scm.answers import unwrapped

_LABEL = re.compile(
    r"""^[\s#>*_"'{-]{0,12}(?:(?:so|thus|therefore|the|my|final|correct|short|overall|model)\ ){0,3}
        (?:answers?|ans|答案|réponse|respuesta|antwort)["'*_]{0,4}\s?[:：][*_]{0,3}\s*+""",
    re.IGNORECASE | re.VERBOSE | re.MULTILINE,
)
_EXPLANATION = re.compile(
    r"^[\s#*_]{0,8}(?:explanation|reason(?:ing)?|rationale|justification|note|confidence|evidence)[*_]{0,3}\s?:",
    re.IGNORECASE | re.MULTILINE,
)
_TAGS = re.compile(r"<(?:final_?)?answer>", re.IGNORECASE)
_TAG_ENDS = re.compile(r"</(?:final_?)?answer>", re.IGNORECASE)
_SPECIAL_TOKEN = re.compile(r"<\|[A-Za-z_]{1,30}\|>|</?s>|<(?:start|end)_of_turn>")
_ANSWER_FIELDS = ("answer", "final_answer")
_OBJECTS = 20
"""Opening braces from the end that are tried."""


def read_text(visible: str) -> tuple[Found | None, bool]:
    """Return the final answer of a reply, and whether something after it shows that it is complete.

    Parameters
    ----------
    visible : str
        The reply without its reasoning, otherwise as written.

    Returns
    -------
    found : Found or None
        What stands after the last ``Answer:`` label or in the last answer tag, up to an explanation; the whole reply
        where there is neither. None where that is empty.
    complete : bool
        Whether the answer ended before the reply did.
    """
    text = _TAG_ENDS.sub(TAG_END, _TAGS.sub(TAG, _SPECIAL_TOKEN.sub("", visible)))
    how, complete = "whole", False
    if (said := _in_object(text)) is not None and _LABEL.search(text, said.end) is None and TAG not in text:
        return (Found(said.answer, said.answer, "cue") if said.answer else None), True
    if TAG in text:
        text, closing, _ = text.rpartition(TAG)[2].partition(TAG_END)
        how, complete = "tag", bool(closing)
    else:
        labels = list(_LABEL.finditer(text))
        filled = next((label for label in reversed(labels) if text[label.end() :].strip(' *_"}')), None)
        if filled is not None:
            text, how = text[filled.end() :], "cue"
    explanation = _EXPLANATION.search(text)
    if explanation is not None and text[: explanation.start()].strip():
        text, complete = text[: explanation.start()], True
    answer = unwrapped(text)
    return (Found(answer, answer, how) if answer else None), complete


class _Said(NamedTuple):
    """The answer field of a JSON object, empty where it is null, and where the object ends."""

    answer: str
    end: int


def _in_object(text: str) -> _Said | None:
    """Return the answer field of the last JSON object of a reply; None where there is no such field."""
    start = len(text)
    for _ in range(_OBJECTS):
        start = text.rfind("{", 0, start)
        if start < 0:
            return None
        try:
            found, end = json.JSONDecoder(strict=False).raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        for name, value in found.items():
            if name.strip().lower().replace(" ", "_") not in _ANSWER_FIELDS:
                continue
            if isinstance(value, list) and len(value) == 1:
                value = value[0]
            if value is None or isinstance(value, (str, int, float)):
                return _Said("" if value is None else " ".join(str(value).split()), end)
    return None
