"""The published tables of MM-CoT: what follows from what, and which figures do not and must not be used.

Percentages have two decimals, so a figure carries 0.005 and a difference with its result 0.015.
"""

import csv
from pathlib import Path

import pytest

from dodiag.benchmarks.mmcot.data import PUBLISHED_IMAGES, PUBLISHED_VIDEOS
from dodiag.benchmarks.mmcot.published import chance_of_multi, count_of, pooled, sizes_that_fit
from dodiag.benchmarks.mmcot.taxonomy import LOGICAL_TYPES, PUBLISHED_SHARES, VISUAL_TYPES, Axis, DistractorType
from dodiag.benchmarks.mmcot.tiers import LENGTHS, REFERENCE_MODELS, STRATUM_SIZES, Tier, tier_of

TABLES = Path(__file__).parent / "published"
FIGURE, DIFFERENCE = 0.005 + 1e-9, 0.015 + 1e-9
SAFE = (*REFERENCE_MODELS, "GLM-4.5V")
TOTALS = dict(zip(SAFE, (672, 173, 371, 533, 138, 431), strict=True))
"""Videos solved, of 2,100; derived."""

UNSAFE = {
    "GPT-5": "its cells are whole counts of about 1,670 videos only, since failed calls were dropped",
    "LLaVA-1.5-7B": "its cells are counts, but the printed total is 10 videos more than they add up to",
    "Idefics2-8B": "some cells are no counts, and the total does not follow",
    "InternVL3-8B": "a cell is no count, and the total does not follow",
    "InternVL3.5-8B": "some cells are no counts, and the total does not follow",
    "Ovis-2.5": "some cells are no counts, and the total does not follow",
    "Human": "a sample of 200 videos, not counts over the strata",
}
"""Columns of Table 1 that must not be used as golden values, and why."""

OTHER_UNSAFE = {
    "Tables 2 and 9, GPT-5": "four cells of the two tables differ",
    "Table 2, direct answers of Qwen and GLM": "a sample of 100 videos, not the headline run",
    "Table 2, CoT and reflective": "no cell is a count over that sample",
    "Table 3, tiers of GPT-5 and Human": "they do not follow from Table 1",
    "Table 3, Multi without image, Qwen": "the printed difference is -32.00 instead of -31.96",
    "Table 1, images": "every Multi is a multiple of 0.1, so of about 1,000 pictures; Single is undefined",
    "Table 1, tiers of the five reference models": "circular: their successes define the tiers",
    "Table 6, external interaction": "18.6 is printed for 18.548, as if rounded twice",
    "Table 4, overall": "0.86 beside a plain mean of 0.87; the weights are not stated",
}


def rows(table):
    with (TABLES / f"mmcot_table{table:02d}.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def cells(model):
    found = {(row["section"], row["row"]): float(row[model]) for row in rows(1)}
    return {(length, tier): found[f"video_{length}", tier.value] for length in LENGTHS for tier in Tier}


def overall(model):
    return next(float(row[model]) for row in rows(1) if row["row"] == "Overall")


def counts(model):
    return {stratum: count_of(percent, STRATUM_SIZES[stratum]) for stratum, percent in cells(model).items()}


def test_the_derived_strata_are_those_of_2100_videos():
    assert sum(STRATUM_SIZES.values()) == PUBLISHED_VIDEOS
    assert [sum(STRATUM_SIZES[length, tier] for tier in Tier) for length in LENGTHS] == [1001, 660, 439]
    assert [sum(STRATUM_SIZES[length, tier] for length in LENGTHS) for tier in Tier] == [224, 300, 546, 1030]


@pytest.mark.parametrize("model", SAFE)
def test_every_cell_of_a_safe_column_is_a_count_and_the_total_follows(model):
    found = counts(model)
    assert None not in found.values()
    assert sum(found.values()) == TOTALS[model]
    assert abs(pooled(list(found.values()), list(STRATUM_SIZES.values())) - overall(model)) <= FIGURE


@pytest.mark.parametrize("model", UNSAFE)
def test_every_unsafe_column_contradicts_itself(model):
    found = counts(model)
    whole = None not in found.values()
    assert not whole or count_of(overall(model), PUBLISHED_VIDEOS) != sum(found.values())


def test_the_table_has_no_other_columns():
    assert set(rows(1)[0]) == {"section", "row", *SAFE, *UNSAFE}


def test_gpt_5_fits_no_stratum_but_llava_fits_all():
    assert set(counts("GPT-5").values()) == {None}
    llava = counts("LLaVA-1.5-7B")
    assert (sum(llava.values()), count_of(overall("LLaVA-1.5-7B"), PUBLISHED_VIDEOS)) == (235, 245)


WHOLE = (*SAFE, "LLaVA-1.5-7B")
"""Columns whose cells are whole counts; the total of the last one is unsafe, its cells are not."""


@pytest.mark.parametrize("stratum", [stratum for stratum in STRATUM_SIZES if stratum != ("long", Tier.EASY)])
def test_the_cells_pin_the_size_of_a_stratum(stratum):
    size = STRATUM_SIZES[stratum]
    assert sizes_that_fit([cells(model)[stratum] for model in WHOLE], size + size // 3) == [size]


def test_long_and_easy_is_pinned_by_the_sum_alone():
    assert sizes_that_fit([cells(model)["long", Tier.EASY] for model in WHOLE], 48) == [16, 32, 48]
    others = sum(size for stratum, size in STRATUM_SIZES.items() if stratum != ("long", Tier.EASY))
    assert PUBLISHED_VIDEOS - others == STRATUM_SIZES["long", Tier.EASY]


def test_without_a_seventh_column_extreme_strata_would_be_loose():
    fitting = sizes_that_fit([cells(model)["medium", Tier.EXTREME] for model in SAFE], 400)
    assert {266, 325, 384} <= set(fitting)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize(("tier", "times"), [(Tier.EXTREME, 0), (Tier.HARD, 1), (Tier.MEDIUM, 2)])
def test_a_tier_is_how_many_of_the_five_models_solved_a_video(length, tier, times):
    solved = sum(counts(model)[length, tier] for model in REFERENCE_MODELS)
    assert solved == times * STRATUM_SIZES[length, tier]
    assert tier_of(times) is tier


@pytest.mark.parametrize("length", LENGTHS)
def test_easy_videos_were_solved_by_three_or_more(length):
    solved = sum(counts(model)[length, Tier.EASY] for model in REFERENCE_MODELS)
    assert 3 * STRATUM_SIZES[length, Tier.EASY] < solved <= 5 * STRATUM_SIZES[length, Tier.EASY]


def test_a_sixth_model_shows_that_the_tiers_are_not_made_of_it():
    assert any(counts("GLM-4.5V")[length, Tier.EXTREME] for length in LENGTHS)


@pytest.mark.parametrize("model", ["Qwen2.5-VL-72B", "Gemini-2.5-Pro", "Claude-Sonnet-4"])
def test_table_3_pools_the_lengths_of_table_1(model):
    printed = {row["row"]: float(row[model]) for row in rows(3) if row["condition"] == "With Video"}
    for tier in (Tier.EASY, Tier.MEDIUM, Tier.HARD):
        sizes = [STRATUM_SIZES[length, tier] for length in LENGTHS]
        found = pooled([counts(model)[length, tier] for length in LENGTHS], sizes)
        assert abs(found - printed[tier.value]) <= 0.02, tier


@pytest.mark.parametrize(
    ("model", "tier"), [("Human", "Easy"), ("Human", "Medium"), ("Human", "Hard"), ("GPT-5", "Medium")]
)
def test_table_3_contradicts_table_1_where_it_is_unsafe(model, tier):
    printed = next(float(r[model]) for r in rows(3) if (r["condition"], r["row"]) == ("With Video", tier))
    percents = [cells(model)[length, Tier(tier)] for length in LENGTHS]
    sizes = [STRATUM_SIZES[length, Tier(tier)] for length in LENGTHS]
    found = sum(p * n for p, n in zip(percents, sizes, strict=True)) / sum(sizes)
    assert abs(found - printed) > 0.2


def test_differences_of_table_3_follow_but_for_one():
    table = {(row["condition"], row["row"]): row for row in rows(3)}
    wrong = []
    for (condition, name), row in table.items():
        if condition.startswith("With "):
            continue
        before = table[condition.replace("Without", "With"), name]
        for model in [key for key in row if f"{key}_delta" in row]:
            expected = float(row[model]) - float(before[model])
            if abs(expected - float(row[f"{model}_delta"])) > DIFFERENCE:
                wrong.append((condition, name, model))
    assert wrong == [("Without Image", "Multi", "Qwen2.5-VL-72B")]


@pytest.mark.parametrize("model", ["Qwen2.5-VL-72B", "Gemini-2.5-Pro", "Claude-Sonnet-4", "GPT-5", "Human"])
def test_totals_and_pictures_of_table_3_are_those_of_table_1(model):
    first = {row["row"]: float(row[model]) for row in rows(1) if row["section"] in ("image", "video_overall")}
    third = {row["row"]: float(row[model]) for row in rows(3) if row["condition"] in ("With Image", "With Video")}
    assert {name: third[name] for name in first} == first


def test_gains_of_table_9_are_differences_of_its_rows():
    table = {row["method"]: row for row in rows(9)}
    gain, after, before = (
        table[name] for name in ("Gain (Reflect vs Direct)", "Reflective Reasoning", "Direct Answer")
    )
    for name in ("easy", "medium", "hard", "extreme", "overall"):
        assert abs(float(after[name]) - float(before[name]) - float(gain[name])) <= DIFFERENCE, name


@pytest.mark.parametrize(("model", "solved"), [("Qwen2.5-VL-72B", (9, 9, 10, 0)), ("GLM-4.5V", (5, 2, 5, 2))])
def test_direct_answers_of_table_2_are_counts_of_100_videos(model, solved):
    row = next(r for r in rows(2) if (r["model"], r["paradigm"]) == (model, "Direct Answer"))
    sizes = (13, 11, 22, 54)
    printed = [float(row[f"video_{tier.value.lower()}"]) for tier in Tier]
    assert [count_of(percent, size) for percent, size in zip(printed, sizes, strict=True)] == list(solved)
    assert sum(solved) == count_of(float(row["video_overall"]), 100)
    assert abs(float(row["video_overall"]) - overall(model)) > 1


@pytest.mark.parametrize("paradigm", ["Standard CoT", "Reflective Reasoning"])
@pytest.mark.parametrize("model", ["Qwen2.5-VL-72B", "GLM-4.5V"])
def test_no_cell_of_the_other_paradigms_is_a_count_of_that_sample(model, paradigm):
    row = next(r for r in rows(2) if (r["model"], r["paradigm"]) == (model, paradigm))
    for tier, size in zip(Tier, (13, 11, 22, 54), strict=True):
        assert count_of(float(row[f"video_{tier.value.lower()}"]), size) is None


def test_tables_2_and_9_differ_in_four_cells():
    nine = {row["method"]: row for row in rows(9)}
    differing = []
    for row in rows(2):
        if row["model"] == "GPT-5":
            names = ("easy", "medium", "hard", "extreme", "overall")
            other = nine[row["paradigm"]]
            differing += [
                (row["paradigm"], name) for name in names if float(row[f"video_{name}"]) != float(other[name])
            ]
    assert differing == [
        ("Standard CoT", "easy"),
        ("Standard CoT", "medium"),
        ("Reflective Reasoning", "hard"),
        ("Reflective Reasoning", "overall"),
    ]


def test_multi_of_pictures_is_a_count_of_a_thousand():
    row = next(r for r in rows(1) if (r["section"], r["row"]) == ("image", "Multi"))
    assert all(count_of(float(row[model]), 1000) is not None for model in (*SAFE, *UNSAFE))
    single = next(r for r in rows(1) if (r["section"], r["row"]) == ("image", "Single"))
    assert sum(count_of(float(single[model]), 3000) is None for model in (*SAFE, *UNSAFE)) >= 6


def test_categories_of_table_6_are_whole_sets():
    for group in ("scene", "dynamic"):
        found = [row for row in rows(6) if row["group"] == group]
        images, videos = (sum(int(row[name]) for row in found) for name in ("image_count", "video_count"))
        assert (images, videos) == (PUBLISHED_IMAGES, PUBLISHED_VIDEOS)
        for row in found:
            share = 100 * (int(row["image_count"]) + int(row["video_count"])) / (images + videos)
            rounded_twice = row["category"] == "A3 External Interaction"
            assert (round(share, 1) != float(row["total_pct"])) is rounded_twice
            assert round(round(share, 2) + 1e-9, 1) == float(row["total_pct"])


def test_the_taxonomy_is_that_of_table_7():
    for row in rows(7):
        kind = DistractorType(row["type"].lower().replace(" ", "_"))
        assert kind.axis is Axis(row["failure_class"])
        assert PUBLISHED_SHARES[kind] == float(row["proportion_pct"])
    for kinds in (VISUAL_TYPES, LOGICAL_TYPES):
        assert sum(PUBLISHED_SHARES[kind] for kind in kinds) == pytest.approx(100)


def test_k_of_table_10_counts_options_and_not_distractors():
    table = {row["metric"]: row for row in rows(10)}
    for name, k in (("K2", 2), ("K3", 3), ("K4_default", 4), ("K5", 5)):
        assert abs(float(table["Random Guess"][name]) - 100 / k) <= 0.05
    accuracy = [float(table["Model Accuracy"][name]) for name in ("K2", "K3", "K4_default", "K5")]
    drops = [float(table["Relative Drop"][name]) for name in ("K3", "K4_default", "K5")]
    for before, after, drop in zip(accuracy, accuracy[1:], drops, strict=False):
        assert abs(100 * (after - before) / before - drop) <= 0.05 + 1e-9


def test_the_deviation_of_table_11_is_the_largest_of_its_rows():
    found = {row["prompt"]: float(row["accuracy_pct"]) for row in rows(11)}
    default = found.pop("Standard (Default)")
    variance = found.pop("Variance")
    assert max(abs(default - value) for value in found.values()) == pytest.approx(variance)


def test_the_mean_of_table_4_is_a_hundredth_off():
    found = {row["category"]: float(row["final_noise_pct"]) for row in rows(4)}
    printed = found.pop("Overall Average")
    assert (round(sum(found.values()) / 3, 2), printed) == (0.87, 0.86)
    for name in ("initial_noise_pct", "rejection_rate_pct"):
        others = {row["category"]: float(row[name]) for row in rows(4)}
        mean = others.pop("Overall Average")
        assert abs(sum(others.values()) / 3 - mean) <= 0.05 + 1e-9, name


def test_blind_chances_are_far_below_the_papers():
    assert chance_of_multi() == pytest.approx(1 / 14400)
    assert chance_of_multi(slots=1) == pytest.approx(1 / 36)


def test_every_warning_gives_a_reason():
    assert all(len(reason) > 20 for reason in (UNSAFE | OTHER_UNSAFE).values())
