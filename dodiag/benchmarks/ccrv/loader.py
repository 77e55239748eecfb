"""Read the published files of CCRV-Bench: all problems are reported at once, and nothing is repaired silently."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from dodiag.benchmarks.ccrv.data import (
    SPECS,
    X_KEYS,
    Dataset,
    ImageRecord,
    Item,
    ItemKey,
    Rubric,
    Variant,
)
from dodiag.problems import InvalidInput, Problem, UsageError

BASELINE_FIELDS = ("question_text", "ground_truth_answer", "target_object_id", "rationale", "evaluation_rubric")
"""What the constrained file repeats of the baseline file."""

NO_CLUSTER = "other"


def load_dataset(main: str | Path, baseline: str | Path | None = None) -> Dataset:
    """Read a CCRV-Bench file, with or without constrained variants.

    Parameters
    ----------
    main : str or Path
        The constrained file, or a baseline file alone.
    baseline : str or Path, optional
        The baseline file; it is checked to hold the same images, causal tasks, positions and texts.

    Raises
    ------
    UsageError
        If a file cannot be read or is not JSON.
    InvalidInput
        With every problem of the files, by image, causal task, position and constraint.
    """
    document = read_document(main)
    dataset = dataset_of(document, str(main))
    if baseline is not None:
        other = dataset_of(read_document(baseline), str(baseline))
        problems = list(_differences(dataset, other))
        if problems:
            raise InvalidInput(problems)
    return dataset


def read_document(path: str | Path) -> list[Any]:
    """Return the parsed list of images of a file.

    Raises
    ------
    UsageError
        If it cannot be read, is not JSON, or is not a list.
    """
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}", "Name a JSON file of CCRV-Bench.") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not JSON: {error}", "Name a JSON file of CCRV-Bench.") from None
    if not isinstance(document, list):
        raise UsageError(f"{path} is not a list of images", "Name a JSON file of CCRV-Bench.")
    return document


def written(dataset: Dataset) -> str:
    """Return a set in the form of the published files: two-space indent, no escapes, every text as it was read."""
    return json.dumps(dataset.document, ensure_ascii=False, indent=2)


def dataset_of(document: Sequence[Any], source: str) -> Dataset:
    """Return the set of a parsed list of images.

    Raises
    ------
    InvalidInput
        With every problem.
    """
    reader = _Reader(source)
    images = [image for number, raw in enumerate(document) if (image := reader.image(raw, number)) is not None]
    if not document:
        reader.problem("", "there are no images", "Name a file with at least one.")
    if reader.problems:
        raise InvalidInput(reader.problems)
    return Dataset(source, tuple(images), list(document))


class _Reader:
    """Reads images and collects what is wrong with them."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.problems: list[Problem] = []
        self._ids: set[int] = set()

    def problem(self, where: str, message: str, cure: str) -> None:
        self.problems.append(Problem(self.source, None, where, message, cure))

    def image(self, raw: Any, number: int) -> ImageRecord | None:
        where = f"entry {number}"
        image_id = raw.get("image_id") if isinstance(raw, Mapping) else None
        if not isinstance(raw, Mapping) or isinstance(image_id, bool) or not isinstance(image_id, int):
            self.problem(where, "has no whole number 'image_id'", "Every image has one.")
            return None
        where = f"image {image_id}"
        if image_id in self._ids:
            self.problem(where, "stands twice", "An image id is a key; remove one.")
        self._ids.add(image_id)
        questions = raw.get("questions")
        if not isinstance(questions, Mapping):
            self.problem(where, "has no 'questions'", "Write one list for each causal task.")
            return None
        if set(questions) != set(X_KEYS):
            found = ", ".join(map(str, questions)) or "nothing"
            self.problem(where, f"its causal tasks are {found}", f"They have to be {', '.join(X_KEYS)}.")
        items: list[Item] = []
        for x in X_KEYS:
            entries = questions.get(x, [])
            if not isinstance(entries, list) or not entries:
                if x in questions:
                    self.problem(f"{where}, {x}", "is not a list of questions", "Write at least one.")
                continue
            found_items = (self._item(ItemKey(image_id, x, place), entry) for place, entry in enumerate(entries))
            items += [item for item in found_items if item is not None]
        path, cluster = raw.get("image_path_relative"), raw.get("primary_cluster")
        return ImageRecord(
            image_id,
            path if isinstance(path, str) else None,
            cluster if isinstance(cluster, str) and cluster else NO_CLUSTER,
            tuple(items),
        )

    def _item(self, key: ItemKey, raw: Any) -> Item | None:
        where = str(key)
        if not isinstance(raw, Mapping):
            self.problem(where, "is not a question", "Write a mapping.")
            return None
        variants: dict[str, Variant] = {}
        versions = raw.get("main_set_versions", [])
        if not isinstance(versions, list):
            self.problem(where, "'main_set_versions' is not a list", "Write a list of variants.")
            versions = []
        for place, entry in enumerate(versions):
            variant = self._variant(f"{where}, variant {place}", key, entry)
            if variant is None:
                continue
            same = next((other for other in variants.values() if other.family == variant.family), None)
            if same is not None:
                both = " and ".join(dict.fromkeys((same.constraint_id, variant.constraint_id)))
                cure = "A constraint is a key, whatever its version; keep one of them."
                self.problem(where, f"has constraint {variant.family} twice ({both})", cure)
            variants[variant.constraint_id] = variant
        rationale = raw.get("causal_rationale") or raw.get("rationale")
        fields = {name: raw.get(name) for name in ("question_text", "ground_truth_answer", "target_object_id")}
        rubric = self._rubric(where, raw.get("evaluation_rubric"))
        whole = {"key": key, **fields, "rationale": rationale, "rubric": rubric, "variants": variants}
        return cast(Item | None, self._made(Item, where, whole))

    def _variant(self, where: str, key: ItemKey, raw: Any) -> Variant | None:
        if not isinstance(raw, Mapping):
            self.problem(where, "is not a variant", "Write a mapping.")
            return None
        name = raw.get("constraint_id")
        family = name.partition(".")[0] if isinstance(name, str) else ""
        if family not in SPECS:
            self.problem(where, f"its constraint is '{name}'", f"Use one of {', '.join(SPECS)}.")
            return None
        if raw.get("x_dimension") != key.x:
            self.problem(where, f"says x_dimension '{raw.get('x_dimension')}'", f"It stands under {key.x}.")
        spec = self._made(SPECS[family], f"{where} ({name}), constraint_spec", raw.get("constraint_spec"))
        rubric = self._rubric(where, raw.get("evaluation_rubric_main_set"))
        if spec is None:
            return None
        return cast(
            Variant | None,
            self._made(Variant, f"{where} ({name})", {**raw, "spec": spec, "evaluation_rubric_main_set": rubric}),
        )

    def _rubric(self, where: str, raw: Any) -> Rubric | None:
        return None if raw is None else cast(Rubric | None, self._made(Rubric, f"{where}, rubric", raw))

    def _made(self, kind: Any, where: str, raw: Any) -> Any:
        try:
            return kind.model_validate(raw)
        except ValidationError as error:
            for entry in error.errors(include_url=False):
                place = ".".join(map(str, entry["loc"]))
                message = f"{entry['msg'][0].lower()}{entry['msg'][1:]}"
                self.problem(where, f"{place or 'it'}: {message}", "Restore the field from the published file.")
            return None


def _differences(main: Dataset, baseline: Dataset) -> Iterator[Problem]:
    """Yield where the constrained file does not repeat the baseline file; they are joined by place alone."""

    def problem(where: str, message: str) -> Problem:
        return Problem(baseline.source, None, where, message, f"Use the two files of one release; not {main.source}.")

    if [image.image_id for image in main.images] != [image.image_id for image in baseline.images]:
        yield problem("", "lists other images, or in another order")
        return
    for raw, other in zip(main.document, baseline.document, strict=True):
        for x in X_KEYS:
            ours, theirs = raw["questions"][x], other["questions"][x]
            if len(ours) != len(theirs):
                yield problem(f"image {raw['image_id']}, {x}", f"has {len(theirs)} questions instead of {len(ours)}")
                continue
            for place, (a, b) in enumerate(zip(ours, theirs, strict=True)):
                for name in BASELINE_FIELDS:
                    if a.get(name) != b.get(name):
                        where = str(ItemKey(raw["image_id"], x, place))
                        yield problem(where, f"'{name}' is not that of the constrained file")
