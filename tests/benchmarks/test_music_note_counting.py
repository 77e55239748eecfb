"""The Music Note Counting generator: its packs are sound, repeatable, and true to what the pictures show."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
import truth_music_note_counting as truth
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw
from scipy import stats

from dodiag.benchmarks.cadet import music_note_counting as generator
from dodiag.benchmarks.cadet.music_bars import KINDS, REFUSALS, Bar, Symbol, describe, excerpts, pattern_of, read_work
from dodiag.benchmarks.cadet.music_page import FONTS, NoPage, Page, engrave, musicxml
from dodiag.benchmarks.cadet.music_works import WORKS
from dodiag.problems import MissingDependency, UsageError
from dodiag.runners.reading.dispatch import read_answer
from dodiag.scm.answers import show_answer
from dodiag.scm.files import write_task
from dodiag.scm.pack import Instance, Pack, Question, correct_answer, incorrect_answer, load_pack, spec_of

INSTANCES, SEED = 12, 5
NO_PAGE = Page(b"", (1000, 200), (), ((0, 0, 1, 1),) * 16)
"""For questions alone, without a picture."""

SYMBOLS = st.builds(Symbol, st.sampled_from(list(KINDS)), st.integers(0, 1), st.booleans())


def write(folder: Path, drawn: Iterable[tuple[Instance, Any]], seed: int = SEED) -> Pack:
    (folder / "media").mkdir(parents=True)
    (folder / "task.yaml").write_text(write_task(generator.task(seed)), encoding="utf-8")
    with (folder / "instances.jsonl").open("w", encoding="utf-8") as lines:
        for instance, media in drawn:
            lines.write(instance.model_dump_json(exclude_defaults=True) + "\n")
            for name, data in media.items():
                (folder / name).write_bytes(data)
    return load_pack(folder)


@pytest.fixture(scope="module")
def packages() -> None:
    """Skips where the optional packages are not installed."""
    try:
        generator.prepare()
    except MissingDependency as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module")
def pack(packages: None, tmp_path_factory: pytest.TempPathFactory) -> Pack:
    folder = tmp_path_factory.mktemp("packs") / "music"
    return write(folder, (generator.draw(SEED, index) for index in range(INSTANCES)))


@pytest.fixture(scope="module")
def asked(packages: None) -> list[tuple[generator.Excerpt, tuple[Question, ...]]]:
    """Excerpts and their questions, not engraved."""
    rng = np.random.default_rng(SEED)
    found: list[tuple[generator.Excerpt, tuple[Question, ...]]] = []
    while len(found) < 400:
        try:
            excerpt = generator.draw_excerpt(rng, generator.Knobs())
        except generator.NoExcerpt:
            continue
        found.append((excerpt, tuple(generator.questions(excerpt, NO_PAGE, rng))))
    return found


def of_unit(questions: Iterable[Question], unit: str) -> list[Question]:
    return [question for question in questions if question.unit == unit]


# Packs


def test_an_instance_has_a_question_per_bar_and_one_of_each_other_unit(pack: Pack) -> None:
    for instance in pack.instances():
        bars = len(instance.meta["bars"])
        assert [question.id for question in instance.questions] == [f"X1-{n + 1}" for n in range(bars)] + [
            "X2",
            "X3",
            "Y",
        ]
        assert all(question.requires is None for question in instance.questions), "all of the parents' questions matter"
        assert instance.id == f"music_note_counting-s{SEED}-{instance.media[0][6:10]}"


def test_the_counts_come_near_to_the_papers(asked: list[tuple[generator.Excerpt, tuple[Question, ...]]]) -> None:
    per_instance = np.mean([len(excerpt.bars) for excerpt, _ in asked])
    assert per_instance == pytest.approx(821 / 114, rel=0.05)


def test_the_reader_solves_every_question_from_the_shown_truth(pack: Pack) -> None:
    for instance in pack.instances():
        for question in instance.questions:
            spec = spec_of(pack.task, question)
            right = correct_answer(pack.task, question)
            wrong = incorrect_answer(pack.task, instance, question)
            assert read_answer(f"Answer: {show_answer(right, spec)}", spec).value == right
            assert read_answer(f"Answer: {show_answer(wrong, spec)}", spec).value == wrong != right


def test_every_box_is_inside_the_picture_and_holds_ink(pack: Pack) -> None:
    for instance in pack.instances():
        with Image.open(pack.medium(instance.media[0])) as picture:
            grey = np.asarray(picture.convert("L"))
        assert [grey.shape[1], grey.shape[0]] == instance.meta["size"]
        for question in instance.questions:
            for annotation in question.annotations:
                assert annotation.box is not None
                left, top, right, bottom = (int(edge) for edge in annotation.box)
                assert 0 <= left < right <= grey.shape[1]
                assert 0 <= top < bottom <= grey.shape[0]
                assert (grey[top:bottom, left:right] < 128).sum() >= 10


def test_state_1_draws_one_box_per_object(pack: Pack) -> None:
    for instance in pack.instances():
        bars = [bar.split() for bar in instance.meta["bars"]]
        assert [len(question.annotations) for question in instance.by_unit["X1"]] == [len(bar) for bar in bars]
        (sorting,), (checking,), (total,) = (instance.by_unit[unit] for unit in ("X2", "X3", "Y"))
        assert len(sorting.annotations) == total.answer
        assert len(checking.annotations) == ("No measure" not in checking.answer)
        assert total.annotations == ()


def test_every_instance_names_its_score_and_licence(pack: Pack) -> None:
    known = {work.path: (work.licence, work.credit) for work in WORKS}
    for instance in pack.instances():
        assert known[instance.meta["work"]] == (instance.meta["licence"], instance.meta["credit"])
        assert instance.meta["generator"] == f"music_note_counting {generator.VERSION}"


def test_listed_licences_are_free() -> None:
    free = {"public domain", "CC0-1.0", "CC-BY", "CC-BY-SA", "CC-BY-SA-3.0", "CC-BY-SA-4.0"}
    assert {work.licence for work in WORKS} <= free
    assert all(work.credit for work in WORKS if work.licence.startswith("CC-BY"))


def test_the_same_seed_and_index_give_the_same_bytes(pack: Pack) -> None:
    for index, stored in enumerate(pack.instances()):
        if index % 4 == 0:
            instance, media = generator.draw(SEED, index)
            assert json.loads(instance.model_dump_json()) == json.loads(stored.model_dump_json())
            assert media[stored.media[0]] == pack.medium(stored.media[0]).read_bytes()


def test_another_seed_gives_other_scores(pack: Pack) -> None:
    others = [generator.draw(SEED + 1, index)[0] for index in range(3)]
    assert [other.meta["bars"] for other in others] != [each.meta["bars"] for each in list(pack.instances())[:3]]


# Truth


def test_encoding_and_picture_agree_with_the_pack(pack: Pack) -> None:
    assert truth.disagreements(pack.folder) == []


def test_the_other_reading_notices_a_wrong_answer(pack: Pack, tmp_path: Path) -> None:
    for unit in ("X1", "X2", "X3", "Y"):
        instance = next(iter(pack.instances()))
        wrong = {
            question.id: question.answer + 1
            if unit == "Y"
            else next(choice for choice in question.choices or () if choice != question.answer)
            for question in instance.by_unit[unit][:1]
        }
        changed = tuple(
            question.model_copy(update={"answer": wrong.get(question.id, question.answer)})
            for question in instance.questions
        )
        media = {name: pack.medium(name).read_bytes() for name in instance.media}
        folder = tmp_path / unit
        try:
            write(folder, [(instance.model_copy(update={"questions": changed}), media)])
            assert any(next(iter(wrong)) in line for line in truth.disagreements(folder))
        except ValueError:
            assert unit == "X1", "a rhythm of another length has not as many boxes"


@pytest.mark.parametrize("change", ["erased", "filled", "added"])
def test_the_other_reading_notices_another_picture(pack: Pack, tmp_path: Path, change: str) -> None:
    noticed = 0
    for number, instance in enumerate(pack.instances()):
        boxes = [
            (annotation.box, code)
            for question in instance.by_unit["X1"]
            for annotation, code in zip(question.annotations, truth._codes(question.answer), strict=True)
        ]
        wanted = "2" if change == "filled" else "4"
        box = next((box for box, code in boxes if code == wanted), None)
        if box is None:
            continue
        with Image.open(pack.medium(instance.media[0])) as opened:
            picture = opened.convert("RGB")
        canvas = ImageDraw.Draw(picture)
        if change == "added":
            last = max(box[2] for box, _ in boxes if box is not None)
            canvas.ellipse((last + 6, box[1], last + 18, box[3]), fill="black")
        else:
            canvas.ellipse(box, fill="black" if change == "filled" else "white")
        folder = tmp_path / str(number)
        written = write(folder, [(instance, {instance.media[0]: pack.medium(instance.media[0]).read_bytes()})])
        picture.save(written.medium(instance.media[0]))
        assert truth.disagreements(folder) != []
        noticed += 1
    assert noticed >= 3


@pytest.mark.parametrize("font", FONTS)
def test_what_is_drawn_is_what_stands_in_the_bars(packages: None, font: str) -> None:
    parts = read_work("schumann_clara/polonaise_op1n1")
    part, first = excerpts(parts, 5)[0]
    bars = [bar for bar in parts[part][first : first + 5] if bar is not None]
    page = engrave(bars, font=font, space=9, width=1000)
    assert [each.symbol for each in page.symbols] == [symbol for bar in bars for symbol in bar.pattern]
    assert [each.bar for each in page.symbols] == [n for n, bar in enumerate(bars, start=1) for _ in bar.pattern]
    for one, other in combinations(page.symbols, 2):
        apart = one.box[2] <= other.box[0] or other.box[2] <= one.box[0]
        assert apart or one.box[3] <= other.box[1] or other.box[3] <= one.box[1]


def test_a_page_that_differs_from_the_score_is_refused(packages: None) -> None:
    parts = read_work("johnson_j_r/lift_every_voice")
    part, first = excerpts(parts, 4)[0]
    bars = [bar for bar in parts[part][first : first + 4] if bar is not None]
    longer = replace(bars[2], pattern=(*bars[2].pattern, Symbol("4")))
    with pytest.raises(NoPage, match="differs"):
        engrave([*bars[:2], longer, bars[3]], font="Leipzig", space=9, width=1000)


def test_an_excerpt_holds_no_loose_end_of_a_tie_and_no_dot_but_those_of_values(packages: None) -> None:
    seen = Counter[str]()
    for work in ("corelli/opus3no1/1grave", "weber/concertino_clarinet"):
        parts = read_work(work)
        for part, first in excerpts(parts, 3)[::7]:
            bars = [bar for bar in parts[part][first : first + 3] if bar is not None]
            notes = list(ET.fromstring(musicxml(bars).encode()).iter("note"))
            ties = [sorted(tie.get("type", "") for tie in note.findall("tie")) for note in notes]
            open_ties = 0
            for tie in ties:
                open_ties -= "stop" in tie
                assert open_ties == 0
                open_ties += "start" in tie
            assert open_ties == 0
            seen.update(
                tag
                for note in notes
                for tag in ("lyric", "staccato", "slur", "tie")
                if note.find(f".//{tag}") is not None
            )
    assert seen["tie"] > 10
    assert set(seen) == {"tie"}


# What is asked


def test_options_are_rhythms_that_fill_a_bar_alike(asked: list[tuple[generator.Excerpt, tuple[Question, ...]]]) -> None:
    def length(codes: list[str]) -> float:
        return sum((1.5 if code.endswith(".") else 1) / int(code.strip("r.")) for code in codes)

    for _, questions in asked:
        for question in of_unit(questions, "X1"):
            rhythms = [truth._codes(choice) for choice in question.choices or ()]
            assert len(rhythms) == 4
            assert len({round(length(rhythm), 9) for rhythm in rhythms}) == 1


def test_lists_of_bars_differ_by_exchanges_alone(asked: list[tuple[generator.Excerpt, tuple[Question, ...]]]) -> None:
    for excerpt, questions in asked:
        (question,) = of_unit(questions, "X2")
        sets = [frozenset(map(int, choice.split(", "))) for choice in question.choices or ()]
        assert len({len(each) for each in sets}) == 1
        for each in sets:
            assert sorted(len(each ^ other) for other in sets) == [0, 2, 2, 4]
        right = {number for number, count in enumerate(excerpt.counts, start=1) if count}
        assert [each == right for each in sets].count(True) == 1


def test_a_list_leaves_out_one_bar_or_none(asked: list[tuple[generator.Excerpt, tuple[Question, ...]]]) -> None:
    complete = 0
    for excerpt, questions in asked:
        (question,) = of_unit(questions, "X3")
        named = [int(number) for number in re.findall(r"measure (\d+): \d+", question.text)]
        missing = [number for number, count in enumerate(excerpt.counts, start=1) if count and number not in named]
        offered = [int(choice.split()[1]) for choice in question.choices or () if not choice.startswith("No")]
        assert len(offered) == 3
        assert not set(offered) & set(named)
        assert question.answer == (f"Measure {missing[0]} was left out" if missing else "No measure was left out")
        assert len(missing) <= 1
        complete += not missing
    assert complete / len(asked) == pytest.approx(0.25, abs=4 * np.sqrt(3 / 16 / len(asked)))


@pytest.mark.parametrize("unit", ["X1", "X2", "X3"])
def test_all_places_of_the_right_option_are_alike(
    asked: list[tuple[generator.Excerpt, tuple[Question, ...]]], unit: str
) -> None:
    places = Counter(
        (question.choices or ()).index(question.answer) for _, each in asked for question in of_unit(each, unit)
    )
    assert stats.chisquare([places[place] for place in range(4)]).pvalue > 0.001


def test_counts_stay_within_the_knobs_and_spread(asked: list[tuple[generator.Excerpt, tuple[Question, ...]]]) -> None:
    totals = Counter(question.answer for _, questions in asked for question in of_unit(questions, "Y"))
    assert min(totals) >= generator.Knobs().count_min
    assert max(totals) <= generator.Knobs().count_max
    assert max(totals.values()) < 0.25 * totals.total(), "no count is a good guess"
    for excerpt, questions in asked:
        (question,) = of_unit(questions, "Y")
        assert question.answer == sum(bar.pattern.count(excerpt.kind) for bar in excerpt.bars)
        assert ("without a dot" in question.text) == (excerpt.kind.dots == 0)
        assert not excerpt.kind.rest


@given(st.lists(SYMBOLS, min_size=1, max_size=12))
def test_words_tell_the_symbols_exactly(symbols: list[Symbol]) -> None:
    assert truth._codes(describe(symbols)) == [symbol.code for symbol in symbols]


# Which bars are taken


def measure(text: str, **extra: Any) -> Any:
    import music21

    return next(iter(music21.converter.parse(f"tinynotation: 4/4 {text}").recurse().getElementsByClass("Measure")))


def test_plain_bars_are_taken(packages: None) -> None:
    assert pattern_of(measure("c4. d8 r2"), 4) == (Symbol("4", 1), Symbol("8"), Symbol("2", rest=True))


@pytest.mark.parametrize(
    ("text", "reason"),
    [("c2 d4", "unfilled"), ("r1", "empty"), ("trip{c4 d4 e4} f2", "tuplet"), ("c2.. d8", "value")],
)
def test_a_doubtful_bar_is_left_out(packages: None, text: str, reason: str) -> None:
    assert pattern_of(measure(text), 4) == reason
    assert reason in REFUSALS


def test_chords_grace_notes_voices_and_hidden_notes_are_left_out(packages: None) -> None:
    import music21

    chord = measure("c2 d2")
    chord.replace(chord.notes[0], music21.chord.Chord(["C4", "E4"], type="half"))
    grace = measure("c2 d2")
    grace.insert(0, music21.note.Note("B4", type="eighth").getGrace())
    hidden = measure("c2 d2")
    hidden.notes[0].style.hideObjectOnPrint = True
    voices = music21.stream.Measure([music21.stream.Voice(), music21.stream.Voice()])
    found = [pattern_of(each, 4) for each in (chord, grace, hidden, voices)]
    assert found == ["chord", "grace", "hidden", "voices"]


def test_an_excerpt_begins_with_a_change_or_holds_none() -> None:
    plain = Bar("4/4", (Symbol("1"),), False, None, None, None)
    change = replace(plain, changes=True)
    assert excerpts([(change, plain, plain, change, plain, None, plain)], 2) == [(0, 0), (0, 1), (0, 3)]


# What goes wrong


@pytest.mark.parametrize(
    ("knobs", "name"),
    [
        ({"bars_min": 4}, "bars_min"),
        ({"bars_max": 5}, "bars_max"),
        ({"bars_max": 17}, "bars_max"),
        ({"count_min": 1}, "count_min"),
        ({"count_max": 61}, "count_max"),
        ({"count_min": 20, "count_max": 10}, "count_max"),
        ({"staff_space": 5}, "staff_space"),
        ({"width": 599}, "width"),
        ({"font": "leipzig"}, "Leipzig"),
    ],
)
def test_a_knob_out_of_range_is_named(knobs: dict[str, Any], name: str) -> None:
    with pytest.raises(UsageError, match=name):
        generator.Knobs(**knobs)


def test_knobs_that_no_score_fits_are_told(packages: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generator, "TRIES", 5)
    with pytest.raises(generator.NoExcerpt, match="none of 5 excerpts"):
        generator.draw(SEED, 0, generator.Knobs(bars_min=5, bars_max=5, count_min=60, count_max=60))


def test_knobs_change_the_picture(packages: None) -> None:
    knobs = generator.Knobs(bars_min=10, bars_max=12, staff_space=7, width=700, font="Bravura")
    instance, media = generator.draw(SEED, 1, knobs)
    assert instance.meta["size"][0] == pytest.approx(700, abs=1)
    assert instance.meta["font"] == "Bravura"
    assert 10 <= len(instance.by_unit["X1"]) <= 12
    assert len(media) == 1


@pytest.mark.parametrize("package", generator.PACKAGES)
def test_a_missing_package_is_named_with_its_cure(package: str) -> None:
    code = f"""
import sys
sys.modules[{package!r}] = None
from dodiag.benchmarks.cadet import music_note_counting
from dodiag.problems import MissingDependency
try:
    music_note_counting.prepare()
except MissingDependency as missing:
    sys.exit(str(missing))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=dict(os.environ)
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert package in done.stderr or package != "music21"
    assert "pip install 'dodiag[music]'" in done.stderr
