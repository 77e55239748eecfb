"""Confidence limits of the figures: they hold the figure, whatever is missing, and cover as often as they say."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import fleiss_kappa
from statsmodels.stats.proportion import proportion_confint

from dodiag.benchmarks.ccrv.agreement import rater_agreement
from dodiag.benchmarks.ccrv.data import LEVELS, X_KEYS, Y_IDS, ItemKey
from dodiag.benchmarks.ccrv.scores import BASELINE, Denominator, Design, Record, Scores
from dodiag.evaluations.ccrv_audit import kappa_limits
from dodiag.evaluations.ccrv_limits import figure_limits

FIGURES = ("base_dcr", "dcr", "csr", "edcr", "cdi", "ecdi")
few = settings(max_examples=25, deadline=None)


def design(images, constraints=Y_IDS, xs=X_KEYS[:2], places=2):
    keys = [ItemKey(image, x, place) for image in range(images) for x in xs for place in range(places)]
    return Design(frozenset(keys), constraints)


def values(figures):
    levels = dict(zip(LEVELS, figures.levels, strict=True))
    base = {f"base_{name}": value for name, value in zip(LEVELS, figures.base_levels, strict=True)}
    return {**{name: getattr(figures, name) for name in FIGURES}, **levels, **base}


DESIGN = design(3)
ANSWERS = [(key, kind) for key in sorted(DESIGN.items) for kind in (BASELINE, *Y_IDS)]
LABELS = st.tuples(*[st.integers(0, 1)] * 3)


@st.composite
def completed(draw):
    """Return a whole run, and the places of it that are missing."""
    labels = draw(st.lists(LABELS, min_size=len(ANSWERS), max_size=len(ANSWERS)))
    kept = draw(st.lists(st.integers(0, 1), min_size=len(ANSWERS), max_size=len(ANSWERS)))
    whole = [
        Record(key, kind, said, None if kind == BASELINE else csr)
        for (key, kind), said, csr in zip(ANSWERS, labels, kept, strict=True)
    ]
    return whole, draw(st.sets(st.integers(0, len(ANSWERS) - 1)))


@few
@given(completed(), st.sampled_from((None, X_KEYS[0])), st.sampled_from((None, "Y2")))
def test_fixed_limits_hold_the_figures_whatever_the_missing_answers_would_have_been(run, x, y):
    whole, gone = run
    there = Scores.of(DESIGN, [record for place, record in enumerate(whole) if place not in gone])
    ends = figure_limits(there, there.figures(x, y)).ends
    truth = values(Scores.of(DESIGN, whole).figures(x, y))
    for name, value in values(there.figures(x, y)).items():
        assert (ends[name] is None) == (value is None)
        if ends[name] is not None:
            lower, upper = ends[name]
            assert lower - 1e-9 <= truth[name] <= upper + 1e-9
            assert lower - 1e-9 <= value <= upper + 1e-9


@few
@given(completed(), st.sampled_from(("available", "matched")))
def test_limits_of_the_answers_that_are_there_hold_their_figures(run, rule):
    whole, gone = run
    scores = Scores.of(DESIGN, [record for place, record in enumerate(whole) if place not in gone])
    for row in scores.table(rule):
        ends = figure_limits(scores, row).ends
        for name, value in values(row).items():
            if ends[name] is not None:
                assert ends[name][0] - 1e-9 <= value <= ends[name][1] + 1e-9


@few
@given(completed())
def test_with_nothing_missing_the_three_denominators_have_the_same_limits(run):
    scores = Scores.of(DESIGN, run[0])
    found = [figure_limits(scores, scores.figures(denominator=rule)).ends for rule in Denominator]
    for name in ("dcr", "csr", "edcr", *LEVELS):
        for ends in found[1:]:
            assert ends[name] == pytest.approx(found[0][name])


def test_one_answer_for_each_image_has_wilson_s_own_limits():
    single = design(40, ("Y1",), X_KEYS[:1], 1)
    found = [Record(key, "Y1", (1, 1, 1), int(key.image_id % 3 == 0)) for key in single.items]
    scores = Scores.of(single, found)
    expected = proportion_confint(14, 40, method="wilson")
    limits = figure_limits(scores, scores.figures(y="Y1"))
    assert limits.ends["csr"] == pytest.approx(expected)
    assert (limits.images, limits.level, limits.ends["cdi"], limits.ends["base_dcr"]) == (40, 0.95, None, None)


def test_limits_are_wider_where_answers_are_missing_and_narrower_at_a_lower_level():
    def scores(missing):
        found = (Record(key, kind, (1, 1, key.image_id % 2), 1) for key in design(20).items for kind in Y_IDS)
        return Scores.of(design(20), [record for record in found if record.item.image_id >= missing])

    widths = []
    for missing in (0, 2, 5):
        some = scores(missing)
        lower, upper = figure_limits(some, some.figures()).ends["dcr"]
        widths.append(upper - lower)
    assert widths == sorted(widths)
    assert widths[0] < widths[1]
    whole = scores(0)
    half = figure_limits(whole, whole.figures(), 0.5).ends["dcr"]
    assert half[1] - half[0] < widths[0]


def test_one_image_has_no_limits_and_json_says_so():
    one = design(1)
    scores = Scores.of(one, [Record(key, kind, (1, 0, 0), 1) for key in one.items for kind in Y_IDS])
    limits = figure_limits(scores, scores.figures())
    assert limits.images == 1
    assert set(limits.ends.values()) == {None}
    assert json.loads(json.dumps(limits.to_dict()))["limits"]["dcr"] is None


def test_answers_without_their_plain_ones_widen_the_limits_of_cdi():
    whole = design(20, ("Y1",))
    found = [Record(key, "Y1", (1, 1, 0), 1) for key in whole.items]
    found += [Record(key, BASELINE, (1, 1, key.q_idx), None) for key in whole.items]
    paired = Scores.of(whole, found)
    unpaired = Scores.of(whole, [r for r in found if r.constraint != BASELINE or r.item.image_id])
    ends = [figure_limits(s, s.figures(denominator="available")).ends["cdi"] for s in (paired, unpaired)]
    assert ends[1][0] < ends[0][0] <= ends[0][1] < ends[1][1]


def test_the_limits_cover_the_truth_as_often_as_they_say():
    """Images differ in how hard they are. Over 200 samples a limit at 97.5 % misses at most 12 times on either side.

    If it missed with 0.025 each time, more than 12 misses of 200 had probability 0.001.
    """
    chance = np.random.default_rng(3)
    images, samples = 20, 200
    keys = sorted(design(images, ("Y1",)).items)

    def drawn(count):
        hard = np.repeat(chance.normal(0, 1, count), 4)[:, None, None]
        ease = np.array([1.5, 0.2])[None, :, None]
        labels = chance.random((4 * count, 2, 3)) < 1 / (1 + np.exp(-(ease + hard)))
        return labels.astype(int), (chance.random(4 * count) < 0.8).astype(int)

    labels, csr = drawn(200_000)
    passed = np.cumprod(labels, axis=2).mean(axis=2)
    truth = {"base_dcr": passed[:, 0].mean(), "dcr": passed[:, 1].mean(), "edcr": (passed[:, 1] * csr).mean()}
    truth = {**truth, "csr": csr.mean(), "cdi": truth["base_dcr"] - truth["dcr"]}
    truth["ecdi"] = truth["base_dcr"] - truth["edcr"]
    below, above = dict.fromkeys(truth, 0), dict.fromkeys(truth, 0)
    for _ in range(samples):
        labels, csr = drawn(images)
        found = [Record(key, BASELINE, tuple(labels[i, 0].tolist())) for i, key in enumerate(keys)]
        found += [Record(key, "Y1", tuple(labels[i, 1].tolist()), int(csr[i])) for i, key in enumerate(keys)]
        scores = Scores.of(design(images, ("Y1",)), found)
        for name, ends in figure_limits(scores, scores.figures()).ends.items():
            if name in truth:
                below[name] += ends[1] < truth[name]
                above[name] += ends[0] > truth[name]
    assert max(*below.values(), *above.values()) <= 12


def test_the_limits_of_a_kappa_are_the_jackknife_over_images():
    chance = np.random.default_rng(1)
    truth = chance.random(30) < 0.6
    ratings = [tuple(int(t ^ (chance.random() < 0.15)) for _ in range(3)) for t in truth]
    instances = [str(place // 2) for place in range(30)]
    lower, upper = kappa_limits(lambda rows: rater_agreement(rows).fleiss, ratings, instances)

    def kappa(rows):
        return float(fleiss_kappa([[row.count(0), row.count(1)] for row in rows]))

    left = [kappa([row for i, row in enumerate(ratings) if i // 2 != image]) for image in range(15)]
    spread = math.sqrt(14 / 15 * sum((one - np.mean(left)) ** 2 for one in left))
    assert (lower + upper) / 2 == pytest.approx(kappa(ratings))
    assert (upper - lower) / 2 == pytest.approx(2.1447866879 * spread)


@pytest.mark.parametrize(
    ("ratings", "instances"),
    [
        ([(1, 1, 1), (0, 0, 0)] * 4, list("aabbccdd")),
        ([(1, 1, 0), (0, 0, 1)] * 2, list("aabb")),
        ([(1, 1, 1), (0, 0, 1), (1, 1, 1)], list("abc")),
    ],
)
def test_a_kappa_that_nothing_shows_to_vary_has_no_limits(ratings, instances):
    assert kappa_limits(lambda rows: rater_agreement(rows).fleiss, ratings, instances) is None
