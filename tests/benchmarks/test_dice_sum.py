"""The Dice Sum generator: its packs are sound, repeatable, and true to what the pictures show."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pips
import pytest
from PIL import Image
from scipy import stats

from dodiag.benchmarks.cadet import dice_sum
from dodiag.benchmarks.cadet.dice_model import NORMALS, PIPS, Body, Look, rounded_cube
from dodiag.benchmarks.cadet.dice_scene import HEIGHT, WIDTH, Arrangement, arrange, draw
from dodiag.benchmarks.cadet.dice_view import corners, distance_outside, see, surface_at
from dodiag.benchmarks.generators import Order
from dodiag.benchmarks.making import make_pack
from dodiag.benchmarks.rendering import Camera, Renderer, load_mujoco
from dodiag.benchmarks.samples import sample_packs
from dodiag.problems import MissingDependency, UsageError
from dodiag.scm.files import load_task
from dodiag.scm.pack import Instance, Pack, Question, incorrect_answer, load_pack

INSTANCES, SEED = 6, 3


@pytest.fixture(scope="module")
def mujoco() -> None:
    """Skips where the optional renderer is not installed."""
    try:
        load_mujoco()
    except MissingDependency as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module")
def pack(mujoco: None, tmp_path_factory: pytest.TempPathFactory) -> Pack:
    out = tmp_path_factory.mktemp("packs") / "dice"
    make_pack(Order("dice_sum", INSTANCES, SEED), out)
    return load_pack(out)


@pytest.fixture(scope="module")
def arrangements(mujoco: None) -> list[Arrangement]:
    return [arrange(np.random.default_rng((SEED, index)), 4 + index % 5) for index in range(30)]


@pytest.fixture(scope="module")
def sample() -> Pack:
    return load_pack(sample_packs()["dice_sum"])


def by_unit(instance: Instance, unit: str) -> tuple[Question, ...]:
    return instance.by_unit[unit]


def points_of(question: Question) -> list[tuple[int, int]]:
    assert question.choices is not None
    return [(int(x), int(y)) for x, y in (choice.strip("()").split(", ") for choice in question.choices)]


# Soundness of a pack


def test_a_pack_has_as_many_questions_as_its_dice_ask_for(pack: Pack) -> None:
    dice = sum(len(instance.meta["dice"]) for instance in pack.instances())
    assert pack.questions_per_unit == {"X1": INSTANCES, "X2": dice, "X3": dice, "Y": INSTANCES}


def test_the_task_is_the_shipped_graph_with_ranges_and_seed(pack: Pack) -> None:
    shipped = load_task("dice_sum")
    assert (pack.task.name, pack.task.target, pack.task.published) == (shipped.name, "Y", shipped.published)
    assert pack.task.seed == SEED
    for unit in shipped.units:
        assert pack.task.parents(unit) == shipped.parents(unit)
        assert pack.task.units[unit].answer.type == shipped.units[unit].answer.type
    assert (pack.task.units["X3"].answer.min, pack.task.units["X3"].answer.max) == (1, 6)


def test_ids_are_stable(pack: Pack) -> None:
    assert pack.instance_ids == tuple(f"dice_sum-s{SEED}-{index:04d}" for index in range(INSTANCES))
    first = next(pack.instances())
    letters = "ABCDEFGH"[: len(first.meta["dice"])]
    wanted = ["X1", *(f"X2-{letter}" for letter in letters), *(f"X3-{letter}" for letter in letters), "Y"]
    assert [question.id for question in first.questions] == wanted


def test_answers_of_an_instance_agree_with_each_other(pack: Pack) -> None:
    for instance in pack.instances():
        (count,), (total,) = by_unit(instance, "X1"), by_unit(instance, "Y")
        assert count.answer == len(count.annotations) == len(by_unit(instance, "X2")) == len(by_unit(instance, "X3"))
        assert total.answer == sum(question.answer for question in by_unit(instance, "X3"))
        assert total.requires is None


def test_each_pip_count_requires_the_top_face_of_its_own_die(pack: Pack) -> None:
    for instance in pack.instances():
        for question in by_unit(instance, "X3"):
            assert question.requires == (question.id.replace("X3", "X2"),)
            die = question.text.removeprefix("How many pips (dots) are on ").removesuffix("?")
            assert die in instance.question(question.requires[0]).text


def test_incorrect_answers_are_near_misses(pack: Pack) -> None:
    for instance in pack.instances():
        for unit in ("X1", "X3", "Y"):
            for question in by_unit(instance, unit):
                wrong = incorrect_answer(pack.task, instance, question)
                assert 1 <= abs(int(wrong) - question.answer) <= 2  # type: ignore[arg-type]
                assert unit != "X3" or 1 <= int(wrong) <= 6  # type: ignore[arg-type]


def test_dice_are_named_without_ambiguity(pack: Pack) -> None:
    for instance in pack.instances():
        names = [die["name"] for die in instance.meta["dice"]]
        assert len(set(names)) == len(names)
        colours = Counter(die["colour"] for die in instance.meta["dice"])
        for die in instance.meta["dice"]:
            assert (die["name"] == f"{die['colour']} die") == (colours[die["colour"]] == 1)


def test_dice_are_lettered_from_left_to_right(pack: Pack) -> None:
    for instance in pack.instances():
        across = [die["centre"][0] for die in instance.meta["dice"]]
        assert across == sorted(across)


def test_boxes_are_whole_inside_the_frame_and_hold_the_projected_centres(pack: Pack) -> None:
    for instance in pack.instances():
        with Image.open(pack.medium(instance.media[0])) as picture:
            assert picture.size == (WIDTH, HEIGHT)
        for annotation, die in zip(by_unit(instance, "X1")[0].annotations, instance.meta["dice"], strict=True):
            assert annotation.box is not None
            left, top, right, bottom = annotation.box
            assert 5 <= left < die["centre"][0] < right <= WIDTH - 5
            assert 5 <= top < die["centre"][1] < bottom <= HEIGHT - 5


# Repeatability


def test_the_same_seed_gives_the_same_bytes_and_a_longer_pack_begins_with_a_shorter(pack: Pack, tmp_path: Path) -> None:
    told: list[int] = []
    out = tmp_path / "new" / "dice"
    make_pack(Order("dice_sum", 3, SEED), out, progress=told.append)
    assert told == [1, 2, 3]
    assert (out / "task.yaml").read_bytes() == (pack.folder / "task.yaml").read_bytes()
    lines = (pack.folder / "instances.jsonl").read_bytes().splitlines()
    assert (out / "instances.jsonl").read_bytes().splitlines() == lines[:3]
    for medium in sorted((out / "media").iterdir()):
        assert medium.read_bytes() == (pack.folder / "media" / medium.name).read_bytes()


def test_another_seed_gives_another_scene(arrangements: list[Arrangement]) -> None:
    other = arrange(np.random.default_rng((SEED + 1, 0)), 4)
    assert other.camera != arrangements[0].camera


# Truth


def test_dice_are_real_dice() -> None:
    for value in range(1, 7):
        assert np.array_equal(NORMALS[value], -np.array(NORMALS[7 - value]))
        assert len(PIPS[value]) == value
    assert np.linalg.det([NORMALS[1], NORMALS[2], NORMALS[3]]) == pytest.approx(1), "1, 2, 3 run counter-clockwise"


def test_values_follow_from_the_rotations_at_rest(pack: Pack) -> None:
    faces = {(0, 1): 2, (0, -1): 5, (1, 1): 3, (1, -1): 4, (2, 1): 1, (2, -1): 6}
    for instance in pack.instances():
        for die, question in zip(instance.meta["dice"], by_unit(instance, "X3"), strict=True):
            up = np.array(die["rotation"]).reshape(3, 3)[2]
            axis = int(np.abs(up).argmax())
            assert abs(up[axis]) > 0.999
            assert question.answer == die["value"] == faces[axis, int(np.sign(up[axis]))]
            assert die["position_mm"][2] == pytest.approx(die["edge_mm"] / 2, rel=0.1)


def test_pips_counted_in_the_generated_pictures_are_the_answers(pack: Pack) -> None:
    assert [row for row in pips.seen_values(pack) if row[1] != row[2]] == []


def test_pips_counted_in_the_shipped_pictures_are_the_answers(sample: Pack) -> None:
    rows = list(pips.seen_values(sample))
    assert len(rows) == sample.questions_per_unit["X3"]
    assert [row for row in rows if row[1] != row[2]] == []


def test_only_the_right_point_lies_on_the_top_face(
    arrangements: list[Arrangement],
) -> None:
    rng = np.random.default_rng(SEED)
    for arrangement in arrangements:
        for index, die in enumerate(arrangement.dice):
            points, right = dice_sum.options(die, rng)
            shown = [arrangement.surface(point) for point in points]
            assert [place for place, what in enumerate(shown) if what == (index, die.value)] == [right]
            assert any(what is not None and what[0] == index and what[1] != die.value for what in shown)
            assert distance_outside(points[right], die.top.outline) == 0


def test_neither_place_nor_height_gives_the_right_point_away(arrangements: list[Arrangement]) -> None:
    rng = np.random.default_rng(SEED)
    places, heights = Counter[int](), Counter[int]()
    for die in [die for arrangement in arrangements for die in arrangement.dice for _ in range(10)]:
        points, right = dice_sum.options(die, rng)
        places[right] += 1
        heights[sorted(points, key=lambda point: point[1]).index(points[right])] += 1
    drawn = places.total()
    for place in range(4):
        assert places[place] / drawn == pytest.approx(1 / 4, abs=4 * np.sqrt(3 / 16 / drawn))
    assert heights[3] == 0
    for rank in range(3):
        assert heights[rank] / drawn == pytest.approx(1 / 3, abs=0.06), "the frame's edges leave a small difference"


def test_all_values_come_up_alike(arrangements: list[Arrangement]) -> None:
    values = Counter(die.value for arrangement in arrangements for die in arrangement.dice)
    assert stats.chisquare([values[value] for value in range(1, 7)]).pvalue > 0.001


def test_the_renderer_shows_what_the_geometry_says(
    arrangements: list[Arrangement],
) -> None:
    arrangement = arrangements[4]
    model, camera = arrangement.model, arrangement.camera
    with Renderer(model, WIDTH, HEIGHT) as renderer:
        geoms = renderer.geoms(arrangement.data, camera)
    owners = np.where(geoms >= 0, model.geom_bodyid[geoms], 0)
    ids = [model.body(die.body_name).id for die in arrangement.dice]
    grid = [(x, y) for x in range(3, WIDTH, 15) for y in range(3, HEIGHT, 15)]
    shown = [arrangement.surface((x + 0.5, y + 0.5)) for x, y in grid]
    same = [owners[y, x] == (0 if what is None else ids[what[0]]) for (x, y), what in zip(grid, shown, strict=True)]
    assert np.mean(same) > 0.985, "they may differ at rounded edges alone"
    for die, body in zip(arrangement.dice, ids, strict=True):
        assert owners[round(die.top.centre[1]), round(die.top.centre[0])] == body
        pips = [g for g in range(model.ngeom) if model.geom(g).name.startswith(f"{die.body_name} pip {die.value} ")]
        assert len(pips) == die.value
        assert all((geoms == pip).sum() > 10 for pip in pips), "every pip of a top face is in view"


def test_boxes_are_those_of_the_projected_cubes(
    arrangements: list[Arrangement],
) -> None:
    scene = draw(arrangements[0])
    for die, box in zip(scene.arrangement.dice, scene.boxes, strict=True):
        pixels = scene.arrangement.camera.project(corners(die.body))
        sharp = np.concatenate((pixels.min(axis=0), pixels.max(axis=0)))
        inset = (np.array(box) - sharp) * (1, 1, -1, -1)
        assert (inset > -1).all()
        assert die.share < 1 or (inset < 0.15 * (sharp[2] - sharp[0])).all()


# What is accepted as a scene


CAMERA = Camera((0, 0, 0.008), 0.3, 90, 55, 35, WIDTH, HEIGHT)
TURN = np.array(((0.8, -0.6, 0), (0.6, 0.8, 0), (0, 0, 1)))


def body(x: float, y: float, half: float = 0.008) -> Body:
    return Body(half, np.array((x, y, half)), TURN)


def accepted(camera: Camera, bodies: list[Body], colours: list[str]) -> bool:
    count = len(bodies)
    look = Look(tuple(colours), ("white",) * count, tuple(2000 * each.half for each in bodies), "oak", 0)
    return see(camera, bodies, look) is not None


def test_dice_apart_and_in_full_view_are_accepted() -> None:
    assert accepted(CAMERA, [body(-0.03, 0), body(0.03, 0)], ["red", "blue"])
    assert accepted(CAMERA, [body(-0.03, 0), body(0.03, 0)], ["red", "red"])


@pytest.mark.parametrize(
    ("camera", "bodies", "colours"),
    [
        pytest.param(CAMERA, [body(0, 0), body(0.13, 0)], ["red", "blue"], id="one is cut by the frame"),
        pytest.param(CAMERA, [body(0, 0), body(0, 0.024)], ["red", "red"], id="neither of two reds is the left one"),
        pytest.param(CAMERA, [body(0, 0.02), body(0, 0, 0.012)], ["red", "blue"], id="one hides another"),
        pytest.param(replace(CAMERA, elevation=25), [body(0, 0)], ["red"], id="seen too flat"),
        pytest.param(replace(CAMERA, distance=1.5), [body(0, 0)], ["red"], id="pips too small"),
        pytest.param(replace(CAMERA, elevation=89), [body(0, 0)], ["red"], id="no side face in view"),
    ],
)
def test_a_view_is_rejected(camera: Camera, bodies: list[Body], colours: list[str]) -> None:
    assert not accepted(camera, bodies, colours)


def test_pixels_and_directions_are_inverse() -> None:
    points = np.array(((0.02, 0.03, 0.0), (-0.05, 0.01, 0.02)))
    directions = CAMERA.directions(CAMERA.project(points))
    cosines = np.einsum("ij,ij->i", directions, points - CAMERA.position)
    cosines /= np.linalg.norm(directions, axis=1) * np.linalg.norm(points - CAMERA.position, axis=1)
    assert cosines == pytest.approx(1)


def test_a_pixel_shows_the_nearest_die() -> None:
    bodies = [body(0, 0.02), body(0, 0, 0.012)]
    assert surface_at(CAMERA, bodies, (2, 2)) is None
    for index, each in enumerate(bodies):
        top = CAMERA.project(each.on_face(1, np.zeros((1, 2)))[0])
        shown = surface_at(CAMERA, bodies, (float(top[0]), float(top[1])))
        assert shown is not None
        assert (shown == (index, 1)) or index == 0, "the large die in front is whole"


def test_the_shell_of_a_die_is_a_cube_with_rounded_edges() -> None:
    vertices, normals, faces = rounded_cube(1.0)
    assert np.abs(vertices).max() == pytest.approx(1)
    assert np.linalg.norm(vertices, axis=1).max() == pytest.approx(0.8 * np.sqrt(3) + 0.2)
    assert np.linalg.norm(normals, axis=1) == pytest.approx(1)
    a, b, c = (vertices[faces[:, corner]] for corner in range(3))
    volume = np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6
    assert 7.4 < volume < 8, "triangles turn outwards and leave no gap"


# What goes wrong


def leftovers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


GENERATE = """
import sys
from pathlib import Path
{before}
from dodiag.benchmarks.generators import Order
from dodiag.benchmarks.making import make_pack
from dodiag.problems import MissingDependency
try:
    make_pack(Order("dice_sum", 1), Path(sys.argv[1]))
except MissingDependency as missing:
    sys.exit(str(missing))
"""


@pytest.mark.parametrize(
    ("before", "gl", "words"),
    [
        ("sys.modules['mujoco'] = None", "", ("mujoco", "not installed", "pip install 'dodiag[render]'")),
        ("", "nonsense", ("MUJOCO_GL=nonsense", "apt-get install -y libegl1 libopengl0 libgl1-mesa-dri")),
        ("", "off", ("MUJOCO_GL=off", "Unset MUJOCO_GL")),
    ],
)
def test_a_missing_renderer_is_named_with_its_cure(
    mujoco: None, tmp_path: Path, before: str, gl: str, words: tuple[str, ...]
) -> None:
    command = [sys.executable, "-c", GENERATE.format(before=before), str(tmp_path / "pack")]
    done = subprocess.run(command, env=os.environ | {"MUJOCO_GL": gl}, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr
    assert leftovers(tmp_path) == []


# Knobs and the shipped sample


@pytest.mark.parametrize(("fewest", "most"), [(1, 4), (5, 4), (4, 10)])
def test_knobs_out_of_range_are_refused(fewest: int, most: int) -> None:
    with pytest.raises(UsageError, match="dice are asked for"):
        Order("dice_sum", knobs={"fewest": fewest, "most": most})


def test_knobs_say_how_many_dice_there_are(mujoco: None) -> None:
    order = Order("dice_sum", 1, SEED, {"fewest": 9, "most": 9})
    instance, _ = order.draw(0)
    assert instance.by_unit["X1"][0].answer == 9
    assert order.task.units["Y"].answer.max == 54


def test_the_shipped_sample_is_current_and_small(sample: Pack) -> None:
    assert sample.instance_count == 24
    assert {instance.meta["generator"] for instance in sample.instances()} == {f"dice_sum {dice_sum.VERSION}"}
    assert sample.task == dice_sum.task(seed=2026)
    size = sum(path.stat().st_size for path in sample.folder.rglob("*") if path.is_file())
    assert size < 1_200_000
    lines = (sample.folder / "instances.jsonl").read_text(encoding="utf-8").splitlines()
    assert all(json.loads(line)["media"] for line in lines)
