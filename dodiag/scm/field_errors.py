"""Pydantic's field errors in a user's words: what is wrong with a field, and the cure."""

from __future__ import annotations

from typing import Any

from dodiag.problems import nearest
from dodiag.scm.answers import AnswerSpec
from dodiag.scm.schema import Chain, TaskFile, Unit
from dodiag.scm.source import Location


def explain(item: Any, location: Location) -> tuple[str, str]:
    """Return what is wrong with a field and how to cure it.

    Parameters
    ----------
    item : ErrorDetails
        One entry of ``ValidationError.errors()``.
    location : tuple
        The field's place in the data.
    """
    known = {
        "units": tuple(Unit.model_fields),
        "answer": tuple(AnswerSpec.model_fields),
        "chains": tuple(Chain.model_fields),
        "": tuple(field.alias or name for name, field in TaskFile.model_fields.items()),
    }
    match item["type"]:
        case "missing":
            return f"'{location[-1]}' is missing", f"Add '{location[-1]}:'."
        case "extra_forbidden":
            table = "answer" if "answer" in location else str(location[0]) if len(location) > 1 else ""
            return f"'{location[-1]}' is not a field", nearest(str(location[-1]), known.get(table, known[""]))
        case "enum" | "literal_error":
            expected = str(item["ctx"]["expected"])
            words = [word.strip(" '") for word in expected.replace(" or ", ",").split(",")]
            return f"'{item['input']}' is not allowed here", nearest(str(item["input"]), words)
        case "string_pattern_mismatch":
            letters = "lower-case letters" if location == ("name",) else "letters"
            return f"'{item['input']}' is not a valid name", f"Use {letters}, digits, '_', '-' and '.', letter first."
        case "value_error":
            return str(item["ctx"]["error"]), "Correct the value."
        case "too_short" if location == ("units",):
            return "has no units", "Add at least the target."
        case _:
            return f"{item['msg'][0].lower()}{item['msg'][1:]} (found {item['input']!r})", "Correct the value."
