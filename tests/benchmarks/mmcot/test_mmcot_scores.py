"""Figures of pictures and videos, their denominators, result files, and failures by axis."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mmcot_sets import RIGHT, image_entry, listed, prediction, video_entry, write

from dodiag.benchmarks.mmcot.axes import Pick, Taken, axis_counts, picks_of_links, type_counts
from dodiag.benchmarks.mmcot.image_scores import SINGLE, Denominator, ImageAnswer, image_scores
from dodiag.benchmarks.mmcot.loader import image_set, video_set
from dodiag.benchmarks.mmcot.notation import links_of
from dodiag.benchmarks.mmcot.results import is_video_result, read_image_results, read_video_results
from dodiag.benchmarks.mmcot.taxonomy import Axis, DistractorType
from dodiag.benchmarks.mmcot.tiers import tier_of
from dodiag.benchmarks.mmcot.video_scores import VideoAnswer, video_scores
from dodiag.bounds.limits import clustered_wilson
from dodiag.evaluations.mmcot_axes import axis_diagnosis
from dodiag.evaluations.mmcot_limits import all_limits, image_figures, stratum_figures, video_figures
from dodiag.evaluations.mmcot_runs import score_results
from dodiag.problems import InvalidInput, UsageError

GOLD = links_of(RIGHT)
ONE_WRONG = "A1->B2->C3, A2->B1->C2, A3->B3->C6"


def answers(*texts):
    return [ImageAnswer(str(place), GOLD, text) for place, text in enumerate(texts)]


def test_gold_against_itself_is_all_right():
    found = image_scores(answers(RIGHT, RIGHT))
    assert (found.multi, found.single) == (1.0, 1.0)
    items = video_set([video_entry()], "set").items
    assert video_scores([VideoAnswer(items[0], prediction())]).accuracy == 1.0


def test_multi_needs_all_chains_and_slots_count_one_each():
    found = image_scores(answers(RIGHT, ONE_WRONG, "nothing", f"{RIGHT}, A4->B1->C1"))
    assert found.multi == 2 / 4
    assert found.slots == {"A1": (3, 4), "A2": (3, 4), "A3": (2, 4)}
    assert found.single == 8 / 12


def test_a_slot_that_gold_lacks_is_not_counted_and_an_empty_gold_is_never_matched():
    short = [ImageAnswer("0", links_of("A1->B2->C3"), RIGHT), ImageAnswer("1", {}, "")]
    found = image_scores(short)
    assert found.correct == 0
    assert found.slots == {"A1": (1, 1), "A2": (0, 0), "A3": (0, 0)}
    assert found.slot("A2") is None


SET = {str(place): GOLD for place in range(5)}


@pytest.mark.parametrize(
    ("denominator", "multi"),
    [(Denominator.RELEASED, 1 / 3), (Denominator.AVAILABLE, 1 / 2), (Denominator.FIXED, 1 / 5)],
)
def test_denominators_treat_failed_and_absent_answers_apart(denominator, multi):
    found = image_scores(answers(RIGHT, ONE_WRONG, None), denominator=denominator, size=SET)
    assert found.multi == pytest.approx(multi)
    assert (found.failed, found.absent) == (1, 2)


def test_a_fixed_denominator_without_the_set_is_refused():
    with pytest.raises(UsageError, match="whole set"):
        image_scores(answers(RIGHT), denominator=Denominator.FIXED)
    with pytest.raises(UsageError, match="whole set"):
        video_scores([], denominator=Denominator.FIXED)


def test_nothing_answered_is_no_zero():
    assert image_scores([]).multi is None
    assert video_scores([]).accuracy is None


@given(st.lists(st.sampled_from([RIGHT, ONE_WRONG, RIGHT.replace(", ", "\n"), "", None]), max_size=8))
def test_lenient_figures_are_never_below_strict_ones(texts):
    strict, lenient = (image_scores(answers(*texts), lenient=lenient) for lenient in (False, True))
    assert lenient.correct >= strict.correct
    assert strict.total == lenient.total


def videos():
    strata = [("short", "Easy"), ("short", "Hard"), (None, "Hard")]
    entries = []
    for place, (length, tier) in enumerate(strata):
        given_fields = {"length_category": length, "difficulty": tier}
        entries.append(video_entry(id=f"v{place}", **{k: v for k, v in given_fields.items() if v}))
    return video_set(entries, "set").items


def test_videos_by_stratum_leave_out_half_described_items_but_count_them_overall():
    items = videos()
    found = video_scores([VideoAnswer(item, prediction()) for item in items])
    assert found.strata == {("short", "Easy"): (1, 1), ("short", "Hard"): (1, 1)}
    assert (found.correct, found.total) == (3, 3)


def test_partial_scores_stay_apart_from_the_released_one():
    half = prediction(counterfactual_result="The cup stays.", chosen_conditions="[a lamp is on]")
    found = video_scores([VideoAnswer(videos()[0], half), VideoAnswer(videos()[1], "no")])
    assert (found.correct, found.lenient, found.unread) == (0, 0, 1)
    assert found.parts == {"conditions": 0, "replacements": 1, "result": 1, "chain": 1}


@pytest.mark.parametrize(
    ("denominator", "accuracy"),
    [(Denominator.RELEASED, 1.0), (Denominator.AVAILABLE, 1.0), (Denominator.FIXED, 1 / 3)],
)
def test_dropped_videos_shrink_the_released_denominator(denominator, accuracy):
    items = videos()
    given_answers = [VideoAnswer(items[0], prediction()), VideoAnswer(items[1], None)]
    found = video_scores(given_answers, denominator=denominator, size=items)
    assert found.accuracy == pytest.approx(accuracy)
    assert (found.failed, found.absent) == (1, 1)


def test_reasoning_is_cut_for_the_lenient_reader_alone(tmp_path):
    line = {**image_entry(), "id": "0", "Predicted_Answer": f"<think>A1->B1->C1?</think>{RIGHT}"}
    path = tmp_path / "r.jsonl"
    path.write_text(json.dumps(line) + "\n\n", encoding="utf-8")
    found = score_results(path)
    assert found.strict.slots["A1"] == (0, 1)
    assert found.lenient is not None
    assert found.lenient.multi == 1.0


def test_texts_of_failed_calls_are_no_answers(tmp_path):
    lines = [{**image_entry(), "id": str(n), "Predicted_Answer": text} for n, text in enumerate(["ERROR", RIGHT])]
    path = tmp_path / "r.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    assert [answer.failed for answer in read_image_results(path)] == [True, False]
    assert score_results(path).strict.multi == 0.5
    assert score_results(path, denominator=Denominator.AVAILABLE).strict.multi == 1.0
    whole = image_set([image_entry()] * 4, "set")
    assert score_results(path, dataset=whole, denominator=Denominator.FIXED).strict.multi == 0.25


@pytest.mark.parametrize(
    "bad", ["{", "[]", '{"id": "0"}', '{"id": 3, "Right_answer": ""}', '{"id": "0", "Right_answer": ""}', ""]
)
def test_a_bad_line_is_a_problem_and_no_zero(tmp_path, bad):
    path = tmp_path / "r.jsonl"
    path.write_text(bad, encoding="utf-8")
    with pytest.raises(InvalidInput):
        read_image_results(path)


def test_an_item_that_stands_twice_is_a_problem(tmp_path):
    line = json.dumps({**image_entry(), "id": "0", "Predicted_Answer": RIGHT})
    path = tmp_path / "r.jsonl"
    path.write_text(f"{line}\n{line}", encoding="utf-8")
    with pytest.raises(InvalidInput, match="item 0 stands twice"):
        read_image_results(path)


def test_a_reply_may_hold_what_ends_a_line_elsewhere(tmp_path):
    line = {**image_entry(), "id": "0", "Predicted_Answer": f"so\u2028{RIGHT}\x85"}
    path = tmp_path / "r.jsonl"
    path.write_text(json.dumps(line, ensure_ascii=False) + "\r\n", encoding="utf-8")
    (answer,) = read_image_results(path)
    assert answer.text == line["Predicted_Answer"]


@pytest.mark.parametrize("changes", [{}, {"Predicted_CF_Chain": None}, {"Predicted_CF_Chain": {"a": 1}}])
def test_a_video_without_an_answer_is_a_problem_and_no_failed_call(tmp_path, changes):
    path = write(tmp_path / "r.json", [video_entry(**changes)])
    with pytest.raises(InvalidInput, match=r"entry 0.*no text 'Predicted_CF_Chain'"):
        read_video_results(path)


def test_a_set_of_pictures_is_no_result_file(tmp_path):
    with pytest.raises(UsageError, match=r"list of picture items.* --set"):
        score_results(write(tmp_path / "set.json", [image_entry()]))


def test_a_video_that_stands_twice_is_a_problem(tmp_path):
    path = write(tmp_path / "r.json", [video_entry(Predicted_CF_Chain="x")] * 2)
    with pytest.raises(InvalidInput, match="video v1 stands twice"):
        read_video_results(path)


@pytest.mark.parametrize("denominator", list(Denominator))
@pytest.mark.parametrize("strange", [{"id": "7"}, {"Right_answer": "A1->B1->C1, A2->B2->C2, A3->B3->C3"}])
def test_results_about_other_pictures_than_those_of_the_set_are_refused(tmp_path, strange, denominator):
    line = {**image_entry(), "id": "0", "Predicted_Answer": RIGHT, **strange}
    path = tmp_path / "r.jsonl"
    path.write_text(json.dumps(line), encoding="utf-8")
    with pytest.raises(UsageError, match="do not stand in the set"):
        score_results(path, dataset=image_set([image_entry()] * 3, "the set"), denominator=denominator)


def test_results_about_other_videos_than_those_of_the_set_are_refused(tmp_path):
    path = write(tmp_path / "r.json", [video_entry(Predicted_CF_Chain=prediction())])
    for other in (video_entry(id="v2"), video_entry(difficulty="Hard", length_category="long")):
        with pytest.raises(UsageError, match="video v1 does not stand so in the set"):
            score_results(path, dataset=video_set([other], "the set"), denominator=Denominator.FIXED)


REPLIES = st.sampled_from(
    [RIGHT, ONE_WRONG, f"Answer: {RIGHT}", RIGHT.replace(", ", "\n"), "A2->B1->C2", "A1->B2->C3 or C4", "", None]
)


def chains_by_hand(text, lenient):
    """Read the replies above without the readers: what each of them says, chain by chain."""
    gold, wrong = dict(GOLD), {**GOLD, "A3": ("B3", "C6")}
    without_first = {slot: link for slot, link in GOLD.items() if slot != "A1"}
    return {
        RIGHT: gold,
        ONE_WRONG: wrong,
        f"Answer: {RIGHT}": gold if lenient else without_first,
        RIGHT.replace(", ", "\n"): gold if lenient else {},
        "A2->B1->C2": {"A2": ("B1", "C2")},
    }.get(text, {})


@given(st.lists(REPLIES, max_size=7), st.integers(0, 3), st.sampled_from(list(Denominator)), st.booleans())
def test_figures_of_pictures_are_those_of_counting_by_hand(texts, absent, denominator, lenient):
    size = {str(place): GOLD for place in range(len(texts) + absent)}
    found = image_scores(answers(*texts), lenient=lenient, denominator=denominator, size=size)
    counted = [text for text in texts if text is not None or denominator is not Denominator.AVAILABLE]
    counted += [None] * (absent if denominator is Denominator.FIXED else 0)
    read = [chains_by_hand(text, lenient) for text in counted]
    assert (found.total, found.correct) == (len(read), sum(chains == GOLD for chains in read))
    for slot in GOLD:
        assert found.slots[slot] == (sum(chains.get(slot) == GOLD[slot] for chains in read), len(read))
    assert found.chains == tuple((sum(c.get(slot) == GOLD[slot] for slot in GOLD), 3) for c in read)
    assert (found.failed, found.absent) == (texts.count(None), absent)


@given(
    st.lists(st.sampled_from(["right", "bare", "wrong", "unread", None]), min_size=1, max_size=8),
    st.sampled_from(list(Denominator)),
)
def test_figures_of_videos_are_those_of_counting_by_hand(kinds, denominator):
    bare = prediction(counterfactual_result="The cup stays.")
    said = {"right": prediction(), "bare": bare, "wrong": prediction(chosen_conditions="[a lamp is on]"), "unread": "?"}
    strata = [("short", "Easy"), ("long", "Hard")]
    entries = [
        video_entry(id=f"v{place}", length_category=strata[place % 2][0], difficulty=strata[place % 2][1])
        for place in range(len(kinds))
    ]
    items = video_set(entries, "set").items
    given_answers = [VideoAnswer(item, said.get(kind)) for item, kind in zip(items, kinds, strict=True)]
    found = video_scores(given_answers, denominator=denominator, size=items)
    counted = [(i % 2, k) for i, k in enumerate(kinds) if k is not None or denominator is Denominator.FIXED]
    only = [kind for _, kind in counted]
    assert (found.total, found.correct) == (len(counted), only.count("right"))
    assert found.lenient == only.count("right") + only.count("bare")
    assert found.parts["conditions"] == only.count("right") + only.count("bare")
    assert found.parts["result"] == len(only) - only.count("unread") - only.count(None)
    assert found.unread == only.count("unread") + only.count(None)
    for parity, stratum in enumerate(strata):
        here = [kind for place, kind in counted if place == parity]
        assert found.strata.get(stratum, (0, 0)) == (here.count("right"), len(here))
    assert (found.failed, found.absent) == (kinds.count(None), 0)


def test_every_figure_of_pictures_has_its_own_denominator_and_limits():
    texts = [RIGHT, RIGHT, ONE_WRONG, ONE_WRONG, "", ""]
    figures = image_figures(image_scores(answers(*texts)))
    assert {name: (share.value, share.n, share.clusters) for name, share in figures.items()} == {
        "Multi": (2 / 6, 6, 6),
        SINGLE: (pytest.approx(10 / 18), 18, 6),
        "A1": (4 / 6, 6, 6),
        "A2": (4 / 6, 6, 6),
        "A3": (2 / 6, 6, 6),
    }
    chains = figures[SINGLE]
    alone = clustered_wilson([1] * 10 + [0] * 8, [1] * 18)
    assert chains.lower < alone.lower < alone.upper < chains.upper, "chains of one item are no independent outcomes"
    assert set(image_figures(image_scores([])).values()) == {None}


def test_every_figure_of_videos_has_limits():
    items = videos()
    found = video_scores([VideoAnswer(items[0], prediction()), VideoAnswer(items[1], "no")])
    figures = video_figures(found)
    assert {name: share.value for name, share in figures.items()} == dict.fromkeys(figures, 0.5)
    assert all(0 < share.lower < 0.5 < share.upper < 1 for share in figures.values())
    assert stratum_figures(found)["short", "Easy"].lower is None, "one video has no limits"
    json.dumps(all_limits(found), allow_nan=False)


def test_results_about_videos_are_read_with_their_items(tmp_path):
    entries = [
        video_entry(Predicted_CF_Chain=f"```json\n{prediction()}\n```"),
        video_entry(id="v2", Predicted_CF_Chain="ERROR"),
    ]
    path = write(tmp_path / "r.json", entries)
    assert is_video_result(path)
    assert [answer.failed for answer in read_video_results(path)] == [False, True]
    found = score_results(path).strict
    assert (found.total, found.correct, found.failed) == (2, 1, 1), "the released score counts what is stored"
    assert score_results(path, denominator=Denominator.AVAILABLE).strict.total == 1
    with pytest.raises(UsageError, match="not about the items"):
        score_results(path, dataset=image_set([image_entry()], "set"))


def test_a_tier_outside_the_models_is_refused():
    with pytest.raises(UsageError):
        tier_of(6)


VISUAL, LOGICAL = DistractorType.ATTRIBUTE_ERROR, DistractorType.CAUSAL_INVERSION


def picks(right=0, visual=0, logical=0, unread=0):
    kinds = [(Taken.RIGHT, None)] * right + [(Taken.VISUAL, VISUAL)] * visual
    kinds += [(Taken.LOGICAL, LOGICAL)] * logical + [(Taken.UNREAD, None)] * unread
    return [Pick(str(place), taken, kind, 2, 1) for place, (taken, kind) in enumerate(kinds)]


@given(*[st.integers(0, 9)] * 4)
def test_a_rate_of_failure_lies_between_what_was_shown_and_what_was_not_right(right, visual, logical, unread):
    made = picks(right, visual, logical, unread)
    for axis, failed in ((Axis.VISUAL, visual), (Axis.LOGICAL, logical)):
        found = axis_counts(made, axis)
        if not made:
            assert found.shown is None
            continue
        assert found.shown == pytest.approx(failed / len(made))
        assert found.possible == pytest.approx((visual + logical + unread) / len(made))
        assert found.shown <= found.possible + 1e-12


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=6))
def test_chance_is_the_share_of_right_choices_of_who_takes_every_option_equally_often(offers):
    made = []
    for place, (visual, logical) in enumerate(offers):
        taken = [Taken.RIGHT] + [Taken.VISUAL] * visual + [Taken.LOGICAL] * logical
        made += [Pick(str(place), kind, None, visual, logical) for kind in taken]
    for axis in Axis:
        found = axis_counts(made, axis)
        if found.n:
            assert found.chance == pytest.approx(found.against_right)


def test_chance_of_two_visual_and_one_logical_distractor():
    assert axis_counts(picks(1), Axis.VISUAL).chance == pytest.approx(1 / 3)
    assert axis_counts(picks(unread=1), Axis.LOGICAL).chance == pytest.approx(1 / 2)


def test_limits_enclose_the_ends_and_are_missing_for_one_instance():
    found = axis_diagnosis("m", "", picks(6, 3, 2, 1))
    for row in found.rows:
        assert row.shown.lower < row.shown.value < row.possible.value == 0.5 < row.possible.upper
    assert found.taken == {Taken.RIGHT: 6, Taken.VISUAL: 3, Taken.LOGICAL: 2, Taken.UNREAD: 1}
    assert found.types == {VISUAL: 3, LOGICAL: 2}
    alone = axis_diagnosis("m", "", picks(1)).rows[0]
    assert alone.shown.lower is None
    json.dumps(found.to_dict(), allow_nan=False)


def test_limits_of_a_class_do_not_depend_on_choices_without_it():
    only_visual = [Pick(f"x{n}", Taken.RIGHT, None, 2, 0) for n in range(5)]
    rows = {row.axis: row for row in axis_diagnosis("m", "", [*picks(3, 1, 1), *only_visual]).rows}
    assert (rows[Axis.VISUAL].n, rows[Axis.LOGICAL].n) == (10, 5)


def test_no_labels_no_diagnosis():
    with pytest.raises(UsageError, match="no distractor is labelled"):
        axis_diagnosis("m", "", [Pick("i", Taken.RIGHT, None, 0, 0)])


def test_choices_in_a_picture_answer_are_told_apart():
    labels = {"B4": "attribute_error", "B5": "causal_inversion", "C4": "physical_impossibility"}
    item = image_set([image_entry(distractor_type=labels)], "set").items[0]
    said = {"A1": ("B2", "C4"), "A2": ("B3", "C5"), "A3": ("B9", "C1")}
    found = picks_of_links(item, said)
    assert [pick.taken for pick in found] == [
        Taken.RIGHT,
        Taken.LOGICAL,
        Taken.MISPLACED,
        Taken.UNLABELLED,
        Taken.UNREAD,
        Taken.RIGHT,
    ]
    assert {(pick.visual, pick.logical) for pick in found} == {(1, 1), (0, 1)}
    assert type_counts(found) == {DistractorType.PHYSICAL_IMPOSSIBILITY: 1}
    assert {pick.taken for pick in picks_of_links(item, {})} == {Taken.UNREAD}


def test_wilson_of_independent_choices_is_the_textbook_one():
    n, hits, z = 12, 3, 1.959963984540054
    centre = (hits + z * z / 2) / (n + z * z)
    half = z * math.sqrt(hits * (n - hits) / n + z * z / 4) / (n + z * z)
    row = axis_diagnosis("m", "", picks(6, 3, 2, 1)).rows[0]
    assert row.shown.upper == pytest.approx(centre + half, abs=0.02)


def test_half_a_list_of_options_is_enough():
    short = image_entry(set_B=listed("B", "a", "b", "c"), set_C=listed("C", "d", "e", "f"))
    assert image_set([short], "set").items[0].complete
