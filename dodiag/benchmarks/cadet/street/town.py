"""Streets and houses: a layout is drawn at random, and becomes the solids of ground, markings, houses and trees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from types import MappingProxyType

import numpy as np

from dodiag.benchmarks.cadet.street.shapes import Polygon, Solid, ball, block, cylinder, quad
from dodiag.benchmarks.cadet.street.state import RGB, Building, CrossStreet, Layout, Tree, Weather

WALLS: Mapping[str, RGB] = MappingProxyType(
    {
        "brick-red": (0.70, 0.34, 0.27),
        "cream": (0.93, 0.86, 0.68),
        "grey": (0.62, 0.64, 0.67),
        "light blue": (0.62, 0.77, 0.90),
        "sage-green": (0.66, 0.76, 0.60),
        "salmon": (0.93, 0.66, 0.56),
        "ochre": (0.84, 0.64, 0.33),
        "white": (0.95, 0.95, 0.93),
    }
)
STYLES = 4
STOREY, BASE = 3.1, 3.6
"""Heights of a storey and of the ground floor."""
BAY = 2.9
DEPTH = 12.0
CROSS_LENGTH = 75.0
KERB = 0.13
"""Height of the pavement above the road."""
STRIP_UP, LINE_UP, SHADOW_UP = 0.008, 0.016, 0.026
"""Heights above the road of the parking strip, of markings and of shadows: apart enough never to flicker."""
DASH, GAP = 3.0, 4.5


def ground_height(layout: Layout, x: float, y: float) -> float:
    """Return the height of what one stands on: the road's 0, or the pavement's."""
    if abs(y) <= layout.half_road:
        return 0.0
    return 0.0 if any(abs(x - street.x) <= layout.half_cross(street) for street in layout.streets) else KERB


def draw_layout(
    rng: np.random.Generator,
    *,
    start: float = -120.0,
    end: float = 120.0,
    lanes: int = 1,
    parking: bool = True,
    streets: Sequence[CrossStreet] = (),
    zebras: Sequence[float] = (),
    light: Weather = "day",
    tree_share: float = 0.7,
) -> Layout:
    """Draw houses and trees along a main road.

    Parameters
    ----------
    rng : numpy.random.Generator
        The only source of chance.
    start, end : float
        Where the main road begins and ends, metres along x.
    lanes : int
        Each way.
    parking : bool
        Whether there are parking strips.
    streets : sequence of CrossStreet
    zebras : sequence of float
        Crossings away from junctions.
    light : {"day", "overcast", "dusk"}
    tree_share : float
        Share of the places for street trees that have one.
    """
    bare = Layout(
        start=start,
        end=end,
        lanes=lanes,
        parking=2.3 if parking else 0.0,
        streets=tuple(streets),
        zebras=tuple(zebras),
        light=light,
    )
    buildings = tuple(_draw_buildings(rng, bare))
    trees = tuple(_draw_trees(rng, bare, tree_share))
    return replace(bare, buildings=buildings, trees=trees)


def blocks(layout: Layout) -> list[tuple[float, float]]:
    """Return the stretches of the main road's sides between cross streets, from `start` to `end`."""
    stretches, low = [], layout.start
    for street in sorted(layout.streets, key=lambda street: street.x):
        half = layout.half_cross(street) + layout.sidewalk
        stretches.append((low, street.x - half))
        low = street.x + half
    stretches.append((low, layout.end))
    return stretches


def _draw_buildings(rng: np.random.Generator, layout: Layout) -> Iterator[Building]:
    number = 0
    for side in (-1, 1):
        last = ""
        for low, high in blocks(layout):
            x = low
            while high - x > 7:
                bays = int(rng.integers(3, 6))
                width = min(bays * BAY + 0.8, high - x)
                if high - x - width < 7:
                    width = high - x
                colour = str(rng.choice([wall for wall in WALLS if wall != last]))
                last = colour
                storeys = int(rng.integers(2, 6))
                yield Building(
                    id=f"house {number}",
                    colour=colour,
                    x=x + width / 2,
                    y=side * (layout.half_street + DEPTH / 2),
                    width=width - 0.1,
                    depth=DEPTH,
                    height=BASE + storeys * STOREY,
                    style=int(rng.integers(STYLES)),
                )
                number += 1
                x += width
    for street in layout.streets:
        half = layout.half_cross(street) + layout.sidewalk
        for side in (-1, 1):
            for hand in (-1, 1):
                y = layout.half_street + DEPTH + 0.2
                while y < CROSS_LENGTH - 8:
                    depth = float(rng.integers(3, 6)) * BAY + 0.8
                    yield Building(
                        id=f"house {number}",
                        colour=str(rng.choice(list(WALLS))),
                        x=street.x + hand * (half + DEPTH / 2),
                        y=side * (y + depth / 2),
                        width=DEPTH,
                        depth=depth - 0.1,
                        height=BASE + int(rng.integers(2, 5)) * STOREY,
                        style=int(rng.integers(STYLES)),
                    )
                    number += 1
                    y += depth


def _draw_trees(rng: np.random.Generator, layout: Layout, share: float) -> Iterator[Tree]:
    for side in (-1, 1):
        for low, high in blocks(layout):
            x = low + 9 + rng.uniform(0, 6)
            while x < high - 9:
                clear = all(abs(x - zebra) > 6 for zebra in layout.zebras)
                if clear and rng.random() < share:
                    yield Tree(float(x), side * (layout.half_road + 0.8), float(rng.uniform(1.2, 1.7)))
                x += rng.uniform(11, 16)


def _flat(x: tuple[float, float], y: tuple[float, float], z: float, colour: str) -> Polygon:
    return quad(((x[0], y[0], z), (x[1], y[0], z), (x[1], y[1], z), (x[0], y[1], z)), colour)


def ground(layout: Layout) -> Solid:
    """Return grass, roads, pavements and markings."""
    parts: list[Polygon] = [_flat((layout.start - 150, layout.end + 150), (-200, 200), -0.03, "grass")]
    road = layout.half_road
    for low, high in _pieces(layout.start, layout.end, 40):
        parts.append(_flat((low, high), (-road, road), 0.0, "asphalt"))
    for street in layout.streets:
        half = layout.half_cross(street)
        for side in (-1, 1):
            reach = sorted((side * road, side * CROSS_LENGTH))
            parts.append(_flat((street.x - half, street.x + half), (reach[0], reach[1]), 0.0, "asphalt"))
    parts += _pavements(layout)
    parts += _main_markings(layout)
    for street in layout.streets:
        parts += _cross_markings(layout, street)
    for x in layout.zebras:
        parts += zebra(x, (-road, road), along=True)
    return tuple(parts)


def _pieces(low: float, high: float, longest: float) -> list[tuple[float, float]]:
    count = max(1, int(np.ceil((high - low) / longest)))
    edges = np.linspace(low, high, count + 1)
    return [(float(a), float(b)) for a, b in pairwise(edges)]


def _pavements(layout: Layout) -> Iterator[Polygon]:
    width = layout.sidewalk
    for side in (-1, 1):
        inner, outer = side * layout.half_road, side * (layout.half_road + width)
        for low, high in blocks(layout):
            yield from _slab((low, high), (min(inner, outer), max(inner, outer)))
            edge = sorted((inner, inner + side * 0.18))
            yield _flat((low, high), (edge[0], edge[1]), KERB + 0.006, "kerb")
    for street in layout.streets:
        half = layout.half_cross(street)
        for side in (-1, 1):
            for hand in (-1, 1):
                x = sorted((street.x + hand * half, street.x + hand * (half + width)))
                y = sorted((side * layout.half_road, side * CROSS_LENGTH))
                yield from _slab((x[0], x[1]), (y[0], y[1]))
                edge = sorted((street.x + hand * half, street.x + hand * (half + 0.18)))
                yield _flat((edge[0], edge[1]), (y[0], y[1]), KERB + 0.006, "kerb")


def _slab(x: tuple[float, float], y: tuple[float, float]) -> Solid:
    box = block(x, (y[1] - y[0]) / 2, (-0.03, KERB), y=(y[0] + y[1]) / 2)
    sides = tuple(Polygon(side, "kerb") for side in (box.front, box.rear, box.left, box.right))
    return (*sides, Polygon(box.top, "paving"))


def _main_markings(layout: Layout) -> Iterator[Polygon]:
    lanes = layout.lanes * layout.lane_width
    for low, high in _open_stretches(layout):
        for y in (-0.17, 0.07):
            yield _flat((low, high), (y, y + 0.10), LINE_UP, "centre")
        for side in (-1, 1):
            for lane in range(1, layout.lanes):
                y = side * lane * layout.lane_width
                yield from _dashes((low, high), y)
            if layout.parking:
                edges = sorted((side * lanes, side * layout.half_road))
                yield _flat((low, high), (edges[0], edges[1]), STRIP_UP, "strip")
                yield _flat((low, high), (side * lanes - 0.06, side * lanes + 0.06), LINE_UP, "line")


def _dashes(x: tuple[float, float], y: float) -> Iterator[Polygon]:
    start = x[0]
    while start + DASH < x[1]:
        yield _flat((start, start + DASH), (y - 0.06, y + 0.06), LINE_UP, "line")
        start += DASH + GAP


def _open_stretches(layout: Layout) -> list[tuple[float, float]]:
    """Return where the main road has markings: not on crossings, and not between their stop lines."""
    closed = [(x - 3.4, x + 3.4) for x in layout.zebras]
    for street in layout.streets:
        half = layout.half_cross(street) + (6.0 if street.crossings else 0.6)
        closed.append((street.x - half, street.x + half))
    stretches, low = [], layout.start
    for start, stop in sorted(closed):
        stretches.append((low, start))
        low = stop
    stretches.append((low, layout.end))
    return [(a, b) for a, b in stretches if b - a > 1]


def _cross_markings(layout: Layout, street: CrossStreet) -> Iterator[Polygon]:
    half, road = layout.half_cross(street), layout.half_road
    for side in (-1, 1):
        away = road + (6.0 if street.crossings else 0.6)
        reach = sorted((side * away, side * CROSS_LENGTH))
        for x in (-0.17, 0.07):
            yield _flat((street.x + x, street.x + x + 0.10), (reach[0], reach[1]), LINE_UP, "centre")
        stop = street.x + side * (half + (5.0 if street.crossings else 0.6))
        # Traffic towards +x arrives from the left of the picture of this plan, on y < 0; so its stop line is there.
        arriving = (-layout.lanes * layout.lane_width, -0.2) if side < 0 else (0.2, layout.lanes * layout.lane_width)
        yield _flat((stop - 0.2, stop + 0.2), arriving, LINE_UP, "line")
        stop_y = side * (road + (5.0 if street.crossings else 0.6))
        lane = (street.x + 0.2, street.x + half) if side < 0 else (street.x - half, street.x - 0.2)
        yield _flat(lane, (stop_y - 0.2, stop_y + 0.2), LINE_UP, "line")
        if street.crossings:
            yield from zebra(street.x + side * (half + 2.4), (-road, road), along=True)
            yield from zebra(side * (road + 2.4), (street.x - half, street.x + half), along=False)


def zebra(middle: float, span: tuple[float, float], *, along: bool) -> Iterator[Polygon]:
    """Yield the stripes of a zebra crossing, 3 m long; `along` that they run along x."""
    place = span[0] + 0.45
    while place + 0.5 < span[1] - 0.2:
        stripe, length = (place, place + 0.5), (middle - 1.5, middle + 1.5)
        yield _flat(length, stripe, LINE_UP, "line") if along else _flat(stripe, length, LINE_UP, "line")
        place += 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Walls:
    """The four walls of one floor band of a house: quads, and how often the texture repeats on each."""

    polygons: Solid
    repeats: tuple[tuple[float, float], ...]


def walls(house: Building, z: tuple[float, float], bay: float, storey: float) -> Walls:
    """Return the walls of a house between two heights, for a texture of one bay and one storey."""
    box = block((house.x - house.width / 2, house.x + house.width / 2), house.depth / 2, z, y=house.y)
    up = max(1, round((z[1] - z[0]) / storey))
    across = max(1, round(house.width / bay)), max(1, round(house.depth / bay))
    return Walls(
        polygons=tuple(Polygon(side, "white") for side in (box.front, box.rear, box.left, box.right)),
        repeats=((across[1], up), (across[1], up), (across[0], up), (across[0], up)),
    )


def roofs(layout: Layout) -> Solid:
    """Return the roofs and cornices of all houses."""
    parts: list[Polygon] = []
    for house in layout.buildings:
        x = (house.x - house.width / 2 - 0.02, house.x + house.width / 2 + 0.02)
        top = block(x, house.depth / 2 + 0.22, (house.height, house.height + 0.45), y=house.y)
        parts += top.solid("kerb")
        band = block(x, house.depth / 2 + 0.08, (BASE - 0.22, BASE), y=house.y)
        parts += band.solid("kerb")
    return tuple(parts)


def trunk(tree: Tree) -> Solid:
    """Return a tree's stem, at its place."""
    return cylinder((tree.x, tree.y, 0.0), (tree.x, tree.y, 2.6), (0.17, 0.11), "bark", 8)


def crowns(tree: Tree) -> tuple[tuple[Solid, tuple[float, float, float]], ...]:
    """Return the balls of a tree's crown with their centres."""
    r = tree.crown
    balls = ((0.0, 0.0, 3.5, r, "leaf"), (0.35 * r, 0.25 * r, 3.5 + 0.7 * r, 0.72 * r, "leaf2"))
    found = []
    for dx, dy, z, radius, colour in balls:
        centre = (tree.x + dx, tree.y + dy, z)
        found.append((ball(centre, (radius, radius, 0.85 * radius), colour, 7, 12), centre))
    return tuple(found)
