"""Replicates CADET's scores by simulation, at full size, and compares them with what was printed.

    python perf/replication.py [--models N] [--tasks A,B] [--questions N] [--direct] [--capabilities] [--keep FOLDER]

Each calibrated simulator answers a pack of each task's published size through the whole pipeline: plan, prompts,
replies, reading, outcomes, scores. Prints how far the 3,168 scores are from the printed ones in standard errors, and
Figures 7, 9 and 20 and the findings beside theirs; with ``--capabilities`` every unit is asked, and Tables 7 and 9 are
compared as well.
"""

from __future__ import annotations

import argparse
import itertools
import json
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import fmean, stdev

import numpy as np
from numpy.typing import NDArray

import dodiag
from dodiag.benchmarks.cadet.replication import figures, published
from dodiag.benchmarks.cadet.replication.blank import write_blank_pack
from dodiag.benchmarks.cadet.replication.calibrate import cadet_tasks
from dodiag.benchmarks.cadet.replication.comparison import Compared, compare
from dodiag.bounds.formulas import n_score, s_score
from dodiag.bounds.scores import Score
from dodiag.runners.session import task_of_run
from dodiag.scm.simulator import Simulator
from dodiag.vocabulary import METRICS, PAPER_CONTRASTS, Configuration, Contrast, arms


def main() -> None:
    """Run and print."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--models", type=int, default=12, help="the first so many")
    options.add_argument("--tasks", default=",".join(published.prerequisites()), help="names, separated by commas")
    options.add_argument("--capabilities", action="store_true", help="ask every unit of all ten tasks as well")
    options.add_argument(
        "--keep", type=Path, help="a folder for packs and runs; what is complete there is not run again"
    )
    options.add_argument("--questions", type=int, help="at most so many prerequisite questions of a unit in a prompt")
    options.add_argument("--direct", action="store_true", help="ask the simulators without prompts, replies and ledger")
    chosen = options.parse_args()
    models = [model.preset for model in published.models()][: chosen.models]
    rows: list[Compared] = []
    calls, began = 0, time.perf_counter()
    with tempfile.TemporaryDirectory() as temporary:
        work = chosen.keep or Path(temporary)
        for task in chosen.tasks.split(","):
            pack = dodiag.load_pack(
                write_blank_pack(work / task, dodiag.load_task(task), questions_per_unit=chosen.questions)
            )
            for model in models:
                if chosen.direct:
                    rows += direct(pack, model)
                    continue
                plan = dodiag.make_plan(pack, target_only=True)
                out = work / f"{task}.{model}"
                summary = dodiag.run(pack, f"sim:{model}", out, plan=plan, quiet=True)
                assert summary.complete
                calls += plan.call_count
                rows += compared(out, model)
        taken = time.perf_counter() - began
        how = f"{calls:,} calls, {1e6 * taken / calls:.0f} µs each" if calls else "simulators asked directly"
        print(f"{len(rows)} scores, {taken:.0f} s, {how}\n")
        show_scores(rows)
        if len(rows) == len(published.scores()):
            show_aggregates({row.key: row.value for row in rows})
        if chosen.capabilities:
            show_capabilities(work, models)


def compared(run: Path, model: str) -> Iterator[Compared]:
    """Yield the scores of a run beside the printed ones."""
    kept = run.with_suffix(run.suffix + ".json")
    if not kept.exists():
        scores = dodiag.contributions(dodiag.outcomes(run), task_of_run(run))
        kept.write_text(json.dumps([score.to_dict() for score in scores]))
    for score in [Score(**row) for row in json.loads(kept.read_text())]:
        if score.metric in METRICS:
            assert score.value is not None
            assert score.denominator is not None
            assert score.prerequisite is not None
            contrast = Contrast.parse(str(score.contrast))
            key = published.ScoreKey(score.task, score.prerequisite, contrast, score.metric, model)
            yield compare(key, score.value, score.n, score.denominator, score.suppressed)


def direct(pack: dodiag.Pack, model: str) -> Iterator[Compared]:
    """Yield what the pipeline would find, by asking the simulator itself: noise, and so scores, are the same."""
    simulator, task = Simulator.named(model), pack.task
    names = task.parents(task.target)
    asked = [(i, q) for i in pack.instances() for q in i.by_unit.get(task.target, ())]

    @cache
    def solved(configuration: Configuration) -> NDArray[np.bool_]:
        return np.array([simulator.solves(task, i, q, configuration) for i, q in asked])

    for name, contrast, metric in itertools.product(names, PAPER_CONTRASTS, METRICS):
        here = np.array([bool(instance.by_unit.get(name)) for instance, _ in asked])
        pair = arms(metric, contrast, name, names)
        rates = [float(solved(configuration)[here].mean()) for configuration in (pair.active, pair.reference)]
        found = (n_score if metric == "N" else s_score)(*rates)
        key = published.ScoreKey(task.name, name, contrast, metric, model)
        yield compare(key, float(found.value), int(here.sum()), float(found.denominator), bool(found.suppressed))


def show_scores(rows: list[Compared]) -> None:
    """Print how far the scores are from the printed ones."""
    print("| task | scores | mean abs. difference | largest | outside 95 % | outside, expected | ruled out |")
    print("|---|---|---|---|---|---|---|")
    tasks = dict.fromkeys(row.key.task for row in rows)
    for name in [*tasks, "all", "all but map_navigation"]:
        part = [row for row in rows if name in (row.key.task, "all") or (" " in name and row.key.task not in name)]
        errors = [abs(row.value - row.printed) for row in part]
        outside = sum(row.tail < 0.05 for row in part)
        expected = sum(row.expected_outside for row in part)
        ruled = sum(row.suppressed and row.printed > 0 for row in part)
        largest = max(abs(row.standard_errors) for row in part)
        cells = [len(part), f"{fmean(errors):.4f}", f"{largest:.2f} s.e.", outside, f"{expected:.1f}", ruled]
        print(f"| {name} | {' | '.join(map(str, cells))} |")
    print("\nThe five farthest:")
    for row in sorted(rows, key=lambda row: row.tail)[:5]:
        print(
            f"  {row.key.task} {row.key.prerequisite} {row.key.metric}({row.key.contrast}) {row.key.model}: "
            f"{row.value:.3f}, printed {row.printed:.2f}, tail {row.tail:.5f}"
        )
    loose = [row.tail for row in rows if row.key.task != "map_navigation"]
    if loose:
        print(f"Smallest tail times scores, but map_navigation (family-wise): {min(1.0, min(loose) * len(loose)):.3f}")
    print(f"Scores set to 0 by the denominator rule: {sum(row.suppressed for row in rows)}\n")


def show_aggregates(found: figures.Scores) -> None:
    """Print Figures 7, 9 and 20 and the findings beside those of the printed scores."""
    printed = published.scores()
    print("| score | SOTA | printed | Others | printed | " + " | ".join(published.CATEGORIES) + " |")
    print("|---|---|---|---|---|---|---|---|---|")
    groups, printed_groups = figures.figure_7(found), figures.figure_7(printed)
    means, printed_means = figures.figure_9(found), published.figure_9()
    for metric in METRICS:
        for contrast in PAPER_CONTRASTS:
            cells = [f"{metric}{contrast.symbol}"]
            for group in ("SOTA", "Others"):
                key = metric, contrast, group
                cells += [f"{groups[key]:.3f}", f"{printed_groups[key]:.3f}"]
            for category in published.CATEGORIES:
                cells.append(
                    f"{means[metric, contrast, category]:.3f} ({printed_means[metric, contrast, category]:.3f})"
                )
            print("| " + " | ".join(cells) + " |")
    twenty = figures.figure_20(found)
    away = sorted(abs(twenty[key] - value) for key, value in published.figure_20().items())
    print(f"\nFigure 20: mean difference {fmean(away):.4f}, largest {away[-1]:.4f}, of {len(away)} cells\n")
    print("| finding | printed scores | simulated |")
    print("|---|---|---|")
    simulated = figures.findings(found)
    for name, value in figures.findings(printed).items():
        print(f"| {name} | {value:.3g} | {simulated[name]:.3g} |")


def show_capabilities(work: Path, models: list[str]) -> None:
    """Ask every unit of every task under 1, 0 and natural, and print Table 9's means beside the printed ones."""
    units: dict[tuple[str, str, str], list[float]] = {}
    variances: dict[tuple[str, str, str], list[float]] = {}
    roots: dict[str, list[float]] = {}
    calls, began = Counter[str](), time.perf_counter()
    for task in cadet_tasks():
        pack = dodiag.load_pack(write_blank_pack(work / f"all.{task.name}", task, questions_per_unit=3))
        for model in models:
            plan = dodiag.make_plan(pack, contrasts=[], states=["1", "0", "n"])
            out = work / f"all.{task.name}.{model}"
            dodiag.run(pack, f"sim:{model}", out, plan=plan, quiet=True)
            calls[model] += plan.call_count
            for score in dodiag.capabilities(dodiag.outcomes(out), pack.task).where(step=None):
                assert score.value is not None
                if score.unit in task.roots:
                    roots.setdefault(model, []).append(score.value)
                else:
                    place = model, task.units[score.unit].category, score.metric
                    units.setdefault(place, []).append(score.value)
                    variances.setdefault(place, []).append(score.value * (1 - score.value) / score.n)
    taken = time.perf_counter() - began
    print(f"\nEvery unit: {calls.total():,} calls, {taken:.0f} s")
    spreads = published.nonroot()
    means = [abs(fmean(values) - spreads[key].mean) for key, values in units.items()]
    errors = [away * len(units[key]) / sum(variances[key]) ** 0.5 for key, away in zip(units, means, strict=True)]
    deviations = [abs(stdev(values) - spreads[key].sd) for key, values in units.items()]
    print(
        f"Table 9, means: mean difference {fmean(means):.4f}, largest {max(means):.4f}, of {len(means)}; in standard "
        f"errors {fmean(errors):.2f} and {max(errors):.2f}"
    )
    print(f"Table 9, deviations: mean difference {fmean(deviations):.4f}, largest {max(deviations):.4f}")
    away = [abs(fmean(values) - published.root()[model].mean) for model, values in roots.items()]
    print(f"Table 7, roots: mean difference {fmean(away):.4f}, largest {max(away):.4f}, of {len(away)}")
    higher = sum(
        fmean(units[model, category, "IC"]) > fmean(units[model, category, "NC"])
        for model in models
        for category in published.CATEGORIES
    )
    print(f"Cells of model and category with IC > NC: {higher} of {len(models) * 4}")


if __name__ == "__main__":
    main()
