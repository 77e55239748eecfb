"""Engraving: an excerpt as a picture, and what the engraver drew where.

verovio sets the excerpt in one voice on one staff; what stands on the page is read from the drawn signs (the shape of
the head, flags, beams that meet the stem, dots), not from the values that were handed to the engraver.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from xml.etree import ElementTree as ET

from PIL import Image, ImageDraw, ImageFont

from dodiag.benchmarks.cadet.music_bars import Bar, Symbol, elements, load
from dodiag.problems import DodiagError

FONTS = ("Leipzig", "Bravura", "Gootville", "Leland", "Petaluma")
"""Music fonts that verovio ships."""

UNITS_PER_SPACE = 180
"""Of verovio's drawing, between two lines of the staff."""

MARGIN_SPACES = 4
NUMBER_COLOUR = (31, 78, 158)
NUMBER_SPACES = 1.7
"""Height of the type of the bar numbers, in spaces of the staff."""
MAX_RISE = 8.0
"""How many spaces above the staff a bar number may stand, where notes are in its way."""
INK = 160
"""Grey level below which a pixel counts as drawn."""

HEADS: Mapping[str, str] = MappingProxyType({"E0A2": "1", "E0A3": "2", "E0A4": "4"})
FLAGS: Mapping[str, int] = MappingProxyType({"E240": 1, "E241": 1, "E242": 2, "E243": 2, "E244": 3, "E245": 3})
RESTS: Mapping[str, str] = MappingProxyType(
    {"E4E3": "1", "E4E4": "2", "E4E5": "4", "E4E6": "8", "E4E7": "16", "E4E8": "32", "E4F4": "1", "E4F5": "2"}
)
"""SMuFL code points of the drawn signs."""

BEAM_REACH, BEAM_APART = 10, 60
"""Units of verovio's drawing: how far beside its end a beam still meets a stem, and the least distance of two beams."""

_XLINK = "{http://www.w3.org/1999/xlink}href"

Box = tuple[int, int, int, int]


class NoPage(DodiagError):
    """An excerpt could not be engraved as a page on which everything can be told; the message is the reason."""


@dataclass(frozen=True, slots=True)
class DrawnSymbol:
    """A note or rest as it was drawn.

    Attributes
    ----------
    bar : int
        1-based, in the excerpt.
    symbol : Symbol
    box : tuple of (left, top, right, bottom)
        Pixels, around the head of a note or the whole of a rest.
    """

    bar: int
    symbol: Symbol
    box: Box


@dataclass(frozen=True, slots=True)
class Page:
    """An engraved excerpt.

    Attributes
    ----------
    picture : bytes
        PNG.
    size : tuple of (width, height)
    symbols : tuple of DrawnSymbol
        In reading order.
    bars : tuple of boxes
        Of the staff of each bar.
    """

    picture: bytes
    size: tuple[int, int]
    symbols: tuple[DrawnSymbol, ...]
    bars: tuple[Box, ...]


def engrave(bars: Sequence[Bar], *, font: str, space: float, width: int) -> Page:
    """Engrave bars that follow one another, numbered from 1.

    Parameters
    ----------
    bars : sequence of Bar
    font : str
        One of :data:`FONTS`.
    space : float
        Pixels between two lines of the staff.
    width : int
        Pixels of the picture; the height follows from what stands on it.

    Raises
    ------
    NoPage
        If it does not fit one page, something is cut by the edge, a bar number has no room, or what was drawn is not
        what stands in the bars.
    """
    svg = _svg(musicxml(bars), font, space, width)
    root = ET.fromstring(svg)
    reader = _Reader(root, _scale(space) / 1000)
    symbols, boxes = tuple(reader.symbols()), tuple(reader.bars())
    drawn = [tuple(each.symbol for each in symbols if each.bar == number) for number in range(1, len(bars) + 1)]
    if drawn != [bar.pattern for bar in bars] or len(boxes) != len(bars):
        raise NoPage("engraving differs from the score")
    picture = _rasterised(svg)
    inside = (0, 0, *picture.size)
    if any(not _within(each.box, inside) for each in symbols):
        raise NoPage("cut by the edge")
    _number(picture, boxes, space)
    return Page(_png(picture), picture.size, symbols, boxes)


def musicxml(bars: Sequence[Bar]) -> str:
    """Return an excerpt as MusicXML: its notes, rests, ties, accents and fermatas; no words, slurs or staccato."""
    music21: Any = load("music21")
    part = music21.stream.Part()
    for number, bar in enumerate(bars, start=1):
        measure = music21.stream.Measure(number=number)
        if number == 1:
            sign = music21.clef.bestClef(bar.source) if bar.clef is None else bar.clef
            measure.append(music21.clef.clefFromString(f"{sign.sign}{sign.line}", sign.octaveChange))
            measure.append(music21.key.KeySignature(0 if bar.key is None else bar.key.sharps))
            measure.append(music21.meter.TimeSignature(bar.time))
        measure.append([_copied(element) for element in elements(bar.source)])
        part.append(measure)
    notes = list(part.recurse().notes)
    _cut_tie(notes[0], {"stop": None, "continue": "start"})
    _cut_tie(notes[-1], {"start": None, "continue": "stop"})
    exporter = music21.musicxml.m21ToXml.GeneralObjectExporter()
    text: str = exporter.parse(music21.stream.Score([part])).decode("utf-8")
    return text


def _copied(element: Any) -> Any:
    """Return a new note or rest with what is engraved of it: an old one would bring its words, colours and slurs."""
    music21: Any = load("music21")
    duration = {"type": element.duration.type, "dots": element.duration.dots}
    if element.isRest:
        return music21.note.Rest(**duration)
    copied = music21.note.Note(element.pitch.nameWithOctave, **duration)
    if element.tie is not None:
        copied.tie = music21.tie.Tie(element.tie.type)
    # No staccato: beside a neighbour its dot looks like one that makes a note longer.
    accent, fermata = music21.articulations.Accent, music21.expressions.Fermata
    copied.articulations = [accent() for mark in element.articulations if type(mark) is accent]
    copied.expressions = [fermata() for mark in element.expressions if type(mark) is fermata]
    return copied


def _cut_tie(note: Any, becomes: Mapping[str, str | None]) -> None:
    """Take from a tie the end that lies outside the excerpt."""
    if note.tie is not None and note.tie.type in becomes:
        kept = becomes[note.tie.type]
        note.tie = None if kept is None else type(note.tie)(kept)


def _scale(space: float) -> int:
    """Return verovio's scale, in thousandths of a pixel per unit; it takes whole numbers."""
    return round(1000 * space / UNITS_PER_SPACE)


def _svg(xml: str, font: str, space: float, width: int) -> str:
    verovio = load("verovio")
    verovio.enableLog(verovio.LOG_OFF)
    toolkit = verovio.toolkit()
    scale = _scale(space)
    margin = round(MARGIN_SPACES * UNITS_PER_SPACE / 10)
    options = {
        "scale": scale,
        "pageWidth": round(width / scale * 100),
        "pageHeight": 60_000,
        "adjustPageHeight": True,
        "breaks": "auto",
        "header": "none",
        "footer": "none",
        "mnumInterval": 0,
        "font": font,
        "spacingSystem": 6,
        "svgAdditionalAttribute": ["measure@n"],
        "svgBoundingBoxes": True,
        "xmlIdSeed": 1,
        **{f"pageMargin{side}": margin for side in ("Left", "Right", "Top", "Bottom")},
    }
    if not toolkit.setOptions(options) or not toolkit.loadData(xml):
        raise NoPage("not engraved")
    if toolkit.getPageCount() != 1:
        raise NoPage("more than a page")
    svg: str = toolkit.renderToSVG(1)
    return svg


class _Reader:
    """Reads what was drawn from verovio's SVG."""

    def __init__(self, root: ET.Element, scale: float) -> None:
        self._scale = scale
        self._root = root
        margin = next(each for each in root.iter() if each.get("class") == "page-margin")
        self._shift = _numbers(margin.get("transform", ""))

    def bars(self) -> Iterator[Box]:
        """Yield the box of the staff of each bar."""
        for measure in _of_class(self._root, "measure"):
            lines = [_numbers(path.get("d", "")) for path in _children(next(_of_class(measure, "staff")), "path")]
            xs = [x for line in lines for x in line[::2]]
            ys = [y for line in lines for y in line[1::2]]
            yield self._pixels(min(xs), min(ys), max(xs), max(ys))

    def symbols(self) -> Iterator[DrawnSymbol]:
        """Yield notes and rests in reading order."""
        for measure in _of_class(self._root, "measure"):
            bar = int(measure.get("data-n", "0"))
            found = [*self._notes(measure), *self._rests(measure)]
            for _, symbol, box in sorted(found, key=lambda each: each[0]):
                yield DrawnSymbol(bar, symbol, box)

    def _notes(self, measure: ET.Element) -> Iterator[tuple[float, Symbol, Box]]:
        beams = [
            _numbers(polygon.get("points", ""))
            for beam in _of_class(measure, "beam")
            for polygon in _children(beam, "polygon")
        ]
        for note in _of_class(measure, "note"):
            heads = [_glyph(use) for head in _of_class(note, "notehead") for use in _named(head, "use")]
            flags = [_glyph(use) for flag in _of_class(note, "flag") for use in _named(flag, "use")]
            stems = [
                _numbers(path.get("d", ""))[0] for stem in _of_class(note, "stem") for path in _children(stem, "path")
            ]
            if len(heads) != 1 or heads[0] not in HEADS or len(stems) > 1 or not all(flag in FLAGS for flag in flags):
                raise NoPage("a note of unknown shape")
            value = HEADS[heads[0]]
            strokes = sum(FLAGS[flag] for flag in flags) + sum(_strokes(stem, beams) for stem in stems)
            if strokes and value != "4":
                raise NoPage("a note of unknown shape")
            dots = sum(len(list(_named(group, "ellipse"))) for group in _of_class(note, "dots"))
            left, box = self._box(note)
            yield left, Symbol(str(int(value) << strokes), dots), box

    def _rests(self, measure: ET.Element) -> Iterator[tuple[float, Symbol, Box]]:
        for rest in _of_class(measure, "rest"):
            glyphs = [_glyph(use) for use in _children(rest, "use")]
            if len(glyphs) != 1 or glyphs[0] not in RESTS:
                raise NoPage("a rest of unknown shape")
            dots = sum(len(list(_named(group, "ellipse"))) for group in _of_class(rest, "dots"))
            left, box = self._box(rest)
            yield left, Symbol(RESTS[glyphs[0]], dots, rest=True), box

    def _box(self, group: ET.Element) -> tuple[float, Box]:
        """Return the left edge and the box of a head or rest: the first box that verovio gives of its group."""
        rect = next(_named(group, "rect"))
        x, y, wide, high = (float(rect.get(name, "0")) for name in ("x", "y", "width", "height"))
        return x, self._pixels(x, y, x + wide, y + high)

    def _pixels(self, left: float, top: float, right: float, bottom: float) -> Box:
        x, y = self._shift[0], self._shift[1]
        low = (int((left + x) * self._scale), int((top + y) * self._scale))
        return *low, int((right + x) * self._scale) + 1, int((bottom + y) * self._scale) + 1


def _strokes(stem: float, beams: Iterable[Sequence[float]]) -> int:
    """Return how many beams meet a stem: at how many heights, for one beam can be drawn in pieces that touch there.

    Parameters
    ----------
    stem : float
        Where it stands.
    beams : iterable of (x, y, x, y, …)
        Corners of parallelograms.
    """
    heights: list[float] = []
    for corners in beams:
        xs, ys = corners[::2], corners[1::2]
        left, right = min(xs), max(xs)
        if left - BEAM_REACH <= stem <= right + BEAM_REACH:
            start, end = (_mean(y for x, y in zip(xs, ys, strict=True) if x == edge) for edge in (left, right))
            height = start + (end - start) * (stem - left) / (right - left)
            if all(abs(height - other) > BEAM_APART for other in heights):
                heights.append(height)
    return len(heights)


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found)


def _of_class(root: ET.Element, name: str) -> Iterator[ET.Element]:
    return (each for each in root.iter() if each.get("class") == name)


def _named(root: ET.Element, tag: str) -> Iterator[ET.Element]:
    return (each for each in root.iter() if each.tag.rpartition("}")[2] == tag)


def _children(root: ET.Element, tag: str) -> Iterator[ET.Element]:
    return (each for each in root if each.tag.rpartition("}")[2] == tag)


def _glyph(use: ET.Element) -> str:
    return use.get(_XLINK, use.get("href", ""))[1:5]


def _numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", text)]


def _rasterised(svg: str) -> Image.Image:
    resvg = load("resvg_py")
    # No fonts: music is drawn as shapes, and words would look different on every machine.
    data = resvg.svg_to_bytes(svg_string=svg, background="#ffffff", skip_system_fonts=True)
    with Image.open(io.BytesIO(bytes(data))) as picture:
        return picture.convert("RGB")


def _number(picture: Image.Image, bars: Iterable[Box], space: float) -> None:
    """Write the number of each bar above the left end of its staff, where nothing else stands."""
    font = ImageFont.load_default(round(NUMBER_SPACES * space))
    canvas = ImageDraw.Draw(picture)
    ink = picture.convert("L").point(lambda grey: 255 * (grey < INK))
    for number, (left, top, *_) in enumerate(bars, start=1):
        x = left + 2
        box = canvas.textbbox((x, 0), str(number), font=font)
        wide, high = round(box[2]) - x, round(box[3] - box[1])
        places = range(top - round(0.7 * space) - high, max(top - round(MAX_RISE * space) - high, 2), -1)
        free = [y for y in places if ink.crop((x - 3, y - 3, x + wide + 3, y + high + 3)).getbbox() is None]
        if not free:
            raise NoPage("no room for a bar number")
        canvas.text((x, free[0] - box[1]), str(number), font=font, fill=NUMBER_COLOUR)


def _within(box: Box, frame: Box) -> bool:
    return frame[0] < box[0] and frame[1] < box[1] and box[2] < frame[2] and box[3] < frame[3]


def _png(picture: Image.Image) -> bytes:
    buffer = io.BytesIO()
    few = picture.quantize(64, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    few.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()
