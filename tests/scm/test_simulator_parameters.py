"""Simulator parameters: what a file may say, what is refused and with which cure, and what a digest depends on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from dodiag.problems import InvalidInput, UsageError
from dodiag.scm.files import load_task
from dodiag.scm.simulator import (
    SimulatorParameters,
    UnitBehaviour,
    load_parameters,
    presets,
    require_valid_for,
)


def write(folder: Path, text: str, name: str = "mine.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_presets_are_named_after_their_files_and_load_by_name() -> None:
    assert {"default", "oracle", "weak", "credulous", "stubborn", "scaffolded", "distracted"} <= presets().keys()
    for name in presets():
        assert load_parameters(name).name == name
        assert load_parameters(f"sim:{name}") == load_parameters(name)
        assert load_parameters(name).model == f"sim:{name}"


def test_a_file_says_only_what_differs(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """
seed: 7
defaults: {skill: 0.9, trust: 0.5, reliance: {X1: 0.4}}
units:
  X2: {skill: 0.6}
  Y: {reliance: {X2: 0.3}, trust: {X2: 0.2}, check: 0.25}
""",
    )
    found = load_parameters(path)
    assert (found.name, found.seed) == ("mine", 7)
    assert (found.of_unit("skill", "X1"), found.of_unit("skill", "X2")) == (0.9, 0.6)
    assert (found.of_unit("guess", "Y"), found.of_unit("scaffold", "Y")) == (0.0, 0.0)
    reliances = [found.of_prerequisite("reliance", "Y", unit) for unit in ("X1", "X2", "X3")]
    assert reliances == [0.4, 0.3, 1.0]
    assert [found.of_prerequisite("trust", "Y", unit) for unit in ("X1", "X2")] == [0.5, 0.2]
    assert [found.of_prerequisite("check", unit, "X1") for unit in ("Y", "X2")] == [0.25, 0.0]
    require_valid_for(found, load_task("dice_sum"))


def test_where_trust_is_not_said_everything_is_trusted_that_is_not_checked() -> None:
    found = SimulatorParameters(name="checking", units={"Y": UnitBehaviour(check={"X1": 0.3})})
    assert [found.of_prerequisite("trust", "Y", unit) for unit in ("X1", "X2")] == [0.7, 1.0]


def test_json_and_yaml_say_the_same(tmp_path: Path) -> None:
    said = {"name": "mine", "defaults": {"skill": 1, "trust": {"X1": 0.5}}, "units": {"Y": {"guess": 0.25}}}
    from_json = load_parameters(write(tmp_path, json.dumps(said), "mine.json"))
    from_yaml = load_parameters(
        write(tmp_path, "name: mine\ndefaults: {skill: 1.0, trust: {X1: 0.5}}\nunits: {Y: {guess: 0.25}}")
    )
    assert from_json == from_yaml
    assert from_json.digest == from_yaml.digest


def test_the_digest_changes_with_anything_that_may_change_a_reply() -> None:
    base = SimulatorParameters(name="one", defaults=UnitBehaviour(skill=0.5))
    others = [
        base.model_copy(update={"name": "two"}),
        base.model_copy(update={"seed": 1}),
        SimulatorParameters(name="one", defaults=UnitBehaviour(skill=0.51)),
        SimulatorParameters(name="one", defaults=UnitBehaviour(skill=0.5), units={"Y": UnitBehaviour(guess=0.1)}),
    ]
    assert len({parameters.digest for parameters in (base, *others)}) == 5
    assert SimulatorParameters(name="one", defaults=UnitBehaviour(skill=0.5)).digest == base.digest


BAD_FILES = [
    ("defaults: {skill: 1.2}", 1, "defaults.skill", "1.2 is not a probability", "from 0 to 1"),
    ("defaults:\n  skill: -0.1", 2, "defaults.skill", "-0.1 is not a probability", "from 0 to 1"),
    ("defaults: {guess: yes}", 1, "defaults.guess", "'yes' is not a probability", "from 0 to 1"),
    ("units:\n  X1: {trust: {X2: high}}", 2, "unit X1, trust.X2", "'high' is not a probability", "from 0 to 1"),
    ("units:\n  X1:\n    skil: 0.4", 3, "unit X1, skil", "'skil' is not a field", "Did you mean 'skill'?"),
    ("defalts: {skill: 0.4}", 1, "defalts", "'defalts' is not a field", "Did you mean 'defaults'?"),
    ("units: {X1: 0.5}", 1, "unit X1", "0.5 is not a mapping", "skill: 0.9"),
    ("units:", 1, "units", "None is not a mapping", "units: {Y: {skill: 0.9}}"),
    ("units: {Y: }", 1, "unit Y", "None is not a mapping", "Y: {skill: 0.9}"),
    ("tasks: 5", 1, "tasks", "5 is not a mapping", "tasks: {dice_sum: {target: Y, units: {Y: {NC: 0.5}}}}"),
    ("tasks: {t: 5}", 1, "tasks.t", "5 is not a mapping", "t: {target: Y, units: {Y: {NC: 0.5}}}"),
    ("tasks: {t: {target: Y, units: 5}}", 1, "tasks.t.units", "5 is not a mapping", "units: {Y: {NC: 0.5}}"),
    ("tasks: {t: {target: Y}}", 1, "tasks.t.units", "is missing", "Add it"),
    ("tasks: {t: {target: Y, chains: X1, units: {}}}", 1, "tasks.t.chains", "'X1' is not a list", "such as [X1]"),
    ("units: {1x: {}}", 1, "unit 1x", "not a valid name", "letter first"),
    ("name: My Model", 1, "name", "'My Model' is not a valid name", "lower-case"),
    ("seed: 1.5", 1, "seed", "1.5 is not a whole number", "such as 0"),
    ("defaults: {trust: 0.8, check: 0.3}", 1, "defaults", "trust 0.8 and check 0.3 sum to more than 1", "Lower one"),
    (
        "defaults: {trust: 0.8}\nunits:\n  Y: {check: {X1: 0.3}}",
        3,
        "unit Y",
        "trust 0.8 and check 0.3 about X1 sum to more than 1",
        "Lower one",
    ),
    ("[1, 2]", 1, "", "is not a mapping of simulator parameters", "defaults:"),
    ("name: [", 1, "", "is not YAML", "syntax"),
    ("name: a\nname: b", 2, "name", "'name' stands twice", "once"),
]


@pytest.mark.parametrize(("text", "line", "where", "problem", "cure"), BAD_FILES)
def test_a_bad_file_is_refused_with_place_and_cure(
    tmp_path: Path, text: str, line: int, where: str, problem: str, cure: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        load_parameters(write(tmp_path, text))
    found = caught.value.problems[0]
    assert len(caught.value.problems) == 1
    assert (found.file, found.line, found.where) == (str(tmp_path / "mine.yaml"), line, where)
    assert problem in found.problem
    assert cure in found.cure


def test_all_problems_of_a_file_are_named_in_one_go(tmp_path: Path) -> None:
    text = "seed: x\ndefaults: {skill: 2}\nunits:\n  X1: {gues: 0.1}\n  X2: {trust: -1}\n"
    with pytest.raises(InvalidInput) as caught:
        load_parameters(write(tmp_path, text))
    assert [problem.line for problem in caught.value.problems] == [1, 2, 4, 5]
    text = "defaults: {trust: 0.7}\nunits:\n  X1: {check: 0.5}\n  X2: {check: 0.6}\n"
    with pytest.raises(InvalidInput) as caught:
        load_parameters(write(tmp_path, text))
    assert [problem.line for problem in caught.value.problems] == [3, 4]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("defualt", "no simulator 'defualt'. Did you mean 'default'?"),
        ("sim:oracel", "no simulator 'oracel'. Did you mean 'oracle'?"),
        ("mystery", "no simulator 'mystery'. Use one of "),
        ("missing.yaml", "no file 'missing.yaml'"),
        ("models/weak", "no file 'models/weak'. Did you mean 'weak'?"),
        ("", "'' names no simulator. Use one of "),
        ("sim:", "'sim:' names no simulator. Use one of "),
        ("x" * 5000, "no simulator 'xxx"),
    ],
)
def test_an_unknown_simulator_is_refused_with_the_nearest_name(name: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_parameters(name)
    assert message in str(caught.value)


def test_names_that_the_task_does_not_have_are_refused_together() -> None:
    parameters = SimulatorParameters(
        name="other",
        defaults=UnitBehaviour(trust={"X8": 0.4}),
        units={
            "x2": UnitBehaviour(skill=0.1),
            "X1": UnitBehaviour(reliance={"X2": 0.3}),
            "X3": UnitBehaviour(check={"X1": 0.1, "X2": 0.1}),
        },
    )
    with pytest.raises(InvalidInput) as caught:
        require_valid_for(parameters, load_task("dice_sum"))
    assert [(problem.file, problem.where, problem.problem, problem.cure) for problem in caught.value.problems] == [
        ("sim:other", "defaults", "task dice_sum has no unit 'X8'", "Did you mean 'X3'?"),
        ("sim:other", "unit x2", "task dice_sum has no unit 'x2'", "Did you mean 'X2'?"),
        ("sim:other", "unit X1", "'X2' is no prerequisite of X1 in task dice_sum", "X1 has none; remove it."),
        ("sim:other", "unit X3", "'X1' is no prerequisite of X3 in task dice_sum", "Did you mean 'X2'?"),
    ]


def test_a_chain_unit_may_name_its_own_previous_step() -> None:
    chained = SimulatorParameters(name="chained", units={"Y": UnitBehaviour(reliance={"X1": 0.5, "Y": 0.9})})
    require_valid_for(chained, load_task("maze"))
    alternating = SimulatorParameters(name="alternating", units={"X1": UnitBehaviour(reliance={"X2": 0.5})})
    require_valid_for(alternating, load_task("multistep_reasoning"))


def test_parameters_made_in_python_are_checked_too() -> None:
    with pytest.raises(ValidationError, match=r"unit Y: trust 0.6 and check 0.5 sum to more than 1"):
        SimulatorParameters(name="bad", defaults=UnitBehaviour(trust=0.6), units={"Y": UnitBehaviour(check=0.5)})
    with pytest.raises(ValidationError):
        UnitBehaviour(skill=float("nan"))
    exact = UnitBehaviour(trust=0.9, check=0.1)
    assert SimulatorParameters(name="exact", defaults=exact).of_prerequisite("check", "Y", "X1") == 0.1
