"""Designs enumerate each configuration once; the counts are those of the published table and our corrections."""

import json
from itertools import combinations, permutations, product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dodiag.interventions.design import Design, homogeneous, make_design, nominal_count, target_configurations
from dodiag.problems import UsageError
from dodiag.scm.schema import UNIT_ID
from dodiag.vocabulary import PAPER_CONTRASTS, Configuration, Contrast, State, arms, parse_state

TABLE = json.loads((Path(__file__).parent.parent / "data" / "cadet_configs.json").read_text())
ROWS = {row["k"]: row for row in TABLE["rows"]}


def names(k):
    return [f"X{i}" for i in range(1, k + 1)]


def letters(configurations):
    return ["".join(c.states) for c in configurations]


@pytest.mark.parametrize("k", range(1, 7))
def test_full_design_asks_exactly_the_published_configurations(k):
    found = letters(target_configurations(names(k), make_design()))
    assert len(found) == len(set(found)) == ROWS[k]["distinct_all"]
    assert set(found) == set(TABLE["configs"][str(k)])
    assert found[: min(3, len(found))] == ["1" * k, "0" * k, "n" * k]
    assert nominal_count(k, make_design()) == ROWS[k]["formula_all"]


@pytest.mark.parametrize("k", range(1, 7))
@pytest.mark.parametrize(
    ("contrasts", "column"), [(["1,n"], "distinct_1n"), (["1,0"], "distinct_10"), (["n,0", "0,n"], "distinct_0n_pair")]
)
def test_subsets_of_contrasts_cost_what_the_table_says(k, contrasts, column):
    design = make_design(contrasts=contrasts)
    assert len(target_configurations(names(k), design)) == ROWS[k][column]
    if contrasts == ["1,n"]:
        assert nominal_count(k, design) == ROWS[k]["formula_1n"]
        assert target_configurations(names(k), make_design(quick=True)) == target_configurations(names(k), design)


@given(st.integers(1, 7), st.sets(st.sampled_from(PAPER_CONTRASTS)))
def test_every_score_of_a_requested_contrast_finds_its_arms(k, contrasts):
    design = make_design(contrasts=contrasts or None)
    found = set(target_configurations(names(k), design))
    for contrast in design.contrasts:
        for unit in names(k):
            for metric in ("N", "S"):
                pair = arms(metric, contrast, unit, names(k))
                assert {pair.active, pair.reference} <= found
    for state in design.states:
        assert Configuration.homogeneous(names(k), state) in found


PAIRS = [Contrast(a, b) for a, b in permutations(State, 2)]


def enumerated(k, contrasts, states, contexts, factorial):
    """The set of configurations by definition: one prerequisite in one state of a contrast, the rest in the other."""
    found = {(state,) * k for state in states}
    for contrast, i, background in product(contrasts, range(k), (0, 1)):
        pair = (contrast.a, contrast.a_prime)
        for own in pair:
            found.add(tuple(own if j == i else pair[background] for j in range(k)))
    for context, contrast, i in product(contexts, contrasts, range(k)):
        for own in (contrast.a, contrast.a_prime):
            found.add(tuple(own if j == i else context[j] for j in range(k)))
    return found | set(product(states, repeat=k) if factorial else ())


@given(
    st.integers(1, 8).flatmap(
        lambda k: st.tuples(
            st.just(k),
            st.lists(st.sampled_from(PAIRS), unique=True, max_size=4),
            st.lists(st.sampled_from(list(State)), unique=True, min_size=1, max_size=3),
            st.lists(st.tuples(*[st.sampled_from(list(State))] * k), max_size=2),
            st.booleans(),
        )
    )
)
def test_every_design_asks_exactly_the_enumerated_configurations(drawn):
    k, contrasts, states, contexts, factorial = drawn
    factorial = factorial and k <= 5
    written = [Configuration(tuple(zip(names(k), context, strict=True))) for context in contexts]
    design = make_design(contrasts=contrasts, states=states, contexts=written, factorial=factorial)
    found = [c.states for c in target_configurations(names(k), design)]
    assert len(found) == len(set(found))
    assert set(found) == enumerated(k, contrasts, states, contexts, factorial)


@pytest.mark.parametrize("k", range(1, 6))
def test_factorial_is_the_whole_space(k):
    found = target_configurations(names(k), make_design(factorial=True))
    assert len(found) == len(set(found)) == 3**k == nominal_count(k, make_design(factorial=True))


def test_contexts_add_the_arms_of_general_scores():
    context = Configuration.parse("X1=1,X2=n,X3=0")
    design = make_design(contrasts=["1,n"], contexts=[context])
    found = set(target_configurations(names(3), design))
    for unit in names(3):
        others = {name: context[name] for name in names(3) if name != unit}
        pair = arms("S", Contrast.parse("1,n"), unit, names(3), others)
        assert {pair.active, pair.reference} <= found


def test_ablation_states_are_states():
    found = letters(target_configurations(names(3), make_design(contrasts=["t,n"], states=["t", "q", "n"])))
    assert {"ttt", "qqq", "nnn", "tnn", "ntt"} <= set(found)


def test_an_absent_prerequisite_is_in_no_contrast():
    found = target_configurations(names(3), make_design(), frozenset({"X3"}))
    assert all(c["X3"] in (c["X1"], c["X2"]) for c in found)
    assert len(found) == 3 + 6 * 2


def test_where_nothing_can_be_injected_only_the_natural_state_is_left():
    everything = frozenset(names(2))
    assert letters(target_configurations(names(2), make_design(factorial=True), everything)) == ["nn"]
    assert letters(target_configurations(names(2), make_design(contrasts=["1,0"]), everything)) == []
    assert letters(target_configurations(names(2), make_design(contrasts=["1,n"], states=["1"]), everything)) == ["nn"]
    assert letters(homogeneous(names(2), make_design(), everything)) == ["nn"]
    assert letters(homogeneous(names(2), make_design(states=["1", "0"]), everything)) == []
    assert letters(homogeneous(names(2), make_design(), frozenset({"X1"}))) == ["11", "00", "nn"]


def test_a_root_has_the_empty_configuration_alone():
    assert [c.text for c in target_configurations([], make_design())] == [""]


NAMES = st.from_regex(UNIT_ID, fullmatch=True).map(str.strip) | st.text(min_size=1)


@given(st.lists(st.tuples(NAMES, st.sampled_from(list(State))), unique_by=lambda pair: pair[0], max_size=6))
def test_configuration_text_reads_back_or_the_name_is_refused(items):
    if any(not unit.strip() or unit != unit.strip() or {",", "="} & set(unit) for unit, _ in items):
        with pytest.raises(UsageError, match="name of a unit"):
            Configuration(tuple(items))
        return
    configuration = Configuration(tuple(items))
    assert Configuration.parse(configuration.text) == configuration
    assert hash(Configuration.parse(configuration.text)) == hash(configuration)


def test_states_may_be_given_as_letters():
    """A letter that stayed a plain text would be injected as if it were another state."""
    assert Configuration.of({"X1": "n"}) == Configuration.parse("X1=n")
    assert Configuration.of({"X1": "n"})["X1"] is State.NATURAL
    assert Contrast("1", "n").a_prime is State.NATURAL
    assert make_design(states=["∅", "1t"]).states == (State.NATURAL, State.CORRECT_TEXT)
    assert Design(states=("0", "1")).states == (State.CORRECT, State.INCORRECT)
    for wrong in (
        lambda: Configuration.of({"X1": "2"}),
        lambda: Configuration((("X1", "1"), ("X1", "0"))),
        lambda: Contrast("1", "x"),
        lambda: Contrast("∅", "n"),
        lambda: make_design(states=["x"]),
    ):
        with pytest.raises(UsageError):
            wrong()


def test_only_n_and_s_compare_configurations():
    with pytest.raises(UsageError, match="NS"):
        arms("NS", Contrast.parse("1,0"), "X1", names(2))


@pytest.mark.parametrize("text", ["X1", "X1=2", "X1=1,X1=0", "X1=", "=1x", "=1"])
def test_bad_configuration_text_is_refused(text):
    with pytest.raises(UsageError):
        Configuration.parse(text)


def test_contrasts_are_ordered_pairs_of_distinct_states():
    for a, b in combinations(State, 2):
        assert Contrast.parse(f"{a},{b}") != Contrast.parse(f"{b},{a}")
        assert Contrast.parse(str(Contrast(a, b))) == Contrast(a, b)
    assert Contrast.parse("(1, ∅)") == Contrast.parse("1,n") == Contrast.parse("1n")
    for text in ("1,1", "1", "", "1,n,0", "x,y"):
        with pytest.raises(UsageError):
            Contrast.parse(text)
    assert parse_state("1t") is State.CORRECT_TEXT


def test_designs_are_values():
    design = make_design(contexts=["X1=1,X2=n"], draws=3, history="last", factorial=True)
    assert Design.from_dict(json.loads(json.dumps(design.to_dict()))) == design
    assert hash(design) == hash(Design.from_dict(design.to_dict()))
    for wrong in (
        {"draws": 0},
        {"draws": 1.5},
        {"draws": True},
        {"reruns": "1"},
        {"history": "some"},
        {"contrasts": [], "states": []},
    ):
        with pytest.raises(UsageError):
            make_design(**wrong)
