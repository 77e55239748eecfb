"""The sentence of a prompt that says in which form to answer, for each declared type."""

from __future__ import annotations

from dodiag.scm.answers import AnswerSpec, AnswerType, Members, Shape, Units


def format_instruction(spec: AnswerSpec) -> str:
    """Return the output-format instruction of an answer type.

    What it asks for is what ``dodiag.runners.reading`` reads strictly. It never shows a placeholder such as
    ``$LETTER``: models answer in the placeholder's form.

    Parameters
    ----------
    spec : AnswerSpec
        The question's answer type.

    Returns
    -------
    str
        One sentence; the spec's own `instruction` where it has one, which may be empty.

    Examples
    --------
    >>> format_instruction(AnswerSpec(type="integer"))
    'Answer with one whole number only.'
    """
    if spec.instruction is not None:
        return spec.instruction
    match spec.type:
        case AnswerType.CHOICE:
            return "Answer with the letter of one option only."
        case AnswerType.INTEGER:
            return "Answer with one whole number only."
        case AnswerType.NUMBER:
            return "Answer with one number only."
        case AnswerType.INTEGER_LIST:
            return "Answer with whole numbers in order, separated by commas, and nothing else."
        case AnswerType.LETTER_LIST:
            return "Answer with the letters in order, separated by commas, and nothing else."
        case AnswerType.SET:
            return f"Answer with {_MEMBERS[spec.of_members]}, in any order, separated by commas, and nothing else."
        case AnswerType.YES_NO:
            return f"Answer with {'true or false' if spec.true_false else 'yes or no'} only."
        case AnswerType.COORDINATE:
            numbers = f"{_NUMBERS[spec.of_shape]}{_UNITS[spec.in_units]}"
            return f"Answer with {numbers}, separated by commas, and nothing else."
        case AnswerType.TEXT:
            return "Answer with a short phrase only."


_MEMBERS = {
    Members.LETTER: "the letters of all options that apply",
    Members.INTEGER: "all the whole numbers, each once",
    Members.NUMBER: "all the numbers, each once",
}
_NUMBERS = {
    Shape.POINT: "x and y of one point",
    Shape.BOX: "left, top, right and bottom of one box",
}
_UNITS = {
    Units.PIXELS: " in pixels",
    Units.FRACTIONS: " as fractions of the picture's width and height",
    Units.PLAIN: "",
}
