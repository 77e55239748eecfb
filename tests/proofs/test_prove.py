"""Running statements: which are chosen, what is not run, and how the command prints and ends."""

import json
import subprocess
import sys

import pytest
import typer
from rich.cells import cell_len
from rich.console import Console
from typer.testing import CliRunner

from dodiag import cli_prove
from dodiag.problems import MissingDependency, UsageError
from dodiag.proofs import prove as proving
from dodiag.proofs.statement import Finding, Method, Statement, Verdict

EVERYTHING = proving.statements()

app = typer.Typer(rich_markup_mode=None)
app.command()(cli_prove.prove)


def command(*arguments):
    return CliRunner().invoke(app, list(arguments))


def without(module, code):
    """Run Python code as if a module were not installed."""
    blocked = f"import sys\nsys.modules[{module!r}] = None\n{code}"
    return subprocess.run([sys.executable, "-c", blocked], capture_output=True, text=True, check=False)


def test_names_are_unique_over_all_methods():
    names = [statement.name.lower() for statement in EVERYTHING]
    assert sorted(names) == sorted(set(names))


def test_every_method_has_statements_and_all_but_coq_have_false_ones():
    for method in Method:
        expected = {s.expected for s in EVERYTHING if s.method is method}
        assert expected == ({Verdict.PROVED} if method is Method.COQ else {Verdict.PROVED, Verdict.REFUTED})


def test_every_statement_says_where_it_comes_from_and_what_it_claims():
    for statement in EVERYTHING:
        assert statement.source
        assert statement.goal
        assert not statement.goal.endswith(".")


def test_a_group_is_everything_under_its_name_and_nothing_that_only_begins_alike():
    names = [s.name for s in proving.statements(names=["A.6"])]
    assert "A.6/scores" in names
    assert all(name == "A.6" or name.startswith("A.6/") for name in names)


def test_an_exact_name_is_one_statement():
    assert [s.name for s in proving.statements(names=["A.6/scores"])] == ["A.6/scores"]


@pytest.mark.parametrize("name", ["A.66", "A.6/", "", "scores"])
def test_a_name_that_fits_nothing_is_a_users_error_with_a_suggestion(name):
    with pytest.raises(UsageError, match="no statement is called"):
        proving.statements(names=[name])


def test_a_name_of_another_method_is_a_users_error():
    with pytest.raises(UsageError):
        proving.statements([Method.COUNT], ["A.6/scores"])


def test_results_have_verdict_time_and_expectation():
    (result,) = proving.prove([Method.COUNT], ["counts/mutant-two-prerequisites"])
    assert (result.verdict, result.as_expected, result.ran) == (Verdict.REFUTED, True, True)
    assert result.seconds > 0
    assert result.detail == "counterexample: k = 2: 9, not 15"


def test_progress_is_told_before_each_statement():
    told = []
    proving.prove(
        [Method.COUNT], ["A.8"], lambda number, count, statement: told.append((number, count, statement.name))
    )
    assert told == [(1, 2, "A.8/same-arms"), (2, 2, "A.8/single-parent")]


def test_without_z3_its_statements_are_not_run_and_that_is_no_failure():
    done = without(
        "z3",
        "from dodiag.proofs.prove import prove\n"
        "results = prove(names=['A.8'])\n"
        "print(sorted({(r.statement.method.name, r.detail) for r in results if not r.ran}))\n"
        "print(all(r.as_expected for r in results if r.ran), any(r.ran for r in results))",
    )
    assert done.stdout == "[('SMT', 'not run: z3 is not installed')]\nTrue True\n", done.stderr


@pytest.mark.parametrize("asked", ["methods=[Method.SMT]", "names=['A.8/chain']"])
def test_without_z3_asking_for_it_names_the_cure(asked):
    done = without(
        "z3",
        "from dodiag.proofs.prove import prove, Method\n"
        "from dodiag.problems import MissingDependency\n"
        f"try: prove({asked})\n"
        "except MissingDependency as error: print(error)",
    )
    assert done.stdout == "z3 is not installed. Run: pip install 'dodiag[proofs]'.\n", done.stderr


def test_without_coqc_asking_for_it_names_the_cure(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingDependency, match="coqc is not installed"):
        proving.prove([Method.COQ])


def test_listing_needs_neither_z3_nor_coqc():
    done = without("z3", "from dodiag.proofs.prove import statements\nprint(len(statements()))")
    assert int(done.stdout) == len(EVERYTHING)


def test_the_command_ends_with_0_where_all_is_as_it_must_be():
    done = command("counts")
    assert done.exit_code == 0
    assert "8 statements checked" in done.stdout
    assert "all as they must be" in done.stdout


@pytest.fixture
def wrong_statements(tmp_path, monkeypatch):
    """Statements of which one is expected to be proved and is not, and one that nothing decides."""
    (tmp_path / "wrong_statements.py").write_text(
        "from dodiag.proofs.statement import Finding, Method, Statement, Verdict\n"
        "def given(name, expected, finding):\n"
        "    return Statement(name, 'here', (), 'a goal', Method.COUNT, expected, lambda: finding)\n"
        "STATEMENTS = (\n"
        "    given('wrong/one', Verdict.PROVED, Finding(Verdict.REFUTED, 'counterexample: x = 1/2')),\n"
        "    given('wrong/two', Verdict.REFUTED, Finding(Verdict.UNKNOWN, 'the solver gave up')),\n"
        "    given('right', Verdict.PROVED, Finding(Verdict.PROVED)),\n"
        ")\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(proving.HOMES, Method.COUNT, "wrong_statements")


@pytest.mark.parametrize(("name", "code"), [("wrong/one", 1), ("wrong/two", 1), ("wrong", 1), ("right", 0)])
def test_the_command_ends_with_1_where_a_verdict_is_another_or_unknown(name, code, wrong_statements):
    assert command("--method", "count", name).exit_code == code


def test_a_wrong_verdict_is_told_with_what_was_found(wrong_statements):
    done = command("--method", "count")
    assert "wrong/one: refuted, but it must be proved: counterexample: x = 1/2" in done.stderr
    assert "2 NOT as it must be" in done.stdout
    assert "found: counterexample: x = 1/2" in done.stdout


def test_json_holds_every_field_and_ends_alike(wrong_statements):
    done = command("--method", "count", "--json", "wrong/one")
    assert done.exit_code == 1
    (row,) = json.loads(done.stdout)
    assert row["seconds"] >= 0
    assert {key: row[key] for key in row if key != "seconds"} == {
        "name": "wrong/one",
        "source": "here",
        "hypotheses": [],
        "goal": "a goal",
        "method": "count",
        "expected": "proved",
        "verdict": "refuted",
        "as_expected": False,
        "detail": "counterexample: x = 1/2",
    }


def test_listing_runs_nothing(wrong_statements):
    done = command("--list", "--method", "count")
    assert done.exit_code == 0
    assert "wrong/one" in done.stdout
    rows = json.loads(command("--list", "--method", "count", "--json").stdout)
    assert [row["name"] for row in rows] == ["wrong/one", "wrong/two", "right"]
    assert "verdict" not in rows[0]


def test_details_show_what_is_given_and_what_was_found():
    done = command("counts/mutant-two-prerequisites", "--details")
    assert "given: k = |Pa(Y)| prerequisites" in done.stdout
    assert "found: counterexample: k = 2: 9, not 15" in done.stdout


def test_an_unknown_method_is_a_users_error():
    with pytest.raises(UsageError, match="Did you mean 'smt'"):
        cli_prove.parsed_methods(["smtt"])


def test_exports_follow_the_names(tmp_path):
    done = command("--export-smtlib", str(tmp_path / "claims"), "A.8")
    assert done.exit_code == 0
    assert sorted(path.name for path in (tmp_path / "claims").iterdir())[0] == "A.8--chain-monotone.smt2"
    assert {path.name.partition("--")[0] for path in (tmp_path / "claims").iterdir()} == {"A.8"}


@pytest.mark.parametrize("width", [80, 120])
def test_goals_wrap_and_names_stay_whole(width):
    console = Console(width=width)
    results = [proving.Result(s, s.expected, 0.0, "") for s in EVERYTHING]
    with console.capture() as captured:
        console.print(cli_prove.result_table(results), highlight=False)
    lines = captured.get().splitlines()
    assert max(map(cell_len, lines)) <= width
    starts = {line.split()[0] for line in lines if line.strip() and not line.startswith("   ")}
    assert {s.name for s in EVERYTHING} <= starts


def test_the_summary_names_what_was_not_run():
    statement = Statement("x", "here", (), "a goal", Method.SMT, Verdict.PROVED, lambda: Finding(Verdict.PROVED))
    text = cli_prove.summary([proving.Result(statement, None, 0.0, "not run: z3 is not installed")])
    assert text.splitlines()[-1] == "1 smt statement not run: z3 is not installed"
