"""What a model is asked, with the content of the released prompts in our own words."""

from __future__ import annotations

from dodiag.benchmarks.mmcot.data import ImageItem, VideoItem
from dodiag.benchmarks.mmcot.notation import FIELDS

PROMPTS_VERSION = "1"

EXAMPLE = "A1->B3->C2, A2->B1->C6, A3->B5->C4"
"""Of the notation. Its labels run in no order, so that copying it is no plausible answer."""

_IMAGE_ROLE = (
    "You are an expert in causal reasoning who understands what a picture shows. You answer with chains in the fixed"
    " notation alone, separated by commas, and explain nothing."
)
_IMAGE_TASK = (
    "Complete three causal chains about the picture. Each chain starts at one item of set A, goes on to the item of"
    " set B that it brings about, using what the picture shows even where it is not said, and from there to the item of"
    " set C that follows. Use every item at most once; sets B and C have items that belong to no chain. Reply with the"
    f" three chains only, on one line, separated by commas, in this notation: {EXAMPLE}."
)
_VIDEO_ROLE = (
    "You are an expert in counterfactual reasoning about videos. You reply with one JSON object alone, without an"
    " explanation. It has four fields, all texts, with every item in square brackets."
)
_VIDEO_FIELDS = (
    f"{FIELDS[0]}: the two key elements that are causally linked and together bring about what happens.",
    f"{FIELDS[1]}: the counterfactual elements that replace these two.",
    f"{FIELDS[2]}: the one outcome of the pool that would follow then.",
    f"{FIELDS[3]}: the two replacements, an arrow, and that outcome.",
)
_TEMPLATE = (
    '{"chosen_conditions": "[...], [...]", "counterfactual_conditions": "[...], [...]",'
    ' "counterfactual_result": "[...]", "counterfactual_chain": "[...], [...] -> [...]"}'
)
_COPY = "Copy items letter by letter, with their square brackets, separated by a comma and a blank."


def image_question(item: ImageItem) -> str:
    """Return the question about a picture: the role, sets A, B and C as written, and the task."""
    sets = f"Set A:\n{item.set_a}\n\nSet B:\n{item.set_b}\n\nSet C:\n{item.set_c}"
    return f"{_IMAGE_ROLE}\n\n{sets}\n\n{_IMAGE_TASK}"


def video_question(item: VideoItem) -> str:
    """Return the question about a video: the role, the fields, the three pools as written, and the task.

    Neither the critical conditions nor the right chain is shown.
    """
    pools = (
        f"Key elements: {item.key_elements}\nCounterfactual elements: {item.replacements}\n"
        f"Outcome pool: {item.outcomes}"
    )
    steps = (
        "First choose two key elements that together cause what happens in the video. Then choose what replaces them"
        " among the counterfactual elements. Then choose the outcome that would follow."
    )
    fields = "\n".join(_VIDEO_FIELDS)
    return f"{_VIDEO_ROLE}\n{fields}\nThe form: {_TEMPLATE}\n\n{pools}\n\n{steps} {_COPY}"


def step_question(item: ImageItem, slot: str) -> str:
    """Return the question for one mediating step."""
    return (
        f"Look at the picture and suppose that this happens next: {_sentence(item.conditions[slot])} Which step does it"
        " bring about, given what the picture shows?"
    )


def outcome_question(item: ImageItem, slot: str) -> str:
    """Return the question for one outcome."""
    return (
        f"Look at the picture and suppose that this happens next: {_sentence(item.conditions[slot])} It brings about a"
        " further step. Which outcome follows in the end?"
    )


CONDITIONS_QUESTION = (
    "Which two of these elements of the video are causally linked and together bring about what happens in it?"
)
REPLACEMENTS_QUESTION = (
    "Two elements of the video together bring about what happens in it. Suppose that they had been different. Which two"
    " of these are their counterfactual replacements?"
)
OUTCOME_QUESTION = (
    "Two elements of the video together bring about what happens in it. Suppose that they had been replaced by their"
    " counterfactual counterparts. Which of these outcomes would have followed?"
)


def _sentence(text: str) -> str:
    text = text.strip()
    return text if text.endswith((".", "!", "?")) else f"{text}."
