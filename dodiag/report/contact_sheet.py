"""A contact sheet of a pack: a few instances with their pictures, questions and truths, for a person to look at."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from io import BytesIO
from typing import TYPE_CHECKING

from dodiag.interventions.annotate import Drawing, annotated, colour_of
from dodiag.interventions.media import MediaRule, Medium
from dodiag.interventions.pictures import prepare
from dodiag.interventions.prompts import lettered
from dodiag.interventions.videos import clip
from dodiag.problems import UsageError
from dodiag.scm.answers import Answer, AnswerSpec, show_answer
from dodiag.scm.media import HEAD, kind_of
from dodiag.scm.pack import Instance, Pack, Question, correct_answer, incorrect_answer, spec_of

if TYPE_CHECKING:
    from PIL import Image

WIDTH, MARGIN, GAP = 1600, 24, 12
SMALLEST, LARGEST = 300, 760
"""Pixels of the longer side of a picture on the sheet: of many, and of one alone."""

TEXT, SMALL, COLUMNS = 17, 15, 210
MOST_HEIGHT = 30_000
INK, GREY, RIGHT, WRONG = "#1b1b1b", "#6b6b6b", "#0b6b2e", "#a1261b"

Line = tuple[str, int, str]
"""Text, size and colour."""


def contact_sheet(
    pack: Pack, instances: Sequence[Instance], *, per_unit: int = 2, rule: MediaRule | None = None
) -> Image.Image:
    """Return one picture with some instances of a pack: media with the truth drawn on them, questions, answers.

    Parameters
    ----------
    pack : Pack
    instances : sequence of Instance
    per_unit : int
        Questions of each unit that are shown, spread over those it has; the annotations are those of these questions,
        each unit in a colour of its own.
    rule : MediaRule, optional
        How pictures and videos are brought into the form in which they are sent.

    Raises
    ------
    UsageError
        If the sheet would be higher than 30,000 pixels.
    MediumError
        If a medium cannot be read.
    """
    from PIL import Image, ImageDraw

    panels = [_panel(pack, instance, per_unit, rule or MediaRule()) for instance in instances]
    height = sum(panel.height for panel in panels)
    if not panels or height > MOST_HEIGHT:
        raise UsageError(f"{len(panels)} instances do not fit a sheet", "Show others: 1 to some 20, with --limit.")
    sheet = Image.new("RGB", (WIDTH, height), "white")
    canvas, top = ImageDraw.Draw(sheet), 0
    for panel in panels:
        sheet.paste(panel, (0, top))
        top += panel.height
        canvas.line([(0, top - 2), (WIDTH, top - 2)], "#b8b8b8", 2)
    return sheet


def spread(instances: Sequence[str], count: int) -> list[str]:
    """Return `count` ids, evenly spread over all.

    Examples
    --------
    >>> spread(["a", "b", "c", "d", "e"], 3)
    ['a', 'c', 'e']
    """
    if count >= len(instances):
        return list(instances)
    if count == 1:
        return [instances[0]]
    return [instances[round(place * (len(instances) - 1) / (count - 1))] for place in range(count)]


def _panel(pack: Pack, instance: Instance, per_unit: int, rule: MediaRule) -> Image.Image:
    from PIL import Image, ImageDraw, ImageFont

    shown = [(unit, question) for unit in pack.task.units for question in _some(instance, unit, per_unit)]
    pictures = list(_pictures(pack, instance, [question for _, question in shown], rule))
    lines: list[Line] = [(instance.id, TEXT + 3, INK)]
    for unit, question in shown:
        lines += _lines(pack, instance, unit, question)
    rows = list(_rows(pictures))
    heights = [max(picture.height for picture in row) for row in rows]
    text_height = sum(size + 6 for _, size, _ in lines)
    panel = Image.new("RGB", (WIDTH, sum(heights) + GAP * len(rows) + text_height + 2 * MARGIN), "white")
    top = MARGIN
    for row, height in zip(rows, heights, strict=True):
        left = MARGIN
        for picture in row:
            panel.paste(picture, (left, top))
            left += picture.width + GAP
        top += height + GAP
    canvas = ImageDraw.Draw(panel)
    for text, size, colour in lines:
        canvas.text((MARGIN, top), text, fill=colour, font=ImageFont.load_default(size))
        top += size + 6
    return panel


def _some(instance: Instance, unit: str, count: int) -> list[Question]:
    questions = instance.by_unit.get(unit, ())
    wanted = set(spread([question.id for question in questions], count))
    return [question for question in questions if question.id in wanted]


def _pictures(pack: Pack, instance: Instance, questions: Sequence[Question], rule: MediaRule) -> Iterator[Image.Image]:
    """Yield what is sent of an instance's media, with the annotations of some questions, in the size of the sheet."""
    drawings: dict[str, list[Drawing]] = {name: [] for name in instance.media}
    units = list(pack.task.units)
    for question in questions:
        for annotation in question.annotations:
            name = annotation.medium or instance.media[0]
            drawings[name].append((colour_of(units.index(question.unit)), annotation))
    media: list[Medium] = []
    for name, drawn in drawings.items():
        path = pack.medium(name)
        with path.open("rb") as stream:
            video = kind_of(stream.read(HEAD), name).startswith("video/")
        if video:
            media += clip(path, name, rule).media
        else:
            ready = prepare(path.read_bytes(), name, rule)
            media.append(annotated(ready, drawn, rule) if drawn else ready.medium)
    across = min(len(media), 4)
    longest = min(LARGEST, max(SMALLEST, (WIDTH - 2 * MARGIN - GAP * across) // max(across, 1)))
    for medium in media:
        yield thumbnail(medium.data, longest)


def thumbnail(data: bytes, longest: int) -> Image.Image:
    """Return a copy of an encoded picture whose longer side has at most so many pixels."""
    from PIL import Image

    with Image.open(BytesIO(data)) as picture:
        small = picture.convert("RGB")
    small.thumbnail((longest, longest), Image.Resampling.LANCZOS)
    return small


def _rows(pictures: Sequence[Image.Image]) -> Iterator[list[Image.Image]]:
    row: list[Image.Image] = []
    used = 0
    for picture in pictures:
        if row and used + picture.width > WIDTH - 2 * MARGIN:
            yield row
            row, used = [], 0
        row.append(picture)
        used += picture.width + GAP
    if row:
        yield row


def _lines(pack: Pack, instance: Instance, unit: str, question: Question) -> Iterator[Line]:
    spec = spec_of(pack.task, question)
    step = "" if question.step is None else f" step {question.step}"
    yield "", 4, INK
    asked = f"{unit} {pack.task.units[unit].title}{step} · {question.id}: {question.text}"
    yield from _wrapped(asked, TEXT, INK)
    if options := lettered(spec):
        yield from _wrapped("   ".join(options), SMALL, GREY)
    yield from _wrapped(f"state 1: {_answer(correct_answer(pack.task, question), spec)}", SMALL, RIGHT)
    try:
        wrong = _answer(incorrect_answer(pack.task, instance, question), spec)
    except ValueError as error:
        wrong = f"none: {error}"
    yield from _wrapped(f"state 0: {wrong}", SMALL, WRONG)


def _answer(answer: Answer, spec: AnswerSpec) -> str:
    return str(show_answer(answer, spec))


def _wrapped(text: str, size: int, colour: str) -> Iterator[Line]:
    columns = COLUMNS * SMALL // size
    # Pillow's own font has no minus sign of its own.
    for paragraph in text.replace("\u2212", "-").splitlines():
        for line in textwrap.wrap(paragraph, columns) or [""]:
            yield line, size, colour
