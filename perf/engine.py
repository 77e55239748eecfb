"""Measures the engine and prints a table: reading and planning a pack of CADET's size, and running simulated calls.

    python perf/engine.py

Peaks are of the whole process; each row runs in a process of its own, so that no row pays for another.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

TASK = """schema: 1
name: sums
title: Sums
modality: text
target: Y
units:
  X1: {title: First Number, category: perception, answer: {type: integer, min: 0, max: 20}}
  X2: {title: Second Number, category: spatial, answer: {type: integer, min: 0, max: 20}}
  Y: {title: Their Sum, category: cognitive, answer: {type: integer, min: 0, max: 40}, parents: [X1, X2]}
"""

MEASURE = """
import json, resource, sys, time
started = time.perf_counter()
import dodiag
from dodiag.interventions.price import price
pack_dir, out, work = sys.argv[1:4]
pack = dodiag.load_pack(pack_dir)
plan = dodiag.make_plan(pack)
cost = price(plan)
plan.digest
planned = time.perf_counter() - started
ran = None
if work == "run":
    begun = time.perf_counter()
    dodiag.run(pack, "sim:default", out, plan=plan)
    ran = time.perf_counter() - begun
print(json.dumps({
    "questions": pack.question_count, "calls": cost.calls, "planned": planned, "ran": ran,
    "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
}))
"""


def write_pack(folder: Path, instances: int, boxes: int) -> Path:
    """Write a text pack with `boxes` questions of X1, one of X2 and one of Y per instance."""
    folder.mkdir(parents=True)
    (folder / "task.yaml").write_text(TASK)
    with (folder / "instances.jsonl").open("w") as stream:
        for i in range(instances):
            first = [
                {"id": f"a{q}", "unit": "X1", "text": f"Which number is in box {q} of {i}?", "answer": (i + q) % 20}
                for q in range(boxes)
            ]
            second = {"id": "b", "unit": "X2", "text": f"Which number is on card {i}?", "answer": i % 20}
            total = {"id": "y", "unit": "Y", "text": f"What is the sum of case {i}?", "answer": i % 41}
            stream.write(json.dumps({"id": f"i{i:06d}", "questions": [*first, second, total]}) + "\n")
    return folder


def measure(pack: Path, out: Path, work: str) -> dict[str, float]:
    """Return one row, measured in a process of its own."""
    command = [sys.executable, "-c", MEASURE, str(pack), str(out), work]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    """Print the table."""
    print("| pack | questions | calls | read and plan, s (imports included) | run, µs per call | peak memory, MB |")
    print("|---|---|---|---|---|---|")
    rows = [
        ("planned", 1131, 28, "plan"),
        ("planned", 11310, 28, "plan"),
        ("run", 500, 1, "run"),
        ("run", 5000, 1, "run"),
    ]
    with tempfile.TemporaryDirectory() as folder:
        for index, (name, instances, boxes, work) in enumerate(rows):
            pack = write_pack(Path(folder) / f"p{index}", instances, boxes)
            row = measure(pack, Path(folder) / f"r{index}", work)
            each = "–" if row["ran"] is None else f"{1e6 * row['ran'] / row['calls']:.0f}"
            cells = [f"{row['questions']:,}", f"{row['calls']:,}", f"{row['planned']:.2f}", each, f"{row['peak']:.0f}"]
            print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
