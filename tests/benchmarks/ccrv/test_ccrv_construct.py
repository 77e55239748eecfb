"""Variants are made from scene graphs; what a writer gets wrong is named, asked again once, and then rejected."""

import json
import random
import signal
import subprocess
import sys
import threading

import pytest
from ccrv_sets import RUBRIC, document, write
from servers import failure, serving

from dodiag.benchmarks.ccrv.construct import Brief, Draft, NoDraft, build, drafted_by_model, objections
from dodiag.benchmarks.ccrv.data import X_KEYS, Y_IDS, ItemKey
from dodiag.benchmarks.ccrv.inspection import reference_complies
from dodiag.benchmarks.ccrv.loader import dataset_of, load_dataset, written
from dodiag.benchmarks.ccrv.scene import SceneGraph, focus, read_scene_graphs, symbol_pool
from dodiag.evaluations.ccrv_building import WriterFailed, build_set, read_object
from dodiag.problems import InvalidInput, UsageError
from dodiag.runners.adapters.function import FunctionAdapter

SCENE = SceneGraph.model_validate(
    {
        "image_id": 7,
        "image_width": 300,
        "image_height": 240,
        "nodes": [
            {"object_id": 11, "name": "cup", "bbox": [100, 50, 40, 60]},
            {"object_id": 12, "name": "woman", "bbox": [10, 20, 80, 200]},
            {"object_id": 13, "name": "table", "bbox": [0, 120, 300, 100]},
            {"object_id": 14, "name": "lamp"},
            {"object_id": 15, "name": "shoe", "bbox": [10, 210, 20, 10]},
        ],
        "edges": [
            {"source_id": 13, "target_id": 11, "predicate": "has"},
            {"source_id": 12, "target_id": 11, "predicate": "tips"},
            {"source_id": 11, "target_id": 13, "predicate": "falls on"},
        ],
    }
)
BASELINE = dataset_of(document((7,), constrained=False), "set")
ITEM = BASELINE.by_key[ItemKey(7, X_KEYS[0], 0)]


def good(brief):
    """Write a draft that keeps every rule."""
    premise = None
    if brief.constraint == "Y1":
        nodes = brief.spec["symbol_map"]
        shown = "; ".join(f"{s} at [{', '.join(f'{e:g}' for e in n['bbox_xyxy'])}]" for s, n in nodes.items())
        cause = next(s for s, n in nodes.items() if n["object_id"] == 12)
        question, reference = f"{shown}. Which node is the cause?", f"{cause} is the cause."
    elif brief.constraint == "Y2":
        x, y = brief.spec["target_center_xy"]
        question = "Mark one pixel of what tips it."
        reference = f"Coordinate: [{x:g}, {y:g}]\nExplanation: Here somebody tips it over by hand."
    elif brief.constraint == "Y3":
        premise = "Nobody touches anything."
        question, reference = f"It may be false: {premise} What happens?", "That is false: it is tipped."
    else:
        question, reference = "Who does what?", "Woman, tips cup."
    return Draft(constrained_question=question, adapted_ground_truth=reference, false_premise=premise, **RUBRIC)


@pytest.mark.parametrize(
    ("target", "partner", "pointed"),
    [
        (11, "woman", {"X1_discovery": "woman", "X2_prediction": "cup"}),
        (13, "cup", {"X3_diagnosis": "cup"}),
        (12, "cup", {"X1_discovery": "cup", "X4_intervention": "woman"}),
        (14, None, {"X1_discovery": "lamp"}),
    ],
)
def test_partner_and_pointed_node_follow_the_edges(target, partner, pointed):
    about = focus(SCENE, target)
    assert (about.partner.name if about.partner else None) == partner
    for x, name in pointed.items():
        assert about.pointed_at(x).name == name


def test_a_pool_has_the_nodes_in_focus_and_two_others_with_boxes_in_random_order():
    orders = set()
    for seed in range(20):
        pool = symbol_pool(SCENE, focus(SCENE, 11), random.Random(seed))
        names = [node.true_name for node in pool.values()]
        assert list(pool) == ["Node_A", "Node_B", "Node_C", "Node_D"]
        assert sorted(names) == ["cup", "shoe", "table", "woman"]
        orders.add(tuple(names))
    assert len(orders) > 5


def test_good_drafts_become_variants_that_load_and_keep_their_own_constraints():
    built = build(ITEM, SCENE, good)
    assert built.rejections == ()
    raw = document((7,), constrained=False)
    raw[0]["questions"][X_KEYS[0]][0]["main_set_versions"] = list(built.variants)
    item = dataset_of(json.loads(json.dumps(raw)), "built").by_key[ITEM.key]
    assert tuple(item.variants) == Y_IDS
    assert [reference_complies(variant) for variant in item.variants.values()] == [1, 1, None, 1]
    bare = item.variants["Y4"]
    assert bare.adapted_ground_truth == "Woman tips cup"
    assert "at most 4 words" in bare.constrained_question
    assert item.variants["Y2"].constrained_question.endswith("in at least 20 characters")
    assert item.variants["Y1"].spec.forbidden_terms[:2] == ("batter", "boy")


def test_the_symbols_of_an_item_do_not_depend_on_what_was_made_before():
    alone = build(ITEM, SCENE, good, constraints=["Y1"]).variants
    assert alone == build(ITEM, SCENE, good).variants[:1]
    assert build(ITEM, SCENE, good, seed=1).variants[0] != alone[0]


BAD = [
    ("Y1", {"constrained_question": "Which node tips the cup?"}, "the question uses cup"),
    ("Y1", {"constrained_question": "Node_A, which?"}, "does not give Node_B with its box"),
    ("Y1", {"adapted_ground_truth": "It is the cause."}, "names no placeholder"),
    ("Y2", {"adapted_ground_truth": "Coordinate: [299, 1]\nExplanation: " + "here " * 5}, "outside the target"),
    ("Y2", {"constrained_question": "Mark it.\nCoordinate: [x, y]"}, "pixels"),
    ("Y3", {"false_premise": None}, "no false premise"),
    ("Y3", {"constrained_question": "What happens?"}, "word for word"),
    ("Y4", {"adapted_ground_truth": "a b c d e f g"}, "7 words instead of 2 to 6"),
    ("Y4", {"adapted_ground_truth": "tips"}, "1 words instead of 2 to 6"),
    ("Y4", {"constrained_question": "Say: woman tips cup"}, "contains the reference"),
]


@pytest.mark.parametrize(("constraint", "change", "reason"), BAD)
def test_a_draft_that_breaks_a_rule_is_asked_again_with_the_reason_and_then_rejected(constraint, change, reason):
    seen = []

    def bad(brief):
        seen.append(brief.objections)
        return good(brief).model_copy(update=change)

    built = build(ITEM, SCENE, bad, constraints=[constraint])
    assert built.variants == ()
    (rejection,) = built.rejections
    assert any(reason in given for given in rejection.reasons)
    assert len(seen) == 2
    assert seen[0] == ()
    assert any(reason in given for given in seen[1])


def test_a_second_draft_may_heal_the_first():
    def slow(brief):
        draft = good(brief)
        return draft if brief.objections else draft.model_copy(update={"adapted_ground_truth": "one"})

    assert len(build(ITEM, SCENE, slow, constraints=["Y4"]).variants) == 1


def test_an_item_without_a_box_gets_no_variant_and_no_request():
    lamp = ITEM.model_copy(update={"target_object_id": 14})
    asked = []
    found = build(lamp, SCENE, lambda brief: asked.append(brief) or good(brief), constraints=["Y2"])
    assert found.rejections[0].reasons == ("no node of the item has a box",)
    assert asked == []


def test_a_brief_tells_a_writer_scene_rule_and_objections():
    text = Brief(ITEM, "Y2", {"target_bbox_xyxy": [1, 2, 3, 4]}, SCENE, ("the point is outside",)).prompt()
    for part in (ITEM.question_text, ITEM.rationale, '"tips"', "the point is outside", "Coordinate: [x, y]"):
        assert part in text
    assert "false_premise" not in text


def test_objections_are_empty_for_what_is_accepted():
    variant = build(ITEM, SCENE, good, constraints=["Y3"]).variants[0]
    draft = good(Brief(ITEM, "Y3", {}, SCENE))
    assert objections("Y3", variant["constraint_spec"], draft) == ()


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ('{"a": 1}', {"a": 1}),
        ('Sure:\n```json\n{"A": {"b": 2}}\n```', {"A": {"b": 2}}),
        ('<think>{"a": 0}</think>{"a": 1}', {"a": 1}),
        ('{"a": 1} {"a": 2}', None),
        ("nothing", None),
        ('{"a": ', None),
    ],
)
def test_one_object_is_read_from_a_reply_and_never_one_of_two(reply, found):
    assert read_object(reply) == found


def test_a_reply_that_is_no_draft_is_an_objection():
    drafter = drafted_by_model(lambda _: '{"constrained_question": "x"}', read_object)
    with pytest.raises(NoDraft, match="adapted_ground_truth"):
        drafter(Brief(ITEM, "Y4", {}, SCENE))
    with pytest.raises(NoDraft, match="no JSON object"):
        drafted_by_model(lambda _: "sorry", read_object)(Brief(ITEM, "Y4", {}, SCENE))


def reply(text):
    """Answer as a model that writes well would."""
    given = json.loads(text[text.index("{") : text.index("\n\nReply with one JSON")].split("\n\nYour draft")[0])
    constraint = "Y3" if "false premise about" in text else "Y4" if "bare subject" in text else ""
    constraint = constraint or ("Y1" if "symbol_map" in given["constraint_spec"] else "Y2")
    item = ITEM.model_copy(update={"question_text": given["question"]})
    return good(Brief(item, constraint, given["constraint_spec"], SCENE)).model_dump_json()


def test_a_set_is_built_by_a_model_and_nothing_is_paid_for_twice(tmp_path):
    calls = []

    def model(request):
        calls.append(request.prompt.text)
        return reply(request.prompt.text)

    adapter = FunctionAdapter(model)
    built = build_set(BASELINE, {7: SCENE}, adapter, tmp_path / "drafts.jsonl", concurrency=4)
    assert built.rejections == ()
    assert built.asked == len(calls) == len(set(calls))
    assert len(list(built.dataset.variants())) == 32
    path = tmp_path / "main.json"
    path.write_text(written(built.dataset), encoding="utf-8")
    assert len(list(load_dataset(path, write(tmp_path / "base.json", BASELINE.document)).variants())) == 32
    with (tmp_path / "drafts.jsonl").open("a", encoding="utf-8") as stream:
        stream.write('{"key": "half')
    again = build_set(BASELINE, {7: SCENE}, adapter, tmp_path / "drafts.jsonl")
    assert (again.asked, again.dataset.document) == (0, built.dataset.document)


def test_a_writer_that_refuses_its_key_ends_the_building_and_keeps_the_drafts(tmp_path):
    with serving(lambda text, before: failure(401, "bad key")) as served, pytest.raises(WriterFailed, match="same"):
        build_set(BASELINE, {7: SCENE}, "openai/x", tmp_path / "d.jsonl", base_url=served.url, concurrency=2)
    assert served.requests <= 4
    assert (tmp_path / "d.jsonl").read_text() == ""


@pytest.mark.parametrize(
    "content",
    ['{\n  "images": []\n}', '[{"image_id": 7}]', '{"key": 1, "reply": "x"}\n', "5\n", '{"key": "a"}\n', "\udcff\n"],
)
def test_a_file_that_holds_no_drafts_is_refused_and_left_as_it_is(tmp_path, content):
    path = tmp_path / "d.jsonl"
    path.write_bytes(content.encode("utf-8", "surrogatepass"))
    before = path.read_bytes()
    with pytest.raises(UsageError, match="is no file of drafts"):
        build_set(BASELINE, {7: SCENE}, FunctionAdapter(lambda request: "x"), path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("odd", ["a\u2028b", "a\x85b", "a\x0bb", "\ud800"])
def test_every_text_that_a_writer_may_reply_is_read_again(tmp_path, odd):
    asked = []

    def model(request):
        asked.append(request)
        return f"{odd} {reply(request.prompt.text)}"

    first = build_set(BASELINE, {7: SCENE}, FunctionAdapter(model), tmp_path / "d.jsonl")
    again = build_set(BASELINE, {7: SCENE}, FunctionAdapter(model), tmp_path / "d.jsonl")
    assert (first.asked, again.asked, len(asked)) == (32, 0, 32)
    assert again.dataset.document == first.dataset.document


def test_a_server_that_fails_rejects_no_variant_and_makes_no_set(tmp_path):
    """What a server did not answer is still to be written; it is no draft, and no objection to one."""

    def flaky(text, before):
        return failure(500) if before == 0 and "bare subject" in text else reply(text)

    with serving(flaky) as served:
        build = {"base_url": served.url, "max_retries": 0, "concurrency": 2}
        with pytest.raises(WriterFailed, match=r"8 items wait for the writer; image 7, X1_discovery 0: .*HTTP 500"):
            build_set(BASELINE, {7: SCENE}, "openai/w", tmp_path / "d.jsonl", **build)
        built = build_set(BASELINE, {7: SCENE}, "openai/w", tmp_path / "d.jsonl", **build)
        assert not any("draft before" in text for text in served.prompts)
    assert (built.rejections, len(list(built.dataset.variants()))) == ((), 32)
    assert (built.asked, built.spent.requests, built.spent.input, built.spent.output) == (8, 8, 8 * 12, 8 * 3)
    assert built.spent.money is None


def test_an_image_without_a_scene_graph_is_named_before_anything_is_asked(tmp_path):
    with pytest.raises(UsageError, match="1 images have no scene graph: 7"):
        build_set(BASELINE, {}, FunctionAdapter(lambda request: "x"), tmp_path / "d.jsonl")


def test_a_set_that_has_variants_is_not_written_over(tmp_path):
    with pytest.raises(UsageError, match="has constrained variants already"):
        build_set(dataset_of(document((7,)), "set"), {7: SCENE}, FunctionAdapter(lambda r: "x"), tmp_path / "d.jsonl")
    assert not (tmp_path / "d.jsonl").exists()


def test_ctrl_c_lets_no_further_request_go_out_and_the_same_command_goes_on(tmp_path):
    base = write(tmp_path / "base.json", BASELINE.document)
    scenes = write(tmp_path / "scenes.json", [SCENE.model_dump()])
    out, drafts = tmp_path / "main.json", tmp_path / "d.jsonl"
    hold, asked = threading.Event(), threading.Event()

    def slow(text, before):
        asked.set()
        hold.wait(60)
        return reply(text)

    with serving(lambda text, before: slow(text, before) if not hold.is_set() else reply(text)) as served:
        words = ["ccrv", "build", base, "--scenes", scenes, "--writer", "openai/w", "--writer-base-url", served.url]
        words += ["--drafts", drafts, "--out", out, "--concurrency", "2"]
        command = [sys.executable, "-m", "dodiag", *map(str, words)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert asked.wait(60)
        process.send_signal(signal.SIGINT)
        hold.set()
        _, said = process.communicate(timeout=60)
        assert (process.returncode, out.exists()) == (130, False)
        assert "the same command goes on" in said
        paid = len(drafts.read_text().splitlines())
        assert paid == served.requests < 32
        again = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert again.returncode == 0
        assert f"the writer: {32 - paid} requests" in again.stdout
    assert len(list(load_dataset(out).variants())) == 32


def test_scene_graphs_are_read_with_all_their_problems(tmp_path):
    path = write(tmp_path / "scenes.json", [SCENE.model_dump()])
    assert read_scene_graphs(path) == {7: SCENE}
    write(path, [{"image_id": 1}, SCENE.model_dump(), SCENE.model_dump()])
    with pytest.raises(InvalidInput) as raised:
        read_scene_graphs(path)
    assert {problem.where for problem in raised.value.problems} == {"entry 0", "image 7"}
    with pytest.raises(UsageError, match="is not a list"):
        read_scene_graphs(write(path, {}))
    path.write_text("[" * 100_000, encoding="utf-8")
    with pytest.raises(UsageError, match="cannot be read"):
        read_scene_graphs(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nodes": [*SCENE.model_dump()["nodes"], {"object_id": 11, "name": "glass"}]}, "object 11 stands twice"),
        ({"edges": [{"source_id": 99, "target_id": 11, "predicate": "hits"}]}, "object 99, which is not there"),
        ({"nodes": [{"object_id": 1, "name": "cup", "bbox": [5, 5, 0, 9]}], "edges": []}, "object 1 has no extent"),
    ],
)
def test_a_scene_that_contradicts_itself_is_refused(tmp_path, change, message):
    with pytest.raises(InvalidInput, match=message):
        read_scene_graphs(write(tmp_path / "scenes.json", [{**SCENE.model_dump(), **change}]))
