"""Three independent ways to one number: closed form, linear programming, and the twin network of a structural model."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dodiag.bounds.causation import Observed, combined_bounds, experimental_bounds, sensitivity
from dodiag.bounds.linear.bound import bound
from dodiag.bounds.linear.response_types import ResponseTypes
from dodiag.scm.files import load_task, shipped_tasks
from dodiag.scm.simulator import counterfactuals, load_parameters
from dodiag.testing import structural_models
from dodiag.vocabulary import HOMOGENEOUS, PAPER_CONTRASTS

PRESETS = ("default", "weak", "credulous", "stubborn", "scaffolded", "distracted", "oracle")
QUANTITIES = ("PN", "PS", "PNS")


def check(found):
    """The exact PN, PS, PNS lie inside the bounds that their margins give, and the programme agrees to 1e-9."""
    types = ResponseTypes(("a", "a'"))
    margins = [types.probability({"a": 1}) == found.p, types.probability({"a'": 1}) == found.p_prime]
    queries = {
        "PN": types.conditional({"a'": 0}, {"a": 1}),
        "PS": types.conditional({"a": 1}, {"a'": 0}),
        "PNS": types.probability({"a": 1, "a'": 0}),
    }
    for quantity in QUANTITIES:
        exact = getattr(found, quantity)
        closed = experimental_bounds(quantity, min(1.0, found.p), min(1.0, found.p_prime))
        if exact is None or closed.undefined.all():
            continue
        low, high = closed.ends()
        assert low - 1e-9 <= exact <= high + 1e-9
        solved = bound(queries[quantity], margins)
        assert (float(solved.lower), float(solved.upper)) == pytest.approx((low, high), abs=1e-9)
    curve = sensitivity(min(1.0, found.p), min(1.0, found.p_prime))
    assert float(curve.pns(found.harm)) == pytest.approx(found.PNS, abs=1e-9)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("slug", [s for s in shipped_tasks() if load_task(s).chain_of(load_task(s).target) is None])
def test_the_presets_on_the_cadet_tasks(slug, preset):
    task, parameters = load_task(slug), load_parameters(preset)
    prerequisites = task.prerequisites(task.target)
    for place, prerequisite in enumerate(prerequisites):
        contrast = PAPER_CONTRASTS[place % 4]
        context = {name: HOMOGENEOUS[(place + i) % 3] for i, name in enumerate(prerequisites) if name != prerequisite}
        check(counterfactuals(task, parameters, prerequisite, contrast, context))


@given(data=st.data(), contrast=st.sampled_from(PAPER_CONTRASTS))
@settings(max_examples=60)
def test_random_structural_models(data, contrast):
    task = load_task("dice_sum")
    parameters = data.draw(structural_models(task))
    prerequisites = task.prerequisites(task.target)
    prerequisite = data.draw(st.sampled_from(prerequisites))
    context = {name: data.draw(st.sampled_from(HOMOGENEOUS)) for name in prerequisites if name != prerequisite}
    check(counterfactuals(task, parameters, prerequisite, contrast, context))


@given(parts=st.lists(st.integers(0, 6), min_size=8, max_size=8).filter(any), quantity=st.sampled_from(QUANTITIES))
@settings(max_examples=100)
def test_combined_data_agree_with_the_programme(parts, quantity):
    types = ResponseTypes(("a", "a'"), recorded=("x",))
    cells = {}
    for index, part in enumerate(parts):
        x, a, b = (index >> 2) & 1, (index >> 1) & 1, index & 1
        cells[x, a, b] = part / sum(parts)
    p = sum(v for (x, a, b), v in cells.items() if a)
    q = sum(v for (x, a, b), v in cells.items() if b)
    joint = {
        (x, y): sum(v for (s, a, b), v in cells.items() if s == x and (a if x else b) == y)
        for x in (0, 1)
        for y in (0, 1)
    }
    observed = Observed.of(joint[1, 1], joint[1, 0], joint[0, 1], joint[0, 0])
    closed = combined_bounds(quantity, min(p, 1), min(q, 1), observed)
    if closed.undefined.all():
        return
    own = {1: "a", 0: "a'"}
    margins = [types.probability({"a": 1}) == p, types.probability({"a'": 1}) == q]
    margins += [types.probability({"x": x, own[x]: y}) == value for (x, y), value in joint.items()]
    queries = {
        "PN": types.conditional({"a'": 0}, {"x": 1, "a": 1}),
        "PS": types.conditional({"a": 1}, {"x": 0, "a'": 0}),
        "PNS": types.probability({"a": 1, "a'": 0}),
    }
    solved = bound(queries[quantity], margins)
    low, high = closed.ends()
    assert math.isclose(float(solved.lower), low, abs_tol=1e-8)
    assert math.isclose(float(solved.upper), high, abs_tol=1e-8)
