"""The MuJoCo model of a street: meshes with a palette for texture, houses with windows, bodies that snapshots move."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dodiag.benchmarks.cadet.street import parts, town
from dodiag.benchmarks.cadet.street.facades import SHOP_BAY, facade_texture, shop_texture
from dodiag.benchmarks.cadet.street.shapes import Mesh, Solid, mesh, palette_texture, smooth_normals
from dodiag.benchmarks.cadet.street.state import RGB, Layout, Obstacle, Pedestrian, Signal, Thing, Vehicle
from dodiag.benchmarks.rendering import Floats, load_mujoco
from dodiag.problems import UsageError

HIDDEN_DEPTH = -60.0
"""Where a body waits that is not in the snapshot: far below the ground."""

LIMBS: Mapping[str, tuple[tuple[float, float, float], bool]] = MappingProxyType(
    {
        "left leg": ((0.0, 0.1, parts.HIP), True),
        "right leg": ((0.0, -0.1, parts.HIP), True),
        "left arm": ((0.0, 0.28, parts.SHOULDER), False),
        "right arm": ((0.0, -0.28, parts.SHOULDER), False),
    }
)
"""A pedestrian's limbs: where they turn, and whether they are legs."""
SWING = 0.5
"""Radians that a limb swings forwards and backwards."""

LAMP_COLOURS: Mapping[str, RGB] = MappingProxyType(
    {"red": (1.0, 0.08, 0.05), "amber": (1.0, 0.65, 0.05), "green": (0.10, 0.95, 0.35)}
)


@dataclass(frozen=True, slots=True)
class Sky:
    """Light of a time of day: sun, its direction, light of the sky, and the sky's colours at horizon and zenith."""

    sun: RGB
    direction: tuple[float, float, float]
    ambient: RGB
    horizon: RGB
    zenith: RGB
    shadow: float


SKIES: Mapping[str, Sky] = MappingProxyType(
    {
        "day": Sky(
            (0.62, 0.60, 0.55), (-0.45, 0.42, -0.79), (0.50, 0.51, 0.54), (0.80, 0.88, 0.96), (0.30, 0.52, 0.86), 0.42
        ),
        "overcast": Sky(
            (0.22, 0.22, 0.23), (0.2, 0.2, -0.96), (0.68, 0.69, 0.71), (0.82, 0.83, 0.85), (0.66, 0.69, 0.73), 0.30
        ),
        "dusk": Sky(
            (0.42, 0.32, 0.24),
            (-0.80, 0.35, -0.49),
            (0.56, 0.55, 0.62),
            (0.97, 0.74, 0.56),
            (0.36, 0.42, 0.64),
            0.36,
        ),
    }
)


@dataclass(frozen=True, slots=True)
class Handle:
    """Where a thing is in the model: its mocap body, geoms of its lamps, bodies of its limbs; and its look."""

    look: tuple[str, ...]
    mocap: int
    lamps: Mapping[str, int] = field(default_factory=dict)
    limbs: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Built:
    """A compiled model and the way from ids to its bodies and back.

    Attributes
    ----------
    model : mujoco.MjModel
    ids : tuple of str
        Things, then houses.
    owners : array of int
        For each geom the place in `ids` of what it belongs to, −1 for none.
    handles : mapping of id to Handle
    glow, plain : int
        Materials of lamps that are lit and not.
    """

    model: Any
    ids: tuple[str, ...]
    owners: NDArray[np.int32]
    handles: Mapping[str, Handle]
    glow: int
    plain: int


def look_of(thing: Thing) -> tuple[str, ...]:
    """Return what of a thing the model fixes: all but its place and lamps."""
    match thing:
        case Vehicle():
            return ("vehicle", thing.kind, thing.colour)
        case Pedestrian():
            return ("pedestrian", thing.clothing)
        case Signal():
            return ("signal",)
        case Obstacle():
            return ("obstacle", thing.kind)


def lamp_colour(lamp: str, *, lit: bool) -> tuple[float, float, float, float]:
    """Return the colour of a traffic light's lamp."""
    red, green, blue = LAMP_COLOURS[lamp]
    share = 1.0 if lit else 0.16
    return share * red, share * green, share * blue, 1.0


def limb_angle(limb: str, stride: float) -> float:
    """Return by how many radians a limb is turned about the pedestrian's left-right axis at a phase of the gait."""
    side, kind = limb.split()
    sign = (1 if side == "left" else -1) * (1 if kind == "leg" else -1)
    return float(sign * SWING * np.sin(2 * np.pi * stride))


def build(layout: Layout, things: Iterable[Thing]) -> Built:
    """Compile the model of a street and of everything that will be in it.

    Raises
    ------
    UsageError
        If an id stands for two different things.
    """
    looks: dict[str, tuple[str, ...]] = {}
    for thing in things:
        if looks.setdefault(thing.id, look_of(thing)) != look_of(thing):
            raise UsageError(f"'{thing.id}' is two different things", "Give each its own id.")
    builder = _Builder(layout)
    for thing_id, look in looks.items():
        builder.add_thing(thing_id, look)
    return builder.compile(looks)


class _Builder:
    """Collects meshes and bodies; geoms are named ``<owner>|<part>``."""

    def __init__(self, layout: Layout) -> None:
        self.mujoco = load_mujoco()
        self.layout = layout
        self.sky = SKIES[layout.light]
        self.spec = self.mujoco.MjSpec()
        self.meshes: set[str] = set()
        self.geom_names: list[str] = []
        self._settings()
        self._materials()
        self._town()

    def _settings(self) -> None:
        spec, sky = self.spec, self.sky
        spec.stat.extent = 50.0
        spec.stat.center = [0, 0, 0]
        spec.visual.map.znear, spec.visual.map.zfar = 0.003, 12.0
        spec.visual.quality.offsamples = 4
        spec.visual.headlight.ambient = list(sky.ambient)
        spec.visual.headlight.diffuse = [0.06] * 3
        spec.visual.headlight.specular = [0.0] * 3
        spec.worldbody.add_light(
            name="sun",
            type=self.mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
            dir=list(sky.direction),
            diffuse=list(sky.sun),
            specular=[0.15] * 3,
            castshadow=False,
        )
        spec.add_texture(
            name="sky",
            type=self.mujoco.mjtTexture.mjTEXTURE_SKYBOX,
            builtin=self.mujoco.mjtBuiltin.mjBUILTIN_GRADIENT,
            rgb1=list(sky.horizon),
            rgb2=list(sky.zenith),
            width=128,
            height=768,
        )

    def _materials(self) -> None:
        self._texture("palette", palette_texture())
        self._material("palette", texture="palette", specular=0.10, shininess=0.35)
        self._material("ground", texture="palette")
        self._material("glow", texture="palette", emission=0.9)
        self._material("lamp lit", emission=1.0)
        self._material("lamp unlit")
        self._material("shadow")
        for style in range(town.STYLES):
            self._texture(f"facade {style}", facade_texture(style, self.layout.light))
            self._material(f"facade {style}", texture=f"facade {style}")
        self._texture("shops", shop_texture(self.layout.light))
        self._material("shops", texture="shops")

    def _texture(self, name: str, pixels: NDArray[np.uint8]) -> None:
        texture = self.spec.add_texture(
            name=name,
            type=self.mujoco.mjtTexture.mjTEXTURE_2D,
            width=pixels.shape[1],
            height=pixels.shape[0],
            nchannel=3,
        )
        texture.data = pixels.tobytes()

    def _material(
        self, name: str, *, texture: str = "", specular: float = 0.0, shininess: float = 0.0, emission: float = 0.0
    ) -> None:
        material = self.spec.add_material(
            name=name, specular=specular, shininess=shininess, reflectance=0.0, emission=emission, rgba=[1, 1, 1, 1]
        )
        if texture:
            material.textures[self.mujoco.mjtTextureRole.mjTEXROLE_RGB] = texture

    def _mesh(self, name: str, shape: Mesh) -> str:
        if name not in self.meshes:
            self.spec.add_mesh(
                name=name,
                uservert=shape.vertices.ravel().tolist(),
                usernormal=shape.normals.ravel().tolist(),
                usertexcoord=shape.places.ravel().tolist(),
                userface=shape.faces.ravel().tolist(),
                inertia=self.mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL,
            )
            self.meshes.add(name)
        return name

    def _geom(self, body: Any, owner: str, part: str, mesh_name: str, material: str, **more: Any) -> None:
        body.add_geom(
            name=f"{owner}|{part}",
            type=self.mujoco.mjtGeom.mjGEOM_MESH,
            meshname=mesh_name,
            material=material,
            contype=0,
            conaffinity=0,
            mass=0.0,
            **more,
        )

    def _town(self) -> None:
        world, layout = self.spec.worldbody, self.layout
        self._geom(world, "", "ground", self._mesh("ground", mesh(town.ground(layout))), "ground")
        if layout.buildings:
            self._geom(world, "", "roofs", self._mesh("roofs", mesh(town.roofs(layout))), "ground")
        for house in layout.buildings:
            upper = town.walls(house, (town.BASE, house.height), town.BAY, town.STOREY)
            lower = town.walls(house, (-0.03, town.BASE), SHOP_BAY, town.BASE)
            wall = [*town.WALLS[house.colour], 1.0]
            base = [*(0.86 * np.array(town.WALLS[house.colour])), 1.0]
            self._geom(
                world,
                house.id,
                "walls",
                self._mesh(f"{house.id} walls", _tiled(upper)),
                f"facade {house.style}",
                rgba=wall,
            )
            self._geom(world, house.id, "base", self._mesh(f"{house.id} base", _tiled(lower)), "shops", rgba=base)
        self._trees()

    def _trees(self) -> None:
        world, layout = self.spec.worldbody, self.layout
        if not layout.trees:
            return
        stems = [polygon for tree in layout.trees for polygon in town.trunk(tree)]
        self._geom(world, "", "stems", self._mesh("stems", mesh(stems)), "ground")
        crowns = [smooth_normals(*crown) for tree in layout.trees for crown in town.crowns(tree)]
        self._geom(world, "", "crowns", self._mesh("crowns", _joined(crowns)), "ground")
        for number, tree in enumerate(layout.trees):
            self._shadow(world, f"tree {number}", (1.1 * tree.crown,) * 2, (tree.x, tree.y, town.KERB + town.SHADOW_UP))

    def _shadow(self, body: Any, name: str, half: tuple[float, float], place: tuple[float, float, float]) -> None:
        """Add two thin dark discs, one inside the other, so that the edge is soft."""
        for step, share in enumerate((1.0, 0.82)):
            body.add_geom(
                name=f"|shadow {name} {step}",
                type=self.mujoco.mjtGeom.mjGEOM_ELLIPSOID,
                size=[half[0] * share, half[1] * share, 0.002],
                pos=[place[0], place[1], place[2] + 0.004 * step],
                material="shadow",
                rgba=[0, 0, 0, 0.6 * self.sky.shadow],
                contype=0,
                conaffinity=0,
                mass=0.0,
            )

    def add_thing(self, thing_id: str, look: tuple[str, ...]) -> None:
        """Add the body of a thing."""
        body = self.spec.worldbody.add_body(name=thing_id, mocap=True)
        match look:
            case ("vehicle", kind, colour):
                self._vehicle(body, thing_id, kind, colour)
            case ("pedestrian", colour):
                self._person(body, thing_id, colour)
            case ("signal",):
                self._solid(body, thing_id, "pole", "signal", parts.signal())
                for lamp in parts.LAMP_HEIGHTS:
                    shape = self._mesh(f"signal {lamp}", mesh(parts.signal_lamp(lamp)))
                    self._geom(body, thing_id, lamp, shape, "lamp unlit", rgba=list(lamp_colour(lamp, lit=False)))
                self._shadow(body, thing_id, (0.3, 0.3), (-0.14, 0, town.SHADOW_UP))
            case ("obstacle", kind):
                self._solid(body, thing_id, "body", kind, parts.obstacle(kind))

    def _solid(
        self, body: Any, owner: str, part: str, name: str, solid: Solid, material: str = "palette", **more: Any
    ) -> None:
        self._geom(body, owner, part, self._mesh(name, mesh(solid)), material, **more)

    def _vehicle(self, body: Any, owner: str, kind: str, colour: str) -> None:
        look = parts.vehicle(kind, colour)
        self._solid(body, owner, "body", f"{colour} {kind}", look.body)
        self._solid(body, owner, "head", f"{kind} head", look.lights.head, "glow")
        for lamp in ("brake", "left", "right"):
            self._solid(body, owner, lamp, f"{kind} {lamp}", getattr(look.lights, lamp), "glow", rgba=[1, 1, 1, 0])
        length, width, _ = Vehicle(owner, kind, colour, 0, 0, 0).size
        self._shadow(body, owner, (0.62 * length, 0.72 * width), (0, 0, town.SHADOW_UP))

    def _person(self, body: Any, owner: str, colour: str) -> None:
        look = parts.person(colour)
        self._solid(body, owner, "trunk", f"{colour} trunk", look.trunk)
        for limb, (place, is_leg) in LIMBS.items():
            child = body.add_body(name=f"{owner}|{limb}", pos=list(place))
            name = "leg" if is_leg else f"{colour} arm"
            self._solid(child, owner, limb, name, look.leg if is_leg else look.arm)
        self._shadow(body, owner, (0.42, 0.36), (0, 0, town.SHADOW_UP))

    def compile(self, looks: Mapping[str, tuple[str, ...]]) -> Built:
        """Compile, and find everything again by name."""
        model = self.spec.compile()
        ids = (*looks, *(house.id for house in self.layout.buildings))
        place = {name: index for index, name in enumerate(ids)}
        owners = [place.get(model.geom(number).name.split("|")[0], -1) for number in range(model.ngeom)]
        handles = {name: self._handle(model, name, look) for name, look in looks.items()}
        return Built(
            model=model,
            ids=ids,
            owners=np.array(owners, dtype=np.int32),
            handles=handles,
            glow=model.material("lamp lit").id,
            plain=model.material("lamp unlit").id,
        )

    def _handle(self, model: Any, name: str, look: tuple[str, ...]) -> Handle:
        body = model.body(name)
        lamps: dict[str, int] = {}
        limbs: dict[str, int] = {}
        if look[0] == "vehicle":
            lamps = {lamp: model.geom(f"{name}|{lamp}").id for lamp in ("brake", "left", "right")}
        elif look[0] == "signal":
            lamps = {lamp: model.geom(f"{name}|{lamp}").id for lamp in parts.LAMP_HEIGHTS}
        elif look[0] == "pedestrian":
            limbs = {limb: model.body(f"{name}|{limb}").id for limb in LIMBS}
        return Handle(look, int(body.mocapid[0]), lamps, limbs)


def _tiled(walls: town.Walls) -> Mesh:
    """Return walls on which a texture repeats."""
    flat = mesh(walls.polygons)
    corners = np.array(((0.0, 1.0), (1.0, 1.0), (1.0, 0.0), (0.0, 0.0)))
    places: Floats = np.concatenate([corners * np.array(repeat) for repeat in walls.repeats])
    return Mesh(flat.vertices, flat.normals, places, flat.faces)


def _joined(shapes: Iterable[Mesh]) -> Mesh:
    """Return several meshes as one."""
    vertices, normals, places, faces = [], [], [], []
    start = 0
    for shape in shapes:
        vertices.append(shape.vertices)
        normals.append(shape.normals)
        places.append(shape.places)
        faces.append(shape.faces + start)
        start += len(shape.vertices)
    return Mesh(np.concatenate(vertices), np.concatenate(normals), np.concatenate(places), np.concatenate(faces))
