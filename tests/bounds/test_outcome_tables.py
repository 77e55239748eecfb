"""Outcome tables from anybody: what fits is read whatever its types and order; the rest is refused."""

import itertools
import re
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dodiag.bounds.errors import NotAProbability
from dodiag.bounds.model_differences import model_differences
from dodiag.bounds.scores import capabilities, contributions
from dodiag.problems import UsageError
from dodiag.vocabulary import PAPER_CONTRASTS, State


class Plain:
    """A task with a target and root prerequisites: all that the scores need to know."""

    name, target = "t", "Y"

    def __init__(self, *names):
        self.names = names
        self.units = dict.fromkeys((*names, "Y"))

    def prerequisites(self, unit, step=None):
        return self.names if unit == "Y" else ()

    def chain_of(self, unit):
        return None


TASK = Plain("X1", "X2")
CONFIGURATIONS = [f"X1={a},X2={b}" for a in "10n" for b in "10n"]
COLUMNS = [
    "metric",
    "prerequisite",
    "contrast",
    "context",
    "value",
    "lower",
    "upper",
    "limit_lower",
    "limit_upper",
    "n",
]


def row(instance="i", question="q", configuration="X1=n,X2=n", draw=0, solved=1, **more):
    outcome = "error" if solved is None else "value"
    base = {"model": "m", "task": "t", "unit": "Y", "step": None, "outcome": outcome}
    return base | {
        "instance": instance,
        "question": question,
        "configuration": configuration,
        "draw": draw,
        "solved": solved,
        **more,
    }


def full(instances=15, seed=0):
    generator = np.random.default_rng(seed)
    return pd.DataFrame(
        [
            row(f"i{i:02}", f"q{q}", c, 0, int(generator.random() < 0.3 + 0.08 * CONFIGURATIONS.index(c)))
            for i in range(instances)
            for q in range(2)
            for c in CONFIGURATIONS
        ]
    )


def everything(table, task=TASK):
    found = pd.DataFrame([s.to_dict() for s in (*capabilities(table, task), *contributions(table, task))])
    return found.sort_values(["metric", "prerequisite", "contrast", "context"], ignore_index=True)


WANTED = everything(full())


def assert_the_same(table):
    pd.testing.assert_frame_equal(everything(table)[COLUMNS], WANTED[COLUMNS], check_dtype=False)


@pytest.mark.parametrize("kind", ["category", "string", "object"])
@pytest.mark.parametrize("name", ["model", "task", "instance", "unit", "question", "configuration", "outcome"])
def test_the_type_of_a_text_column_plays_no_part(name, kind):
    assert_the_same(full().astype({name: kind}))


@pytest.mark.parametrize("kind", ["bool", "boolean", "float32", "float64", "Int8", "uint8", "category", "object"])
def test_the_type_of_solved_plays_no_part(kind):
    assert_the_same(full().astype({"solved": kind}))


def test_neither_do_backends_order_index_and_further_columns():
    table = full()
    for same in (
        table.convert_dtypes(),
        table.convert_dtypes(dtype_backend="pyarrow"),
        table.sample(frac=1, random_state=1),
        table.set_index(pd.Index([7] * len(table))),
        table.set_index("instance", drop=False),
        table[[*reversed(table.columns)]].assign(more=1),
        table.assign(absent=pd.Categorical([None] * len(table))),
        table.assign(instance=table["instance"].str[1:].astype(int)),
        table.assign(configuration=[",".join(reversed(c.split(","))) for c in table["configuration"]]),
        pd.concat([table, table.assign(task="elsewhere", unit="Z", configuration="")]),
    ):
        assert_the_same(same)


@pytest.mark.parametrize("name", ["model", "task", "instance", "unit", "question"])
@pytest.mark.parametrize("kind", ["object", "string"])
def test_a_row_without_a_name_is_refused_and_never_given_to_a_neighbour(name, kind):
    """A missing question was once counted as the last question of the instance before it."""
    table = full().astype({name: kind})
    table.loc[table["instance"] == "i03", name] = None
    for function in (capabilities, contributions):
        with pytest.raises(UsageError, match=f"a row without '{name}'"):
            function(table, TASK)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"outcome": "error"}, "contradicts itself: outcome 'error' has solved 0 (m, instance i00, question q0"),
        ({"outcome": "unscored"}, "outcome 'unscored' has solved"),
        ({"outcome": "refused", "solved": 1}, "outcome 'refused' has solved 1"),
        ({"outcome": "truncated", "solved": 1}, "Only a reply with outcome 'value' can be solved"),
        ({"solved": "yes"}, "'solved' holds 'yes'"),
        ({"solved": "True"}, "'solved' holds 'True'"),
        ({"solved": float("inf")}, "'solved' holds inf"),
        ({"solved": 0.5}, "'solved' holds 0.5"),
        ({"step": "one"}, "'step' holds 'one'"),
        ({"step": 1.5}, "'step' holds '1.5'"),
        ({"step": 0}, "'step' holds 0"),
        ({"absent": "X1,X9"}, "absent prerequisite 'X9'"),
    ],
)
def test_cells_that_mean_nothing_are_refused(change, message):
    for function in (capabilities, contributions):
        with pytest.raises(UsageError, match=re.escape(message)):
            function(full().assign(**change), TASK)


def test_what_is_no_table_is_refused():
    table = full()
    with pytest.raises(UsageError, match="column 'solved' twice"):
        contributions(pd.concat([table, table[["solved"]]], axis=1), TASK)
    with pytest.raises(UsageError, match="is a list"):
        contributions(table.to_dict("records"), TASK)


def test_failures_of_the_model_are_not_solved_and_count():
    table = full()
    table.loc[table["solved"] == 0, "outcome"] = "refused"
    assert_the_same(table)


def test_absent_prerequisites_are_read_with_and_without_spaces():
    for text in ("X1,X2", "X1, X2", " X2 ,X1"):
        found = contributions(full().assign(absent=text), TASK)
        assert {(s.n, s.absent) for s in found} == {(0, 30)}


def test_states_of_a_context_are_read_as_everywhere():
    for state in ("n", "∅", "natural", State.NATURAL):
        found = contributions(full(), TASK, ["1,0"], context={"X2": state})
        assert {s.context for s in found if s.prerequisite == "X1"} == {"X2=n"}
    with pytest.raises(UsageError, match="is not a state"):
        contributions(full(), TASK, ["1,0"], context={"X2": "perhaps"})


def test_a_contrast_that_is_named_twice_is_one():
    assert contributions(full(), TASK, ["1,n", "(1,∅)"]) == contributions(full(), TASK, ["1,n"])


@pytest.mark.parametrize("level", [0.0, 1.0, 95, float("nan")])
def test_an_impossible_level_is_named_as_it_was_given(level):
    for function in (capabilities, contributions):
        with pytest.raises(NotAProbability, match=re.escape(f"level = {level} is")):
            function(full(), TASK, level=level)


@st.composite
def tables(draw, configurations=tuple(CONFIGURATIONS)):
    """Tables with holes: instances with 0 to 2 questions, cells with 0 to 2 draws, some of them missing."""
    rows = []
    for instance, question in itertools.product(range(draw(st.integers(1, 4))), range(2)):
        for configuration in configurations:
            outcomes = draw(st.lists(st.sampled_from([0, 0, 1, 1, None]), max_size=2))
            rows += [row(f"i{instance}", f"q{question}", configuration, d, s) for d, s in enumerate(outcomes)]
    return rows or [row()]


def exact_mean(rows, questions, configuration):
    cells = [
        [r["solved"] for r in rows if (r["instance"], r["question"], r["configuration"]) == (*q, configuration)]
        for q in questions
    ]
    known = [[s for s in cell if s is not None] for cell in cells]
    return sum((Fraction(sum(cell), len(cell)) for cell in known), Fraction(0)) / len(questions)


def asked(rows, configuration):
    return {
        (r["instance"], r["question"]) for r in rows if r["configuration"] == configuration and r["solved"] is not None
    }


@given(rows=tables())
@settings(max_examples=25, deadline=None)
def test_every_number_is_that_of_the_definitions_in_exact_fractions(rows):
    """CADET Defs. 3.5, 3.7, 3.8, Appendix D.2, and the Fréchet ends, written down a second time."""
    found = {(s.metric, s.prerequisite, s.contrast, s.context): s for s in contributions(pd.DataFrame(rows), TASK)}
    ran = {r["configuration"] for r in rows}
    for (x, other), contrast, metric in itertools.product((("X1", "X2"), ("X2", "X1")), PAPER_CONTRASTS, "NS"):
        kept = contrast.a if metric == "N" else contrast.a_prime
        active, reference = (
            ",".join(f"{u}={({x: state, other: kept})[u]}" for u in ("X1", "X2"))
            for state in (contrast.a, contrast.a_prime)
        )
        key = x, contrast.text, f"{other}={kept}"
        if not {active, reference} <= ran:
            assert (metric, *key) not in found
            continue
        score, inner, joint = (found[m, *key] for m in (metric, f"P{metric}", "PNS"))
        questions = sorted(asked(rows, active) & asked(rows, reference))
        if not questions:
            assert (score.value, inner.lower, joint.lower) == (None, None, None)
            assert score.reason
            continue
        p, q = exact_mean(rows, questions, active), exact_mean(rows, questions, reference)
        gain, room = max(p - q, Fraction(0)), p if metric == "N" else 1 - q
        assert score.n == len(questions)
        assert score.suppressed == (room < Fraction(1, 10))
        assert score.value == pytest.approx(0.0 if score.suppressed else float(gain / room), abs=1e-12)
        assert (joint.lower, joint.upper) == pytest.approx((float(gain), float(min(p, 1 - q))), abs=1e-12)
        if room == 0:
            assert (inner.lower, inner.upper, inner.limit_lower) == (None, None, None)
            assert inner.reason.startswith("undefined")
        else:
            ends = float(gain / room), float(min(p, 1 - q) / room)
            assert (inner.lower, inner.upper) == pytest.approx(ends, abs=1e-12)


@given(rows=tables(("X1=n,X2=n",)))
@settings(max_examples=20, deadline=None)
def test_a_capability_is_a_mean_over_questions_and_the_same_in_every_report(rows):
    """A question with two draws counts as much as one with a single draw; comparing two models says the same."""
    known = asked(rows, "X1=n,X2=n")
    (nc,) = capabilities(pd.DataFrame(rows), TASK)
    if not known:
        assert nc.value is None
        return
    want = float(exact_mean(rows, sorted(known), "X1=n,X2=n"))
    assert nc.value == pytest.approx(want, abs=1e-12)
    assert nc.n == sum(r["solved"] is not None for r in rows)
    both = pd.DataFrame([r | {"model": model} for model in "ab" for r in rows])
    (gap,) = model_differences(both, TASK, "a", "b").where(metric="NC")
    assert gap.first_value == pytest.approx(want, abs=1e-12)


def completions(rows, arms):
    """All tables without holes; a question that one arm never asked gets one outcome there."""
    for place in sorted({(r["instance"], r["question"]) for r in rows}):
        here = {r["configuration"] for r in rows if (r["instance"], r["question"]) == place}
        rows = [*rows, *(row(*place, arm, 0, None) for arm in arms if arm not in here)]
    holes = [index for index, r in enumerate(rows) if r["solved"] is None]
    for guess in itertools.product((0, 1), repeat=len(holes)):
        filled = dict(zip(holes, guess, strict=True))
        yield [r | {"solved": filled.get(i, r["solved"]), "outcome": "value"} for i, r in enumerate(rows)]


ARMS = ("X1=1", "X1=n")


@given(
    cells=st.lists(
        st.tuples(*[st.lists(st.sampled_from([0, 1, None]), max_size=2)] * 2).filter(any), min_size=1, max_size=3
    ).filter(lambda cells: sum(cell.count(None) + (not cell) for pair in cells for cell in pair) <= 5)
)
@settings(max_examples=25, deadline=None)
def test_worst_cases_are_exactly_the_extremes_over_all_completions(cells):
    """By brute force. PN and PS: over those completions in which they are defined."""
    rows = [
        row(f"i{i}", "q", arm, draw, solved)
        for i, pair in enumerate(cells)
        for arm, outcomes in zip(ARMS, pair, strict=True)
        for draw, solved in enumerate(outcomes)
    ]
    task = Plain("X1")

    def numbers(table):
        found = {(s.metric, s.context): s for s in contributions(pd.DataFrame(table), task, ["1,n"])}
        return found | {(s.metric, ""): s for s in capabilities(pd.DataFrame(table), task) if s.metric == "NC"}

    extremes = {}
    for table in completions(rows, ARMS):
        for key, score in numbers(table).items():
            ends = (score.lower, score.upper) if score.metric[0] == "P" else (score.value, score.value)
            extremes.setdefault(key, []).append(ends)
    for key, score in numbers(rows).items():
        if not score.n or key[0] == "NC":
            continue
        known = [ends for ends in extremes[key] if ends[0] is not None]
        if not known:
            assert (score.worst_lower, score.worst_upper) == (None, None)
            continue
        want = min(low for low, _ in known), max(high for _, high in known)
        assert (score.worst_lower, score.worst_upper) == pytest.approx(want, abs=1e-9)


@pytest.mark.parametrize(
    ("outcomes", "worst"),
    [([1, None], (0.5, 1.0)), ([0, 0], (0.0, 0.0)), ([1, 0, None, None], (0.25, 0.75))],
)
def test_capabilities_have_worst_cases_too(outcomes, worst):
    rows = [row(f"i{i}", solved=s) for i, s in enumerate(outcomes)]
    (nc,) = capabilities(pd.DataFrame(rows), TASK)
    assert (nc.worst_lower, nc.worst_upper) == worst


@given(seed=st.integers(0, 50), order=st.permutations(["X1", "X2"]))
@settings(max_examples=8, deadline=None)
def test_the_names_and_the_order_of_units_play_no_part(seed, order):
    table = full(8, seed)
    renamed = dict(zip(order, ("A", "B"), strict=True))
    other = table.assign(configuration=table["configuration"].replace(renamed, regex=True))
    one = {(s.prerequisite, s.metric, s.contrast, s.value, s.limit_lower) for s in contributions(table, TASK)}
    two = {
        (next(k for k, v in renamed.items() if v == s.prerequisite), s.metric, s.contrast, s.value, s.limit_lower)
        for s in contributions(other, Plain("A", "B"))
    }
    assert one == two


@given(seed=st.integers(0, 50), flips=st.lists(st.booleans(), min_size=16, max_size=16))
@settings(max_examples=8, deadline=None)
def test_the_order_of_draws_plays_no_part(seed, flips):
    twice = pd.concat([full(8, seed), full(8, seed + 1).assign(draw=1)], ignore_index=True)
    place = twice["instance"].str[1:].astype(int) * 2 + twice["question"].str[1:].astype(int)
    other = twice.assign(draw=np.where(np.array(flips)[place], 1 - twice["draw"], twice["draw"]))
    assert contributions(twice, TASK) == contributions(other, TASK)


@given(seed=st.integers(0, 200), copies=st.integers(2, 4))
@settings(max_examples=8, deadline=None)
def test_more_instances_of_the_same_kind_change_no_value_and_narrow_every_limit(seed, copies):
    table = full(12, seed)
    more = pd.concat([table.assign(instance=table["instance"] + f"-{c}") for c in range(copies)])
    for one, many in zip(contributions(table, TASK), contributions(more, TASK), strict=True):
        assert (one.value, one.lower, one.upper) == pytest.approx((many.value, many.lower, many.upper))
        if one.limit_lower is not None:
            assert many.limit_lower >= one.limit_lower - 1e-9
            assert many.limit_upper <= one.limit_upper + 1e-9
    for one, many in zip(capabilities(table, TASK), capabilities(more, TASK), strict=True):
        assert one.lower <= many.lower <= many.value == pytest.approx(one.value)
        assert many.upper <= one.upper
