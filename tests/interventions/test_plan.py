"""Plans: lazy, in one order, counted and hashed without enumerating."""

import itertools
import json
import os
import subprocess
import sys
from collections import Counter

import pytest
from packs import SUMS, maze_pack, picture, sums_instance, sums_pack, write_pack

import dodiag
from dodiag.interventions.design import Design
from dodiag.interventions.media import MediaRule
from dodiag.interventions.plan import make_plan
from dodiag.interventions.price import Assumptions, price
from dodiag.interventions.prompts import Assembler
from dodiag.problems import UsageError
from dodiag.scm.files import load_task, shipped_tasks
from dodiag.scm.media import MediumError
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
        make_plan(pack, contrasts=["1,n", "1,0"]),
        make_plan(pack, contrasts=["1,0", "1,n"]),  # other positions in the outcome table
        make_plan(sums_pack(tmp_path / "q", 4)),
    ]
    assert len({plan.digest for plan in other}) == len(other)
    alike = [
        make_plan(pack, limit=3),
        make_plan(pack, limit=99),
        make_plan(pack, instances=["s00002", "s00000", "s00001"]),
        make_plan(pack, history="last"),
        make_plan(pack, media=MediaRule(max_pixels=1000)),
    ]
    assert {plan.digest for plan in alike} == {make_plan(pack).digest}
    assert make_plan(pack, instances=["s00001"], limit=1).digest == make_plan(pack, instances=["s00001"]).digest
    maze = maze_pack(tmp_path / "m", 1, 3)
    assert make_plan(maze).digest != make_plan(maze, history="last").digest
    assert make_plan(maze).digest != make_plan(maze, media=MediaRule(max_pixels=1000)).digest


def test_the_order_of_the_units_belongs_to_the_hash(tmp_path):
    """Calls are continued by their positions, so another order is another plan."""
    lines = SUMS.splitlines()
    first, second = (next(i for i, line in enumerate(lines) if f"  {unit}:" in line) for unit in ("X1", "X2"))
    lines[first], lines[second] = lines[second], lines[first]
    turned = load_pack(write_pack(tmp_path / "p", "\n".join(lines), [sums_instance(0)]))
    assert [c.question.unit for c in make_plan(turned).calls()][:2] == ["X2", "X1"]
    assert make_plan(turned).digest != make_plan(sums_pack(tmp_path / "q", 1)).digest


LISTED = """
import sys
import dodiag
plan = dodiag.make_plan(dodiag.load_pack(sys.argv[1]), contexts=["X1=1"], states=["q", "n", "1"])
print(plan.digest)
for call in plan.calls():
    print(call.instance.id, call.question.id, call.configuration, call.draw, call.position)
"""


def test_a_plan_is_the_same_in_every_process(tmp_path):
    pack = maze_pack(tmp_path / "m", 2, 3)
    said = {
        subprocess.run(
            [sys.executable, "-c", LISTED, str(pack.folder)],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("0", "1")
    }
    assert len(said) == 1
    assert len(said.pop().splitlines()) > 20


def test_other_media_are_another_plan(tmp_path):
    """Else a run that is continued, or merged with another one, would mix answers about two pictures."""
    pack = maze_pack(tmp_path / "m", 2, 2)
    before = [make_plan(pack).digest, make_plan(pack, limit=1).digest]
    assert make_plan(maze_pack(tmp_path / "same", 2, 2)).digest == before[0]
    (pack.folder / "media" / "1.png").write_bytes(picture(colour="#000000"))
    changed = load_pack(pack.folder)
    assert changed.digest == pack.digest
    assert make_plan(changed).digest != before[0]
    assert make_plan(changed, limit=1).digest == before[1], "what is not sent does not count"
    (pack.folder / "media" / "1.png").unlink()
    with pytest.raises(MediumError, match=r"media/1\.png"):
        _ = make_plan(changed).digest


def test_a_run_does_not_go_on_with_other_pictures(tmp_path):
    pack = maze_pack(tmp_path / "m", 2, 2)
    dodiag.run(pack, lambda request: "A", tmp_path / "run", max_calls=5)
    (pack.folder / "media" / "0.png").write_bytes(picture(colour="#000000"))
    with pytest.raises(UsageError, match="holds a run of"):
        dodiag.run(load_pack(pack.folder), lambda request: "A", tmp_path / "run")


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


def test_an_instance_without_any_prerequisite_says_nothing_about_ic_and_rc(tmp_path):
    """Nothing is injected there, so the call belongs to NC alone, for the target as for every other unit."""

    def drop(instance):
        if instance["id"] == "s00001":
            del instance["questions"][:2]

    pack = sums_pack(tmp_path / "p", 3, drop)
    asked = [c.configuration.text for c in make_plan(pack).calls() if c.instance.id == "s00001"]
    assert asked == ["X1=n,X2=n"]
    assert not [c for c in make_plan(pack, contrasts=["1,0"]).calls() if c.instance.id == "s00001"]
    assert price(make_plan(pack, contrasts=["1,0"])).calls == make_plan(pack, contrasts=["1,0"]).call_count
    dodiag.run(pack, "sim:default", tmp_path / "run")
    found = dodiag.capabilities(dodiag.outcomes(tmp_path / "run"), pack.task)
    assert {row.metric: row.n for row in found if row.unit == "Y"} == {"NC": 3, "IC": 2, "RC": 2}


def test_a_chain_step_without_the_step_before_it_has_nothing_injected(tmp_path):
    def steps(history):
        plan = make_plan(gap, history=history)
        return [c.configuration.text for c in plan.calls() if c.question.unit == "Y" and c.question.step == 3]

    pack = maze_pack(tmp_path / "m", 1, 3)
    (line,) = (pack.folder / "instances.jsonl").read_text().splitlines()
    instance = json.loads(line)
    instance["questions"] = [q for q in instance["questions"] if q.get("step") != 2]
    (pack.folder / "instances.jsonl").write_text(json.dumps(instance))
    gap = load_pack(pack.folder)
    assert steps("full") == ["Y=1", "Y=0", "Y=n"]
    assert steps("last") == ["Y=n"]


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
        {"states": ["x"]},
        {"limit": "2"},
        {"limit": True},
        {"draws": 2.0},
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
    assert price(make_plan(load_task("dice_sum"), quick=True, limit=3)).calls == 3 * 8
    with pytest.raises(UsageError, match="no instances to choose from"):
        make_plan(load_task("dice_sum"), instances=["a"])


CYCLE = """schema: 1
name: cycle
title: A Cycle of Two
modality: text
target: Y
units:
  X1: {title: Place, category: spatial, answer: {type: integer}}
  X2: {title: Move, category: cognitive, answer: {type: integer}}
  Y: {title: End, category: cognitive, answer: {type: integer}, parents: [X1, X2]}
chains: [{units: [X1, X2], steps: 4}]
"""


def test_the_price_of_a_chain_counts_its_later_steps_as_a_pack_would(tmp_path):
    """Its first unit has no prerequisite at step 1 only."""

    def asked(unit, step):
        return {"id": f"{unit}{step}", "unit": unit, "text": "?", "answer": step, "step": step}

    questions = [asked(unit, step) for step in range(1, 5) for unit in ("X1", "X2")]
    questions.append({"id": "y", "unit": "Y", "text": "?", "answer": 1})
    pack = load_pack(write_pack(tmp_path / "p", CYCLE, [{"id": f"i{n}", "questions": questions} for n in range(5)]))
    measured = price(make_plan(pack)).calls_per_unit
    assert measured == make_plan(pack).counts == {"X1": 5 * (1 + 3 * 3), "X2": 5 * 4 * 3, "Y": 5 * 9}
    assert price(make_plan(pack.task), Assumptions(instances=5)).calls_per_unit == measured
    assert price(make_plan(load_task("multistep_reasoning"))).calls_per_unit["X1"] == 128 + 3 * (3350 - 128)


@pytest.mark.parametrize(
    "wrong",
    [
        {"instances": 0},
        {"instances": -5},
        {"concurrency": 0},
        {"latency": -1.0},
        {"latency": float("nan")},
        {"output_tokens": -1},
        {"input_price": -1.0},
        {"output_price": float("inf")},
    ],
)
def test_an_estimate_rests_on_numbers_that_can_be(wrong):
    with pytest.raises(UsageError, match=next(iter(wrong)).replace("_", " ")):
        Assumptions(**wrong)


def test_a_pack_has_its_own_number_of_instances(tmp_path):
    with pytest.raises(UsageError, match="has its own"):
        price(make_plan(sums_pack(tmp_path / "p", 2)), Assumptions(instances=500))


def test_an_unknown_price_is_no_price_of_0(tmp_path):
    plan = make_plan(sums_pack(tmp_path / "p", 2))
    for known in ({}, {"input_price": 2.0}, {"output_price": 2.0}):
        assert price(plan, Assumptions(**known)).money is None
    assert price(plan, Assumptions(input_price=0.0, output_price=0.0)).money == 0.0
    assert price(make_plan(plan.task), Assumptions(input_price=2.0, output_price=2.0)).money is None


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
    small = make_plan(plan.pack, units=["X1"], media=MediaRule(max_pixels=7500))
    assert price(small).input_tokens - blind == 10, "the price is of what the media rule sends"


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
