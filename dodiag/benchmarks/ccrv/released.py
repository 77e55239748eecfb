"""Read the result files of the released pipeline, and score them with denominators that say what is missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dodiag.benchmarks.ccrv.data import X_KEYS, Dataset, ItemKey
from dodiag.benchmarks.ccrv.loader import dataset_of, read_document
from dodiag.benchmarks.ccrv.scores import BASELINE, Labels, Record
from dodiag.problems import InvalidInput, Problem

FAILED = ("[Error]", "[Blocked]")
"""How the released runners store a call that failed; such a text is no answer and counts as missing."""


def read_results(path: str | Path, dataset: Dataset | None = None) -> list[Record]:
    """Return the labelled answers of a result file, unconstrained or constrained.

    Labels are taken raw and cascaded again. An answer that is the text of a failed call is left out in both settings;
    the released code grades it in one and drops it in the other.

    Parameters
    ----------
    path : str or Path
    dataset : Dataset, optional
        The set that was asked: a question of the file with another text than there is a problem, since images, tasks
        and positions alone would join the answers of another release.

    Raises
    ------
    UsageError
        If the file cannot be read.
    InvalidInput
        With every problem of the file.
    """
    document = read_document(path)
    clusters = {image.image_id: image.cluster for image in dataset_of(document, str(path)).images}
    problems: list[Problem] = []
    records = []
    for key, constraint, entry in _entries(document):
        name = "evaluation_results" if constraint == BASELINE else "main_set_evaluation_results"
        result = entry.get(name)
        if result is None or str(entry.get("vlm_answer", "")).startswith(FAILED):
            continue
        where = f"{key}, {constraint}"
        if dataset is not None and _asked(dataset, key, constraint) not in (None, _text(entry, constraint)):
            cure = "Score it with the set that was asked."
            problems.append(Problem(str(path), None, where, "asks another question than the set", cure))
            continue
        labels = _labels(result)
        csr = result.get("CSR") if isinstance(result, Mapping) else None
        if labels is None or (constraint != BASELINE and csr not in (0, 1)):
            cure = "It needs raw_scores r1, r2, r3 and, with a constraint, CSR; each 0 or 1."
            problems.append(Problem(str(path), None, where, f"'{name}' is incomplete", cure))
            continue
        kept = None if constraint == BASELINE else int(csr == 1)
        records.append(Record(key, constraint, labels, kept, clusters[key.image_id]))
    if problems:
        raise InvalidInput(problems)
    return records


def read_answers(path: str | Path) -> dict[tuple[ItemKey, str], str]:
    """Return the answers of a file of the released runners by item and constraint, failed calls left out."""
    document = read_document(path)
    dataset_of(document, str(path))
    found = {}
    for key, constraint, entry in _entries(document):
        answer = entry.get("vlm_answer")
        if isinstance(answer, str) and answer and not answer.startswith(FAILED):
            found[key, constraint] = answer
    return found


def _entries(document: list[Any]) -> Iterator[tuple[ItemKey, str, Mapping[str, Any]]]:
    for image in document:
        for x in X_KEYS:
            for place, question in enumerate(image["questions"][x]):
                key = ItemKey(image["image_id"], x, place)
                yield key, BASELINE, question
                for variant in question.get("main_set_versions", ()):
                    yield key, str(variant["constraint_id"]).partition(".")[0], variant


def _text(entry: Mapping[str, Any], constraint: str) -> Any:
    return entry["question_text" if constraint == BASELINE else "constrained_question"]


def _asked(dataset: Dataset, key: ItemKey, constraint: str) -> str | None:
    """Return the text of a question of a set; None where it has none such, which the scores refuse by name."""
    item = dataset.by_key.get(key)
    if item is None or constraint == BASELINE:
        return None if item is None else item.question_text
    found = (v.constrained_question for v in item.variants.values() if v.family == constraint)
    return next(found, None)


def _labels(result: Any) -> Labels | None:
    raw = result.get("raw_scores") if isinstance(result, Mapping) else None
    if not isinstance(raw, Mapping):
        return None
    labels = tuple(raw.get(name) for name in ("r1", "r2", "r3"))
    if any(isinstance(label, bool) or label not in (0, 1) for label in labels):
        return None
    first, second, third = (int(label) for label in labels if label is not None)
    return first, second, third
