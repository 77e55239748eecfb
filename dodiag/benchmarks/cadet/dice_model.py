"""Dice as rigid bodies: their shape, their looks, and how they are thrown.

Values come out of MuJoCo's rigid-body physics. Rolling is chaotic: one build of MuJoCo gives the same throw every time,
another build another throw that is as fair.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dodiag.benchmarks.rendering import HIDDEN_GROUP, Floats, Vector, load_mujoco

NORMALS: Mapping[int, Vector] = {
    1: (0, 0, 1),
    2: (1, 0, 0),
    3: (0, 1, 0),
    4: (0, -1, 0),
    5: (-1, 0, 0),
    6: (0, 0, -1),
}
"""Outward normals of the faces by value. Opposite faces sum to 7; 1, 2, 3 run counter-clockwise (right-handed)."""

PIPS: Mapping[int, tuple[tuple[int, int], ...]] = {
    1: ((0, 0),),
    2: ((-1, -1), (1, 1)),
    3: ((-1, -1), (0, 0), (1, 1)),
    4: ((-1, -1), (-1, 1), (1, -1), (1, 1)),
    5: ((-1, -1), (-1, 1), (0, 0), (1, -1), (1, 1)),
    6: ((-1, -1), (-1, 0), (-1, 1), (1, -1), (1, 0), (1, 1)),
}
"""Grid places of the pips of each face."""

PIP_SPACING, PIP_RADIUS, PIP_RELIEF = 0.5, 0.19, 0.004
ROUNDING = 0.2
"""Radius of the rounded edges; like the pips' measures, in half edges."""
EDGES_MM = (13.0, 16.0, 19.0)
DENSITY = 1200.0

RGB = tuple[float, float, float]
BODY_COLOURS: Mapping[str, RGB] = {
    "white": (0.92, 0.91, 0.87),
    "black": (0.07, 0.07, 0.08),
    "red": (0.70, 0.06, 0.07),
    "blue": (0.08, 0.22, 0.66),
    "green": (0.04, 0.40, 0.15),
    "yellow": (0.93, 0.77, 0.10),
    "purple": (0.42, 0.13, 0.56),
    "orange": (0.93, 0.44, 0.05),
}
PIP_COLOURS: Mapping[str, RGB] = {
    "white": (0.96, 0.96, 0.94),
    "black": (0.05, 0.05, 0.05),
    "red": (0.62, 0.03, 0.05),
    "blue": (0.06, 0.12, 0.50),
    "yellow": (0.98, 0.86, 0.20),
}
PIPS_ON: Mapping[str, tuple[str, ...]] = {
    "white": ("black", "red", "blue"),
    "black": ("white", "yellow"),
    "red": ("white", "yellow"),
    "blue": ("white", "yellow"),
    "green": ("white",),
    "yellow": ("black", "red"),
    "purple": ("white", "yellow"),
    "orange": ("black",),
}
CONFUSABLE = (frozenset({"blue", "purple"}), frozenset({"orange", "red"}), frozenset({"orange", "yellow"}))
"""Body colours that coloured light can make look alike; a scene has at most one of each pair."""
MAX_OF_A_COLOUR = 3


@dataclass(frozen=True, slots=True)
class Table:
    """A table surface: its grain and two colours, and the dice that would not stand out on it."""

    grain: str
    light: RGB
    dark: RGB
    hides: frozenset[str] = frozenset()


TABLES: Mapping[str, Table] = {
    "green felt": Table("felt", (0.18, 0.46, 0.30), (0.12, 0.36, 0.22), frozenset({"green"})),
    "blue felt": Table("felt", (0.22, 0.36, 0.54), (0.15, 0.27, 0.44), frozenset({"blue", "purple"})),
    "burgundy felt": Table("felt", (0.45, 0.15, 0.19), (0.35, 0.10, 0.14), frozenset({"red", "purple"})),
    "oak": Table("wood", (0.76, 0.59, 0.41), (0.64, 0.46, 0.30), frozenset({"orange"})),
    "walnut": Table("wood", (0.47, 0.31, 0.21), (0.34, 0.21, 0.14), frozenset({"black"})),
    "grey stone": Table("stone", (0.62, 0.62, 0.61), (0.48, 0.48, 0.49)),
    "slate": Table("stone", (0.32, 0.33, 0.35), (0.23, 0.24, 0.26), frozenset({"black"})),
    "linen": Table("felt", (0.80, 0.77, 0.70), (0.72, 0.68, 0.60), frozenset({"white"})),
}

TIMESTEP = 0.002
MAX_STEPS = 1500
ARENA = 0.085
"""Half-width of the walled square that dice are thrown into, metres."""
HAND_SPACING, HAND_HEIGHT = 0.036, 0.05
"""Metres between dice before the throw, more than the largest die's diagonal; and from the table to the lowest."""
TEXTURE_SIZE = 512
PLANKS = 8
MIN_TOP_NORMAL = 0.999
MAX_LIFT = 0.1
"""How far from the table's plane a die may lie, in half edges: contacts are a little soft."""


@dataclass(frozen=True, slots=True)
class Look:
    """What a set of dice and its table look like, drawn once for an instance.

    Attributes
    ----------
    colours, pip_colours : tuple of str
        One per die.
    edges : tuple of float
        Millimetres, one per die.
    table : str
        A key of :data:`TABLES`.
    grain_seed : int
        Fixes the table's grain.
    """

    colours: tuple[str, ...]
    pip_colours: tuple[str, ...]
    edges: tuple[float, ...]
    table: str
    grain_seed: int


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """The place of one cube: half edge and centre in metres, rotation matrix of shape (3, 3) to the world."""

    half: float
    centre: Floats
    rotation: Floats

    @property
    def top(self) -> int:
        """The value of the face whose normal points up most."""
        return max(NORMALS, key=lambda value: self.normal(value)[2])

    def normal(self, value: int) -> Floats:
        """Return the outward normal of a face in the world."""
        normal: Floats = self.rotation @ np.asarray(NORMALS[value], dtype=float)
        return normal

    def on_face(self, value: int, places: Floats) -> Floats:
        """Return world points on a face from places in its plane, in half edges: (..., 2) to (..., 3)."""
        first, second = face_axes(value)
        local = np.asarray(NORMALS[value]) + places[..., :1] * first + places[..., 1:] * second
        points: Floats = self.centre + self.half * local @ self.rotation.T
        return points


def face_axes(value: int) -> tuple[Floats, Floats]:
    """Return two axes in the plane of a face that make a right-handed frame with its normal."""
    normal = np.asarray(NORMALS[value], dtype=float)
    first = np.roll(np.abs(normal), 1)
    return first, np.cross(normal, first)


def draw_look(rng: np.random.Generator, count: int) -> Look:
    """Draw colours, sizes and a table for `count` dice; no colour stands on more than three of them."""
    table = str(rng.choice(list(TABLES)))
    colours = _draw_colours(rng, count, TABLES[table].hides)
    pips = {colour: str(rng.choice(PIPS_ON[colour])) for colour in sorted(set(colours))}
    return Look(
        colours=colours,
        pip_colours=tuple(pips[colour] for colour in colours),
        edges=tuple(float(edge) for edge in rng.choice(EDGES_MM, size=count)),
        table=table,
        grain_seed=int(rng.integers(2**31)),
    )


def _draw_colours(rng: np.random.Generator, count: int, hidden: frozenset[str]) -> tuple[str, ...]:
    order = [str(name) for name in rng.permutation(list(BODY_COLOURS)) if name not in hidden]
    palette: list[str] = []
    for name in order:
        if not any(pair >= {name, other} for pair in CONFUSABLE for other in palette):
            palette.append(name)
    fewest = max(2, -(-count // 2))
    palette = palette[: int(rng.integers(fewest, max(fewest, len(palette)) + 1))]
    pool = [name for name in palette for _ in range(MAX_OF_A_COLOUR)]
    return tuple(pool[place] for place in rng.permutation(len(pool))[:count])


def build_model(look: Look) -> Any:
    """Return the MuJoCo model of a table with walls and one free body per die, named ``die0``, ``die1``, …"""
    mujoco = load_mujoco()
    spec = mujoco.MjSpec()
    spec.option.timestep = TIMESTEP
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.stat.extent = 0.5
    spec.visual.map.znear, spec.visual.map.zfar = 0.05, 20.0
    spec.visual.map.shadowscale = 0.3
    spec.visual.quality.shadowsize, spec.visual.quality.offsamples = 4096, 8
    spec.visual.quality.numslices = 32
    _add_table(spec, look)
    for index, (colour, pips, edge) in enumerate(zip(look.colours, look.pip_colours, look.edges, strict=True)):
        _add_die(spec, f"die{index}", edge / 2000, BODY_COLOURS[colour], PIP_COLOURS[pips])
    return spec.compile()


def _add_table(spec: Any, look: Look) -> None:
    mujoco = load_mujoco()
    table = TABLES[look.table]
    texture = spec.add_texture(
        name="table", type=mujoco.mjtTexture.mjTEXTURE_2D, width=TEXTURE_SIZE, height=TEXTURE_SIZE, nchannel=3
    )
    texture.data = _surface(table, np.random.default_rng(look.grain_seed)).tobytes()
    material = spec.add_material(name="table", specular=0.0, shininess=0.0, reflectance=0.0, texuniform=True)
    material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = "table"
    material.texrepeat = [3.0, 3.0]
    world = spec.worldbody
    world.add_geom(name="table", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[2, 2, 0.1], material="table")
    wall = 0.01
    for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        world.add_geom(
            type=mujoco.mjtGeom.mjGEOM_BOX,
            size=[wall if x else ARENA + wall, wall if y else ARENA + wall, 0.2],
            pos=[x * (ARENA + wall), y * (ARENA + wall), 0.2],
            group=HIDDEN_GROUP,
        )
    world.add_light(name="lamp", pos=[0, 0, 1], dir=[0, 0, -1], cutoff=60, exponent=2, castshadow=True)


def _surface(table: Table, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Return the table's texture: a mix of its two colours by the grain, shape (size, size, 3)."""
    shape = (TEXTURE_SIZE, TEXTURE_SIZE)
    fine = rng.random(shape)
    if table.grain == "wood":
        planks = np.repeat(rng.random(PLANKS), TEXTURE_SIZE // PLANKS)[:, None]
        streaks = _stretch(fine, TEXTURE_SIZE // 8)
        seams = np.arange(TEXTURE_SIZE)[:, None] % (TEXTURE_SIZE // PLANKS) < 2
        mix = np.where(seams, -0.6, 0.5 * planks + 0.25 + 0.6 * (streaks - 0.5))
    elif table.grain == "stone":
        coarse = rng.random((64, 64)).repeat(8, axis=0).repeat(8, axis=1)
        mix = 0.5 * _smooth(coarse, 8) + 0.5 * _smooth(fine, 2)
    else:
        mix = 0.3 + 0.4 * _smooth(fine, 1)
    colours = mix[..., None] * np.asarray(table.light) + (1 - mix[..., None]) * np.asarray(table.dark)
    texture: NDArray[np.uint8] = (255 * np.clip(colours, 0, 1)).astype(np.uint8)
    return texture


def _stretch(field: Floats, reach: int) -> Floats:
    """Return the mean over runs along the second axis, scaled back to the contrast of `field`; no seam either."""
    sums = np.cumsum(np.concatenate((field, field[:, :reach]), axis=1), axis=1)
    means: Floats = (sums[:, reach:] - sums[:, :-reach]) / reach
    return 0.5 + float(np.sqrt(reach)) * (means - 0.5)


def _smooth(field: Floats, reach: int) -> Floats:
    """Return the mean over a window that wraps round, so that the texture has no seam."""
    steps = range(-reach, reach + 1)
    rows: Floats = np.mean([np.roll(field, step, axis=0) for step in steps], axis=0)
    smooth: Floats = np.mean([np.roll(rows, step, axis=1) for step in steps], axis=0)
    return smooth


def _add_die(spec: Any, name: str, half: float, body_colour: RGB, pip_colour: RGB) -> None:
    """Add one die: a cube that collides and is not drawn, a rounded shell and discs that are drawn."""
    mujoco = load_mujoco()
    spec.add_material(name=f"{name} body", rgba=[*body_colour, 1], specular=0.35, shininess=0.5)
    spec.add_material(name=f"{name} pips", rgba=[*pip_colour, 1], specular=0.1, shininess=0.3)
    vertices, normals, faces = rounded_cube(half)
    spec.add_mesh(
        name=f"{name} shell",
        uservert=vertices.ravel().tolist(),
        usernormal=normals.ravel().tolist(),
        userface=faces.ravel().tolist(),
        inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX,
    )
    body = spec.worldbody.add_body(name=name)
    body.add_freejoint()
    body.add_geom(
        name=name,
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=[half] * 3,
        density=DENSITY,
        group=HIDDEN_GROUP,
        condim=4,
        friction=[0.35, 0.002, 0.0001],
    )
    unseen_by_physics = {"contype": 0, "conaffinity": 0, "mass": 0.0}
    body.add_geom(
        type=mujoco.mjtGeom.mjGEOM_MESH, meshname=f"{name} shell", material=f"{name} body", **unseen_by_physics
    )
    for value, places in PIPS.items():
        for place in places:
            body.add_geom(
                name=f"{name} pip {value} {place[0]} {place[1]}",
                type=mujoco.mjtGeom.mjGEOM_CYLINDER,
                size=[PIP_RADIUS * half, PIP_RELIEF * half, 0],
                pos=(half * pip_centre(value, place)).tolist(),
                quat=_upright(value),
                material=f"{name} pips",
                **unseen_by_physics,
            )


def pip_centre(value: int, place: tuple[int, int]) -> Floats:
    """Return the centre of a pip in the die's frame, in half edges."""
    first, second = face_axes(value)
    centre: Floats = np.asarray(NORMALS[value]) + PIP_SPACING * (place[0] * first + place[1] * second)
    return centre


def _upright(value: int) -> list[float]:
    """Return the rotation w, x, y, z that lays a disc flat on a face."""
    x, y, z = NORMALS[value]
    if z:
        return [1.0, 0.0, 0.0, 0.0]
    half = np.sqrt(0.5)
    return [half, -half * y, half * x, 0.0]


def rounded_cube(half: float, steps: int = 4) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Return vertices, vertex normals and triangles of a cube with rounded edges; each array has three columns."""
    bend = np.linspace(1 - ROUNDING, 1, steps + 1)
    line = np.concatenate((-bend[::-1], bend))
    grid = np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1).reshape(-1, 2)
    count = len(line)
    corner = (np.arange(count - 1)[:, None] * count + np.arange(count - 1)).ravel()
    quads = np.stack((corner, corner + count, corner + count + 1, corner + 1), axis=1)
    triangles = np.concatenate((quads[:, (0, 1, 2)], quads[:, (0, 2, 3)]))
    vertices, normals, faces = [], [], []
    for number, value in enumerate(NORMALS):
        first, second = face_axes(value)
        surface = np.asarray(NORMALS[value]) + grid[:, :1] * first + grid[:, 1:] * second
        inner = np.clip(surface, ROUNDING - 1, 1 - ROUNDING)
        outward = (surface - inner) / np.linalg.norm(surface - inner, axis=1, keepdims=True)
        vertices.append(half * (inner + ROUNDING * outward))
        normals.append(outward)
        faces.append(triangles + number * len(grid))
    return np.concatenate(vertices), np.concatenate(normals), np.concatenate(faces)


def throw(model: Any, look: Look, rng: np.random.Generator) -> Any | None:
    """Throw all dice from one side of the arena and let them come to rest.

    Returns
    -------
    mujoco.MjData or None
        The state at rest; None where the dice still move after three seconds.
    """
    mujoco = load_mujoco()
    data = mujoco.MjData(model)
    count = len(look.edges)
    heading = rng.uniform(0, 2 * np.pi)
    ahead = np.array((np.cos(heading), np.sin(heading), 0.0))
    for index, start in enumerate(_hand(rng, count)):
        joint = data.joint(model.body(f"die{index}").jntadr[0])
        joint.qpos[:3] = start - 0.35 * ARENA * ahead
        joint.qpos[3:] = random_rotation(rng)
        joint.qvel[:3] = rng.uniform(0.3, 0.9) * ahead + rng.normal(scale=0.15, size=3)
        joint.qvel[3:] = rng.normal(scale=25, size=3)
    for step in range(MAX_STEPS):
        mujoco.mj_step(model, data)
        if step % 25 == 0 and step > 200 and _at_rest(data, count):
            return data
    return None


def _hand(rng: np.random.Generator, count: int) -> Iterator[Floats]:
    """Yield starting places above the table that do not overlap, in random order."""
    places = [(x, y, z) for z in (0, 1) for x in (-1, 0, 1) for y in (-1, 0, 1)]
    for place in rng.permutation(len(places))[:count]:
        jitter = rng.uniform(-0.002, 0.002, size=3)
        yield HAND_SPACING * np.asarray(places[place]) + np.array((0, 0, HAND_HEIGHT)) + jitter


def random_rotation(rng: np.random.Generator) -> Floats:
    """Return a unit quaternion, uniform over rotations."""
    quaternion: Floats = rng.normal(size=4)
    return quaternion / np.linalg.norm(quaternion)


def _at_rest(data: Any, count: int) -> bool:
    velocity = data.qvel.reshape(count, 6)
    return bool(np.abs(velocity[:, :3]).max() < 0.003 and np.abs(velocity[:, 3:]).max() < 0.1)


def locate(data: Any, look: Look) -> tuple[Body, ...]:
    """Return where the dice are."""
    found = []
    for index, edge in enumerate(look.edges):
        place = data.body(f"die{index}")
        found.append(Body(edge / 2000, place.xpos.copy(), place.xmat.reshape(3, 3).copy()))
    return tuple(found)


def lie_flat(dice: Sequence[Body]) -> bool:
    """Return whether every die lies flat, and on the table itself rather than on another die."""
    return all(
        body.normal(body.top)[2] > MIN_TOP_NORMAL and abs(body.centre[2] - body.half) < MAX_LIFT * body.half
        for body in dice
    )
