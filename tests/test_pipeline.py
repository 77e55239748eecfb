"""The whole pipeline on simulators with known truth: plan, prompt, reply, reading, ledger, scores."""

import math

import pytest
from packs import SUMS, maze_pack, sums_instance, sums_pack, write_pack

import dodiag
from dodiag.scm.simulator import capabilities as true_capabilities
from dodiag.scm.simulator import chain_contribution, load_parameters, probabilities
from dodiag.vocabulary import Configuration, Contrast

Z = 4.5
"""Standard errors allowed: one in 150,000 comparisons errs by chance, and the seeds are fixed."""


def allowed(p, n):
    return Z * math.sqrt(max(p * (1 - p), 1 / n) / n)


@pytest.mark.parametrize("preset", ["default", "scaffolded"])
def test_true_probabilities_are_recovered_by_the_whole_pipeline(tmp_path, preset):
    """20,000 instances, target under all of the quick design's configurations; every p̂, N and S near its truth."""
    count = 20_000 if preset == "default" else 4_000
    pack = sums_pack(tmp_path / "p", count)
    parameters = load_parameters(preset)
    plan = dodiag.make_plan(pack, contrasts=["1,n", "1,0"], target_only=True)
    summary = dodiag.run(pack, f"sim:{preset}", tmp_path / "r", plan=plan)
    assert summary.complete
    table = dodiag.outcomes(tmp_path / "r")
    assert set(table["outcome"]) == {"value"}
    exact = probabilities(pack.task, parameters, "Y", plan.configurations("Y"))
    observed = table.groupby("configuration")["solved"].mean()
    assert set(observed.index) == {c.text for c in exact}
    for configuration, p in exact.items():
        assert observed[configuration.text] == pytest.approx(p, abs=allowed(p, count)), configuration.text
    truth = {key: value for key, value in dodiag_scores(exact, pack.task).items() if key[2] in ("1,n", "1,0")}
    found = {
        (s.metric, s.prerequisite, s.contrast): s
        for s in dodiag.contributions(table, pack.task, ["1,n", "1,0"], min_denominator=0)
        if s.metric in ("N", "S")
    }
    for key, value in truth.items():
        score = found[key]
        assert score.n == count
        slack = 2 * allowed(0.5, count) / score.denominator
        assert score.value == pytest.approx(value, abs=slack), key


def dodiag_scores(exact, task):
    from dodiag.bounds.scores import scores_from_probabilities

    contrasts = [Contrast.parse("1,n"), Contrast.parse("1,0")]
    return scores_from_probabilities(exact, task.parents("Y"), contrasts, min_denominator=0)


def test_capabilities_of_every_unit_of_the_dice_sample_are_near_the_truth(tmp_path):
    pack = dodiag.open_pack("dice_sum")
    dodiag.run(pack, "sim:default", tmp_path / "r")
    truth = true_capabilities(pack.task, load_parameters("default"))
    for score in dodiag.capabilities(dodiag.outcomes(tmp_path / "r"), pack.task):
        p = getattr(truth[score.unit], score.metric)
        assert score.value == pytest.approx(p, abs=allowed(p, score.n)), (score.unit, score.metric)


def test_the_oracle_solves_every_unit_under_every_configuration(tmp_path):
    for name, pack in (("d", dodiag.open_pack("dice_sum")), ("m", maze_pack(tmp_path / "mp", 3, 3))):
        dodiag.run(pack, "sim:oracle", tmp_path / name)
        assert dodiag.outcomes(tmp_path / name)["solved"].all()


def test_scaffolding_makes_wrong_answers_help(tmp_path):
    """CADET Property 3.6: without monotonicity RC can exceed NC, and the pipeline shows it."""
    pack = sums_pack(tmp_path / "p", 1500)
    dodiag.run(pack, "sim:scaffolded", tmp_path / "r", contrasts=["0,n"], target_only=True)
    found = {s.metric: s for s in dodiag.capabilities(dodiag.outcomes(tmp_path / "r"), pack.task)}
    assert found["RC"].lower > found["NC"].upper


def test_chain_scores_by_step_are_near_the_truth(tmp_path):
    count = 1500
    pack = maze_pack(tmp_path / "m", count, 3)
    parameters = load_parameters("default")
    dodiag.run(pack, "sim:default", tmp_path / "r", units=["Y"])
    table = dodiag.outcomes(tmp_path / "r")
    for score in dodiag.contributions(table, pack.task).where(metric="NS"):
        contrast = Contrast.parse(score.contrast)
        truth = chain_contribution(pack.task, parameters, contrast, "Y", score.step).value
        assert score.n == count
        assert score.value == pytest.approx(truth, abs=2 * allowed(0.5, count)), (score.step, score.contrast)


def test_two_runs_at_concurrency_1_and_32_give_identical_tables(tmp_path):
    pack = dodiag.open_pack("dice_sum")
    tables = []
    for concurrency in (1, 32):
        dodiag.run(pack, "sim:default", tmp_path / str(concurrency), concurrency=concurrency)
        tables.append(dodiag.outcomes(tmp_path / str(concurrency)).to_csv(index=False))
    assert tables[0] == tables[1]


def test_a_simulator_reads_its_configuration_from_the_prompt(tmp_path):
    """If assembly injected nothing, the credulous simulator would not fall for wrong answers."""
    pack = sums_pack(tmp_path / "p", 400)
    dodiag.run(pack, "sim:credulous", tmp_path / "r", states=["1", "0", "n"], contrasts=[], target_only=True)
    found = {s.metric: s.value for s in dodiag.capabilities(dodiag.outcomes(tmp_path / "r"), pack.task)}
    assert found["IC"] > found["NC"] > found["RC"]
    assert Configuration.parse("X1=1,X2=1").text in set(dodiag.outcomes(tmp_path / "r")["configuration"])


def test_simulators_answer_text_tasks_without_a_judge(tmp_path):
    """A simulated model says the reference or the author's incorrect text, and both are scored by comparison."""
    text = SUMS.replace("answer: {type: integer, min: 0, max: 40}", "answer: {type: text}")
    instances = [sums_instance(index) for index in range(300)]
    for instance in instances:
        instance["questions"][2].update(answer="turn left", incorrect="turn right")
    pack = dodiag.load_pack(write_pack(tmp_path / "p", text, instances))
    dodiag.run(pack, "sim:default", tmp_path / "r", target_only=True)
    table = dodiag.outcomes(tmp_path / "r")
    assert set(table["outcome"]) == {"value"}
    truth = true_capabilities(pack.task, load_parameters("default"))["Y"]
    for score in dodiag.capabilities(table, pack.task):
        p = getattr(truth, score.metric)
        assert score.value == pytest.approx(p, abs=allowed(p, score.n))
