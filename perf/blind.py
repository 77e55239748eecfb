"""Shortcut audit: how far a solver gets that sees only the texts of a pack's questions, never a picture.

    python perf/blind.py PACK [PACK ...]

Half of the instances train it, the other half tests it. For choices it scores each option by its words, its words
beside the question's, its length, its place among the numbers in all options, its likeness to the others and its
letter; for everything else it predicts the answer from the question's words. Printed per unit: the share of questions
solved with 95 % Wilson limits (instances are the unit of sampling), what the best constant answer gets, and chance.
A figure far above both is a shortcut: a model could be right without looking.
"""

from __future__ import annotations

import argparse
import json
import re
import warnings
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import mean

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

from dodiag.bounds.limits import clustered_wilson
from dodiag.scm.answers import LETTERS
from dodiag.scm.pack import Pack, Question, correct_answer, load_pack

BUCKETS = 48
"""Columns that words are hashed into."""

WORD = re.compile(r"[a-z]+|\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Asked:
    """A question as a blind solver sees it."""

    instance: int
    question: Question
    truth: str
    options: tuple[str, ...]


def hashed(words: list[str]) -> np.ndarray:
    """Return how often each hashed word occurs."""
    columns = np.zeros(BUCKETS)
    for word in words:
        columns[zlib.crc32(word.encode()) % BUCKETS] += 1
    return columns


def numbers(text: str) -> list[float]:
    """Return the numbers of a text."""
    return [float(number) for number in re.findall(r"\d+(?:\.\d+)?", text)]


def option_features(asked: Asked, index: int) -> np.ndarray:
    """Return what a blind solver can see of one option."""
    option, others = asked.options[index], [o for i, o in enumerate(asked.options) if i != index]
    words = WORD.findall(option.lower())
    question = WORD.findall(asked.question.text.lower())
    alike = [len(set(words) & set(WORD.findall(o.lower()))) / max(1, len(set(words))) for o in others] or [0.0]
    value = numbers(option)[:2] + [0.0] * (2 - len(numbers(option)[:2]))
    ranks = [sum(numbers(o)[at : at + 1] < numbers(option)[at : at + 1] for o in others) for at in (0, 1)]
    shape = [
        index / len(asked.options),
        len(option),
        sum(len(o) < len(option) for o in others),
        float(np.mean(alike)),
        len(set(words) & set(question)),
        *value,
        *ranks,
        asked.question.step or 0,
        len(asked.options),
    ]
    pairs = [f"{word}|{other}" for word in words[:8] for other in question[-12:]]
    return np.concatenate([shape, hashed(words), hashed(pairs)])


def question_features(asked: Asked) -> np.ndarray:
    """Return what a blind solver can see of a question without options."""
    text = asked.question.text
    words = WORD.findall(text.lower())
    first = [*numbers(text), 0.0, 0.0, 0.0][:3]
    return np.concatenate([[asked.question.step or 0, len(words), *first], hashed(words)])


def questions_of(pack: Pack) -> dict[str, list[Asked]]:
    """Return the questions of each unit."""
    found: dict[str, list[Asked]] = defaultdict(list)
    for number, instance in enumerate(pack.instances()):
        for question in instance.questions:
            truth = json.dumps(correct_answer(pack.task, question))
            options = tuple(question.choices or pack.task.units[question.unit].answer.choices or ())
            found[question.unit].append(Asked(number, question, truth, options))
    return found


def solved(train: list[Asked], test: list[Asked], is_choice: bool) -> Iterator[tuple[Asked, bool]]:
    """Yield each test question and whether the blind solver gets it."""
    if is_choice:
        rows = [(option_features(a, i), a.truth == f'"{LETTERS[i]}"') for a in train for i in range(len(a.options))]
        model = HistGradientBoostingClassifier(max_iter=150, random_state=0)
        model.fit(np.array([row for row, _ in rows]), np.array([right for _, right in rows]))
        for asked in test:
            columns = np.array([option_features(asked, i) for i in range(len(asked.options))])
            best = int(np.argmax(model.predict_proba(columns)[:, -1]))
            yield asked, asked.truth == f'"{LETTERS[best]}"'
        return
    forest = RandomForestClassifier(200, random_state=0, min_samples_leaf=2, n_jobs=1)
    forest.fit(np.array([question_features(a) for a in train]), [a.truth for a in train])
    guesses = forest.predict(np.array([question_features(a) for a in test]))
    yield from ((asked, asked.truth == guess) for asked, guess in zip(test, guesses, strict=True))


def report(pack: Pack) -> None:
    """Print a line for each unit of a pack."""
    for unit, asked in questions_of(pack).items():
        train = [a for a in asked if a.instance % 2 == 0][:6000]
        test = [a for a in asked if a.instance % 2 == 1][:6000]
        answer = pack.task.units[unit].answer
        is_choice = answer.type == "choice"
        if len(train) < 10 or len(test) < 10:
            print(f"| {pack.task.name} | {unit} | {answer.type} | {len(test)} | too few | | |", flush=True)
            continue
        right: dict[int, list[bool]] = defaultdict(list)
        for question, hit in solved(train, test, is_choice):
            right[question.instance].append(hit)
        share = sum(map(sum, right.values())) / len(test)
        limits = clustered_wilson([sum(hits) for hits in right.values()], [len(hits) for hits in right.values()])
        constant = Counter(a.truth for a in train).most_common(1)[0][0]
        majority = mean(a.truth == constant for a in test)
        chance = f"{mean(1 / len(a.options) for a in test):.2f}" if is_choice else "–"
        cells = [len(test), f"{share:.2f} [{limits.lower:.2f}, {limits.upper:.2f}]", f"{majority:.2f}", chance]
        print(f"| {pack.task.name} | {unit} | {answer.type} | {' | '.join(map(str, cells))} |", flush=True)


def main() -> None:
    """Print the table."""
    # Most answers to a question of counting are rare ones; the forest says so of each of its trees.
    warnings.filterwarnings("ignore", message="The number of unique classes")
    parser = argparse.ArgumentParser(description="How far a solver gets that sees only texts.")
    parser.add_argument("packs", nargs="+")
    print("| task | unit | answer | questions | blind solver | best constant | chance |")
    print("|---|---|---|---|---|---|---|")
    for folder in parser.parse_args().packs:
        report(load_pack(folder))


if __name__ == "__main__":
    main()
