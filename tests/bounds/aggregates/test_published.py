"""The averages of CADET's printed scores are the averages that it prints, where those can be recomputed."""

from __future__ import annotations

import math

import pytest

import dodiag
from dodiag.benchmarks.cadet.replication import published
from dodiag.bounds.aggregates import (
    Average,
    Quadrant,
    contrast_agreement,
    contribution_averages,
    mean_agreement,
    model_agreement,
    quadrants,
)
from dodiag.bounds.scores import Score, Scores

TASKS = [dodiag.load_task(name) for name in published.prerequisites()]
GROUPS = {model.preset: model.group for model in published.models()}
PATTERNS = {task.name: str(task.published["pattern"]) for task in TASKS}
SAFE_ROWS = [("N", "1,0"), ("N", "1,n"), ("S", "1,0"), ("S", "1,n"), ("S", "0,n"), ("S", "n,0")]
UNSAFE_ROWS = [("N", "0,n"), ("N", "n,0")]


@pytest.fixture(scope="module")
def printed():
    return Scores(
        Score(key.model, key.task, "Y", key.metric, key.prerequisite, key.contrast.text, value=value, n=100)
        for key, value in published.scores().items()
    )


def averages(scores, **options):
    return contribution_averages(scores, TASKS, groups=GROUPS, patterns=PATTERNS, **options)


def test_figure_20_is_the_mean_over_models(printed):
    table = {
        (row.task, row.prerequisite, row.contrast, row.metric): row
        for row in averages(printed, by=["task", "prerequisite"])
    }
    off = []
    for (task, prerequisite, contrast, metric), value in published.figure_20().items():
        row = table[task, prerequisite, contrast.text, metric]
        assert row.average.count == 12
        if abs(row.average.value - value) > 0.005 + 1e-9:
            off.append(abs(row.average.value - value))
    assert len(off) == 4
    assert max(off) < 0.0063


@pytest.mark.parametrize(("metric", "contrast"), SAFE_ROWS + UNSAFE_ROWS)
def test_figure_9_is_the_flat_mean_of_a_category_but_for_two_rows(printed, metric, contrast):
    rows = {
        row.category: row.average
        for row in averages(printed, by=["category"])
        if (row.metric, row.contrast) == (metric, contrast)
    }
    print_ = {c: v for (m, k, c), v in published.figure_9().items() if (m, k.text) == (metric, contrast)}
    off = {category: abs(rows[category].value - value) for category, value in print_.items()}
    if (metric, contrast) in SAFE_ROWS:
        # Two decimals of every score, three of the mean: four standard deviations of a uniform rounding error.
        assert all(off[c] < 4 * 0.01 / math.sqrt(12 * rows[c].count) + 0.0005 for c in off)
    else:
        assert max(off.values()) > 0.005


def test_figure_7_and_the_pattern_ranges(printed):
    means = {(r.metric, r.contrast, r.group): round(r.average.value, 3) for r in averages(printed, by=["group"])}
    assert means["N", "1,n", "SOTA"] == 0.085
    assert means["N", "1,n", "Others"] == 0.131
    assert means["S", "1,n", "SOTA"] == 0.303
    assert means["S", "1,0", "Others"] == 0.100
    of_models = [
        row.average.value
        for row in averages(printed, by=["model", "pattern"])
        if (row.metric, row.contrast, row.pattern) == ("S", "1,0", "2") and GROUPS[row.model] == "SOTA"
    ]
    assert [round(min(of_models), 3), round(max(of_models), 3)] == [0.142, 0.263]


def test_figure_5_counts_of_quadrants(printed):
    expected = {
        "1,n": {"BOTH": 6, "SUFFICIENT": 10, "NECESSARY": 1, "NEITHER": 16},
        "1,0": {"BOTH": 6, "SUFFICIENT": 3, "NECESSARY": 8, "NEITHER": 16},
        "n,0": {"BOTH": 1, "SUFFICIENT": 0, "NECESSARY": 13, "NEITHER": 19},
        "0,n": {"BOTH": 2, "SUFFICIENT": 0, "NECESSARY": 1, "NEITHER": 30},
    }
    placed = quadrants(printed, over_models=True)
    for contrast, counts in expected.items():
        found = [p.quadrant for p in placed if p.contrast == contrast]
        assert {name: found.count(Quadrant[name]) for name in counts} == counts
    assert [(p.task, p.prerequisite) for p in placed if p.contrast == "1,n" and p.quadrant is Quadrant.NECESSARY] == [
        ("multi_view_sequencing", "X3")
    ]


def test_the_top_prerequisites(printed):
    tops = {p.task: p.prerequisite for p in quadrants(printed, over_models=True) if p.contrast == "1,n" and p.top}
    assert tops == {
        "map_navigation": "X1",
        "dice_sum": "X3",
        "music_note_counting": "X3",
        "dashcam_counting": "X4",
        "multi_view_sequencing": "X2",
        "street_view_ordering": "X2",
        "surround_localization": "X3",
        "traffic_causation": "X5",
    }
    of_models = {}
    for placed in quadrants(printed):
        if placed.contrast == "1,n" and placed.top:
            of_models.setdefault(placed.task, set()).add(placed.prerequisite)
    assert sum(len(found) == 1 for found in of_models.values()) == 4


def test_figure_19_as_it_comes_out_of_the_printed_scores(printed):
    """The paper prints 0.72, 0.85, 0.70 and 0.41; from its own clipped scores they are higher by 0.02."""
    s, n = model_agreement(printed, "S", "1,n"), model_agreement(printed, "N", "1,n")
    assert len(s) == 66
    strong = [name for name, group in GROUPS.items() if group == "SOTA"]
    others = [name for name, group in GROUPS.items() if group == "Others"]
    found = [mean_agreement(s), mean_agreement(s, strong), mean_agreement(s, others), mean_agreement(n)]
    assert [(round(a.value, 3), a.count) for a in found] == [(0.745, 66), (0.865, 6), (0.724, 28), (0.430, 66)]
    assert contrast_agreement(printed, "N", "1,n", "1,0").rho == pytest.approx(0.637, abs=5e-4)
    assert contrast_agreement(printed, "S", "1,n", "1,0").rho == pytest.approx(0.511, abs=5e-4)


def test_tables_8_and_9_are_means_with_sample_deviations():
    models = [model.preset for model in published.models()]
    table = published.nonroot()
    for category, metric, mean, sd in (
        ("perception", "NC", 0.590, 0.138),
        ("spatial", "IC", 0.671, 0.059),
        ("temporal", "RC", 0.414, 0.063),
    ):
        found = Average.of(table[model, category, metric].mean for model in models)
        assert (found.value, found.sd) == (pytest.approx(mean, abs=6e-4), pytest.approx(sd, abs=5e-4))
        assert found.count == 12
