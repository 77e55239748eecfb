"""The published files are read as they are, written again unchanged, and every problem is reported at once."""

import json

import pytest
from ccrv_sets import HAS_SAMPLE, NO_SAMPLE, SAMPLE, document, write
from packs import picture

from dodiag.benchmarks.ccrv.compliance import words_of
from dodiag.benchmarks.ccrv.data import X_KEYS, ItemKey, LimitSpec, PointSpec, SymbolSpec
from dodiag.benchmarks.ccrv.inspection import counts, inspect, reference_complies
from dodiag.benchmarks.ccrv.loader import dataset_of, load_dataset, written
from dodiag.benchmarks.ccrv.pictures import find_pictures, sizes
from dodiag.benchmarks.ccrv.symbols import centre, corners, forbidden_terms, symbolised
from dodiag.problems import InvalidInput, UsageError

sample = pytest.mark.skipif(not HAS_SAMPLE, reason=NO_SAMPLE)


def test_a_set_is_read_and_written_again_to_the_character(tmp_path):
    main = write(tmp_path / "main.json", document())
    baseline = write(tmp_path / "baseline.json", document(constrained=False))
    dataset = load_dataset(main, baseline)
    assert len(dataset.images) == 2
    assert len(list(dataset.items())) == 16
    assert len(list(dataset.variants())) == 64
    assert written(dataset) == main.read_text(encoding="utf-8")


def test_an_image_with_only_id_and_questions_counts_as_other():
    image = dataset_of(document(), "set").image[8]
    assert (image.path, image.cluster) == (None, "other")
    assert dataset_of(document(), "set").image[7].cluster == "tipping"


def test_questions_with_one_target_object_stay_two_items():
    dataset = dataset_of(document(), "set")
    first, second = (dataset.by_key[ItemKey(7, X_KEYS[3], place)] for place in (0, 1))
    assert first.target_object_id == second.target_object_id
    assert first.question_text != second.question_text
    assert counts(inspect(dataset))["same_target"] == 8


def test_variants_are_known_by_their_constraint_and_not_by_their_place():
    raw = document()
    raw[0]["questions"][X_KEYS[0]][0]["main_set_versions"].pop(1)
    item = dataset_of(raw, "set").by_key[ItemKey(7, X_KEYS[0], 0)]
    assert list(item.variants) == ["Y1", "Y3", "Y4"]
    assert isinstance(item.variants["Y4"].spec, LimitSpec)
    assert counts(inspect(dataset_of(raw, "set")))["missing_constraint"] == 1


def test_a_versioned_constraint_belongs_to_its_family_and_is_reported():
    raw = document()
    raw[0]["questions"][X_KEYS[0]][0]["main_set_versions"][1]["constraint_id"] = "Y2.1"
    dataset = dataset_of(raw, "set")
    variant = dataset.by_key[ItemKey(7, X_KEYS[0], 0)].variants["Y2.1"]
    assert variant.family == "Y2"
    assert counts(inspect(dataset))["constraint_version"] == 1


def test_the_alias_of_the_rationale_is_read_first():
    raw = document()
    raw[0]["questions"][X_KEYS[0]][0]["causal_rationale"] = "the other one"
    raw[0]["questions"][X_KEYS[0]][1]["causal_rationale"] = None
    items = dataset_of(raw, "set").by_key
    assert items[ItemKey(7, X_KEYS[0], 0)].rationale == "the other one"
    assert items[ItemKey(7, X_KEYS[0], 1)].rationale == "The hand → cup contact tips it."


@pytest.mark.parametrize(
    "box",
    [
        {"target_bbox": {"xyxy": [1, 2, 3, 4]}},
        {"target_bbox_metadata": {"xywh": [1, 2, 2, 2]}},
        {"target_bbox": {"x1": 1, "y1": 2, "x2": 3, "y2": 4}},
    ],
)
def test_older_spellings_of_a_box_are_read(box):
    raw = document()
    spec = raw[0]["questions"][X_KEYS[0]][0]["main_set_versions"][1]["constraint_spec"]
    del spec["target_bbox_xyxy"]
    spec.update(box)
    read = dataset_of(raw, "set").by_key[ItemKey(7, X_KEYS[0], 0)].variants["Y2"].spec
    assert isinstance(read, PointSpec)
    assert read.target_bbox_xyxy == (1, 2, 3, 4)


def _without(name):
    def change(raw):
        del raw[0]["questions"][X_KEYS[1]][0][name]

    return change


def _spec(place, **fields):
    def change(raw):
        raw[0]["questions"][X_KEYS[1]][0]["main_set_versions"][place]["constraint_spec"].update(fields)

    return change


def _image(**fields):
    return lambda raw: raw[0].update(fields)


def _version(raw):
    versions = raw[0]["questions"][X_KEYS[1]][0]["main_set_versions"]
    versions.append({**versions[1], "constraint_id": "Y2.1"})


def _box(**old):
    def change(raw):
        spec = raw[0]["questions"][X_KEYS[1]][0]["main_set_versions"][1]["constraint_spec"]
        del spec["target_bbox_xyxy"]
        spec["target_bbox"] = old

    return change


BROKEN = [
    (_version, "image 7, X2_prediction 0", "constraint Y2 twice (Y2 and Y2.1)"),
    (_box(xyxy=5), "variant 1 (Y2), constraint_spec", "target_bbox_xyxy"),
    (_box(xyxy=None), "variant 1 (Y2), constraint_spec", "target_bbox_xyxy"),
    (_box(xywh=None), "variant 1 (Y2), constraint_spec", "target_bbox_xyxy"),
    (_box(xywh=["a", 1, 2, 3]), "variant 1 (Y2), constraint_spec", "target_bbox_xyxy"),
    (_box(xywh=[1, 2, 3]), "variant 1 (Y2), constraint_spec", "target_bbox_xyxy"),
    (_spec(0, forbidden_terms=[]), "variant 0 (Y1), constraint_spec", "forbidden_terms"),
    (_without("question_text"), "image 7, X2_prediction 0", "question_text"),
    (_without("rationale"), "image 7, X2_prediction 0", "rationale"),
    (_image(image_id="7"), "entry 0", "image_id"),
    (_image(image_id=8), "image 8", "twice"),
    (_image(questions=[]), "image 7", "questions"),
    (_image(questions={"X1": []}), "image 7", "X1"),
    (_spec(0, symbol_map=3), "variant 0 (Y1), constraint_spec", "symbol_map"),
    (_spec(1, target_bbox_xyxy=[1, 2, 3]), "variant 1 (Y2), constraint_spec", "target_bbox_xyxy"),
    (_spec(3, csr_rule="json_schema"), "variant 3 (Y4), constraint_spec", "csr_rule"),
    (lambda raw: raw[0]["questions"][X_KEYS[1]].append(3), "image 7, X2_prediction 2", "not a question"),
    (
        lambda raw: raw[0]["questions"][X_KEYS[1]][0]["main_set_versions"][0].update(x_dimension=X_KEYS[2]),
        "variant 0",
        "X3_diagnosis",
    ),
    (
        lambda raw: raw[0]["questions"][X_KEYS[1]][0]["main_set_versions"][0].update(constraint_id="Z1"),
        "variant 0",
        "Z1",
    ),
]


@pytest.mark.parametrize(("change", "where", "what"), BROKEN)
def test_what_is_wrong_is_named_with_its_place(change, where, what):
    raw = document()
    change(raw)
    with pytest.raises(InvalidInput) as raised:
        dataset_of(raw, "set.json")
    assert any(where in problem.where and what in problem.problem for problem in raised.value.problems)


def test_all_problems_come_at_once():
    raw = document()
    for change in (_without("question_text"), _spec(0, symbol_map=3), _spec(3, csr_rule="json_schema")):
        change(raw)
    with pytest.raises(InvalidInput) as raised:
        dataset_of(raw, "set.json")
    assert len(raised.value.problems) == 3


@pytest.mark.parametrize("text", ["{", "{}", "\udcff", "[" * 100_000])
def test_a_file_that_is_no_set_is_refused(tmp_path, text):
    path = tmp_path / "main.json"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(UsageError):
        load_dataset(path)


@pytest.mark.parametrize("change", ["order", "text", "count"])
def test_files_of_two_releases_are_not_joined(tmp_path, change):
    baseline = document(constrained=False)
    if change == "order":
        baseline = document((8, 7), constrained=False)
    elif change == "text":
        baseline[1]["questions"][X_KEYS[2]][1]["ground_truth_answer"] += " "
    else:
        baseline[0]["questions"][X_KEYS[2]].pop()
    with pytest.raises(InvalidInput):
        load_dataset(write(tmp_path / "main.json", document()), write(tmp_path / "base.json", baseline))


def test_pictures_are_found_by_id_or_path_and_missing_ones_are_named(tmp_path):
    dataset = dataset_of(document((7, 8, 9)), "set")
    (tmp_path / "pictures").mkdir()
    (tmp_path / "VG_100K_2").mkdir()
    (tmp_path / "pictures" / "7.jpg").write_bytes(picture("JPEG", (320, 200)))
    (tmp_path / "VG_100K_2" / "8.jpg").write_bytes(picture("JPEG", (100, 50)))
    found = find_pictures(dataset, tmp_path)
    assert found.missing == (9,)
    assert sizes(found) == {7: (320, 200), 8: (100, 50)}
    with pytest.raises(UsageError, match=r"1 of 3 pictures are not in .*: 9.*Visual Genome"):
        found.require()
    with pytest.raises(UsageError, match="is no folder"):
        find_pictures(dataset, tmp_path / "nowhere")


def test_a_path_that_leaves_the_folder_is_not_followed(tmp_path):
    raw = document((7, 8))
    raw[0]["image_path_relative"] = "../7.jpg"
    (tmp_path / "7.jpg").write_bytes(picture("JPEG"))
    (tmp_path / "in").mkdir()
    assert find_pictures(dataset_of(raw, "set"), tmp_path / "in").missing == (7, 8)


def test_names_become_symbols_longest_first_and_only_where_they_are_unique():
    spec = dataset_of(document(), "set").by_key[ItemKey(7, X_KEYS[0], 0)].variants["Y1"].spec
    assert isinstance(spec, SymbolSpec)
    assert symbolised("The woman tips a cup; cups fall.", spec.symbol_map) == "Node_B tips Node_A; cups fall."
    twice = {**spec.symbol_map, "Node_C": spec.symbol_map["Node_A"]}
    assert symbolised("a cup", twice) == "a cup"


@pytest.mark.parametrize(
    ("names", "terms"),
    [
        (["frisbee"], ["frisbee", "frisbees"]),
        (["shoes"], ["shoe", "shoes"]),
        (["black_watch"], ["black watch", "black_watch", "black_watchs"]),
        (["Child"], ["batter", "boy", "child", "childs", "girl", "human", "kid", "man", "person", "player", "woman"]),
        (["guy"], ["guy", "guys"]),
    ],
)
def test_forbidden_terms_follow_the_naive_rule(names, terms):
    assert list(forbidden_terms(names)) == terms


@sample
def test_the_published_sample_is_read_and_written_again():
    dataset = load_dataset(SAMPLE / "main_3.json", SAMPLE / "baseline_3.json")
    assert (len(dataset.images), len(list(dataset.items())), len(list(dataset.variants()))) == (3, 24, 96)
    assert written(dataset) == (SAMPLE / "main_3.json").read_text(encoding="utf-8").rstrip("\n")
    baseline = load_dataset(SAMPLE / "baseline_3.json")
    assert written(baseline) == (SAMPLE / "baseline_3.json").read_text(encoding="utf-8").rstrip("\n")


@sample
def test_the_published_specifications_follow_from_their_parts():
    for _, variant in load_dataset(SAMPLE / "main_3.json").variants():
        match variant.spec:
            case SymbolSpec() as spec:
                assert spec.forbidden_terms == forbidden_terms(node.true_name for node in spec.symbol_map.values())
                for node in spec.symbol_map.values():
                    assert node.bbox_xyxy == corners(node.bbox_xywh)
                    assert node.center_xy == centre(node.bbox_xywh)
            case LimitSpec() as spec:
                assert spec.allowed_max_words == len(words_of(variant.adapted_ground_truth)) + 1
            case PointSpec() as spec:
                assert spec.target_bbox_xyxy == corners(spec.target_bbox_xywh)


@sample
def test_every_published_reference_keeps_its_own_constraint():
    found = [(v.family, reference_complies(v)) for _, v in load_dataset(SAMPLE / "main_3.json").variants()]
    assert [found.count((y, 1)) for y in ("Y1", "Y2", "Y4")] == [24, 24, 24]


@sample
def test_the_oddities_of_the_published_sample_are_counted():
    found = inspect(load_dataset(SAMPLE / "main_3.json"))
    seen = counts(found)
    assert (seen["box_convention"], seen["no_pixel"]) == (6, 6)
    assert (seen["reference_in_question"], seen["premise_not_in_question"]) == (2, 4)
    assert any(f.kind == "reference_names_distractor" and "2402269, X1_discovery 1" in f.where for f in found)
    assert not {"terms_differ", "geometry_differs", "reference_fails", "limit_differs"} & set(seen)


def test_oddities_of_a_set_are_named():
    raw = document()
    versions = raw[0]["questions"][X_KEYS[0]][0]["main_set_versions"]
    versions[0]["constraint_spec"]["forbidden_terms"].append("hand")
    versions[0]["constrained_question"] = "Node_A at [100, 50, 40, 60]: which node tips the cup?"
    versions[0]["adapted_ground_truth"] = "Node_A is a cup"
    versions[1]["constraint_spec"]["target_bbox_xywh"] = [0, 0, 1, 1]
    versions[1]["constrained_question"] = "Mark it."
    versions[2]["constraint_spec"].pop("false_premise")
    versions[3]["adapted_ground_truth"] = "hand tips cup."
    versions[3]["constrained_question"] = "Say: hand tips cup."
    versions[3]["constraint_spec"]["allowed_max_words"] = 3
    del versions[3]["evaluation_rubric_main_set"]
    kinds = {f.kind for f in inspect(dataset_of(raw, "set"), {7: (200, 100)}) if "7, X1_discovery 0" in f.where}
    assert kinds >= {
        "terms_differ",
        "box_convention",
        "terms_in_question",
        "terms_in_reference",
        "geometry_differs",
        "no_pixel",
        "no_premise",
        "reference_fails",
        "reference_in_question",
        "limit_differs",
        "no_rubric",
        "typographic",
    }


def test_a_box_that_covers_the_picture_is_named_where_its_size_is_known():
    dataset = dataset_of(document(), "set")
    assert "box_covers_picture" not in counts(inspect(dataset))
    assert counts(inspect(dataset, {7: (45, 65)}))["box_covers_picture"] == 8


def test_the_document_is_json_again():
    assert json.loads(written(dataset_of(document(), "set"))) == document()
