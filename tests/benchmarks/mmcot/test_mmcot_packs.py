"""Sets as task packs, and runs of them end to end."""

import json
import re
import tracemalloc

import pytest
from mmcot_sets import RIGHT, image_entry, listed, video_entry, write
from packs import picture
from typer.testing import CliRunner

import dodiag
from dodiag.benchmarks.mmcot.image_scores import Denominator
from dodiag.benchmarks.mmcot.loader import image_set, load_set, video_set
from dodiag.benchmarks.mmcot.media import find_media
from dodiag.benchmarks.mmcot.notation import cleaned, is_correct, links_of
from dodiag.benchmarks.mmcot.packs import META, export_set, image_questions, video_questions, view_graph
from dodiag.benchmarks.mmcot.sample_files import write_samples
from dodiag.benchmarks.mmcot.taxonomy import Axis
from dodiag.cli_mmcot import app
from dodiag.evaluations.mmcot_axes import axes_of_run
from dodiag.evaluations.mmcot_runs import mmcot_outcomes, score_run
from dodiag.problems import UsageError
from dodiag.runners.adapters.function import FunctionAdapter
from dodiag.runners.protocol import CallFailed, FailureKind, Finish, Reply
from dodiag.scm.answers import LETTERS
from dodiag.scm.pack import load_pack

STRAIGHT = "A1->B1->C1, A2->B2->C2, A3->B3->C3"


def questions(item, make):
    return {question.id: question for question in make(item)}


def test_steps_and_outcomes_ask_for_the_right_chains():
    item = image_set([image_entry()], "set").items[0]
    asked = questions(item, image_questions)
    assert list(asked) == ["B-A1", "B-A2", "B-A3", "C-A1", "C-A2", "C-A3", "T"]
    for slot, link in item.links.items():
        for letter, label, options in (("B", link[0], item.steps), ("C", link[1], item.outcomes)):
            question = asked[f"{letter}-{slot}"]
            assert question.choices[LETTERS.index(question.answer)] == options[label]
            assert question.incorrect != question.answer
    assert asked["C-A2"].requires == ("B-A2",)
    assert links_of(asked["T"].answer) == item.links
    assert not set(links_of(asked["T"].incorrect).items()) & set(item.links.items())


def test_the_whole_question_shows_the_sets_as_written_and_no_answer():
    item = image_set([image_entry()], "set").items[0]
    text = questions(item, image_questions)["T"].text
    assert all(part in text for part in (item.set_a, item.set_b, item.set_c))
    assert RIGHT not in text


def test_a_video_question_shows_the_pools_and_neither_conditions_nor_chain():
    item = video_set([video_entry()], "set").items[0]
    asked = questions(item, video_questions)
    assert all(part in asked["T"].text for part in (item.key_elements, item.replacements, item.outcomes))
    assert item.chain not in asked["T"].text
    assert item.critical + "\n" not in asked["T"].text
    assert is_correct(item.critical, item.chain, asked["T"].answer)
    assert not is_correct(item.critical, item.chain, asked["T"].incorrect)
    assert asked["K"].answer == ["A", "B"]
    assert asked["O"].choices[LETTERS.index(asked["O"].answer)] == "The cup stays."


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"Right_answer": f"{RIGHT}."}, "not three chains"),
        ({"set_B": listed("B", *"xxabcd")}, "the same"),
        ({"set_B": listed("B", "A", *["bb", "cc", "dd", "ee", "ff"])}, "bare letter"),
    ],
)
def test_what_a_pack_cannot_ask_of_a_picture_is_left_out_with_its_reason(tmp_path, changes, reason):
    dataset = image_set([image_entry(), image_entry(**changes)], "set")
    written = export_set(dataset, tmp_path / "pack")
    assert written.instances == 1
    assert reason in written.left_out[0].reason
    load_pack(tmp_path / "pack")


@pytest.mark.parametrize(
    "changes",
    [
        {"Counterfactual Causal Chain": "[a] -> [b] -> [c]"},
        {"Counterfactual Causal Chain": "[no hand], [a cup stands inside] -> The cup stays."},
        {"Counterfactual Causal Chain": "[no hand], [a cup stands inside] -> [The cup stays."},
        {"Critical Conditions": "[a hand pushes]"},
        {"Counterfactual Outcome Pool": "[The cup falls.], [x y]"},
        {"Counterfactual Elements": "[no hand], [a cup stands inside]"},
        {"Counterfactual Outcome Pool": "[The cup stays.]"},
    ],
)
def test_what_a_pack_cannot_ask_of_a_video_is_left_out(tmp_path, changes):
    with pytest.raises(UsageError, match="nothing is left to write"):
        export_set(video_set([video_entry(**changes)], "set"), tmp_path / "pack")
    assert not (tmp_path / "pack").exists()


def test_missing_media_are_refused_or_left_out(tmp_path):
    dataset = image_set([image_entry(), image_entry(img_path="x.jpg")], "set")
    (tmp_path / "x.jpg").write_bytes(picture(size=(32, 32)))
    media = find_media(dataset, tmp_path)
    with pytest.raises(UsageError, match="1 of 2 media"):
        export_set(dataset, tmp_path / "pack", media)
    written = export_set(dataset, tmp_path / "pack", media, skip_missing=True)
    assert (written.instances, written.left_out[0].reason) == (1, "./data/flickr30k/17.jpg is missing")
    assert load_pack(tmp_path / "pack").task.modality == "image"


def test_a_shuffled_export_keeps_its_seed_and_the_way_back(tmp_path):
    entries = [image_entry(img_path=f"{place}.jpg", Right_answer=STRAIGHT) for place in range(12)]
    dataset = image_set(entries, "set")
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        export_set(dataset, tmp_path / name, shuffle=seed)
    first, again, other = (load_pack(tmp_path / name) for name in "abc")
    assert first.digest == again.digest != other.digest
    answers = set()
    for instance in first.instances():
        order = instance.meta["shuffle"]
        back = {new: old for old, new in order["labels"].items()}
        assert (order["seed"], len(back)) == (3, 12)
        moved = image_set([instance.meta[META]], "pack").items[0]
        assert {back[label]: text for label, text in {**moved.steps, **moved.outcomes}.items()} == {
            **dataset.items[0].steps,
            **dataset.items[0].outcomes,
        }
        assert {slot: tuple(back[label] for label in link) for slot, link in moved.links.items()} == links_of(STRAIGHT)
        assert links_of(instance.question("T").answer) == moved.links
        answers.add(instance.question("T").answer)
    assert len(answers) > 9
    with pytest.raises(UsageError, match="only sets of pictures"):
        export_set(video_set([video_entry()], "set"), tmp_path / "v", shuffle=1)


def test_media_are_read_one_at_a_time(tmp_path):
    size, count = 2**20, 24
    for place in range(count):
        (tmp_path / f"{place}.jpg").write_bytes(bytes(size))
    dataset = image_set([image_entry(img_path=f"{place}.jpg") for place in range(count)], "set")
    tracemalloc.start()
    try:
        export_set(dataset, tmp_path / "pack", find_media(dataset, tmp_path))
        assert tracemalloc.get_traced_memory()[1] < 6 * size
    finally:
        tracemalloc.stop()


def test_chains_of_units_are_the_benchmarks_steps():
    assert view_graph("image").parents("T") == ("B", "C")
    assert view_graph("dice").parents("C") == ("B",)
    assert view_graph("video").parents("O") == ("R",)


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mmcot") / "sample"
    write_samples(folder)
    return folder


@pytest.fixture(scope="module")
def image_pack(sample):
    dataset = load_set(sample / "images.json")
    export_set(dataset, sample.parent / "images", find_media(dataset, sample))
    return load_pack(sample.parent / "images")


@pytest.fixture(scope="module")
def video_pack(sample):
    dataset = load_set(sample / "videos.json")
    export_set(dataset, sample.parent / "videos", find_media(dataset, sample))
    return load_pack(sample.parent / "videos")


def test_the_sample_is_complete_and_shuffled(sample, image_pack, video_pack):
    assert (image_pack.instance_count, video_pack.instance_count) == (6, 3)
    assert image_pack.media_kinds == {"image/jpeg": 6}
    assert video_pack.media_kinds == {"video/mp4": 3}
    assert {item.links["A1"] for item in load_set(sample / "images.json").items} != {("B1", "C1")}


def saying(texts, name="told"):
    """Return a model that answers each question by its unit's text, whole answers from a mapping of pools to texts."""
    return FunctionAdapter(lambda request: texts(request.prompt.text), name=name)


def test_a_model_that_says_gold_scores_all_and_one_that_wraps_it_only_leniently(tmp_path, image_pack):
    gold = {instance.question("T").text: instance.question("T").answer for instance in image_pack.instances()}

    def said(text):
        return next((answer for asked, answer in gold.items() if asked in text), "A")

    for wrap, strict in (("{}", 1.0), ("So: {}.", 0.0)):
        out = tmp_path / f"r{strict}"
        dodiag.run(image_pack, saying(lambda text, wrap=wrap: wrap.format(said(text))), out, quick=True)
        found = score_run(out)
        assert (found.strict.multi, found.lenient.multi) == (strict, 1.0)


def test_a_video_model_is_scored_by_the_released_rule(tmp_path, video_pack):
    gold = {instance.question("T").text: instance.question("T").answer for instance in video_pack.instances()}

    def said(text):
        return next((answer for asked, answer in gold.items() if asked in text), "A, B")

    out = tmp_path / "run"
    dodiag.run(video_pack, saying(lambda text: f"```json\n{said(text)}\n```"), out, quick=True)
    found = score_run(out)
    assert (found.strict.accuracy, found.strict.lenient_accuracy) == (1.0, 1.0)
    assert found.lenient is None


def test_the_simulator_runs_both_samples_and_the_states_are_apart(tmp_path, image_pack, video_pack):
    for pack in (image_pack, video_pack):
        out = tmp_path / pack.task.name
        assert dodiag.run(pack, "sim:default", out, quick=True).complete
        for state in ("n", "1"):
            assert score_run(out, state=state).strict.total == pack.instance_count
        with pytest.raises(UsageError, match="does not ask T under"):
            score_run(out, state="0")


def test_failed_calls_and_calls_that_were_never_made_are_told_apart(tmp_path, image_pack):
    out = tmp_path / "run"
    answered = iter([RIGHT] * 3)

    def some(request):
        text = next(answered, None)
        if text is None:
            raise CallFailed(FailureKind.NETWORK, "down")
        return text

    dodiag.run(image_pack, FunctionAdapter(some, name="some"), out, quick=True, max_retries=0, concurrency=1)
    found = {name: score_run(out, denominator=name).strict for name in Denominator}
    there, tried, planned = (found[name] for name in (Denominator.AVAILABLE, Denominator.RELEASED, Denominator.FIXED))
    assert there.total < tried.total < planned.total == 6, "the run gave up before it had made all calls"
    for scores in found.values():
        assert (scores.failed, scores.absent) == (tried.total - there.total, planned.total - tried.total)


def test_a_truncated_reply_keeps_its_outcome_unless_it_is_right(tmp_path, image_pack):
    gold = {instance.question("T").text: instance.question("T").answer for instance in image_pack.instances()}
    cut = iter(range(100))

    def said(request):
        right = next((answer for asked, answer in gold.items() if asked in request.prompt.text), "A")
        return Reply(right if next(cut) % 2 else right[:9], Finish.LENGTH)

    out = tmp_path / "run"
    dodiag.run(image_pack, FunctionAdapter(said, name="cut"), out, quick=True, concurrency=1)
    table = mmcot_outcomes(out)
    whole = table[table["unit"] == "T"]
    assert set(zip(whole["outcome"], whole["solved"], strict=True)) == {("value", 1), ("truncated", 0)}


def test_the_outcome_table_is_what_the_readers_say(tmp_path, image_pack):
    wrapped = FunctionAdapter(lambda request: "A1->B1->C1 perhaps", name="w")
    out = tmp_path / "run"
    dodiag.run(image_pack, wrapped, out)
    raw = dodiag.outcomes(out)
    table = mmcot_outcomes(out, "lenient")
    whole = table["unit"] == "T"
    assert raw.loc[whole, "solved"].isna().any(), "free text waits for a judge"
    assert set(table.loc[whole, "solved"]) == {0}
    assert set(table.loc[whole, "outcome"]) == {"value"}
    assert table[~whole].equals(raw[~whole])
    scores = dodiag.contributions(table, image_pack.task)
    assert {score.prerequisite for score in scores} == {"B", "C"}
    with pytest.raises(UsageError, match="no reading"):
        mmcot_outcomes(out, "fuzzy")


def test_an_injected_step_changes_the_prompt_and_its_state_can_be_named(tmp_path, image_pack):
    out = tmp_path / "run"
    dodiag.run(image_pack, "sim:default", out, quick=True)
    assert score_run(out, state="B=1,C=1").configuration == score_run(out, state="1").configuration
    with pytest.raises(UsageError, match="no step before"):
        score_run(out, state="X=1")


def test_failures_by_axis_of_a_labelled_picture_set(tmp_path, image_pack):
    def said(text):
        for instance in image_pack.instances():
            if instance.question("T").text in text:
                raw = instance.meta[META]
                wrong = [label for label, kind in raw["distractor_type"].items() if kind == "physical_impossibility"]
                step, outcome = sorted(wrong)
                return f"First A1->{step}->{outcome}."
        return "A"

    out = tmp_path / "run"
    dodiag.run(image_pack, saying(said), out, quick=True)
    found = axes_of_run(out)
    rows = {row.axis: row for row in found.rows}
    assert (rows[Axis.LOGICAL].failed, rows[Axis.VISUAL].failed) == (12, 0)
    assert rows[Axis.LOGICAL].n == 36


def command(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=True)


def test_the_commands_go_from_the_sample_to_figures(tmp_path, sample):
    out = tmp_path / "sample"
    assert "6 picture items" in command("samples", "--out", out).output
    checked = command("check", out / "images.json", "--media", out, "--json")
    assert json.loads(checked.output)["media_missing"] == []
    assert command("export", out / "images.json", "--media", out, "--out", tmp_path / "pack").exit_code == 0
    dodiag.run(load_pack(tmp_path / "pack"), "sim:default", tmp_path / "run", quick=True)
    printed = command("score", tmp_path / "run").output
    assert re.search(r"Single \(assumed\) +18 +\d+\.\d \(\d+\.\d to \d+\.\d\)", printed)
    assert json.loads(command("score", tmp_path / "run", "--json").output)["strict"]["total_samples"] == 6
    assert "right against it" in command("axes", tmp_path / "run").output
    table = tmp_path / "t.csv"
    assert command("score", tmp_path / "run", "--reading", "lenient", "--out", table).exit_code == 0
    assert table.read_text().startswith("model")


def test_videos_print_their_parts_and_strata(tmp_path):
    entry = video_entry(length_category="short", difficulty="Hard", Predicted_CF_Chain=cleaned("no"))
    path = write(tmp_path / "r.json", [entry])
    output = command("score", "--results", path).output
    assert "replacements" in output
    assert "short, Hard" in output


@pytest.mark.parametrize(
    "arguments",
    [
        ("score",),
        ("export", "x.json", "--out", "y"),
        ("score", "nowhere"),
        ("score", "nowhere", "--denominator", "all"),
        ("check", "nowhere.json"),
    ],
)
def test_mistakes_are_refused_with_a_cure(arguments):
    done = command(*arguments)
    assert isinstance(done.exception, UsageError)
    assert done.exception.cure or "run directory" in str(done.exception)


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (("nowhere", "--set", "set.json"), "--set"),
        (("nowhere", "--reading", "lenient"), "--reading"),
        (("nowhere", "--out", "t.csv", "--state", "1"), "--state"),
        (("nowhere", "--out", "t.csv", "--denominator", "fixed"), "--denominator"),
        (("nowhere", "--out", "t.csv", "--json"), "--json"),
        (("--results", "r.jsonl", "--state", "1"), "--state"),
        (("--results", "r.jsonl", "--draw", "0"), "--draw"),
        (("--results", "r.jsonl", "--out", "t.csv"), "--out"),
    ],
)
def test_an_option_without_effect_is_refused(arguments, option):
    assert str(command("score", *arguments).exception).startswith(f"{option} has no effect with")


def test_a_run_of_another_task_is_refused(tmp_path):
    dodiag.run("dice_sum", "sim:default", tmp_path / "run", quick=True, limit=1)
    with pytest.raises(UsageError, match="a run of dice_sum"):
        score_run(tmp_path / "run")
