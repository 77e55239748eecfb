"""Traffic Causation: traffic keeps its rules, causes are causes, and packs say what the tracks bear out."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from truth_traffic_causation import disagreements

from dodiag.benchmarks.cadet import traffic_causation
from dodiag.benchmarks.cadet.traffic.agents import EGO, LANE, Driver, Light, Walker, WorkZone, World
from dodiag.benchmarks.cadet.traffic.causes import intervene, verdict
from dodiag.benchmarks.cadet.traffic.events import events_of
from dodiag.benchmarks.cadet.traffic.rules import BEFORE_CROSSING, BEFORE_LINE, BRAKING, safe_speed, simulate
from dodiag.benchmarks.cadet.traffic_causation import Knobs, draw, task
from dodiag.benchmarks.cadet.traffic_causation_scenes import PLOTS, SECONDS, Case, Plot, draw_case
from dodiag.benchmarks.cadet.traffic_causation_text import blamed, cause
from dodiag.benchmarks.rendering import load_mujoco
from dodiag.benchmarks.video_files import load_av
from dodiag.problems import MissingDependency, UsageError
from dodiag.scm.answers import same_answer
from dodiag.scm.files import write_task
from dodiag.scm.pack import Pack, correct_answer, incorrect_answer, load_pack, spec_of

SEED = 11
INNER, OUTER = -LANE / 2, -3 * LANE / 2
ME = Driver(EGO, "car", "white", 0.0, INNER, 8.0, 8.0)
LEAD = Driver("lead", "van", "blue", 14.0, INNER, 8.0, 8.0)
STROLLER = Walker("stroller", "green", 30.0, 8.5, 1.2, 0.0)


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    try:
        load_mujoco()
        load_av()
    except MissingDependency as missing:
        pytest.skip(str(missing))
    folder = tmp_path_factory.mktemp("traffic")
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
def cases() -> list[Case]:
    found = []
    for plot in PLOTS:
        drawn = (draw_case(np.random.default_rng((SEED, index)), plot, Counter()) for index in range(16))
        found += [case for case in drawn if case is not None][:4]
    return found


# Rules of traffic


@given(gap=st.floats(0, 200), leader=st.floats(0, 30))
def test_from_a_safe_speed_one_stops_behind_a_leader_that_brakes_as_hard(gap: float, leader: float) -> None:
    speed = safe_speed(gap, leader)
    assert speed**2 / (2 * BRAKING) <= leader**2 / (2 * BRAKING) + gap + 1e-9
    assert safe_speed(gap + 1, leader) > speed


@settings(max_examples=40)
@given(
    speeds=st.lists(st.floats(3, 10), min_size=2, max_size=4),
    gaps=st.lists(st.floats(9, 25), min_size=4, max_size=4),
    line=st.floats(20, 60),
)
def test_a_column_before_a_red_light_never_collides_and_never_passes_the_line(
    speeds: list[float], gaps: list[float], line: float
) -> None:
    places = np.cumsum([0.0, *gaps])
    drivers = tuple(
        Driver(f"d{n}", "car", "red", -float(places[n]), INNER, min(speeds[: n + 1]), speed)
        for n, speed in enumerate(speeds)
    )
    run = simulate(World(drivers, lights=(Light("light", line, ((0.0, "red"),)),)), 12)
    assert (run.s[:, 0] + drivers[0].length / 2 <= line).all()
    for n in range(1, len(drivers)):
        assert (run.s[:, n - 1] - run.s[:, n] > drivers[0].length).all()
    assert (run.v >= 0).all()


def test_a_walker_on_the_pavement_stops_nobody_and_one_on_the_road_does() -> None:
    quiet = simulate(World((ME, LEAD), (STROLLER,)), SECONDS)
    assert float(quiet.v.min()) == 8.0
    crosses = Walker("walker", "red", 45.0, -8.0, 0.0, 1.4, 1.0)
    run = simulate(World((ME, LEAD), (crosses, STROLLER)), SECONDS)
    assert float(run.v[:, run.column("lead")].min()) < 0.05
    assert float(run.s[-1, run.column("lead")]) < 45.0 - LEAD.length / 2


def test_a_blocked_driver_indicates_moves_over_and_keeps_its_speed() -> None:
    zone = WorkZone("zone", INNER, 60.0, 75.0)
    run = simulate(World((ME, LEAD), zones=(zone,)), SECONDS)
    column = run.column("lead")
    assert run.d[-1, column] == pytest.approx(OUTER)
    first = int(np.argmax(run.indicating[:, column] != 0))
    assert run.indicating[first, column] == -1, "it moves over to the right"
    assert run.d[first, column] == INNER
    assert float(run.v[:, column].min()) > 7.5


def test_a_blocked_driver_waits_where_the_next_lane_is_taken() -> None:
    beside = Driver("beside", "truck", "red", 14.0, OUTER, 8.0, 8.0)
    zone = WorkZone("zone", INNER, 45.0, 75.0)
    run = simulate(World((ME, LEAD, replace(beside, s=13.0)), zones=(zone,)), 4.5)
    assert float(np.abs(run.d[:20, run.column("lead")] - INNER).max()) < 0.01


# Causes


def test_without_its_cause_an_event_does_not_happen_and_without_a_bystander_it_does() -> None:
    world = World((ME, LEAD), (Walker("walker", "red", 45.0, -8.0, 0.0, 1.4, 1.0), STROLLER))
    stop = next(e for e in events_of(simulate(world, SECONDS)) if e.who == "lead" and e.what == "stops")
    found = verdict(world, stop, SECONDS)
    assert found.causes == ("walker",)
    assert set(found.uninvolved) == {EGO, "stroller"}


def test_a_light_that_stays_red_and_a_walker_who_stops_let_nobody_go() -> None:
    light = Light("light", 20.0, ((0.0, "red"), (2.0, "green")))
    waits = replace(LEAD, s=20.0 - BEFORE_LINE - LEAD.length / 2, speed=0.0)
    world = World((waits,), lights=(light,))
    go = next(e for e in events_of(simulate(world, SECONDS)) if e.what == "sets off")
    assert 2.0 < go.time < 2.5
    assert [e.what for e in events_of(simulate(intervene(world, light, go), SECONDS))] == []
    walker = Walker("walker", "red", 24.0, -4.5, 0.0, 1.4)
    world = World((replace(waits, s=24.0 - BEFORE_CROSSING - LEAD.length / 2),), (walker,))
    go = next(e for e in events_of(simulate(world, SECONDS)) if e.what == "sets off")
    assert verdict(world, go, SECONDS).causes == ("walker",)


def test_every_plot_gives_cases_whose_verdict_a_second_run_confirms(cases: list[Case]) -> None:
    assert {case.plot for case in cases} == set(PLOTS)
    for case in cases:
        again = simulate(case.world, SECONDS)
        assert np.array_equal(again.s, case.run.s)
        assert case.effect in events_of(again)
        assert case.root in case.verdict.causes
        assert not set(case.verdict.causes) & set(case.verdict.uninvolved)
        for name in case.verdict.uninvolved:
            left = events_of(simulate(intervene(case.world, case.world.agent(name), case.effect), SECONDS))
            times = [e.time for e in left if (e.who, e.what) == (case.effect.who, case.effect.what)]
            assert any(math.isclose(time, case.effect.time, abs_tol=0.36) for time in times)


def test_vehicles_and_clothes_are_told_apart_by_colour(cases: list[Case]) -> None:
    for case in cases:
        vehicles = [driver.colour for driver in case.world.drivers if driver.id != EGO]
        clothes = [walker.colour for walker in case.world.walkers]
        assert len(set(vehicles)) == len(vehicles)
        assert len(set(clothes)) == len(clothes)


def test_the_truth_names_the_root_and_the_wrong_cause_somebody_else(cases: list[Case]) -> None:
    rng = np.random.default_rng(1)
    for case in cases:
        truth = cause(case, rng)
        assert case.world.agent(case.root).name in truth
        for name in case.verdict.uninvolved:
            if name != EGO:
                wrong = blamed(case, case.world.agent(name), rng)
                assert case.world.agent(name).name in wrong
                assert case.world.agent(case.root).name not in wrong


def test_where_nobody_else_is_seen_the_wrong_cause_still_fits_the_question(cases: list[Case]) -> None:
    """Nobody sets off because an ambulance comes, and nobody brakes because a passenger has got in."""
    said: dict[bool, set[str]] = {True: set(), False: set()}
    for case in cases:
        said[case.effect.what == "sets off"] |= {blamed(case, None, np.random.default_rng(seed)) for seed in range(12)}
    assert len(said[True]) == len(said[False]) == 3
    assert not said[True] & said[False]


# Packs


def test_the_tracks_bear_out_every_answer(pack: Pack) -> None:
    assert disagreements(pack.folder) == []


def test_a_solver_that_reads_the_truth_is_right_and_the_incorrect_answer_never_is(pack: Pack) -> None:
    for instance in pack.instances():
        for question in instance.questions:
            spec = spec_of(pack.task, question)
            truth = correct_answer(pack.task, question)
            assert same_answer(truth, truth, spec)
            assert not same_answer(incorrect_answer(pack.task, instance, question), truth, spec)


def test_prerequisite_questions_are_about_the_same_agent(pack: Pack) -> None:
    for instance in pack.instances():
        for question in instance.questions:
            if question.unit in ("X2", "X3") and question.requires:
                assert {name.split("-")[1] for name in question.requires} == {question.id.split("-")[1]}


def test_the_video_shows_each_whole_second_to_the_default_rule(pack: Pack) -> None:
    import av

    for name in (path for instance in pack.instances() for path in instance.media):
        data = pack.medium(name)
        assert data.stat().st_size < 600_000
        with av.open(str(data)) as container:
            stream = container.streams.video[0]
            assert (stream.width, stream.height, stream.frames) == (640, 360, 71)
            assert float(stream.average_rate or 0) == 10


def test_the_same_seed_and_index_give_the_same_text_and_video(pack: Pack) -> None:
    instance, media = draw(SEED, 1)
    stored = pack.instance(instance.id)
    assert instance == stored
    assert media[instance.media[0]] == pack.medium(instance.media[0]).read_bytes()


@pytest.mark.parametrize(
    ("knobs", "named"),
    [
        ({"places": 0}, "places"),
        ({"rejection_share": 1.5}, "rejection_share"),
        ({"moment_share": -0.1}, "moment_share"),
        ({"plot": "parade"}, "parade"),
    ],
)
def test_a_knob_out_of_range_is_named(knobs: dict[str, object], named: str) -> None:
    with pytest.raises(UsageError, match=named):
        Knobs(**knobs)  # type: ignore[arg-type]


def test_prepare_names_a_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        return None

    monkeypatch.setattr("importlib.util.find_spec", missing)
    with pytest.raises(MissingDependency, match="av"):
        load_av()


def test_every_plot_can_be_asked_for_by_name() -> None:
    chosen: list[Plot] = [plot for plot in PLOTS if Knobs(plot=plot).plot == plot]
    assert tuple(chosen) == PLOTS
    assert traffic_causation.INSTANCES == 107
    assert Path(traffic_causation.__file__).exists()
