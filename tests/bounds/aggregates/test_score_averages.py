"""Averages and correlations of scores: laws, ties, what is left out, wrong input."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import dodiag
from dodiag.bounds.aggregates import (
    Quadrant,
    contrast_agreement,
    contribution_averages,
    mean_agreement,
    model_agreement,
    quadrant_of,
    quadrants,
    score_shift,
)
from dodiag.bounds.errors import NotAProbability
from dodiag.bounds.scores import Score, Scores
from dodiag.problems import UsageError

DICE = dodiag.load_task("dice_sum")
NAMES = DICE.prerequisites("Y")
UNIT = st.floats(0, 1).map(lambda value: round(value, 3))


def score(model, prerequisite, value, metric="S", contrast="1,n", task="dice_sum", **more):
    return Score(model, task, "Y", metric, prerequisite, contrast, value=value, n=10, **more)


@st.composite
def score_tables(draw):
    models = draw(st.lists(st.sampled_from("abcde"), min_size=1, max_size=4, unique=True))
    return Scores(
        score(model, name, draw(UNIT), metric, contrast)
        for model in models
        for name in NAMES
        for metric in ("N", "S")
        for contrast in ("1,n", "1,0")
    )


@given(score_tables())
def test_the_mean_over_everything_is_the_mean_of_means_of_equal_parts(scores):
    whole = {(r.metric, r.contrast): r.average for r in contribution_averages(scores, by=[])}
    for aspect in ("model", "prerequisite"):
        parts = contribution_averages(scores, by=[aspect])
        for (metric, contrast), average in whole.items():
            of_parts = [p.average for p in parts if (p.metric, p.contrast) == (metric, contrast)]
            assert np.mean([p.value for p in of_parts]) == pytest.approx(average.value)
            assert sum(p.count for p in of_parts) == average.count


def test_suppressed_scores_count_as_0_or_not_at_all():
    scores = Scores([score("a", "X1", 0.0, suppressed=True), score("b", "X1", 0.5), score("b", "X2", None)])
    (zero,) = contribution_averages(scores, by=[])
    (left,) = contribution_averages(scores, by=[], suppressed="left out")
    assert (zero.average.value, zero.average.count, zero.suppressed) == (0.25, 2, 1)
    assert (left.average.value, left.average.count, left.suppressed) == (0.5, 1, 1)


def test_models_without_a_group_are_left_out():
    scores = Scores([score("a", "X1", 0.2), score("b", "X1", 0.4), score("c", "X1", 0.9)])
    (row,) = contribution_averages(scores, by=["group"], groups={"a": "strong", "b": "strong"})
    assert (row.group, row.average.value) == ("strong", pytest.approx(0.3))
    (row,) = contribution_averages(scores, [DICE], by=["category"])
    assert row.category == DICE.units["X1"].category


@given(st.lists(UNIT, min_size=3, max_size=3), st.floats(0.01, 0.99))
def test_quadrants_and_tops(values, threshold):
    scores = Scores(
        score("a", name, value, metric) for name, value in zip(NAMES, values, strict=True) for metric in "NS"
    )
    placed = quadrants(scores, threshold=threshold)
    for point in placed:
        assert point.quadrant is quadrant_of(point.n, point.s, threshold)
        assert point.quadrant in (Quadrant.BOTH, Quadrant.NEITHER)
        assert point.top == (point.s == max(values) and point.s > 0)


def test_a_prerequisite_with_one_score_has_no_quadrant():
    (placed,) = quadrants(Scores([score("a", "X1", 0.4)]))
    assert (placed.n, placed.s, placed.quadrant, placed.top) == (None, 0.4, None, True)
    assert quadrants(Scores([score("a", "X1", 0.0)]))[0].top is False


@given(score_tables())
def test_agreement_is_symmetric_and_a_model_agrees_with_itself(scores):
    for found in model_agreement(scores, "S", "1,n"):
        renamed = Scores(
            score(
                {found.first: "z", found.second: "y"}.get(s.model, s.model),
                s.prerequisite,
                s.value,
                s.metric,
                s.contrast,
            )
            for s in reversed(scores)
        )
        (other,) = [a for a in model_agreement(renamed, "S", "1,n") if {a.first, a.second} == {"y", "z"}]
        assert (other.rho is None) == (found.rho is None)
        if found.rho is not None:
            assert found.rho == pytest.approx(other.rho)
            assert -1 - 1e-9 <= found.rho <= 1 + 1e-9
        else:
            assert found.reason == "all scores of one side are equal"
    same = contrast_agreement(scores, "N", "1,n", "1,n")
    assert same.rho is None or same.rho == pytest.approx(1)


def test_ties_are_averaged():
    values = {"a": [0.0, 0.0, 0.3, 0.9], "b": [0.1, 0.2, 0.3, 0.4]}
    scores = Scores(score(m, f"X{i}", v) for m, row in values.items() for i, v in enumerate(row))
    (found,) = model_agreement(scores, "S", "1,n")
    ranks = np.array([1.5, 1.5, 3, 4]), np.array([1.0, 2, 3, 4])
    assert found.rho == pytest.approx(np.corrcoef(*ranks)[0, 1])
    assert mean_agreement([found], ["a", "c"]).value is None


def test_few_prerequisites_have_no_rank_correlation():
    (found,) = model_agreement(Scores(score(m, x, 0.5) for m in "ab" for x in ("X1", "X2")), "S", "1,n")
    assert (found.rho, found.count, found.reason) == (None, 2, "2 prerequisites in common are too few to rank")
    assert score_shift(Scores([]), "S", "1,n", "t,n").count == 0


def test_the_shift_between_contrasts():
    one, other = [0.1, 0.5, 0.9], [0.2, 0.4, 1.0]
    scores = Scores(
        score("a", name, value, contrast=contrast)
        for contrast, values in (("1,n", one), ("t,n", other))
        for name, value in zip(NAMES, values, strict=True)
    )
    found = score_shift(scores, "S", "1,n", "t,n")
    assert found.mean_absolute == pytest.approx(0.1)
    assert found.r == pytest.approx(np.corrcoef(one, other)[0, 1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": ["modell"]}, "'model'"),
        ({"by": ["group"]}, "need the groups"),
        ({"by": ["pattern"]}, "need the patterns"),
        ({"by": [], "suppressed": "gone"}, "left out"),
        ({"by": ["category"]}, "dice_sum of the scores is not given"),
    ],
)
def test_wrong_aspects(options, message):
    with pytest.raises(UsageError, match=message):
        contribution_averages(Scores([score("a", "X1", 0.2)]), **options)


@pytest.mark.parametrize("threshold", [0.0, 1.0, -0.1, float("nan")])
def test_a_threshold_lies_between_0_and_1(threshold):
    with pytest.raises(NotAProbability):
        quadrants(Scores([]), threshold=threshold)
