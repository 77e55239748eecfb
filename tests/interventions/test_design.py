"""Designs enumerate each configuration once; the counts are those of the published table and our corrections."""

import json
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dodiag.interventions.design import Design, make_design, nominal_count, target_configurations
from dodiag.problems import UsageError
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


def test_a_root_has_the_empty_configuration_alone():
    assert [c.text for c in target_configurations([], make_design())] == [""]


@given(st.lists(st.tuples(st.sampled_from(names(6)), st.sampled_from(list(State))), unique_by=lambda pair: pair[0]))
def test_configuration_text_reads_back(items):
    configuration = Configuration(tuple(items))
    assert Configuration.parse(configuration.text) == configuration
    assert hash(Configuration.parse(configuration.text)) == hash(configuration)


@pytest.mark.parametrize("text", ["X1", "X1=2", "X1=1,X1=0", "X1=", "=1x"])
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
    for wrong in ({"draws": 0}, {"history": "some"}, {"contrasts": [], "states": []}):
        with pytest.raises(UsageError):
            make_design(**wrong)
