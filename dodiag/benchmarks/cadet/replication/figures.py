"""The publication's aggregates of contribution scores, from any set of them: Figures 6, 7, 9, 19, 20 and what is found.

Every function takes scores by :class:`ScoreKey`, so the printed ones and simulated ones go through the same arithmetic.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from statistics import fmean
from typing import TypeVar

import numpy as np

from dodiag.benchmarks.cadet.replication import published
from dodiag.benchmarks.cadet.replication.published import ScoreKey
from dodiag.scm.files import load_task
from dodiag.vocabulary import METRICS, PAPER_CONTRASTS, Contrast

Scores = Mapping[ScoreKey, float]

HIGH = 0.15
"""From here on a score is high (Figures 5 and 22)."""

RULED = frozenset({("N", Contrast.parse("0,n")), ("N", Contrast.parse("n,0"))})
"""The scores that the denominator rule concerns. Figure 9 contradicts Figures 20 and 23-30 in these two rows."""


def figure_20(scores: Scores) -> dict[tuple[str, str, Contrast, str], float]:
    """Return means over models by (task, prerequisite, contrast, metric)."""
    return _means(scores, lambda key: (key.task, key.prerequisite, key.contrast, key.metric))


def figure_9(scores: Scores) -> dict[tuple[str, Contrast, str], float]:
    """Return means over models and prerequisites of a category, by (metric, contrast, category)."""
    category = published.categories()
    return _means(scores, lambda key: (key.metric, key.contrast, category[key.task, key.prerequisite]))


def figure_7(scores: Scores) -> dict[tuple[str, Contrast, str], float]:
    """Return means over prerequisites and the models of a group, by (metric, contrast, group)."""
    group = {model.preset: model.group for model in published.models()}
    return _means(scores, lambda key: (key.metric, key.contrast, group[key.model]))


def findings(scores: Scores) -> dict[str, float]:
    """Return what Section 5.3 and Appendix D.2 find in the scores, as numbers, by a short name.

    Rank correlations are of clipped scores with ties averaged.
    """
    return {
        **_contrasts_and_groups(scores),
        **_pattern_2(scores),
        **_rank_agreement(scores),
        **_top_parents(scores),
        **_never_both(scores),
    }


def _contrasts_and_groups(scores: Scores) -> dict[str, float]:
    grouped, by_category, mean = figure_7(scores), figure_9(scores), figure_20(scores)
    one, whole = Contrast.parse("1,n"), Contrast.parse("1,0")
    found: dict[str, float] = {
        "contrasts in which SOTA has the lower N": sum(
            grouped["N", contrast, "SOTA"] < grouped["N", contrast, "Others"] for contrast in PAPER_CONTRASTS
        ),
        "contrasts in which SOTA has the higher S": sum(
            grouped["S", contrast, "SOTA"] > grouped["S", contrast, "Others"] for contrast in PAPER_CONTRASTS
        ),
        "categories with N(1,0) > N(1,n)": sum(
            by_category["N", whole, name] > by_category["N", one, name] for name in published.CATEGORIES
        ),
        "prerequisites with N(1,0) > N(1,n)": sum(
            mean[(*place, whole, "N")] > mean[(*place, one, "N")] for place in published.categories()
        ),
    }
    for metric, contrast in itertools.product(METRICS, PAPER_CONTRASTS):
        found[f"prerequisites with high {metric}({contrast})"] = sum(
            mean[(*place, contrast, metric)] >= HIGH for place in published.categories()
        )
    return found


def _pattern_2(scores: Scores) -> dict[str, float]:
    """Return the least and the highest mean over Pattern 2's prerequisites among the models of each group."""
    tasks = {task for task in published.prerequisites() if load_task(task).published["pattern"] == 2}
    found = {}
    for metric, text in (("S", "1,0"), ("S", "n,0"), ("N", "1,0")):
        wanted = metric, Contrast.parse(text)
        part = {k: value for k, value in scores.items() if k.task in tasks and (k.metric, k.contrast) == wanted}
        by_model = _means(part, lambda key: key.model)
        for group in ("SOTA", "Others"):
            values = [by_model[model.preset] for model in published.models() if model.group == group]
            found[f"Pattern 2 {metric}({text}), least of {group}"] = min(values)
            found[f"Pattern 2 {metric}({text}), most of {group}"] = max(values)
    return found


def _never_both(scores: Scores) -> dict[str, float]:
    """Return in how many cells two scores are positive that read the same runs in opposite directions."""
    found: dict[str, float] = {}
    for metric, first, other, second in (("N", "n,0", "S", "0,n"), ("S", "n,0", "N", "0,n")):
        wanted = metric, Contrast.parse(first)
        opposite = Contrast.parse(second)
        found[f"cells with both {metric}({first}) and {other}({second})"] = sum(
            value > 0 and scores[key._replace(contrast=opposite, metric=other)] > 0
            for key, value in scores.items()
            if (key.metric, key.contrast) == wanted
        )
    return found


def _rank_agreement(scores: Scores) -> dict[str, float]:
    found = {}
    names = [model.preset for model in published.models()]
    strong = {model.preset for model in published.models() if model.group == "SOTA"}
    one, whole = Contrast.parse("1,n"), Contrast.parse("1,0")
    for metric in METRICS:
        columns = {
            name: [scores[ScoreKey(*place, one, metric, name)] for place in published.categories()] for name in names
        }
        pairs = {pair: _spearman(columns[pair[0]], columns[pair[1]]) for pair in itertools.combinations(names, 2)}
        found[f"mean Spearman of {metric}(1,n), all models"] = fmean(pairs.values())
        for label, members in (("SOTA", strong), ("Others", set(names) - strong)):
            within = [value for pair, value in pairs.items() if set(pair) <= members]
            found[f"mean Spearman of {metric}(1,n), {label}"] = fmean(within)
    mean = figure_20(scores)
    for metric in METRICS:
        first, second = ([mean[(*p, contrast, metric)] for p in published.categories()] for contrast in (one, whole))
        found[f"Spearman of {metric}(1,n) with {metric}(1,0) over prerequisites"] = _spearman(first, second)
    return found


def _top_parents(scores: Scores) -> dict[str, float]:
    """Return on how many tasks all models agree on the prerequisite of the highest S(1, n), or on two of them."""
    agreed = paired = 0
    contrast = Contrast.parse("1,n")
    mean = figure_20(scores)
    for task, names in published.prerequisites().items():
        leading = sorted(names, key=lambda name: -mean[task, name, contrast, "S"])[:2]
        tops = {
            max(names, key=lambda name: scores[ScoreKey(task, name, contrast, "S", model.preset)])
            for model in published.models()
        }
        agreed += len(tops) == 1
        paired += tops <= set(leading)
    return {"tasks with one top prerequisite": agreed, "tasks with the top prerequisite among two": paired}


def _spearman(first: list[float], second: list[float]) -> float:
    from scipy.stats import spearmanr

    return float(spearmanr(first, second).statistic)


K = TypeVar("K")


def _means(scores: Scores, group: Callable[[ScoreKey], K]) -> dict[K, float]:
    found: dict[K, list[float]] = {}
    for key, value in scores.items():
        found.setdefault(group(key), []).append(value)
    return {name: float(np.mean(values)) for name, values in found.items()}
