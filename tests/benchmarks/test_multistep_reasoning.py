"""The Multistep Reasoning generator: its packs are sound, repeatable, and true to what the pictures show."""

from __future__ import annotations

import json
import os
import pickle
import re
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import truth_multistep_reasoning as truth
from hypothesis import given, settings
from hypothesis import strategies as st
from packs import write_pack
from PIL import Image, ImageDraw
from scipy import stats

import dodiag
from dodiag.benchmarks.cadet import multistep_reasoning as generator
from dodiag.benchmarks.cadet.board_picture import BOARD, HEIGHT, WIDTH, Layout
from dodiag.benchmarks.cadet.board_rules import DIRECTIONS, Move, Rules, Twist, draw_rules
from dodiag.benchmarks.cadet.board_walk import LARGEST, NAMES, SMALLEST, Walk, draw_names, draw_walk, size_for
from dodiag.benchmarks.cadet.multistep_reasoning import PAPER_STEPS, Knobs, draw, in_words, task, walk_length
from dodiag.interventions.prompts import Assembler
from dodiag.problems import MissingDependency, UsageError
from dodiag.runners.reading import read_answer
from dodiag.scm.answers import show_answer
from dodiag.scm.files import load_task
from dodiag.scm.pack import Instance, Pack, correct_answer, incorrect_answer, load_pack, spec_of
from dodiag.vocabulary import Configuration, State

SEED, INSTANCES = 3, 4
SHORT = Knobs(mean_steps=5, min_steps=3, max_steps=8)


def make_pack(folder: Path, knobs: Knobs, count: int, seed: int = SEED) -> Pack:
    drawn = [draw(seed, index, knobs) for index in range(count)]
    media = {name: data for _, files in drawn for name, data in files.items()}
    lines = [instance.model_dump_json(exclude_defaults=True) for instance, _ in drawn]
    return load_pack(write_pack(folder, task(seed, knobs), lines, media))


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    return make_pack(tmp_path_factory.mktemp("boards") / "default", Knobs(), INSTANCES)


@pytest.fixture(scope="module")
def twisted(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    knobs = Knobs(twists=2, named=12, room=1.5, mean_steps=30, min_steps=20, max_steps=40)
    return make_pack(tmp_path_factory.mktemp("boards") / "twisted", knobs, 2)


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    return make_pack(tmp_path_factory.mktemp("boards") / "short", SHORT, 2)


@pytest.fixture(scope="module")
def walks() -> list[Walk]:
    """Walks of the default knobs, without pictures."""
    found = []
    for index in range(150):
        rng = np.random.default_rng((SEED, index))
        steps = walk_length(SEED, index)
        size = min(size_for(steps, 6, 2.4) + int(rng.integers(3)), LARGEST)
        found.append(draw_walk(rng, steps, 6, 1, size))
    return found


# The truth


def test_the_pictures_themselves_give_every_answer(pack: Pack, twisted: Pack, short: Pack) -> None:
    for made in (pack, twisted, short):
        assert truth.disagreements(made.folder) == []


def test_the_second_path_notices_a_wrong_answer_a_wrong_board_and_a_misplaced_mark(short: Pack, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in (short.folder / "instances.jsonl").read_text(encoding="utf-8").splitlines()]
    first = lines[0]
    questions = {question["id"]: question for question in first["questions"]}

    def found(change: Any) -> list[str]:
        copy = json.loads(json.dumps(first))
        change(copy, {question["id"]: question for question in copy["questions"]})
        write_pack(tmp_path / "p", short.task, [copy])
        (tmp_path / "p" / "media").mkdir(exist_ok=True)
        target = tmp_path / "p" / first["media"][0]
        target.write_bytes((short.folder / first["media"][0]).read_bytes())
        return truth.disagreements(tmp_path / "p")

    assert found(lambda copy, asked: None) == []
    assert "X2-1" in found(lambda copy, asked: asked["X2-1"].update(answer=questions["X2-1"]["incorrect"]))[0]
    assert "is right" in found(lambda copy, asked: asked["X1-2"].update(incorrect=questions["X1-2"]["answer"]))[0]
    assert "box" in found(lambda copy, asked: asked["X1-1"].update(annotations=asked["X1-2"]["annotations"]))[0]

    def swap_arrows(copy: Any, asked: Any) -> None:
        asked["X2-1"]["annotations"][0] = asked["X2-2"]["annotations"][0]

    assert "arrow" in found(swap_arrows)[0]
    assert "instead of" in found(lambda copy, asked: copy["meta"]["rows"][0].reverse())[0]


def test_the_board_in_words_gives_every_answer(tmp_path: Path) -> None:
    """A third path: a reader of the question's text alone moves the token."""
    knobs = Knobs(board_in_text=True, twists=2, mean_steps=8, min_steps=4, max_steps=12)
    for index in range(3):
        instance, _ = draw(1, index, knobs)
        text = instance.question("X1-1").text
        rows = re.findall(r"Row (\d+): (.*?)\.", text)
        squares = {(c, int(row)): what for row, line in rows for c, what in enumerate(line.split(", "), start=1)}
        grey = {square for square, what in squares.items() if what.endswith("(grey)")}
        contents = {s: what.removesuffix(" (grey)").removeprefix("the name ") for s, what in squares.items()}
        column, row = map(int, re.findall(r"starts in column (\d+), row (\d+)", text)[0])
        rules: dict[str, Any] = {
            "directions": dict(re.findall(r"(\w+): (up|down|left|right)", text)),
            "distances": {word: int(count) for word, count in re.findall(r"(\w+): (\d) square", text)},
            "twists": [
                {
                    "effect": "reverse" if "opposite" in sentence else "further",
                    "period": {"third": 3, "fourth": 4, "fifth": 5}.get(sentence.split()[1]),
                }
                for sentence in re.findall(r"(?:Every|A move from)[^.]*", text)
            ],
        }
        *moves, (_, name) = truth.walk(contents, grey, (column, row), rules)
        assert instance.question("Y").answer == f"{name} {len(moves)}"
        for number, (square, move) in enumerate(moves, start=1):
            assert tuple(instance.question(f"X1-{number}").answer) == square
            assert instance.question(f"X2-{number}").answer == move


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(3, 40), st.integers(2, 12), st.integers(0, 2))
def test_a_walk_visits_no_square_twice_and_ends_at_its_only_name(
    seed: int, steps: int, named: int, twists: int
) -> None:
    walk = draw_walk(np.random.default_rng(seed), steps, named, twists, size_for(steps, named, 2.4))
    board = walk.board
    assert len(walk.moves) == steps
    assert len(set(walk.squares)) == len(walk.squares) == steps + 1
    assert [square in board.names for square in walk.squares] == [False] * steps + [True]
    assert set(board.symbols) | set(board.names) == {
        (column, row) for column in range(1, board.size + 1) for row in range(1, board.size + 1)
    }
    assert not set(board.symbols) & set(board.names)
    assert len(board.names) == named
    for number, (here, there) in enumerate(pairwise(walk.squares), start=1):
        move = walk.moves[number - 1]
        assert move.end(here) == there
        assert move == board.rules.move(board.symbols[here], number, here in board.shaded)
        assert 1 <= move.squares <= 3 + any(twist.effect == "further" for twist in board.rules.twists)
    for twist in board.rules.twists:
        acted = [twist.acts(n, s in board.shaded) for n, s in enumerate(walk.squares[:-1], start=1)]
        assert any(acted)


def test_twists_change_a_move_as_their_sentence_says() -> None:
    rules = Rules("colour", {"red": "up"}, {"star": 2}, (Twist("reverse", 3), Twist("further", None)))
    wanted = {(1, False): "up 2", (3, False): "down 2", (4, True): "up 3", (6, True): "down 3"}
    assert {place: str(rules.move(("red", "star"), *place)) for place in wanted} == wanted
    assert [str(twist) for twist in rules.twists] == [
        "Every third move (3, 6, 9, …) goes the opposite way.",
        "A move from a grey square goes one square further.",
    ]


def test_of_two_twists_one_turns_and_one_lengthens_one_goes_by_number_and_one_by_square() -> None:
    for seed in range(30):
        twists = draw_rules(np.random.default_rng(seed), 2, 10).twists
        assert {twist.effect for twist in twists} == {"reverse", "further"}
        assert [twist.period is None for twist in twists].count(True) == 1


# The pack


def test_units_ids_and_counts(pack: Pack) -> None:
    assert pack.instance_ids == tuple(f"multistep_reasoning-s{SEED}-{index:04d}" for index in range(INSTANCES))
    steps = [walk_length(SEED, index) for index in range(INSTANCES)]
    assert pack.questions_per_unit == {"X1": sum(steps), "X2": sum(steps), "Y": INSTANCES}
    for instance, count in zip(pack.instances(), steps, strict=True):
        wanted = [f"{unit}-{step}" for step in range(1, count + 1) for unit in ("X1", "X2")]
        assert [question.id for question in instance.questions] == [*wanted, "Y"]
        assert instance.meta["moves"] == count
        assert [q.step for q in instance.by_unit["X1"]] == list(range(1, count + 1))


def test_the_task_is_the_shipped_graph_with_range_and_seed(pack: Pack) -> None:
    shipped = load_task("multistep_reasoning")
    assert (pack.task.seed, pack.task.chains, pack.task.published) == (SEED, shipped.chains, shipped.published)
    spec = pack.task.units["X1"].answer
    assert (spec.type, spec.min, spec.max, spec.length) == ("integer_list", 1, LARGEST, 2)
    assert {unit: pack.task.units[unit].answer.type for unit in ("X2", "Y")} == {"X2": "text", "Y": "text"}


def test_each_position_follows_from_the_one_before_and_its_move(pack: Pack) -> None:
    for instance in pack.instances():
        for here, move, there in zip(
            instance.by_unit["X1"], instance.by_unit["X2"], instance.by_unit["X1"][1:], strict=False
        ):
            way, count = str(move.answer).split()
            dx, dy = DIRECTIONS[way]
            assert [here.answer[0] + dx * int(count), here.answer[1] + dy * int(count)] == there.answer


def test_shown_correct_answers_are_read_as_right(pack: Pack, twisted: Pack) -> None:
    for made in (pack, twisted):
        for instance in made.instances():
            for question in instance.questions:
                spec = spec_of(made.task, question)
                right = correct_answer(made.task, question)
                for form in ("{}", "{}.", "Answer: {}", "**{}**"):
                    reading = read_answer(form.format(show_answer(right, spec)), spec)
                    assert str(reading.value).strip(".") == str(right), (question.id, form)


def test_a_solver_that_knows_the_truth_gets_everything(short: Pack, tmp_path: Path) -> None:
    for history in ("full", "last"):
        dodiag.run(short, "sim:oracle", tmp_path / history, history=history)
        table = dodiag.outcomes(tmp_path / history)
        assert set(table["unit"]) == {"X1", "X2", "Y"}
        assert table["solved"].all()


def test_incorrect_answers_are_of_the_same_kind_and_wrong(pack: Pack, twisted: Pack) -> None:
    for made in (pack, twisted):
        for instance in made.instances():
            size = instance.meta["size"]
            names = {text for line in instance.meta["rows"] for text in line if " " not in text}
            for here, move in zip(instance.by_unit["X1"], instance.by_unit["X2"], strict=True):
                wrong = incorrect_answer(made.task, instance, here)
                gaps = [abs(int(a) - b) for a, b in zip(wrong, here.answer, strict=True)]  # type: ignore[arg-type]
                assert sorted(gaps)[0] == 0
                assert 1 <= sorted(gaps)[1] <= 2
                assert all(1 <= int(entry) <= size for entry in wrong)  # type: ignore[union-attr]
                way, count = str(incorrect_answer(made.task, instance, move)).split()
                end = Move(way, int(count)).end(tuple(here.answer))
                assert all(1 <= entry <= size for entry in end)
                assert f"{way} {count}" != move.answer
            (last,) = instance.by_unit["Y"]
            name, count = str(incorrect_answer(made.task, instance, last)).split()
            assert name in names - {str(last.answer).split()[0]}
            assert abs(int(count) - instance.meta["moves"]) <= 2


def test_a_step_is_given_its_trajectory_or_its_parent_alone(short: Pack) -> None:
    instance = next(short.instances())
    full, last = Assembler(short), Assembler(short, "last")
    third = instance.question("X1-3")
    correct = Configuration.homogeneous(short.task.prerequisites("X1", 3), State.CORRECT)
    entries = {name: a.prompt(instance, third, correct).text.count('"step"') for name, a in (("f", full), ("l", last))}
    assert entries == {"f": 4, "l": 1}
    assert short.task.prerequisites("X1", 1) == ()
    end = instance.question("Y")
    both = Configuration.homogeneous(("X1", "X2"), State.CORRECT)
    assert full.prompt(instance, end, both).text.count('"step"') == 2 * instance.meta["moves"]


def test_questions_say_neither_where_nor_how_the_token_moves(pack: Pack) -> None:
    texts = {re.sub(r"\d+", "#", question.text) for instance in pack.instances() for question in instance.questions}
    assert len(texts) == 3


# The picture


def test_pictures_are_large_enough_for_every_board() -> None:
    assert all(Layout(size).edge >= 40 for size in range(SMALLEST, LARGEST + 1))
    assert Layout(LARGEST).box((LARGEST, LARGEST))[2] <= WIDTH - 300
    assert all(Layout(size).edge * size <= BOARD for size in range(SMALLEST, LARGEST + 1))


def test_arrows_cover_no_symbol_and_no_name(pack: Pack, twisted: Pack) -> None:
    for made in (pack, twisted):
        for instance in made.instances():
            with Image.open(made.medium(instance.media[0])) as opened:
                picture = np.asarray(opened.convert("RGB")).astype(int)
            assert picture.shape == (HEIGHT, WIDTH, 3)
            mask = Image.new("1", (WIDTH, HEIGHT))
            pen = ImageDraw.Draw(mask)
            for question in instance.by_unit["X2"]:
                pen.line(list(question.annotations[0].path or ()), fill=1, width=3)
            below = picture[np.asarray(mask)]
            colourful = (below.max(axis=1) - below.min(axis=1)) > 90
            left, top, right, bottom = Layout(instance.meta["size"]).box(tuple(instance.meta["start"]))
            inside = np.zeros(mask.size[::-1], bool)
            inside[int(top) : int(bottom) + 1, int(left) : int(right) + 1] = True
            black = (picture.max(axis=2) < 60) & np.asarray(mask) & ~inside
            assert not colourful.any()
            assert not black.any()


def test_names_are_not_misreadings_of_each_other() -> None:
    for seed in range(50):
        names = draw_names(np.random.default_rng(seed), 12)
        assert len(set(names)) == 12
        for one in names:
            for other in names:
                same_length = len(one) == len(other)
                assert one == other or not same_length or sum(a != b for a, b in zip(one, other, strict=True)) > 1
    assert all(re.fullmatch("[A-Z][a-z]{2,3}", name) for name in NAMES)


# Repeatability


def test_an_instance_depends_on_seed_and_index_alone() -> None:
    first, again = draw(7, 2, SHORT), draw(7, 2, SHORT)
    assert first == again
    assert draw(7, 3, SHORT)[0].meta["rows"] != first[0].meta["rows"]
    assert draw(8, 2, SHORT)[0].meta["rows"] != first[0].meta["rows"]
    assert pickle.loads(pickle.dumps(draw))(7, 2, SHORT) == first


def test_another_process_with_another_hash_seed_writes_the_same_text() -> None:
    code = (
        "from dodiag.benchmarks.cadet.multistep_reasoning import Knobs, draw;"
        "import hashlib, sys; i, m = draw(5, 1, Knobs(mean_steps=5, min_steps=3, max_steps=8));"
        "sys.stdout.write(hashlib.sha256(i.model_dump_json().encode() + b''.join(m.values())).hexdigest())"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert runs[0] == runs[1]
    assert len(runs[0]) == 64


# Counts and balance


def test_default_sizes_are_near_the_papers() -> None:
    assert generator.INSTANCES == 128
    for seed in range(20):
        total = sum(walk_length(seed, index) for index in range(generator.INSTANCES))
        assert abs(total - 3350) <= 50, seed


def test_lengths_have_a_long_tail_and_the_papers_mean() -> None:
    lengths = np.array([walk_length(0, index) for index in range(4000)])
    assert lengths.mean() == pytest.approx(PAPER_STEPS, abs=0.05)
    assert (lengths.min(), lengths.max()) == (6, 72)
    assert np.median(lengths) < lengths.mean()
    assert (lengths >= 16).mean() == pytest.approx(0.65, abs=0.05)


def test_directions_and_places_of_the_end_are_balanced(walks: list[Walk]) -> None:
    moves = Counter(move.direction for walk in walks for move in walk.moves)
    assert stats.chisquare(list(moves.values())).pvalue > 0.001
    ranks = Counter(sorted(walk.board.names, key=lambda square: square[::-1]).index(walk.squares[-1]) for walk in walks)
    assert stats.chisquare([ranks[rank] for rank in range(6)]).pvalue > 0.001
    assert len({walk.end for walk in walks}) > 35


def test_a_solver_that_sees_only_the_text_stays_near_chance(walks: list[Walk]) -> None:
    """The text tells the number of the step; the best guess for each step is learnt on one half of the boards."""
    learn, judge = walks[:75], walks[75:]
    for what, chance in (("moves", 1 / 12), ("squares", 1 / 49)):
        seen: dict[int, Counter[Any]] = {}
        every: Counter[Any] = Counter()
        for walk in learn:
            for step, answer in enumerate(getattr(walk, what)[: len(walk.moves)]):
                seen.setdefault(step, Counter())[answer] += 1
                every[answer] += 1
        guesses = {step: counts.most_common(1)[0][0] for step, counts in seen.items()}
        overall = every.most_common(1)[0][0]
        hits, asked = np.zeros(2), 0
        for walk in judge:
            for step, answer in enumerate(getattr(walk, what)[: len(walk.moves)]):
                hits += guesses.get(step) == answer, overall == answer
                asked += 1
        assert asked > 1500
        assert (hits / asked < chance + 0.03).all(), (what, hits / asked)


def test_squares_off_the_walk_look_like_those_on_it(walks: list[Walk]) -> None:
    on = Counter(walk.board.symbols[square] for walk in walks for square in walk.squares[:-1])
    off = Counter(
        symbol for walk in walks for square, symbol in walk.board.symbols.items() if square not in walk.squares
    )
    shares = [np.array([c[s] for s in sorted(on | off)]) / c.total() for c in (on, off)]
    assert np.abs(shares[0] - shares[1]).sum() / 2 < 0.05


# Bad requests


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"min_steps": 1}, "the knob min_steps is 1. Use 3 to 80"),
        ({"max_steps": 81}, "the knob max_steps is 81. Use 3 to 80"),
        ({"named": 1}, "the knob named is 1. Use 2 to 12"),
        ({"twists": 3}, "the knob twists is 3. Use 0 to 2"),
        ({"room": 1.0}, "the knob room is 1.0. Use 1.5 to 6"),
        ({"mean_steps": 80.0}, "the knob mean_steps is 80.0. Use a number between min_steps (6) and max_steps (72)"),
        ({"mean_steps": float("nan")}, "the knob mean_steps is nan"),
        ({"room": float("nan")}, "the knob room is nan"),
    ],
)
def test_knobs_out_of_range_are_named(knobs: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        Knobs(**knobs)


@pytest.mark.parametrize(
    "knobs",
    [
        Knobs(mean_steps=79, min_steps=78, max_steps=80, named=12, twists=2, room=1.5),
        Knobs(mean_steps=3.0001, min_steps=3, max_steps=80, named=2, twists=0),
        Knobs(mean_steps=3.0001, min_steps=3, max_steps=80, named=12, twists=2, room=6),
        Knobs(mean_steps=79, min_steps=78, max_steps=80, named=12, twists=2, room=6),
    ],
)
def test_the_ends_of_the_knobs_can_be_drawn(knobs: Knobs) -> None:
    instance, media = draw(0, 0, knobs)
    assert isinstance(instance, Instance)
    assert list(media) == ["media/0000.png"]
    assert knobs.min_steps <= instance.meta["moves"] <= knobs.max_steps


def test_a_pillow_that_cannot_write_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    generator.prepare()
    monkeypatch.setattr("PIL.features.check", lambda feature: False)
    for call in (generator.prepare, lambda: draw(0, 0)):
        with pytest.raises(MissingDependency, match="without FreeType"):
            call()


def test_the_board_in_words_is_longer_than_the_question(short: Pack) -> None:
    rng = np.random.default_rng(0)
    words = in_words(draw_walk(rng, 6, 6, 1, 8).board)
    assert len(words) > 1000
    assert words.count("Row ") == 8
