"""The sentence of a prompt that says in which form to answer, for each declared type."""

from __future__ import annotations

from dodiag.scm.answers import AnswerSpec, AnswerType, Members
from dodiag.scm.coordinates import Scale, Shape


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
        One sentence.

    Examples
    --------
    >>> format_instruction(AnswerSpec(type="integer"))
    'Answer with one whole number only.'
    """
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
            return f"Answer with {_MEMBERS[spec.members or Members.INTEGER]}, separated by commas, and nothing else."
        case AnswerType.YES_NO:
            return f"Answer with {'true or false' if spec.true_false else 'yes or no'} only."
        case AnswerType.COORDINATE:
            what = "one box as left, top, right, bottom" if spec.shape is Shape.BOX else "one point as x, y"
            return f"Answer with {what}, {_SCALES[spec.scale]}, and nothing else."
        case AnswerType.TEXT:
            return "Answer with a short phrase only."


_MEMBERS = {
    Members.INTEGER: "whole numbers in any order",
    Members.NUMBER: "numbers in any order",
    Members.LETTER: "the letters of all options that apply, in any order",
}
_SCALES = {
    Scale.PIXEL: "in pixels from the top left corner of the picture",
    Scale.FRACTION: "from the top left corner as fractions of the picture's width and height (0 to 1)",
    Scale.THOUSANDTH: "from the top left corner in thousandths of the picture's width and height (0 to 1000)",
}
