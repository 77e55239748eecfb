"""DCR, CSR, eDCR, CDI and eCDI under three denominators, and the agreement of raters."""

import math
from itertools import product

import pytest
from ccrv_sets import document, write
from hypothesis import given, settings
from hypothesis import strategies as st

from dodiag.benchmarks.ccrv.agreement import (
    cohen,
    full_chain,
    majority,
    observed_from_unanimity,
    prevalence_from_kappa,
    rater_agreement,
)
from dodiag.benchmarks.ccrv.data import X_KEYS, Y_IDS, ItemKey
from dodiag.benchmarks.ccrv.loader import dataset_of
from dodiag.benchmarks.ccrv.released import read_answers, read_results
from dodiag.benchmarks.ccrv.scores import BASELINE, Denominator, Design, Record, Scores, cascade, dcr, raw_levels
from dodiag.problems import InvalidInput, UsageError

LABELS = tuple(product((0, 1), repeat=3))
DESIGN = Design.of(dataset_of(document(), "set"))
KEYS = sorted(DESIGN.items)
SMALL = Design.of(dataset_of(document((7,)), "set"))
few = settings(max_examples=25)


@pytest.mark.parametrize(
    ("labels", "exact", "stored"),
    [((0, 1, 1), 0, 0.0), ((1, 0, 1), 1 / 3, 0.333), ((1, 1, 0), 2 / 3, 0.667), ((1, 1, 1), 1, 1.0)],
)
def test_a_level_counts_only_where_those_before_it_hold(labels, exact, stored):
    assert dcr(labels) == exact
    assert dcr(labels, rounded=True) == stored


@pytest.mark.parametrize("labels", LABELS)
def test_the_cascade_is_monotone_and_settles(labels):
    passed = cascade(labels)
    assert passed[0] >= passed[1] >= passed[2]
    assert cascade(passed) == passed
    assert sum(passed) <= sum(labels)


def test_a_label_that_is_neither_0_nor_1_is_refused():
    with pytest.raises(UsageError):
        cascade((1, 2, 0))


def records(labels, csr, baseline):
    for key in KEYS:
        yield Record(key, BASELINE, baseline)
        for y in Y_IDS:
            yield Record(key, y, labels, csr)


def test_figures_of_a_whole_run_are_the_definitions():
    scores = Scores.of(DESIGN, records((1, 1, 0), 1, (1, 1, 1)))
    found = scores.figures()
    assert (found.n, found.missing, found.base_n, found.base_missing) == (64, 0, 16, 0)
    assert found.levels == (1, 1, 0)
    assert (found.base_dcr, found.dcr, found.csr) == pytest.approx((1, 2 / 3, 1))
    assert (found.cdi, found.ecdi, found.edcr) == pytest.approx((1 / 3, 1 / 3, 2 / 3))
    assert Scores.of(DESIGN, records((1, 1, 0), 0, (1, 1, 1))).figures().ecdi == 1


@st.composite
def runs(draw, *, whole):
    found = []
    for key in sorted(SMALL.items):
        for kind in (BASELINE, *Y_IDS):
            if whole or draw(st.booleans()):
                csr = None if kind == BASELINE else draw(st.integers(0, 1))
                found.append(Record(key, kind, draw(st.sampled_from(LABELS)), csr))
    return found


@few
@given(runs(whole=True), st.sampled_from((None, *X_KEYS)), st.sampled_from((None, *Y_IDS)))
def test_with_nothing_missing_the_three_denominators_agree(found, x, y):
    scores = Scores.of(SMALL, found)
    fixed, available, matched = (scores.figures(x, y, rule) for rule in Denominator)
    for name in ("base_dcr", "dcr", "csr", "edcr", "cdi", "ecdi"):
        values = [getattr(figures, name) for figures in (fixed, available, matched)]
        assert values == pytest.approx([values[0]] * 3)


@few
@given(runs(whole=False))
def test_every_figure_keeps_its_bounds_and_identities(found):
    scores = Scores.of(SMALL, found)
    for rule in Denominator:
        for row in scores.table(rule):
            if row.dcr is None:
                assert row.n == 0 or rule is Denominator.MATCHED
                continue
            assert row.dcr == pytest.approx(sum(row.levels) / 3)
            assert row.edcr <= min(row.dcr, row.csr) + 1e-12
            assert row.n + row.missing == len([k for k in SMALL.items if row.x in ("all", k.x)]) * (
                4 if row.y == "all" else 1
            )
            if row.base_dcr is not None:
                assert row.ecdi >= row.cdi - 1e-12
                assert row.ecdi - row.cdi == pytest.approx(row.dcr - row.edcr)


@few
@given(runs(whole=False))
def test_fixed_figures_are_available_ones_times_the_share_that_is_there(found):
    scores = Scores.of(SMALL, found)
    fixed, available = scores.figures(), scores.figures(denominator="available")
    if available.n:
        assert fixed.dcr == pytest.approx(available.dcr * available.n / 32)
        assert fixed.csr == pytest.approx(available.csr * available.n / 32)


@few
@given(runs(whole=False))
def test_fixed_overall_figures_are_means_of_their_groups(found):
    scores = Scores.of(SMALL, found)
    overall = scores.figures()
    for name in ("dcr", "csr", "edcr", "base_dcr", "ecdi"):
        if (whole := getattr(overall, name)) is not None and name != "ecdi":
            by_x = [getattr(scores.figures(x=x), name) or 0 for x in X_KEYS]
            by_y = [getattr(scores.figures(y=y), name) or 0 for y in Y_IDS]
            assert whole == pytest.approx(sum(by_x) / 4)
            assert whole == pytest.approx(sum(by_y) / 4)


@few
@given(runs(whole=False))
def test_rounding_every_answer_moves_a_mean_by_less_than_a_thousandth(found):
    exact, rounded = Scores.of(SMALL, found).figures(), Scores.of(SMALL, found, rounded=True).figures()
    assert (exact.dcr is None) == (rounded.dcr is None)
    if exact.ecdi is None:
        return
    assert math.isclose(exact.dcr, rounded.dcr, abs_tol=1 / 3000 + 1e-9)
    assert math.isclose(exact.ecdi, rounded.ecdi, abs_tol=2 / 3000 + 1e-9)


def test_the_denominators_differ_as_they_are_defined():
    """One item with a perfect baseline and one constrained answer; another with a baseline that failed."""
    first, second = KEYS[:2]
    found = [
        Record(first, BASELINE, (1, 1, 1)),
        Record(second, BASELINE, (0, 0, 0)),
        Record(first, "Y1", (1, 1, 0), 1),
        Record(first, "Y2", (1, 0, 0), 0),
        Record(KEYS[2], "Y1", (1, 1, 1), 1),
    ]
    scores = Scores.of(DESIGN, found)
    fixed, available, matched = (scores.figures(denominator=rule) for rule in Denominator)
    assert fixed.base_dcr == pytest.approx(1 / 16)
    assert fixed.dcr == pytest.approx(2 / 64)
    assert available.base_dcr == 1, "the linked baseline counts once for each constrained answer that has one"
    assert available.dcr == pytest.approx(2 / 3)
    assert available.cdi == pytest.approx(1 / 3)
    assert matched.dcr == pytest.approx(1 / 2)
    assert matched.ecdi == pytest.approx(1 - 1 / 3)
    assert (fixed.missing, fixed.base_missing, fixed.pairs) == (61, 14, 2)


@pytest.mark.parametrize("rule", list(Denominator))
def test_a_group_without_answers_has_no_figures(rule):
    empty = Scores.of(DESIGN, []).figures("X1_discovery", "Y1", rule)
    assert (empty.base_dcr, empty.dcr, empty.csr, empty.edcr, empty.cdi, empty.ecdi) == (None,) * 6
    assert (empty.n, empty.missing, empty.base_missing) == (0, 4, 4)


BAD = [
    (Record(ItemKey(99, X_KEYS[0], 0), BASELINE, (1, 1, 1)), "no item"),
    (Record(KEYS[0], "Y5", (1, 1, 1), 1), "constraint that the set lacks"),
    (Record(KEYS[0], "Y1", (1, 1, 1), None), "constraint is kept"),
]


@pytest.mark.parametrize(("record", "message"), BAD)
def test_a_record_that_does_not_belong_is_refused(record, message):
    with pytest.raises(UsageError, match=message):
        Scores.of(DESIGN, [record])


def test_a_record_that_stands_twice_is_refused():
    with pytest.raises(UsageError, match="twice"):
        Scores.of(DESIGN, [Record(KEYS[0], "Y1", (1, 1, 1), 1)] * 2)


def test_unknown_groups_and_incomplete_designs_are_refused():
    with pytest.raises(UsageError, match="no causal task"):
        Scores.of(DESIGN, []).figures("X9")
    with pytest.raises(UsageError, match="no constraint"):
        Scores.of(DESIGN, []).figures(y="Y9")
    raw = document()
    raw[0]["questions"][X_KEYS[0]][0]["main_set_versions"].pop()
    with pytest.raises(UsageError, match="lack a constraint"):
        Design.of(dataset_of(raw, "set"))


def test_raw_levels_are_counted_before_the_cascade():
    found = [Record(KEYS[0], BASELINE, (0, 1, 1)), Record(KEYS[1], BASELINE, (1, 0, 1))]
    assert raw_levels(found) == {"L1": 0.5, "L2": 0.5, "L3": 1}


def test_clusters_are_averaged_apart():
    found = [Record(k, BASELINE, (1, 1, 1), cluster="a" if k.image_id == 7 else "b") for k in KEYS]
    assert Scores.of(DESIGN, found).by_cluster() == {"a": (8, 1.0), "b": (8, 1.0)}


def result(labels, csr=None):
    raw = dict(zip(("r1", "r2", "r3"), labels, strict=True))
    return {"raw_scores": raw, "DCR": round(dcr(labels), 3), **({} if csr is None else {"CSR": csr})}


def test_result_files_of_the_released_pipeline_are_read_with_failed_calls_missing(tmp_path):
    raw = document()
    first, second = raw[0]["questions"][X_KEYS[0]]
    first.update(vlm_answer="the hand", evaluation_results=result((1, 0, 1)))
    second.update(vlm_answer="[Error] Image not found: x", evaluation_results=result((0, 0, 0)))
    versions = first["main_set_versions"]
    versions[0].update(vlm_answer="Node_B", main_set_evaluation_results=result((1, 1, 1), 1))
    versions[1].update(vlm_answer="[Blocked] no", main_set_evaluation_results=result((0, 0, 0), 1))
    path = write(tmp_path / "results.json", raw)
    key = ItemKey(7, X_KEYS[0], 0)
    assert read_results(path) == [
        Record(key, BASELINE, (1, 0, 1), None, "tipping"),
        Record(key, "Y1", (1, 1, 1), 1, "tipping"),
    ]
    assert read_answers(path) == {(key, BASELINE): "the hand", (key, "Y1"): "Node_B"}


def test_incomplete_results_are_named(tmp_path):
    raw = document()
    raw[0]["questions"][X_KEYS[0]][0]["evaluation_results"] = {"raw_scores": {"r1": 1, "r2": 2, "r3": 1}}
    raw[0]["questions"][X_KEYS[0]][0]["main_set_versions"][2]["main_set_evaluation_results"] = result((1, 1, 1))
    with pytest.raises(InvalidInput) as raised:
        read_results(write(tmp_path / "results.json", raw))
    assert [problem.where[-4:] for problem in raised.value.problems] == ["base", ", Y3"]


THREE = [(1, 1, 1), (1, 1, 0), (0, 0, 0), (1, 1, 1)]


def test_fleiss_kappa_is_that_of_its_definition():
    found = rater_agreement(THREE)
    share = 8 / 12
    observed = (1 + 1 / 3 + 1 + 1) / 4
    chance = share**2 + (1 - share) ** 2
    assert found.observed == pytest.approx(observed)
    assert found.fleiss == pytest.approx((observed - chance) / (1 - chance))
    assert (found.n, found.raters, found.unanimous) == (4, 3, 3)
    assert observed_from_unanimity(3, 4) == pytest.approx(observed)
    assert prevalence_from_kappa(observed, found.fleiss) == pytest.approx(share)


def test_cohen_kappa_is_that_of_its_definition():
    first, second = [1, 1, 0, 0, 1], [1, 0, 0, 0, 1]
    agree, chance = 4 / 5, (3 / 5) * (2 / 5) + (2 / 5) * (3 / 5)
    assert cohen(first, second) == pytest.approx((agree - chance) / (1 - chance))


def test_kappas_are_undefined_where_all_labels_are_the_same():
    assert rater_agreement([(1, 1, 1)] * 3).fleiss is None
    assert cohen([1, 1], [1, 1]) is None
    assert cohen([1, 1], [0, 0]) == 0


def test_majorities_and_full_chains():
    assert majority(THREE) == [1, 1, 0, 1]
    assert full_chain([[1, 1, 0], [1, 0, 1], [1, 1, 1]]) == [1, 0, 0]
    with pytest.raises(UsageError, match="tie"):
        majority([(1, 0)])


@pytest.mark.parametrize("bad", [[], [(1,)], [(1, 1), (1, 1, 1)], [(1, 2)]])
def test_ratings_that_cannot_be_compared_are_refused(bad):
    with pytest.raises(UsageError):
        rater_agreement(bad)


@given(st.floats(0.34, 0.99), st.floats(-0.4, 0.98))
def test_a_prevalence_that_is_given_reproduces_its_kappa(observed, kappa):
    share = prevalence_from_kappa(observed, kappa)
    if share is not None:
        chance = share**2 + (1 - share) ** 2
        assert 0.5 <= share <= 1
        assert (observed - chance) / (1 - chance) == pytest.approx(kappa, abs=1e-6)
