"""The command that lays many runs, of any models and tasks, beside each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dodiag.cli_options import ContrastOption, JsonFlag, MinDenominatorOption

if TYPE_CHECKING:
    import pandas as pd

    from dodiag.report.overview import Source
    from dodiag.scm.graph import TaskGraph

SHORT_HELP = "Lay many runs beside each other: models, tasks, scores, agreement."
EXAMPLES = (
    "dodiag overview runs/*",
    "dodiag overview runs/* --out overview.html",
    "dodiag overview runs/* --group large=sim:oracle,sim:default --group small=sim:weak",
    "dodiag overview table.parquet --task my_task/task.yaml --contrast 1,n --json",
)
CALL = ("model", "task", "instance", "unit", "question", "step", "configuration", "draw")
"""What makes two rows of outcome tables the same call."""


def overview(
    sources: Annotated[list[Path], typer.Argument(help="Run directories and outcome tables (Parquet or CSV).")],
    out: Annotated[Path | None, typer.Option("--out", help="Write an HTML page to this file as well.")] = None,
    task: Annotated[
        list[str] | None,
        typer.Option("--task", help="Task graph of outcome tables; may be repeated. Default: shipped tasks."),
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(
            "--group", metavar="NAME=MODEL,MODEL", help="Average the scores of these models; may be repeated."
        ),
    ] = None,
    contrast: ContrastOption = None,
    min_denominator: MinDenominatorOption = 0.10,
    level: Annotated[float, typer.Option("--level", help="Two-sided confidence level of all limits.")] = 0.95,
    as_json: JsonFlag = False,
) -> None:
    """Lay runs of any number of models and tasks beside each other: capabilities and error budget, what to fix first,
    N and S of every prerequisite, groups, agreement, chains, ablations.

    With --out it writes one HTML page that needs no other file and no network; with --json, standard output is one
    object with all rows of all analyses.
    """
    from dodiag.cli_output import print_json, show, write_text
    from dodiag.report.overview import overview as overview_of
    from dodiag.report.overview_tables import overview_report
    from dodiag.report.page.overview_page import overview_page

    inputs = [_read(source) for source in sources]
    _refuse_twice(inputs)
    _refuse_unlike(inputs)
    tasks = _tasks(inputs, task or ())
    table = _together(inputs)
    notices = list(_notices(inputs))
    described = [source.described for source in inputs]
    found = overview_of(
        table, tasks, contrast, groups=_groups(group or ()), min_denominator=min_denominator, level=level
    )
    for line in (line for source in inputs if (line := source.incomplete)):
        typer.echo(line, err=True)
    if out is not None:
        write_text(out, overview_page(found, notices=notices, sources=described))
    if as_json:
        rows = [{"source": source.name, **source.facts} for source in described]
        print_json({**found.to_dict(), "notices": notices, "sources": rows})
        return
    show(overview_report(found, notices))
    if out is not None:
        typer.echo(f"wrote {out}")


@dataclass(frozen=True, slots=True)
class Input:
    """A source, read.

    Attributes
    ----------
    path : Path
    table : pandas.DataFrame
        Its outcomes.
    manifest : mapping or None
        Of a run.
    """

    path: Path
    table: pd.DataFrame
    manifest: Mapping[str, Any] | None = None

    @property
    def answered(self) -> int:
        """Calls that came to a reply."""
        return int((self.table["outcome"] != "error").sum())

    @property
    def incomplete(self) -> str:
        """What is to be said of a run that is not finished; empty for others."""
        if self.manifest is None or self.answered >= self.manifest["calls"]:
            return ""
        return (
            f"{self.path} is incomplete: {self.answered:,} of {self.manifest['calls']:,} calls are answered, and these"
            f" are the numbers of those. Continue with: dodiag resume {self.path}"
        )

    @property
    def described(self) -> Source:
        """What the report says of it."""
        from dodiag.report.overview import Source

        facts = {name: ", ".join(map(str, self.table[name].unique())) for name in ("model", "task")}
        planned = f" of {self.manifest['calls']:,}" if self.manifest else ""
        facts["calls answered"] = f"{self.answered:,}{planned}"
        if self.manifest is not None:
            facts |= {
                "pictures": "sent" if self.manifest["sees_media"] else "not sent",
                "parameters": ", ".join(f"{k}={v}" for k, v in self.manifest["parameters"].items()) or "the server's",
                "history of chains": str(self.manifest["design"]["history"]),
                "pack": self.manifest["pack"]["digest"][:16],
                "plan": self.manifest["plan_hash"][:16],
                "started": str(self.manifest["created"]),
                "dodiag": str(self.manifest["dodiag"]),
                "what the model is": str(self.manifest.get("model_description") or ""),
            }
        return Source(str(self.path), {name: text for name, text in facts.items() if text})


def _read(path: Path) -> Input:
    from dodiag.problems import UsageError
    from dodiag.runners.ledger import Ledger
    from dodiag.runners.outcomes import read_outcomes

    table = read_outcomes(path)
    if table.empty:
        raise UsageError(f"{path} has no outcome", "Name runs or tables with at least one row.")
    if not path.is_dir():
        return Input(path, table)
    with Ledger(path) as ledger:
        return Input(path, table, ledger.manifest)


def _refuse_twice(inputs: Sequence[Input]) -> None:
    """The same call in two sources would count twice, or be two answers to one question."""
    import pandas as pd

    from dodiag.problems import UsageError

    places: dict[Path, Path] = {}
    for source in inputs:
        if (resolved := source.path.resolve()) in places:
            raise UsageError(f"{places[resolved]} and {source.path} are the same", "Name every source once.")
        places[resolved] = source.path
    for members in _sharing(inputs):
        together = pd.concat(members, ignore_index=True)
        first = together.groupby(list(CALL), sort=False, observed=True)["source"].transform("first")
        twice = first != together["source"]
        if twice.any():
            row = together[twice].iloc[0]
            one, other = inputs[first[twice].iloc[0]].path, inputs[row["source"]].path
            where = f"{row['model']}, {row['task']}, instance {row['instance']}, question {row['question']}"
            configuration = f", '{row['configuration']}'" if row["configuration"] else ""
            raise UsageError(
                f"{one} and {other} have the same call ({where}{configuration})",
                "Leave one of them out, or give the models different names.",
            )


def _sharing(inputs: Sequence[Input]) -> Iterator[list[pd.DataFrame]]:
    """Yield the calls of each model on each task that several sources have, with the index of the source."""
    places: dict[tuple[str, str], list[int]] = {}
    for index, source in enumerate(inputs):
        for model, task in source.table[["model", "task"]].drop_duplicates().itertuples(index=False):
            places.setdefault((str(model), str(task)), []).append(index)
    for (model, task), members in places.items():
        if len(set(members)) > 1:
            tables = ((index, inputs[index].table) for index in dict.fromkeys(members))
            yield [
                _calls(table[(table["model"].astype(str) == model) & (table["task"].astype(str) == task)]).assign(
                    source=index
                )
                for index, table in tables
            ]


def _calls(table: pd.DataFrame) -> pd.DataFrame:
    """Return what identifies the calls of a table, written the same way whatever its types are."""
    import pandas as pd

    from dodiag.vocabulary import Configuration

    def number(column: pd.Series) -> pd.Series:
        parsed = pd.to_numeric(column, errors="coerce").astype(float)
        return parsed.map("{:.15g}".format).where(
            parsed.notna(), column.astype(object).where(column.notna(), "").astype(str)
        )

    def ordered(text: str) -> str:
        return str(Configuration(tuple(sorted(Configuration.parse(text).items))))

    found = {name: table[name].astype(object).where(table[name].notna(), "").astype(str) for name in CALL}
    found |= {name: number(table[name]) for name in ("step", "draw")}
    texts = {text: ordered(text) for text in found["configuration"].unique()}
    return pd.DataFrame(found | {"configuration": found["configuration"].map(texts)})


def _refuse_unlike(inputs: Sequence[Input]) -> None:
    """One name of a model stands for one way of asking it."""
    from dodiag.problems import UsageError

    known: dict[tuple[str, str], Input] = {}
    for source in inputs:
        if source.manifest is None:
            continue
        of = (str(source.manifest["model"]), str(source.manifest["task"]))
        first = known.setdefault(of, source)
        assert first.manifest is not None
        for told, one, other in zip(_ASKED, _asked(first.manifest), _asked(source.manifest), strict=True):
            if one != other:
                raise UsageError(
                    f"{first.path} and {source.path} are both of {of[0]} on {of[1]}, with different {told}",
                    "Leave one of them out, or give their outcome tables different model names.",
                )


_ASKED = ("pictures", "parameters", "history of chains")


def _asked(manifest: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return how a model was asked, in the order of `_ASKED`."""
    return manifest["sees_media"], manifest["parameters"], manifest["design"]["history"]


def _tasks(inputs: Sequence[Input], files: Iterable[str]) -> list[TaskGraph]:
    """Return the task graphs of all sources, in order of appearance: from runs and files, and else shipped ones."""
    from dodiag.problems import UsageError, nearest
    from dodiag.runners.session import task_of_run
    from dodiag.scm.files import load_task

    known: dict[str, tuple[TaskGraph, str]] = {}
    named = [(load_task(file), file) for file in files]
    of_runs = [(task_of_run(source.path), str(source.path)) for source in inputs if source.manifest is not None]
    for graph, where in (*named, *of_runs):
        first, place = known.setdefault(graph.name, (graph, where))
        if differing := [field.name for field in fields(graph) if _differ(first, graph, field.name)]:
            raise UsageError(
                f"{place} and {where} have different task graphs named {graph.name} (see {', '.join(differing)})",
                "Leave one of them out, or rename one task in its outcome table and graph file.",
            )
    present = list(dict.fromkeys(str(name) for source in inputs for name in source.table["task"].unique()))
    for graph, file in named:
        if graph.name not in present:
            raise UsageError(f"no source has an outcome of task {graph.name} of {file}", nearest(graph.name, present))
    return [known[name][0] if name in known else load_task(name) for name in present]


def _differ(one: TaskGraph, other: TaskGraph, field: str) -> bool:
    return field != "published" and bool(getattr(one, field) != getattr(other, field))


def _together(inputs: Sequence[Input]) -> pd.DataFrame:
    """Return one table of all sources, with names as text and steps and scores of one type."""
    import pandas as pd

    from dodiag.vocabulary import OUTCOME_COLUMNS

    names = [*OUTCOME_COLUMNS, "absent"]
    tables = []
    for source in inputs:
        table = source.table[[name for name in names if name in source.table.columns]].copy()
        for name in ("model", "task", "instance", "unit", "question"):
            table[name] = table[name].astype(object).where(table[name].isna(), table[name].astype(str))
        for name in ("step", "solved"):
            table[name] = table[name].astype(object)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def _groups(options: Iterable[str]) -> dict[str, tuple[str, ...]]:
    from dodiag.problems import UsageError

    found: dict[str, tuple[str, ...]] = {}
    for option in options:
        name, equals, text = (part.strip() for part in option.partition("="))
        members = tuple(filter(None, (model.strip() for model in text.split(","))))
        if not (name and equals and members):
            raise UsageError(f"--group '{option}' is no group", "Write NAME=MODEL,MODEL.")
        if name in found:
            raise UsageError(f"the group '{name}' is given twice", "Name all of its models in one --group.")
        found[name] = members
    return found


def _notices(inputs: Sequence[Input]) -> Iterator[str]:
    """Yield what has to be known before any number."""
    manifests = [source.manifest for source in inputs if source.manifest is not None]
    simulated = dict.fromkeys(m["model"] for m in manifests if str(m["model_name"]).startswith("sim:"))
    if simulated:
        yield f"Simulators; these are not the scores of real models: {', '.join(simulated)}."
    others = (m for m in manifests if m["model"] not in simulated and m.get("model_description"))
    yield from dict.fromkeys(f"{m['model']}: {m['model_description']}" for m in others)
    for source in inputs:
        if line := source.incomplete:
            yield line
    packs: dict[str, set[str]] = {}
    for source in inputs:
        if source.manifest is not None:
            packs.setdefault(str(source.manifest["task"]), set()).add(str(source.manifest["pack"]["digest"]))
    for task, digests in packs.items():
        if len(digests) > 1:
            told = f"{task}: the runs are of {len(digests)} packs with other content"
            yield f"{told}, so not all of them had the same questions."
