"""Task packs: streamed, checked in one go, refused with place and cure."""

import json
import pickle

import pytest
from packs import SUMS, maze_pack, picture, sums_instance, sums_pack, write_pack

from dodiag.interventions.prompts import Assembler
from dodiag.problems import InvalidInput, UsageError
from dodiag.scm.pack import correct_answer, incorrect_answer, load_pack
from dodiag.vocabulary import Configuration


def changed(**question):
    instance = sums_instance(0)
    instance["questions"][0].update(question)
    return instance


REFUSALS = {
    # name: (instance, where, problem, cure)
    "unknown unit": (changed(unit="X7"), "instance s00000, question a", "unit 'X7' is not in the task", "X1, X2, Y"),
    "equal answers": (changed(incorrect=0), "question a", "equals the correct one", "different"),
    "equal after normalisation": (changed(incorrect="+0"), "question a", "equals the correct one", "different"),
    "truth out of range": (changed(answer=21), "question a", "21 is outside 0 to 20", "integer"),
    "truth of another type": (changed(answer="seven"), "question a", "'seven' is not an integer", "integer"),
    "truth that is true": (changed(answer=True), "question a", "'True' is not an integer", "integer"),
    "incorrect out of range": (changed(incorrect=99), "question a", "the incorrect answer 99 is outside", "integer"),
    "medium outside": ({**sums_instance(0), "media": ["../x.png"]}, "instance s00000", "is outside the pack", "media/"),
    "absolute medium": ({**sums_instance(0), "media": ["/etc/passwd"]}, "instance s00000", "is outside", "media/"),
    "missing medium": ({**sums_instance(0), "media": ["media/x.png"]}, "instance s00000", "is missing", "media/"),
    "unknown field": (changed(colour="red"), "question a", "'colour' is not a field", "unit"),
    "bad box": (changed(annotations=[{"box": [5, 5, 1, 1]}]), "question a", "right > left", ""),
    "two shapes": (changed(annotations=[{"box": [1, 1, 5, 5], "point": [1, 1]}]), "question a", "one of box", ""),
    "annotation on no medium": (changed(annotations=[{"point": [1, 1]}]), "question a", "which medium", "medium"),
    "requires what is not there": (changed(requires=["zz"]), "question a", "requires 'zz'", "questions"),
    "requires what is no prerequisite": (changed(requires=["b"]), "question a", "no prerequisite of X1", "root"),
    "step outside a chain": (changed(step=2), "question a", "is in no chain", "Remove"),
    "no questions": ({"id": "e", "questions": []}, "instance e", "at least 1", ""),
    "choices that repeat": (changed(unit="X2", choices=["a", "A "], answer="A"), "question a", "distinct", "choices"),
    "choices that swap letters": (
        changed(unit="X2", choices=["B", "A"], answer="A"),
        "question a",
        "letter",
        "choices",
    ),
    "choices with the letters of other ones": (
        changed(unit="X2", choices=["(B) red", "(A) blue"], answer="A"),
        "question a",
        "choice A reads '(B) red'",
        "choices",
    ),
    "choice that is not there": (changed(unit="X2", answer="E"), "question a", "none of the choices", "choice"),
}


@pytest.mark.parametrize(("instance", "where", "problem", "cure"), REFUSALS.values(), ids=REFUSALS)
def test_refusal_names_the_instance_the_problem_and_the_cure(tmp_path, instance, where, problem, cure):
    write_pack(tmp_path / "p", SUMS, [sums_instance(5), instance])
    with pytest.raises(InvalidInput) as caught:
        load_pack(tmp_path / "p")
    (found,) = [p for p in caught.value.problems if problem in p.problem]
    assert where in found.where
    assert cure in found.cure
    assert found.line == 2
    assert found.file.endswith("instances.jsonl")


def twins(title="Same", texts=("How many?", "How many?"), **asked):
    """Return a graph with the titles of both prerequisites, and an instance with the texts of their questions."""
    graph = SUMS
    for unit in ("X1", "X2"):
        head, _, rest = graph.partition(f"  {unit}: {{title: ")
        graph = f"{head}  {unit}: {{title: {title if unit == 'X1' else 'Same'},{rest.partition(',')[2]}"
    instance = sums_instance(0)
    by_unit = {question["unit"]: question for question in instance["questions"]}
    for unit, text in zip(("X1", "X2"), texts, strict=True):
        by_unit[unit]["text"] = text
    by_unit["Y"].update(asked)
    return graph, instance


def test_two_prerequisites_that_look_the_same_in_a_prompt_are_refused(tmp_path):
    graph, instance = twins()
    with pytest.raises(InvalidInput) as caught:
        load_pack(write_pack(tmp_path / "p", graph, [sums_instance(5), instance]))
    (found,) = caught.value.problems
    assert (found.line, found.where) == (2, "instance s00000")
    assert found.problem.startswith("'a' and 'b' are injected for Y under one title with one text")
    assert "different titles" in found.cure


@pytest.mark.parametrize(
    "unlike", [{"title": "Other"}, {"texts": ("How many?", "How many red?")}, {"requires": ["a"]}], ids=str
)
def test_prerequisites_that_a_prompt_tells_apart_are_taken(tmp_path, unlike):
    graph, instance = twins(**unlike)
    pack = load_pack(write_pack(tmp_path / "p", graph, [instance]))
    question = instance["questions"][2]["id"]
    shown = Assembler(pack, with_media=False)
    asked = pack.instance("s00000").question(question)
    prompts = {
        shown.prompt(pack.instance("s00000"), asked, Configuration.parse(f"X1={one},X2={other}")).text
        for one, other in [("q", "n"), ("n", "q"), ("0", "n"), ("n", "0")]
    }
    assert len(prompts) == (4 if "requires" not in unlike else 3)


def test_symlink_out_of_the_pack_is_refused(tmp_path):
    secret = tmp_path / "secret.png"
    secret.write_bytes(picture())
    folder = write_pack(tmp_path / "p", SUMS, [{**sums_instance(0), "media": ["media/x.png"]}])
    (folder / "media").mkdir()
    (folder / "media" / "x.png").symlink_to(secret)
    with pytest.raises(InvalidInput, match="outside the pack"):
        load_pack(folder)


def test_missing_incorrect_text_is_a_problem_only_where_it_would_be_injected(tmp_path):
    text = SUMS.replace("answer: {type: integer, min: 0, max: 20}", "answer: {type: text}")
    instance = changed(answer="a blue box")
    write_pack(tmp_path / "p", text, [instance])
    with pytest.raises(InvalidInput, match="has to be written by the author"):
        load_pack(tmp_path / "p")
    target = SUMS.replace("answer: {type: integer, min: 0, max: 40}", "answer: {type: text}")
    free = sums_instance(0)
    free["questions"][2]["answer"] = "a blue box"
    assert load_pack(write_pack(tmp_path / "q", target, [free])).question_count == 3


def test_duplicates_are_refused(tmp_path):
    twice = sums_instance(3)
    twice["questions"].append(twice["questions"][0])
    write_pack(tmp_path / "p", SUMS, [sums_instance(1), sums_instance(2), sums_instance(1), twice])
    with pytest.raises(InvalidInput) as caught:
        load_pack(tmp_path / "p")
    places = [(p.line, p.where) for p in caught.value.problems]
    assert places == [(3, "instance s00001"), (4, "instance s00003, question a")]


@pytest.mark.parametrize("line", ["not json", "[]", '{"id": 3}', "{", '"text"', "\x00", "1e999", "[" * 10_000])
def test_lines_that_are_no_instances_are_refused_with_their_line(tmp_path, line):
    write_pack(tmp_path / "p", SUMS, [sums_instance(0), line])
    with pytest.raises(InvalidInput) as caught:
        load_pack(tmp_path / "p")
    assert {p.line for p in caught.value.problems} == {2}


def test_empty_and_missing_instance_files_are_refused(tmp_path):
    with pytest.raises(InvalidInput, match="has no instances"):
        load_pack(write_pack(tmp_path / "p", SUMS, []))
    (tmp_path / "p" / "instances.jsonl").unlink()
    with pytest.raises(InvalidInput, match=r"has no instances\.jsonl"):
        load_pack(tmp_path / "p")
    with pytest.raises(InvalidInput, match="not a task pack"):
        load_pack("dice_sum")


def test_problems_of_graph_and_instances_come_together(tmp_path):
    folder = write_pack(tmp_path / "p", SUMS.replace("parents: [X1, X2]", "parents: [X1, X9]"), [])
    (folder / "instances.jsonl").unlink()
    with pytest.raises(InvalidInput) as caught:
        load_pack(folder)
    assert ["X9" in p.problem or "instances.jsonl" in p.problem for p in caught.value.problems] == [True, True]


def test_a_broken_graph_does_not_hide_broken_instances(tmp_path):
    graph = SUMS.replace("parents: [X1, X2]", "parents: [X1, X9]")
    folder = write_pack(tmp_path / "p", graph, [sums_instance(0), "nonsense", {**sums_instance(1), "media": ["x.png"]}])
    with pytest.raises(InvalidInput) as caught:
        load_pack(folder)
    files = [(p.file.rsplit("/", 1)[-1], p.line) for p in caught.value.problems]
    assert files == [("task.yaml", 9), ("instances.jsonl", 2), ("instances.jsonl", 3)]


def test_chain_units_need_a_step(tmp_path):
    pack = maze_pack(tmp_path / "m")
    line = json.loads((pack.folder / "instances.jsonl").read_text().splitlines()[0])
    del line["questions"][2]["step"]
    (pack.folder / "instances.jsonl").write_text(json.dumps(line))
    with pytest.raises(InvalidInput, match="the question has no step"):
        load_pack(pack.folder)


def test_a_pack_is_counted_and_read_in_order(tmp_path):
    pack = sums_pack(tmp_path / "p", 30)
    assert (pack.instance_count, pack.question_count) == (30, 90)
    assert pack.questions_per_unit == {"X1": 30, "X2": 30, "Y": 30}
    assert [i.id for i in pack.instances()] == list(pack.instance_ids) == [f"s{n:05d}" for n in range(30)]
    assert pack.instance("s00017").question("a").answer == 6
    with pytest.raises(UsageError, match="no instance 'x'"):
        pack.instance("x")


def test_the_digest_is_of_the_content_not_of_the_place(tmp_path):
    first, second = sums_pack(tmp_path / "p", 5), sums_pack(tmp_path / "elsewhere" / "q", 5)
    assert first.digest == second.digest
    assert sums_pack(tmp_path / "r", 6).digest != first.digest
    other = write_pack(tmp_path / "s", SUMS.replace("title: Sums", "title: Summs"), map(sums_instance, range(5)))
    assert load_pack(other).digest != first.digest


def test_incorrect_answers_depend_on_seed_and_question_alone(tmp_path):
    pack, longer = sums_pack(tmp_path / "p", 5), sums_pack(tmp_path / "q", 40)
    for instance in pack.instances():
        for question in instance.questions:
            drawn = incorrect_answer(pack.task, instance, question)
            assert drawn != correct_answer(pack.task, question)
            assert drawn == incorrect_answer(longer.task, longer.instance(instance.id), question)
    seeded = load_pack(write_pack(tmp_path / "r", SUMS + "seed: 7\n", map(sums_instance, range(40))))
    draws = [[incorrect_answer(p.task, i, q) for i in p.instances() for q in i.questions] for p in (longer, seeded)]
    assert draws[0] != draws[1]


def test_tasks_and_instances_travel_between_processes(tmp_path):
    pack = sums_pack(tmp_path / "p", 2)
    assert pickle.loads(pickle.dumps(pack.task)) == pack.task
    assert pickle.loads(pickle.dumps(pack)).digest == pack.digest
