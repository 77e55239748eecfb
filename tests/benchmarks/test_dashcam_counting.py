"""Dashcam Counting: drives hold what they promise, packs say what the tracks bear out, videos are files."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from truth_dashcam_counting import disagreements

from dodiag.benchmarks.cadet import dashcam_counting
from dodiag.benchmarks.cadet.dashcam_counting import Knobs, draw, task
from dodiag.benchmarks.cadet.dashcam_counting_questions import MOTION_TEXTS, even
from dodiag.benchmarks.cadet.dashcam_counting_scenes import KERB, SECONDS, Drive, draw_drive
from dodiag.benchmarks.cadet.traffic.agents import EGO
from dodiag.benchmarks.cadet.traffic.points import outside
from dodiag.benchmarks.rendering import load_mujoco
from dodiag.benchmarks.video_files import load_av, mp4
from dodiag.problems import MissingDependency, UsageError
from dodiag.scm.answers import same_answer
from dodiag.scm.files import write_task
from dodiag.scm.pack import Pack, correct_answer, incorrect_answer, load_pack, spec_of

SEED = 5


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    try:
        load_mujoco()
        load_av()
    except MissingDependency as missing:
        pytest.skip(str(missing))
    folder = tmp_path_factory.mktemp("dashcam")
    (folder / "media").mkdir()
    (folder / "task.yaml").write_text(write_task(task(SEED)), encoding="utf-8")
    with (folder / "instances.jsonl").open("w", encoding="utf-8") as lines:
        for index in range(2):
            instance, media = draw(SEED, index)
            lines.write(instance.model_dump_json(exclude_defaults=True) + "\n")
            for name, data in media.items():
                (folder / name).write_bytes(data)
    return load_pack(folder)


@pytest.fixture(scope="module")
def drives() -> list[Drive]:
    drawn = (draw_drive(np.random.default_rng((SEED, index)), 3, 2, 2, Counter()) for index in range(200))
    return list(itertools.islice((drive for drive in drawn if drive is not None), 8))


def test_the_count_is_of_the_kind_on_the_side_that_moves_as_asked(drives: list[Drive]) -> None:
    assert len(drives) == 8
    for drive in drives:
        side, motions = drive.asked
        counted = [
            driver
            for driver in drive.world.drivers
            if driver.kind == drive.kind
            and driver.id != EGO
            and drive.sides[driver.id] == side
            and drive.motions[driver.id] in motions
        ]
        assert drive.count == len(counted)


def test_vehicles_move_as_they_are_said_to(drives: list[Drive]) -> None:
    for drive in drives:
        for column, driver in enumerate(drive.world.drivers):
            if driver.id == EGO:
                continue
            moved = drive.run.s[:, column] - drive.run.s[0, column]
            match drive.motions[driver.id]:
                case "stands":
                    assert not moved.any()
                case "sets off":
                    assert abs(moved[5]) < 0.05 < 1 < abs(moved[-1])
                case "same way":
                    assert (np.diff(moved) > 0).all()
                case "oncoming":
                    assert (np.diff(moved) < 0).all()


def test_no_vehicle_changes_sides(drives: list[Drive]) -> None:
    for drive in drives:
        mine = drive.run.d[:, drive.run.column(EGO)]
        for column, driver in enumerate(drive.world.drivers):
            off = drive.run.d[:, column] - mine
            if driver.id != EGO:
                assert (np.abs(off) < 1).all() or (off > 2).all() or (off < -2).all()
                assert (np.abs(drive.run.d[:, column]) < KERB).all()


def test_counted_vehicles_differ_in_colour(drives: list[Drive]) -> None:
    for drive in drives:
        colours = [drive.world.agent(name).colour for name in drive.focus]  # type: ignore[union-attr]
        assert len(set(colours)) == len(colours)


def test_an_even_draw_takes_groups_in_turn() -> None:
    pool = [("a", n) for n in range(8)] + [("b", n) for n in range(2)] + [("c", n) for n in range(5)]
    chosen = even(pool, {"a": "a", "b": "b", "c": "c"}, 9, np.random.default_rng(0))
    assert Counter(pool[place][0] for place in chosen) == {"a": 4, "b": 2, "c": 3}
    assert len(even(pool, {"a": "a", "b": "b", "c": "c"}, 99, np.random.default_rng(0))) == len(pool)


@pytest.mark.parametrize(
    ("point", "off"), [((10, 10), False), ((4, 10), False), ((3, 10), True), ((25, 10), False), ((26, 10), True)]
)
def test_a_point_is_off_a_box_beyond_its_margin(point: tuple[int, int], off: bool) -> None:
    assert outside(point, (10, 5, 20, 15), 6) is off


# Packs


def test_the_tracks_bear_out_every_answer(pack: Pack) -> None:
    assert disagreements(pack.folder) == []


def test_a_solver_that_reads_the_truth_is_right_and_the_incorrect_answer_never_is(pack: Pack) -> None:
    for instance in pack.instances():
        for question in instance.questions:
            spec = spec_of(pack.task, question)
            truth = correct_answer(pack.task, question)
            wrong = incorrect_answer(pack.task, instance, question)
            assert same_answer(truth, truth, spec)
            assert not same_answer(wrong, truth, spec)
            assert question.unit != "Y" or 1 <= abs(int(wrong) - int(truth)) <= 2  # type: ignore[arg-type]


def test_questions_of_a_counted_vehicle_hang_together(pack: Pack) -> None:
    for instance in pack.instances():
        kind = instance.meta["counted"]
        counted = {agent["id"] for agent in instance.meta["agents"] if agent.get("kind") == kind} - {EGO}
        asked = instance.by_unit["X4"]
        assert {question.id.removeprefix("X4-") for question in asked} == counted
        for question in asked:
            assert kind in question.text
            assert question.choices is not None
            assert set(question.choices) == set(MOTION_TEXTS.values())
            for needed in question.requires or ():
                assert needed.split("-")[1] == question.id.split("-")[1]


def test_points_are_in_the_frame_and_times_are_whole_seconds_of_the_video(pack: Pack) -> None:
    for instance in pack.instances():
        for question in instance.by_unit["X3"]:
            assert question.choices is not None
            for choice in question.choices:
                x, y = (int(number) for number in choice.strip("()").split(", "))
                assert 0 <= x < 640
                assert 0 <= y < 360
            assert all(0 <= int(second) <= SECONDS for second in question.id.split("-")[2:])


def test_the_same_seed_and_index_give_the_same_text(pack: Pack) -> None:
    instance, _ = draw(SEED, 1)
    assert instance == pack.instance(instance.id)


@pytest.mark.parametrize(
    ("knobs", "named"),
    [({"counted": 8}, "counted"), ({"others": -1}, "others"), ({"walkers": 6}, "walkers"), ({"classes": 0}, "classes")],
)
def test_a_knob_out_of_range_is_named(knobs: dict[str, int], named: str) -> None:
    with pytest.raises(UsageError, match=named):
        Knobs(**knobs)


def test_the_papers_number_is_the_default() -> None:
    assert dashcam_counting.INSTANCES == 79


# Video files


def frames(count: int, shade: int = 0) -> list[np.ndarray]:
    ramp = np.linspace(0, 200, 64, dtype=np.uint8)
    return [np.stack([np.tile(np.roll(ramp, n), (48, 1))] * 3, axis=2) + np.uint8(shade) for n in range(count)]


def test_a_video_has_its_frames_size_and_rate_and_always_the_same_bytes() -> None:
    import io

    import av

    data = mp4(frames(12), 10)
    assert data == mp4(frames(12), 10)
    assert data != mp4(frames(12, 20), 10)
    with av.open(io.BytesIO(data)) as container:
        stream = container.streams.video[0]
        shown = [frame.to_ndarray(format="rgb24") for frame in container.decode(stream)]
        assert (stream.width, stream.height, float(stream.average_rate or 0)) == (64, 48, 10)
    assert len(shown) == 12
    assert float(np.abs(shown[5].astype(int) - frames(12)[5]).mean()) < 8


@pytest.mark.parametrize(
    ("given", "fps", "quality"),
    [
        ([], 10, 26),
        ([np.zeros((48, 64, 3), np.uint8), np.zeros((48, 32, 3), np.uint8)], 10, 26),
        ([np.zeros((47, 64, 3), np.uint8)], 10, 26),
        (frames(1), 0, 26),
        (frames(1), 10, 60),
    ],
)
def test_what_cannot_be_a_video_is_refused(given: list[np.ndarray], fps: int, quality: int) -> None:
    with pytest.raises(UsageError):
        mp4(given, fps, quality)
