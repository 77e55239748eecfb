"""Plans: lazy, in one order, counted and hashed without enumerating."""

import itertools
import subprocess
import sys
from collections import Counter

import pytest
from packs import SUMS, maze_pack, sums_instance, sums_pack, write_pack

from dodiag.interventions.design import Design
from dodiag.interventions.plan import make_plan
from dodiag.interventions.price import Assumptions, price
from dodiag.interventions.prompts import Assembler
from dodiag.problems import UsageError
from dodiag.scm.files import load_task, shipped_tasks
from dodiag.scm.pack import load_pack

DISTINCT = {
    "music_note_counting": 21,
    "dice_sum": 21,
    "map_navigation": 9,
    "maze": 3,
    "surround_localization": 33,
    "multi_view_sequencing": 33,
    "street_view_ordering": 33,
    "dashcam_counting": 27,
    "traffic_causation": 39,
    "multistep_reasoning": 9,
}


@pytest.mark.parametrize("slug", shipped_tasks())
def test_target_runs_per_instance_of_every_task(slug):
    task = load_task(slug)
    plan = make_plan(task)
    k = len(task.parents("Y"))
    assert plan.nominal_per_instance == 3 + 6 * k
    assert plan.distinct_per_instance == DISTINCT[slug]


def test_the_eight_contribution_tasks_cost_25560_target_runs():
    total = nominal = quick = 0
    for slug in shipped_tasks():
        task = load_task(slug)
        if task.published["pattern"] is not None:
            total += task.published["instances"] * make_plan(task).distinct_per_instance
            nominal += task.published["instances"] * make_plan(task).nominal_per_instance
            quick += task.published["instances"] * make_plan(task, quick=True).distinct_per_instance
    assert (nominal, total, quick) == (26_202, 25_560, 9_456)


def identity(call):
    return (call.instance.id, call.question.id, call.configuration.text, call.draw)


def test_calls_are_in_one_order_and_each_is_there_once(tmp_path):
    plan = make_plan(sums_pack(tmp_path / "p", 7), draws=2)
    calls = list(plan.calls())
    assert [call.position for call in calls] == list(range(len(calls)))
    assert len({identity(call) for call in calls}) == len(calls) == plan.call_count == 7 * 2 * (1 + 1 + 9)
    assert [identity(c) for c in plan.calls()] == [identity(c) for c in calls]
    assert plan.counts == {"X1": 14, "X2": 14, "Y": 126}


def test_a_plan_starts_without_reading_the_whole_pack(tmp_path):
    folder = write_pack(tmp_path / "p", SUMS, map(sums_instance, range(200)))
    plan = make_plan(load_pack(folder))
    text = (folder / "instances.jsonl").read_text().splitlines()
    (folder / "instances.jsonl").write_text("\n".join([*text[:100], "not json"]))
    first = list(itertools.islice(plan.calls(), 50))
    assert {call.instance.id for call in first} == {f"s{i:05d}" for i in range(5)}


def test_selection_keeps_ids_and_order(tmp_path):
    pack = sums_pack(tmp_path / "p", 9)
    plan = make_plan(pack, instances=["s00005", "s00002"], units=["Y"], contrasts=["1,n"])
    assert [c.instance.id for c in plan.calls()] == ["s00002"] * 4 + ["s00005"] * 4
    assert {c.question.unit for c in plan.calls()} == {"Y"}
    assert [c.instance.id for c in make_plan(pack, quick=True, limit=1).calls()] == ["s00000"] * 4


def test_the_hash_changes_with_what_is_asked_and_with_nothing_else(tmp_path):
    pack = sums_pack(tmp_path / "p", 3)
    same = sums_pack(tmp_path / "elsewhere", 3)
    assert (
        make_plan(pack).digest
        == make_plan(same).digest
        == make_plan(pack, contrasts=["1,0", "1,n", "n,0", "0,n"]).digest
    )
    other = [
        make_plan(pack),
        make_plan(pack, quick=True),
        make_plan(pack, draws=2),
        make_plan(pack, limit=2),
        make_plan(pack, units=["Y"]),
        make_plan(pack, instances=["s00001"]),
        make_plan(pack, factorial=True),
        make_plan(pack, contexts=["X1=1,X2=n"]),
        make_plan(pack, states=["1", "n"]),
        make_plan(pack, history="last"),
        make_plan(sums_pack(tmp_path / "q", 4)),
    ]
    assert len({plan.digest for plan in other}) == len(other)
    code = f"import dodiag; print(dodiag.make_plan(dodiag.load_pack({str(pack.folder)!r})).digest)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == make_plan(pack).digest


def test_an_instance_without_a_prerequisite_is_asked_but_in_no_contrast_of_it(tmp_path):
    def drop(instance):
        if instance["id"] == "s00001":
            del instance["questions"][1]

    pack = sums_pack(tmp_path / "p", 2, drop)
    calls = [c for c in make_plan(pack).calls() if c.question.unit == "Y"]
    by_instance = {name: list(group) for name, group in itertools.groupby(calls, lambda c: c.instance.id)}
    assert len(by_instance["s00000"]) == 9
    assert {c.absent for c in by_instance["s00000"]} == {()}
    assert {c.absent for c in by_instance["s00001"]} == {("X2",)}


def test_chain_steps_are_asked_under_their_markov_parent(tmp_path):
    calls = [c for c in make_plan(maze_pack(tmp_path / "m", 1, 3)).calls() if c.question.unit == "Y"]
    found = {
        step: [c.configuration.text for c in group]
        for step, group in itertools.groupby(calls, lambda c: c.question.step)
    }
    assert found == {1: ["X1=1", "X1=0", "X1=n"], 2: ["Y=1", "Y=0", "Y=n"], 3: ["Y=1", "Y=0", "Y=n"]}


@pytest.mark.parametrize(
    "options",
    [
        {"units": ["X9"]},
        {"units": []},
        {"instances": ["nope"]},
        {"limit": 0},
        {"contexts": ["X1=1,X9=0"]},
        {"contexts": [""]},
        {"contrasts": ["1,1"]},
    ],
)
def test_what_cannot_be_planned_is_refused(tmp_path, options):
    with pytest.raises(UsageError):
        make_plan(sums_pack(tmp_path / "p", 2), **options)


def test_a_graph_alone_has_no_calls_but_a_price():
    plan = make_plan(load_task("dice_sum"))
    with pytest.raises(UsageError, match="has no instances"):
        list(plan.calls())
    cost = price(plan)
    assert cost.assumed
    assert cost.calls == 130 + 791 + 868 * 3 + 130 * 21
    assert price(plan, Assumptions(instances=260)).calls == 2 * cost.calls


def test_the_price_counts_the_plans_calls_and_close_to_its_tokens(tmp_path):
    pack = sums_pack(tmp_path / "p", 20)
    for plan in (make_plan(pack), make_plan(pack, quick=True, draws=3), make_plan(maze_pack(tmp_path / "m", 2, 4))):
        cost = price(plan, Assumptions(input_price=2.0, output_price=8.0, output_tokens=10, with_media=False))
        calls = list(plan.calls())
        assembler = Assembler(plan.pack, plan.design.history, with_media=False)
        text = sum(len(assembler.prompt(c.instance, c.question, c.configuration).text) for c in calls)
        assert cost.calls == len(calls) == plan.call_count
        assert cost.input_tokens == pytest.approx(text / 4, rel=0.1)
        assert cost.money == pytest.approx((cost.input_tokens * 2 + cost.calls * 10 * 8) / 1e6)
        assert not cost.assumed


def test_pictures_are_in_the_price(tmp_path):
    plan = make_plan(maze_pack(tmp_path / "m", 1, 2), units=["X1"])
    blind, seeing = (price(plan, Assumptions(with_media=flag)).input_tokens for flag in (False, True))
    assert seeing - blind == round(200 * 150 / 750)


PEAK = """
import sys, tracemalloc
import dodiag

def work(folder):
    plan = dodiag.make_plan(dodiag.load_pack(folder))
    tracemalloc.start()
    for _ in plan.calls():
        pass
    dodiag.price(plan)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak

work(sys.argv[1])
print(work(sys.argv[2]))
"""


def test_memory_of_planning_does_not_grow_with_the_pack(tmp_path):
    """In a process of its own, warmed up on a small pack: a pack of a megabyte is planned in a fraction of that."""
    small, large = sums_pack(tmp_path / "small", 10), sums_pack(tmp_path / "large", 4000)
    command = [sys.executable, "-c", PEAK, str(small.folder), str(large.folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) < (large.folder / "instances.jsonl").stat().st_size / 4


@pytest.mark.parametrize("draws", [1, 2])
def test_reruns_repeat_the_targets_shared_baselines_alone(tmp_path, draws):
    pack = sums_pack(tmp_path, 3)
    plain, more = make_plan(pack, draws=draws), make_plan(pack, draws=draws, reruns=2)
    runs = Counter((c.question.unit, c.configuration, c.instance.id) for c in more.calls())
    for (unit, configuration, _), count in runs.items():
        shared = unit == pack.task.target and len(set(configuration.states)) == 1
        assert count == draws + 2 * shared
    assert more.call_count == plain.call_count + 3 * 3 * 2 == sum(1 for _ in more.calls())
    assert price(more).calls == more.call_count
    assert more.digest != plain.digest
    assert Design.from_dict(more.design.to_dict()) == more.design


def test_negative_reruns_are_refused(tmp_path):
    with pytest.raises(UsageError, match="-1 reruns"):
        make_plan(sums_pack(tmp_path, 2), reruns=-1)
