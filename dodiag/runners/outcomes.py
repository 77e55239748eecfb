"""The outcome table of a run: one row per call of the plan that was tried, in plan order."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dodiag.problems import UsageError
from dodiag.runners.ledger import CallRow, FailureRow, Ledger
from dodiag.vocabulary import OUTCOME_COLUMNS, Outcome

if TYPE_CHECKING:
    import pandas as pd

EXTRA_COLUMNS = ("absent", "value", "strict")
_CHUNK = 100_000


def outcomes(run_dir: str | Path) -> pd.DataFrame:
    """Return the outcome table of a run directory.

    Parameters
    ----------
    run_dir : str or Path
        The folder given to ``--out``.

    Returns
    -------
    pandas.DataFrame
        Columns ``model, task, instance, unit, question, step, configuration, draw, outcome, solved`` (solved 1, 0 or
        missing), and ``absent`` (prerequisites without a question on the instance), ``value`` (the answer that was
        read, as JSON), ``strict`` (1 if the reply had exactly the asked form). In plan order, whatever the
        concurrency. Calls that failed are rows with outcome ``error``; calls that were never tried are not there.

    Raises
    ------
    UsageError
        If the folder is not a run directory.
    """
    import pyarrow as pa

    with Ledger(Path(run_dir)) as ledger:
        manifest = ledger.manifest
        schema = _schema(pa)
        rows = _merged(ledger)
        batches = []
        while chunk := list(islice(rows, _CHUNK)):
            columns = [[manifest["model"]] * len(chunk), [manifest["task"]] * len(chunk)]
            columns += [list(column) for column in zip(*chunk, strict=True)]
            arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
            batches.append(pa.record_batch(arrays, schema=schema))
    table = pa.Table.from_batches(batches, schema=schema)
    return _as_frame(table)


def read_outcomes(path: str | Path) -> pd.DataFrame:
    """Return an outcome table from a run directory, a Parquet file or a CSV file.

    Raises
    ------
    UsageError
        If the file is none of these or lacks a column.
    """
    import pandas as pd

    file = Path(path)
    if file.is_dir():
        return outcomes(file)
    if not file.is_file():
        raise UsageError(f"{path} does not exist", "Name a run directory, a Parquet file or a CSV file.")
    try:
        if file.suffix.lower() in (".parquet", ".pq"):
            table = pd.read_parquet(file)
        else:
            text = dict.fromkeys(("model", "task", "instance", "unit", "question", "configuration", "absent"), str)
            table = pd.read_csv(file, dtype=text, keep_default_na=False, na_values={"solved": [""], "step": [""]})
    except (ValueError, OSError) as error:
        raise UsageError(f"{path} is not a table: {error}", "Use Parquet or CSV.") from None
    missing = [name for name in OUTCOME_COLUMNS if name not in table.columns]
    if missing:
        raise UsageError(f"{path} has no column '{missing[0]}'", f"An outcome table has {', '.join(OUTCOME_COLUMNS)}.")
    return table


def _merged(ledger: Ledger) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of answers and of open failures in plan order, less the model and the task."""
    answers, failures = ledger.calls(), ledger.open_failures()
    answer, failure = next(answers, None), next(failures, None)
    while answer is not None or failure is not None:
        if failure is None or (answer is not None and answer.position < failure.position):
            assert answer is not None
            yield _answer_row(answer)
            answer = next(answers, None)
        else:
            yield _failure_row(failure)
            failure = next(failures, None)


def _place(row: CallRow | FailureRow) -> tuple[Any, ...]:
    return row.instance, row.unit, row.question, row.step, row.configuration, row.draw


def _answer_row(row: CallRow) -> tuple[Any, ...]:
    return *_place(row), row.outcome, row.solved, row.absent, row.value, row.strict


def _failure_row(row: FailureRow) -> tuple[Any, ...]:
    return *_place(row), Outcome.ERROR.value, None, row.absent, None, None


def _schema(pa: Any) -> Any:
    numbers = {"step": pa.int64(), "draw": pa.int64(), "solved": pa.int64(), "strict": pa.int64()}
    return pa.schema([(name, numbers.get(name, pa.string())) for name in (*OUTCOME_COLUMNS, *EXTRA_COLUMNS)])


def _as_frame(table: Any) -> pd.DataFrame:
    import pandas as pd

    nullable = {"step": pd.Int64Dtype(), "solved": pd.Int64Dtype(), "strict": pd.Int64Dtype()}
    frame: pd.DataFrame = table.to_pandas(deduplicate_objects=True, integer_object_nulls=True)
    return frame.astype(nullable)
