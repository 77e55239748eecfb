"""A small CCRV-Bench set of our own in the published form, and where the published sample is."""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path
from typing import Any

from dodiag.benchmarks.ccrv.data import X_KEYS
from dodiag.benchmarks.ccrv.symbols import forbidden_terms

PLACE = os.environ.get("DODIAG_CCRV_SAMPLE")
SAMPLE = Path(PLACE) if PLACE else Path(__file__).parents[4] / "shared" / "data" / "ccrv"
HAS_SAMPLE = (SAMPLE / "main_3.json").is_file()
NO_SAMPLE = f"the published sample is not in {SAMPLE}; name its folder in DODIAG_CCRV_SAMPLE"

RUBRIC = {
    "L1_perception_check": "Does the answer name the hand and the cup? (Yes/No)",
    "L2_interaction_check": "Does the answer say that the hand tips the cup? (Yes/No)",
    "L3_causal_check": "Does the answer say that the water runs out? (Yes/No)",
}
NODES = {"Node_A": (11, "cup", [100, 50, 40, 60]), "Node_B": (12, "woman", [10, 20, 80, 200])}


def node(object_id: int, name: str, box: list[int]) -> dict[str, Any]:
    x, y, width, height = box
    return {
        "object_id": object_id,
        "true_name": name,
        "bbox_xywh": box,
        "bbox_xyxy": [x, y, x + width, y + height],
        "center_xy": [x + width / 2, y + height / 2],
    }


def variants(x: str, place: int) -> list[dict[str, Any]]:
    symbols = {symbol: node(*described) for symbol, described in NODES.items()}
    terms = list(forbidden_terms(name for _, name, _ in NODES.values()))
    common = {"x_dimension": x, "rubric_generation_model": "tests", "rubric_generation_method": "by hand"}
    specs: list[tuple[str, str, str, str, dict[str, Any]]] = [
        (
            "Y1",
            "entity_symbolization",
            "Node_A at [100, 50, 140, 110], Node_B at [10, 20, 90, 220]. Which node tips Node_A?",
            "Node_B tips Node_A until it runs out.\n",
            {"csr_rule": "forbidden_term_scan", "symbol_map": symbols, "forbidden_terms": terms},
        ),
        (
            "Y2",
            "spatial_grounded_causal_explanation",
            "Mark the pixel of what is tipped.\nCoordinate: [x, y]\nExplanation: <why>",
            "Coordinate: [120, 80]\nExplanation: Here the hand tips the cup, so it runs out.",
            {
                "csr_rule": "grounded_causal_explanation",
                "target_object_id": 11,
                "target_true_name": "cup",
                "target_bbox_xywh": [100, 50, 40, 60],
                "target_bbox_xyxy": [100, 50, 140, 110],
                "target_center_xy": [120.0, 80.0],
                "accepted_region": "inside_bbox_expanded",
                "csr_bbox_margin_fraction": 0.075,
            },
        ),
        (
            "Y3",
            "contradiction_block",
            "The premise may be false: The cup stands upright by itself. What tips the cup?",
            "The premise is false: the hand tips the cup.",
            {
                "csr_rule": "contradiction_refusal",
                "original_ground_truth": f"The hand tips it ({x} {place}).",
                "expected_behavior": "first_refute_false_premise_then_reason_from_visual_evidence",
                "false_premise": "The cup stands upright by itself.",
            },
        ),
        (
            "Y4",
            "strict_grammar_bottleneck",
            "Who does what? Use at most 4 words.",
            "hand tips cup",
            {
                "csr_rule": "dynamic_word_limit",
                "forbid_punctuation": True,
                "forbid_extra_text": True,
                "allowed_max_words": 4,
            },
        ),
    ]
    return [
        {
            "constraint_id": name,
            "constraint_name": title,
            "constrained_question": question,
            "adapted_ground_truth": reference,
            "constraint_spec": spec,
            "evaluation_rubric_main_set": dict(RUBRIC),
            **common,
        }
        for name, title, question, reference, spec in specs
    ]


def question(x: str, place: int, *, constrained: bool = True) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "question_text": f"What happens to the cup’s water ({x} {place})?",
        "ground_truth_answer": f"The hand tips it ({x} {place}).",
        "target_object_id": 11,
        "rationale": "The hand → cup contact tips it.",
    }
    if constrained:
        entry["main_set_versions"] = variants(x, place)
    return {**entry, "evaluation_rubric": dict(RUBRIC)}


def document(ids: tuple[int, ...] = (7, 8), *, constrained: bool = True) -> list[dict[str, Any]]:
    """Return a set; its last image has only an id and questions, as the published files have."""
    images = []
    for image_id in ids:
        questions = {x: [question(x, place, constrained=constrained) for place in (0, 1)] for x in X_KEYS}
        whole = {
            "image_id": image_id,
            "image_path_relative": f"pictures/{image_id}.jpg",
            "primary_cluster": "tipping",
            "questions": questions,
        }
        images.append(whole if image_id != ids[-1] else {"image_id": image_id, "questions": questions})
    return copy.deepcopy(images)


def write(path: Path, data: Any) -> Path:
    path.write_text(json.dumps(data, ensure_ascii=False, indent=2), encoding="utf-8")
    return path
