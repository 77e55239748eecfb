"""Pydantic's field errors in a user's words: what is wrong with a field, and the cure."""

from __future__ import annotations

from typing import Any

from dodiag.problems import nearest, quoted, shown
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
    given = item["input"]
    match item["type"]:
        case "missing":
            return f"'{location[-1]}' is missing", f"Add '{location[-1]}:'."
        case "extra_forbidden":
            name = str(location[-1])
            table = "answer" if "answer" in location else str(location[0]) if len(location) > 1 else ""
            return f"{shown(name)} is not a field", nearest(name, known.get(table, known[""]))
        case "enum" | "literal_error":
            expected = str(item["ctx"]["expected"])
            words = [word.strip(" '") for word in expected.replace(" or ", ",").split(",")]
            return f"{quoted(given)} is not allowed here", nearest(str(given), words)
        case "string_pattern_mismatch" if location[-1:] == ("id",):
            return "holds a line break or a control character", ONE_LINE
        case "string_pattern_mismatch":
            letters = "lower-case letters" if location == ("name",) else "letters"
            return f"{quoted(given)} is not a valid name", f"Use {letters}, digits, '_', '-' and '.', letter first."
        case "control_character":
            return f"{item['msg']} (found {shown(given)})", ONE_LINE
        case "value_error":
            return str(item["ctx"]["error"]), "Correct the value."
        case "too_short" if location == ("units",):
            return "has no units", "Add at least the target."
        case "string_too_short":
            return "is empty", "Write something."
        case "too_short":
            actual, least = item["ctx"]["actual_length"], item["ctx"]["min_length"]
            return f"has {actual} entries instead of at least {least}", "Add what is missing."
        case "string_too_long":
            return f"is longer than {item['ctx']['max_length']} characters (found {shown(given)})", "Shorten it."
        case kind if given is None and kind in _WANTED:
            return "is empty", f"Write {_WANTED[kind]}, or remove the field where it may be left out."
        case "string_type" if isinstance(given, (list, tuple, dict)):
            return f"should be text (found {shown(given)})", "Write one text."
        case kind if kind in _WANTED:
            return f"should be {_WANTED[kind]} (found {shown(given)})", _CURES.get(kind, "Correct the value.")
        case _:
            return f"{item['msg'][0].lower()}{item['msg'][1:]} (found {shown(given)})", "Correct the value."


ONE_LINE = "Write it on one line, without control characters."

_WANTED = {
    "string_type": "text",
    "tuple_type": "a list",
    "dict_type": "a mapping of fields",
    "model_type": "a mapping of fields",
    "model_attributes_type": "a mapping of fields",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
}
"""What a field should be, by pydantic's error type."""

_CURES = {
    "string_type": "Put it into quotes.",
    "tuple_type": "Write a list: [ … ].",
    "dict_type": "Write the fields as 'name: value'.",
    "model_type": "Write the fields as 'name: value'.",
    "model_attributes_type": "Write the fields as 'name: value'.",
}
