"""The trusted kernel: what it lets through is true, and it lets nothing else through."""

import json
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from dodiag.bounds.linear import certificate as kernel
from dodiag.bounds.linear.bound import bound
from dodiag.bounds.linear.certificate import Certificate, WrongCertificate, check, from_json, to_json
from dodiag.bounds.linear.errors import ImpossibleProgram
from dodiag.bounds.linear.response_types import ResponseTypes

F = Fraction
types = ResponseTypes(("1", "0"))
margins = [types.probability({"1": 1}) == F(7, 10), types.probability({"0": 1}) == F(4, 10)]
pns = types.probability({"1": 1, "0": 0})
LEAST, MOST = bound(pns, margins).certificates
RATIO_LEAST, RATIO_MOST = bound(types.conditional({"0": 0}, given={"1": 1}), margins).certificates
with pytest.raises(ImpossibleProgram) as caught:
    bound(pns, [*margins, pns == F(9, 10)])
EMPTY = caught.value.certificate
ALL = {"least": LEAST, "most": MOST, "ratio least": RATIO_LEAST, "ratio most": RATIO_MOST, "empty": EMPTY}


@pytest.mark.parametrize("made", ALL.values(), ids=ALL)
def test_a_certificate_survives_json(made):
    text = to_json(made)
    again = from_json(text)
    check(again)
    assert again == made
    assert to_json(again) == text


@pytest.mark.parametrize("made", ALL.values(), ids=ALL)
def test_every_single_changed_number_is_noticed(made):
    """Each entry of the primal and dual point and the value is pinned by the comparisons (no slack in this program)."""
    for part in ("primal", "dual"):
        for name in getattr(made, part):
            changed = {**getattr(made, part), name: getattr(made, part)[name] * 2 + F(1, 7)}
            with pytest.raises(WrongCertificate):
                check(replace(made, **{part: changed}))
    if made.sense != "infeasible":
        for step in (F(1, 1000), F(-1, 1000)):
            with pytest.raises(WrongCertificate):
                check(replace(made, value=made.value + step))


SIMPLE = Certificate(
    "max", ("heads", "tails"), {"total": {"heads": 1, "tails": 1}}, {"total": 1}, {"heads": 1}, None, {"heads": 1},
    {"total": 1}, 1,
)  # fmt: skip


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"primal": {"heads": 2, "tails": -1}, "value": 2, "dual": {"total": 2}}, "negative entry"),
        ({"primal": {"heads": F(1, 2)}}, "violates 'total'"),
        ({"primal": {"tails": 1}}, "misses the value"),
        ({"dual": {"total": F(1, 2)}}, "not dual feasible"),
        ({"sense": "min"}, "not dual feasible"),
        ({"sense": "best"}, "no sense"),
        ({"dual": {"total": 2}}, "multipliers miss the value"),
        ({"dual": {"sum": 1}}, "neither a column nor a row"),
        ({"objective": {"edge": 1}}, "neither a column nor a row"),
        ({"rows": {"total": {"heads": 1, "tails": 1, "edge": 1}}}, "neither a column nor a row"),
        ({"right": {"total": 1, "other": 3}}, "has no row"),
        ({"columns": ("heads", "tails", "tails")}, "stands twice"),
        ({"value": 1.0}, "not rational"),
        ({"value": True}, "not rational"),
        ({"primal": {"heads": 1.0}}, "not rational"),
        ({"denominator": {"tails": 1}, "value": 1}, "not dual feasible|denominator 0|misses"),
        ({"sense": "infeasible"}, "not dual feasible|has no objective"),
        ({"sense": "infeasible", "objective": {}, "dual": {}}, "do not contradict"),
        ({"sense": "infeasible", "objective": {}, "dual": {"total": 1}}, "not dual feasible"),
    ],
)
def test_each_defect_has_its_reason(change, reason):
    check(SIMPLE)
    with pytest.raises(WrongCertificate, match=reason):
        check(replace(SIMPLE, **change))


def test_a_ratio_needs_a_positive_denominator_at_its_point():
    zero_over_zero = Certificate(
        "min", ("a", "b"), {"total": {"a": 1, "b": 1}}, {"total": 1}, {"a": 1}, {"a": 1}, {"b": 1}, {}, F(1, 2)
    )
    with pytest.raises(WrongCertificate, match="denominator 0"):
        check(zero_over_zero)
    check(replace(zero_over_zero, primal={"a": 1}, value=1))


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data.pop("dual"),
        lambda data: data.update(columns=[["heads"]]),
        lambda data: data.update(columns="heads"),
        lambda data: data.update(value="1e999999999"),
        lambda data: data.update(value="0.5"),
        lambda data: data.update(value=0.3),
        lambda data: data.update(value="1/0"),
        lambda data: data.update(value="NaN"),
        lambda data: data.update(format="another/1"),
        lambda data: data.update(rows=[1]),
        lambda data: data["primal"].update({"10": 0.3}),
    ],
)
def test_damaged_text_is_refused(damage):
    data = json.loads(to_json(LEAST))
    damage(data)
    with pytest.raises(WrongCertificate):
        from_json(json.dumps(data))


def test_text_that_is_not_json_is_refused():
    with pytest.raises(WrongCertificate):
        from_json("{")


def test_the_checker_needs_the_standard_library_alone(tmp_path):
    """Run the file by itself, without site packages and without this package."""
    copy = tmp_path / "certificate.py"
    copy.write_text(Path(kernel.__file__).read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "proof.json").write_text(to_json(MOST), encoding="utf-8")
    code = (
        "import certificate, pathlib; certificate.check(certificate.from_json(pathlib.Path('proof.json').read_text()))"
    )
    subprocess.run([sys.executable, "-S", "-c", code], cwd=tmp_path, check=True, env={"PYTHONUTF8": "1"})


def test_importing_the_checker_does_not_import_numpy():
    code = "import dodiag.bounds.linear.certificate, sys; sys.exit('numpy' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
