"""The published tables of CCRV-Bench, both versions: what follows from what, and which figures do not.

Values are as printed. A one-decimal figure carries 0.05, so a difference of two and the result carry 0.15, and a mean
beside its result 0.10; two-decimal tables carry 0.005 a figure. ``UNSAFE`` lists every printed figure that contradicts
the others, with the reason; the tests assert that it does.
"""

import csv
from pathlib import Path

import pytest

from dodiag.benchmarks.ccrv.agreement import observed_from_unanimity, prevalence_from_kappa
from dodiag.benchmarks.ccrv.published import (
    at_fixed_denominator,
    dcr_of_levels,
    degradation,
    linked_baseline,
    mean_of,
)

TABLES = Path(__file__).parent / "published"
MEAN, DIFFERENCE, TWO_DIFFERENCES = 0.1 + 1e-9, 0.15 + 1e-9, 0.2 + 1e-9
VERSIONS = ("v1", "v2")
ALIASES = {
    "Gemini-3.1-Pro": "Gemini-3.1-Pro-Preview",
    "Doubao-Seed2-Pro": "Doubao-Seed-2-Pro",
    "Qwen-7B": "Qwen2.5-VL-7B",
}

LINKED = "the baseline that was subtracted is not the printed one: it is linked to the constrained answers that exist"
UNSAFE = {
    ("v1", "CDI", "Doubao-Seed-2-Pro"): LINKED,
    ("v1", "CDI", "Pixtral-12B"): LINKED,
    ("v1", "CDI", "MiniMax-M3"): LINKED,
    ("v1", "eCDI", "Doubao-Seed-2-Pro"): LINKED,
    ("v1", "eCDI", "Pixtral-12B"): LINKED,
    ("v1", "eCDI", "MiniMax-M3"): LINKED,
    ("v1", "mean over Y", "MiniMax-M3"): "the constraints have different numbers of answers",
    ("v1", "Y3 eDCR", "Doubao-Seed-2-Pro"): LINKED,
    ("v1", "eDCR of Y4", "MiniMax-M3"): "eCDI 89.1 is larger than the printed baseline 88.2",
}
"""(version, identity, model) of every figure that must not be used as a golden value, and why."""


def rows(version, table):
    name = TABLES / f"ccrv_{version}_table{table:02d}.csv"
    with name.open(encoding="utf-8", newline="") as stream:
        return [
            {key: text if key in ("model", "metric", "setting") else float(text or "nan") for key, text in row.items()}
            for row in csv.DictReader(stream)
        ]


def by_model(version, table):
    return {ALIASES.get(row["model"], row["model"]): row for row in rows(version, table)}


def check(version, identity, model, printed, derived, tolerance):
    off = abs(printed - derived) > tolerance
    reason = UNSAFE.get((version, identity, model))
    assert off == (reason is not None), f"{version} {identity} {model}: {printed} and {derived:.3f}; {reason}"


@pytest.mark.parametrize("version", VERSIONS)
def test_table_2_follows_from_its_parts(version):
    for model, row in by_model(version, 2).items():
        for kind in ("base", "con"):
            levels = [row[f"{kind}_L{level}"] for level in (1, 2, 3)]
            assert levels == sorted(levels, reverse=True)
            check(version, f"{kind} DCR", model, row[f"{kind}_DCR"], dcr_of_levels(levels), MEAN)
        check(version, "CDI", model, row["CDI"], degradation(row["base_DCR"], row["con_DCR"]), DIFFERENCE)
        check(version, "eCDI", model, row["eCDI"], degradation(row["base_DCR"], row["eDCR"]), DIFFERENCE)
        loss = row["con_DCR"] - row["eDCR"]
        check(version, "loss by violations", model, row["eCDI"] - row["CDI"], loss, TWO_DIFFERENCES)
        assert row["eDCR"] <= min(row["con_DCR"], row["CSR"])


@pytest.mark.parametrize("version", VERSIONS)
def test_table_3_averages_to_table_2(version):
    overall = by_model(version, 2)
    for model, row in by_model(version, 3).items():
        for kind, printed in (("base_DCR", "base_DCR"), ("con_DCR", "con_DCR"), ("eCDI", "eCDI")):
            derived = mean_of([row[f"{kind}_X{x}"] for x in range(1, 5)])
            check(version, f"mean over X of {kind}", model, overall[model][printed], derived, MEAN)
        for x in range(1, 5):
            assert row[f"eCDI_X{x}"] >= row[f"base_DCR_X{x}"] - row[f"con_DCR_X{x}"] - DIFFERENCE


@pytest.mark.parametrize("version", VERSIONS)
def test_table_4_averages_to_table_2(version):
    overall = by_model(version, 2)
    for model, row in by_model(version, 4).items():
        assert row["base_DCR"] == overall[model]["base_DCR"]
        constrained = mean_of([row[f"con_DCR_Y{y}"] for y in range(1, 5)])
        check(version, "mean over Y", model, overall[model]["con_DCR"], constrained, MEAN)
        damage = mean_of([row[f"eCDI_Y{y}"] for y in range(1, 5)])
        check(version, "mean over Y of eCDI", model, overall[model]["eCDI"], damage, MEAN)
        for y in range(1, 5):
            effective = row["base_DCR"] - row[f"eCDI_Y{y}"]
            reason = UNSAFE.get((version, f"eDCR of Y{y}", model))
            assert (effective < -MEAN) == (reason is not None), f"{model} Y{y}: {effective}"
            assert row[f"eCDI_Y{y}"] >= row["base_DCR"] - row[f"con_DCR_Y{y}"] - DIFFERENCE


@pytest.mark.parametrize("version", VERSIONS)
def test_tables_9_and_10_repeat_tables_2_to_4(version):
    overall, by_x, by_y = (by_model(version, table) for table in (2, 3, 4))
    for model, row in by_model(version, 9).items():
        columns = [row[f"base_DCR_X{x}"] for x in range(1, 5)]
        check(version, "mean of table 9", model, row["base_DCR_avg"], mean_of(columns), MEAN)
        if model in by_x:
            assert columns == [by_x[model][f"base_DCR_X{x}"] for x in range(1, 5)]
            assert row["base_DCR_avg"] == overall[model]["base_DCR"]
    for model, row in by_model(version, 10).items():
        if model in by_y:
            assert all(row[f"con_DCR_Y{y}"] == by_y[model][f"con_DCR_Y{y}"] for y in range(1, 5))
            assert (row["eDCR"], row["eCDI"]) == (overall[model]["eDCR"], overall[model]["eCDI"])


@pytest.mark.parametrize("version", VERSIONS)
def test_table_5_compares_prompts_with_the_same_baseline(version):
    overall, by_y = by_model(version, 2), by_model(version, 4)
    for model, row in by_model(version, 5).items():
        if model not in overall:
            continue
        assert row["vanilla_DCR"] == overall[model]["base_DCR"]
        derived = by_y[model]["base_DCR"] - by_y[model]["eCDI_Y3"]
        check(version, "Y3 eDCR", model, row["Y3_eDCR"], derived, DIFFERENCE)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("table", [6, 7, 8])
def test_control_tables_average_as_printed(version, table):
    found = by_model(version, table)
    average = found.pop("Average")
    for name, printed in average.items():
        if name != "model":
            assert printed == pytest.approx(mean_of([row[name] for row in found.values()]), abs=0.01 + 1e-9)


@pytest.mark.parametrize("version", VERSIONS)
def test_table_6_is_the_image_baseline_beside_the_text_alone(version):
    overall = by_model(version, 2)
    for model, row in by_model(version, 6).items():
        for setting in ("image", "text"):
            assert row[f"DCR_{setting}"] <= dcr_of_levels([row[f"L{level}raw_{setting}"] for level in (1, 2, 3)]) + 0.01
        if model in overall:
            assert row["DCR_image"] == pytest.approx(overall[model]["base_DCR"], abs=0.055 + 1e-9)
            assert row["L1raw_image"] == pytest.approx(overall[model]["base_L1"], abs=0.055 + 1e-9)


@pytest.mark.parametrize("version", VERSIONS)
def test_gains_of_the_controls_are_differences(version):
    for row in rows(version, 7):
        assert row["gain_points"] == pytest.approx(row["oracle_Y1_DCR"] - row["textonly_Y1_DCR"], abs=0.015 + 1e-9)
    by_y = by_model(version, 4)
    for model, row in by_model(version, 8).items():
        for y in (1, 2, 4):
            gain = row[f"Y{y}_oracle"] - row[f"Y{y}_constrained"]
            assert row[f"Y{y}_gain"] == pytest.approx(gain, abs=0.015 + 1e-9)
            if model in by_y:
                assert row[f"Y{y}_constrained"] == pytest.approx(by_y[model][f"con_DCR_Y{y}"], abs=0.055 + 1e-9)


@pytest.mark.parametrize("version", VERSIONS)
def test_agreement_is_that_of_its_counts_and_a_prevalence_exists(version):
    for row in rows(version, 12):
        assert row["unanimous_pct"] == pytest.approx(100 * row["unanimous_count"] / row["n"], abs=0.006)
        agree = 100 * row["human_judge_agree_count"] / row["n"]
        assert row["human_judge_agree_pct"] == pytest.approx(agree, abs=0.006)
        observed = observed_from_unanimity(int(row["unanimous_count"]), int(row["n"]))
        share = prevalence_from_kappa(observed, row["fleiss_kappa"])
        assert share is not None
        assert 0.65 < share < 0.86


def test_kappas_imply_these_prevalences():
    """Fleiss' kappa cannot be recomputed from counts; what is tested is the share of passed labels that it implies."""
    implied = {"v1": (0.840, 0.799, 0.757, 0.691), "v2": (0.848, 0.808, 0.761, 0.695)}
    for version, expected in implied.items():
        found = [
            prevalence_from_kappa(
                observed_from_unanimity(int(row["unanimous_count"]), int(row["n"])), row["fleiss_kappa"]
            )
            for row in rows(version, 12)
        ]
        assert found == pytest.approx(expected, abs=0.0006)


def test_the_audit_of_y3_is_59_of_60():
    with (TABLES / "ccrv_v1_y3_csr_audit.csv").open(encoding="utf-8", newline="") as stream:
        (row,) = csv.DictReader(stream)
    assert float(row["unanimous_pct"]) == pytest.approx(100 * 59 / 60, abs=0.006)
    assert float(row["human_judge_pct"]) == pytest.approx(100 * 59 / 60, abs=0.006)


def test_table_13_is_made_of_168_levels_and_the_judge_is_stricter_everywhere():
    whole = 56 * 3
    for row in rows("v2", 13):
        for name in ("human_DCR", "judge_DCR"):
            assert row[name] == pytest.approx(100 * round(row[name] * whole / 100) / whole, abs=0.006)
        assert row["gap_points"] == pytest.approx(row["human_DCR"] - row["judge_DCR"], abs=0.015)
        assert row["gap_points"] > 5


@pytest.mark.parametrize(
    ("first", "n", "size", "second"),
    [(77.7, 197, 200, 76.5), (75.55, 799, 800, 75.46), (63.61, 796, 800, 63.29), (81.48, 799, 800, 81.38)],
)
def test_the_second_version_is_the_first_at_a_fixed_denominator(first, n, size, second):
    assert at_fixed_denominator(first, n, size) == pytest.approx(second, abs=0.06 if size == 200 else 0.01)


@pytest.mark.parametrize(
    ("model", "subtracted"), [("MiniMax-M3", 89.0), ("Pixtral-12B", 77.1), ("Doubao-Seed-2-Pro", 90.0)]
)
def test_unsafe_rows_tell_the_baseline_that_was_really_subtracted(model, subtracted):
    row = by_model("v1", 2)[model]
    assert linked_baseline(row["con_DCR"], row["CDI"]) == pytest.approx(subtracted, abs=0.05 + 1e-9)
    assert row["base_DCR"] < subtracted - 0.1


def test_every_unsafe_figure_is_of_a_model_in_the_tables():
    for version, _, model in UNSAFE:
        assert model in by_model(version, 2)
