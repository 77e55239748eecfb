"""The street world: what is drawn is what stands there, and what is measured is what is drawn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import street_packs
from hypothesis import given, settings
from hypothesis import strategies as st

from dodiag.benchmarks.cadet.street import parts, shapes
from dodiag.benchmarks.cadet.street.asking import balanced, choose, third
from dodiag.benchmarks.cadet.street.cameras import RING, dashcam, mounted, ring
from dodiag.benchmarks.cadet.street.places import fill, ground_plan, moved_on, touch
from dodiag.benchmarks.cadet.street.scene import Scene, anchor
from dodiag.benchmarks.cadet.street.silhouette import silhouette_area, thing_triangles
from dodiag.benchmarks.cadet.street.state import (
    KINDS,
    LIGHTS,
    OBSTACLES,
    CrossStreet,
    Layout,
    Obstacle,
    Pedestrian,
    Signal,
    Snapshot,
    Thing,
    Vehicle,
    corners,
)
from dodiag.benchmarks.cadet.street.town import KERB, draw_layout, ground_height
from dodiag.problems import UsageError

CAMERA = mounted(0.0, -1.75, 0.0)
THINGS: tuple[Thing, ...] = (
    *(Vehicle(kind, kind, "blue", 18, -1.75, 30) for kind in KINDS),
    Pedestrian("walker", "red", 9, -1.75, 60, 0.2),
    Signal("signal", 12, -1.75, 180, "green"),
    *(Obstacle(kind, kind, 8, -1.75, 160) for kind in OBSTACLES),
)
"""One of each, at the same place: to be shown one at a time."""


@pytest.fixture(scope="module")
def layout() -> Layout:
    return draw_layout(np.random.default_rng(4), streets=(CrossStreet(40.0),), zebras=(-30.0,))


@pytest.fixture(scope="module")
def scene(layout: Layout) -> Scene:
    street_packs.need_renderer()
    lit = Vehicle("lit", "car", "white", 9, -1.75, 0)
    with Scene(layout, (*THINGS, lit, replace(THINGS[0], id="other"))) as built:
        yield built


def alone(thing: Thing) -> Snapshot:
    fields = {Vehicle: "vehicles", Pedestrian: "pedestrians", Signal: "signals", Obstacle: "obstacles"}
    return Snapshot(**{fields[type(thing)]: (thing,)})


# What is seen


@pytest.mark.parametrize("thing", THINGS, ids=lambda thing: thing.id)
def test_a_thing_in_the_open_is_seen_whole_where_it_stands(scene: Scene, thing: Thing) -> None:
    seen = scene.visible(alone(thing), CAMERA)
    assert list(seen) == [thing.id]
    view = seen[thing.id]
    slack = 3 * np.sqrt(view.whole) + 6
    assert abs(view.pixels - view.whole) <= slack, "they may differ along the outline"
    assert view.share > 0.9
    pixels = CAMERA.project(thing_triangles(thing, 0.0)).reshape(-1, 2)
    sharp = np.concatenate((pixels.min(axis=0), pixels.max(axis=0)))
    assert np.abs(np.array(view.box) - sharp).max() < 1.6


def test_what_is_not_in_the_snapshot_is_not_drawn(scene: Scene) -> None:
    empty = Snapshot()
    assert scene.visible(empty, CAMERA) == {}
    owners = scene.segment(empty, CAMERA)
    shown = {scene.ids[owner] for owner in np.unique(owners) if owner >= 0}
    assert shown <= {house.id for house in scene.layout.buildings}
    assert len(shown) > 3


def test_a_thing_behind_another_is_seen_in_part(scene: Scene) -> None:
    near, far = Vehicle("other", "car", "blue", 12, -1.75, 0), Vehicle("bus", "bus", "blue", 26, -1.75, 0)
    seen = scene.visible(Snapshot(vehicles=(near, far)), CAMERA)
    assert seen["other"].share > 0.95
    assert 0.2 < seen["bus"].share < 0.9


def test_a_thing_that_the_frame_cuts_is_seen_in_part(scene: Scene) -> None:
    thing = Vehicle("car", "car", "blue", 8, 3.6, 0)
    assert 0.1 < scene.visible(alone(thing), CAMERA)["car"].share < 0.95
    beside = Vehicle("car", "car", "blue", 0, 1.5, 0)
    assert silhouette_area(beside, 0.0, mounted(0.0, 0.0, 0.0, turn=90)) > 10**6, "one cannot see all of it"


def test_the_same_picture_is_drawn_twice(scene: Scene) -> None:
    snapshot = Snapshot(vehicles=tuple(thing for thing in THINGS if thing.id == "van"))
    first = scene.render(snapshot, CAMERA)
    scene.render(Snapshot(), CAMERA)
    assert np.array_equal(first, scene.render(replace(snapshot), CAMERA))
    assert first.shape == (400, 640, 3)


def test_pictures_of_other_sizes_come_from_the_same_scene(scene: Scene) -> None:
    assert scene.render(Snapshot(), dashcam(0.0, -1.75, 0.0)).shape == (360, 640, 3)


def count(picture: np.ndarray, colour: tuple[float, float, float], near: float = 60) -> int:
    return int((np.abs(picture.astype(float) - 255 * np.array(colour)).max(axis=-1) < near).sum())


@pytest.mark.parametrize("kind", KINDS)
def test_front_and_rear_are_told_apart_by_their_lamps(scene: Scene, kind: str) -> None:
    rear = scene.render(alone(Vehicle(kind, kind, "blue", 14, -1.75, 0)), CAMERA)
    front = scene.render(alone(Vehicle(kind, kind, "blue", 14, -1.75, 180)), CAMERA)
    white, red = shapes.PALETTE["lamp"], shapes.PALETTE["tail"]
    assert count(front, white, 40) > count(rear, white, 40) + 15
    assert count(rear, red, 50) > count(front, red, 50) + 3


def test_lamps_are_lit_one_by_one(scene: Scene) -> None:
    dark = Vehicle("lit", "car", "white", 9, -1.75, 0)
    pictures = {
        name: scene.render(alone(replace(dark, **{name: True})), CAMERA).astype(int)
        for name in ("braking", "left_indicator", "right_indicator")
    }
    before = scene.render(alone(dark), CAMERA).astype(int)
    changed = {name: np.nonzero(np.abs(picture - before).max(axis=-1) > 30)[1] for name, picture in pictures.items()}
    assert all(len(columns) > 20 for columns in changed.values())
    assert changed["left_indicator"].max() < 320 < changed["right_indicator"].min()
    assert changed["braking"].min() < 320 < changed["braking"].max()


@pytest.mark.parametrize("colour", ["red", "amber", "green"])
def test_a_traffic_light_shows_one_colour(scene: Scene, colour: str) -> None:
    signal = Signal("signal", 7, -1.75, 180, colour)
    camera = mounted(0.0, -1.75, 0.0, camera_height=3.2)
    picture = scene.render(alone(signal), camera).astype(int)
    rows = {
        lamp: round(camera.project(np.array((7 - 0.12, -1.75, height)))[1])
        for lamp, height in parts.LAMP_HEIGHTS.items()
    }
    bright = {lamp: int(picture[row, 320].max()) for lamp, row in rows.items()}
    assert max(bright, key=bright.__getitem__) == colour
    assert bright[colour] > 200
    assert all(value < 120 for lamp, value in bright.items() if lamp != colour)


def test_a_scene_knows_what_it_was_built_with(scene: Scene, layout: Layout) -> None:
    with pytest.raises(UsageError, match="not built with 'stranger'"):
        scene.render(alone(Vehicle("stranger", "car", "red", 9, 0, 0)), CAMERA)
    with pytest.raises(UsageError, match="not built with 'car'"):
        scene.render(alone(Vehicle("car", "car", "red", 9, 0, 0)), CAMERA)
    with pytest.raises(UsageError, match="two different things"):
        Scene(layout, (Vehicle("a", "car", "red", 0, 0, 0), Vehicle("a", "car", "blue", 5, 0, 0)))


@pytest.mark.parametrize("light", LIGHTS)
def test_every_light_has_a_sky_of_its_own(light: str) -> None:
    street_packs.need_renderer()
    with Scene(Layout(light=light), ()) as bare:  # type: ignore[arg-type]
        sky = bare.render(Snapshot(), CAMERA)[5].mean(axis=0)
    assert sky.max() > 110
    assert {"day": sky[2] > sky[0] + 20, "overcast": np.ptp(sky) < 30, "dusk": sky[0] > sky[2] - 25}[light]


def test_an_anchor_is_well_inside() -> None:
    mask = np.zeros((40, 40), dtype=bool)
    mask[10:20, 5:25] = True
    mask[14:16, 14:16] = False
    rng = np.random.default_rng(0)
    for _ in range(50):
        found = anchor(mask, rng)
        assert found is not None
        x, y = found
        assert mask[y - 1 : y + 2, x].all()
        assert mask[y, x - 1 : x + 2].all()
        assert 9 <= x <= 20
    assert anchor(np.eye(40, dtype=bool), rng) is None
    assert anchor(np.zeros((40, 40), dtype=bool), rng) is None


# Shapes


@pytest.mark.parametrize("kind", KINDS)
def test_a_vehicle_fills_its_size_and_stands_on_the_ground(kind: str) -> None:
    points = shapes.triangles(parts.vehicle(kind, "red").body).reshape(-1, 3)
    length, width, height = KINDS[kind]
    low, high = points.min(axis=0), points.max(axis=0)
    assert low[2] == pytest.approx(0, abs=0.01)
    assert high[2] == pytest.approx(height, abs=0.08)
    assert high[0] - low[0] == pytest.approx(length, abs=0.15)
    assert high[1] - low[1] == pytest.approx(width, abs=0.4), "mirrors stick out"


def test_blocks_turn_their_faces_outwards() -> None:
    box = shapes.block((-1, 1), 0.5, (0, 1), (-0.5, 0.8), 0.3)
    for side, axis in ((box.front, 0), (box.rear, 0), (box.left, 1), (box.right, 1), (box.top, 2), (box.bottom, 2)):
        outward = shapes.normal(side)
        assert np.sign(outward[axis]) == np.sign((side.mean(axis=0) - np.array((0, 0, 0.5)))[axis])


def test_a_mesh_keeps_every_polygon_flat() -> None:
    solid = shapes.block((-1, 1), 0.5, (0, 1)).solid("red")
    built = shapes.mesh(solid)
    assert built.faces.shape == (12, 3)
    a, b, c = (built.vertices[built.faces[:, corner]] for corner in range(3))
    assert np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6 == pytest.approx(2), "volume, so all turn outwards"
    assert np.linalg.norm(built.normals, axis=1) == pytest.approx(1)


def test_the_palette_has_room_for_its_colours() -> None:
    texture = shapes.palette_texture()
    assert len(shapes.PALETTE) <= shapes.SIDE**2
    for name, colour in shapes.PALETTE.items():
        across, up = shapes.palette_place(name)
        pixel = texture[int(up * len(texture)), int(across * len(texture))]
        assert pixel == pytest.approx(255 * np.array(colour), abs=0.51)


# State, places and streets


def test_words_that_are_not_known_are_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="'purple'"):
        Vehicle("a", "car", "purpel", 0, 0, 0)
    with pytest.raises(UsageError, match="'truck'"):
        Vehicle("a", "truk", "red", 0, 0, 0)
    with pytest.raises(UsageError, match="same id"):
        Snapshot(vehicles=(THINGS[0], THINGS[0]))  # type: ignore[arg-type]


def test_a_ground_plan_runs_round_from_the_front_left() -> None:
    plan = corners(Vehicle("a", "car", "red", 10, 5, 90))
    assert plan[0] == pytest.approx((10 - 0.92, 5 + 2.25))
    assert plan[3] == pytest.approx((10 + 0.92, 5 + 2.25))


def test_traffic_keeps_to_the_right() -> None:
    layout = Layout(lanes=2)
    assert layout.lane(0) < 0 < layout.lane(0, 180)
    assert layout.lane(1) < layout.lane(0)
    assert abs(layout.parking_lane()) > abs(layout.lane(1))
    assert abs(layout.pavement()) > layout.half_road


def test_houses_stand_apart_and_beside_the_streets(layout: Layout) -> None:
    plans = [(h.x - h.width / 2, h.y - h.depth / 2, h.x + h.width / 2, h.y + h.depth / 2) for h in layout.buildings]
    for number, plan in enumerate(plans):
        assert min(abs(plan[1]), abs(plan[3])) >= layout.half_street - 0.01
        for street in layout.streets:
            half = layout.half_cross(street)
            assert plan[2] <= street.x - half or plan[0] >= street.x + half
        assert not any(touch(plan, other) for other in plans[number + 1 :])


def test_one_stands_on_the_road_or_on_the_pavement(layout: Layout) -> None:
    assert ground_height(layout, 0, layout.lane(0)) == 0
    assert ground_height(layout, 0, layout.pavement()) == KERB
    assert ground_height(layout, layout.streets[0].x, layout.pavement()) == 0, "the cross street"


def test_what_fills_a_street_has_room_and_names_of_its_own(layout: Layout) -> None:
    taken = [(0.0, -6.0, 20.0, 6.0)]
    vehicles, people = fill(np.random.default_rng(2), layout, (-60, 60), taken, {"red car"}, 12, 12)
    things = [*vehicles, *people]
    assert len(vehicles) > 3
    assert len(people) > 3
    names = [thing.name for thing in things]
    assert len(set(names)) == len(names)
    assert "red car" not in names
    plans = [*taken, *(ground_plan(thing, 0.0) for thing in things)]
    assert not any(touch(plan, other) for number, plan in enumerate(plans) for other in plans[number + 1 :])


def test_a_moving_thing_keeps_its_speed_and_a_walker_strides() -> None:
    car = Vehicle("a", "car", "red", 0, 0, 0)
    assert moved_on(car, (3.0, 0.0), 2.0).x == 6
    walker = Pedestrian("b", "red", 0, 0, 0, 0.25)
    assert moved_on(walker, (0.0, 0.0), 2.0) == walker
    assert moved_on(walker, (1.5, 0.0), 0.5).stride == pytest.approx(0.75)  # type: ignore[union-attr]


def test_the_ring_looks_all_round() -> None:
    cameras = ring(5.0, 1.0, 90.0)
    assert list(cameras) == list(RING)
    for name, camera in cameras.items():
        assert camera.position == pytest.approx((5, 1, 1.75))
        ahead = np.array((-np.sin(np.radians(RING[name])), np.cos(np.radians(RING[name])), 0))
        assert camera.axes[2] == pytest.approx(ahead, abs=1e-9)
    edges = sorted(angle for turn in RING.values() for angle in ((turn - 31) % 360, (turn + 31) % 360))
    seen = [any(abs((angle - turn + 180) % 360 - 180) <= 31 for turn in RING.values()) for angle in range(360)]
    assert all(seen), edges


# Options


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 50), st.integers(2, 12), st.integers(0, 3))
def test_every_run_of_instances_has_each_value_once(seed: int, run: int, count: int, stream: int) -> None:
    values = [balanced(seed, run * count + place, count, stream) for place in range(count)]
    assert sorted(values) == list(range(count))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_the_letter_is_that_of_the_right_option(seed: int) -> None:
    options, letter = choose(np.random.default_rng(seed), "right", ["wrong", "worse", "worst"])
    assert options["ABCD".index(letter)] == "right"
    assert sorted(options) == ["right", "worse", "worst", "wrong"]


@pytest.mark.parametrize(
    ("x", "place"), [(0, 0), (187, 0), (188, None), (213, None), (239, 1), (320, 1), (440, None), (460, 2), (639, 2)]
)
def test_thirds_have_borders_where_one_cannot_tell(x: float, place: int | None) -> None:
    assert third(x, 640) == place
