"""Small MM-CoT items of our own in the released formats, for the tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RIGHT = "A1->B2->C3, A2->B1->C2, A3->B3->C1"


def listed(letter: str, *options: str) -> str:
    return "\n".join(f"{letter}{place}: {text}" for place, text in enumerate(options, start=1))


def image_entry(**changes: Any) -> dict[str, Any]:
    entry = {
        "set_A": listed("A", "the shelf bends", "the woman reaches up", "a ball rolls in"),
        "set_B": listed(
            "B", "the jar tips", "the books slide", "the dog looks up", "the tap runs", "it rings", "it snows"
        ),
        "set_C": listed("C", "the dog runs", "flour spills", "books fall", "water rises", "they leave", "ice forms"),
        "Right_answer": RIGHT,
        "img_path": "./data/flickr30k/17.jpg",
    }
    return {**entry, **changes}


def video_entry(**changes: Any) -> dict[str, Any]:
    entry = {
        "id": "v1",
        "input_video": "clips/v1.mp4",
        "Key Elements": "[a hand pushes], [a cup stands at the edge], [a lamp is on]",
        "Counterfactual Elements": "[no hand], [a cup stands inside], [a lamp is off]",
        "Counterfactual Outcome Pool": "[The cup stays.], [The cup falls.], [The child's lamp breaks.]",
        "Critical Conditions": "[a hand pushes], [a cup stands at the edge]",
        "Counterfactual Causal Chain": "[no hand], [a cup stands inside] -> [The cup stays.]",
    }
    return {**entry, **changes}


PREDICTION = {
    "chosen_conditions": "[a hand pushes], [a cup stands at the edge]",
    "counterfactual_conditions": "[no hand], [a cup stands inside]",
    "counterfactual_result": "[The cup stays.]",
    "counterfactual_chain": "[no hand], [a cup stands inside] -> [The cup stays.]",
}


def prediction(**changes: Any) -> str:
    return json.dumps({**PREDICTION, **changes}, ensure_ascii=False)


def write(path: Path, document: Any) -> Path:
    path.write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")
    return path
