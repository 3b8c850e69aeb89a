"""`tanager predict`: the classes, or their probabilities, of the rows of a table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from tanager.cli import options
from tanager.cli.output import STREAM
from tanager.errors import OptionError
from tanager.runtime.progress import working

if TYPE_CHECKING:
    import pyarrow as pa

    from tanager.classifiers.base import TableClassifier


def predict(
    model: options.Model,
    data: options.Data,
    output: Annotated[str, options.output(".csv, .tsv or .parquet; - is CSV on stdout.")] = STREAM,
    proba: Annotated[
        bool, options.option(None, "Also the probability of every class, beside the class.", "--proba")
    ] = False,
    interval: Annotated[
        float | None,
        options.option(
            "LEVEL",
            "Also an interval of every probability at this level, such as 0.9; needs a model of "
            "`tanager fit --intervals`.",
        ),
    ] = None,
    keep: Annotated[
        list[str] | None, options.option("COLUMN", "A column to keep, such as a customer number; may be repeated.")
    ] = None,
    no_decision: options.NoDecision = False,
    missing: options.Missing = None,
    force: options.Force = False,
    stream: options.Stream = None,
    as_json: options.AsJson = False,
) -> None:
    """Predict the class of every row of a table.

    Columns are found by name: the table may have others too, in any order. There is a line for every row, in the order
    of the table. In CSV and TSV an apostrophe stands before a text that a spreadsheet would take for a formula. A model
    that was fitted with costs or a threshold decides by them; the class is empty where a person is to be asked.

    Examples:

      tanager predict iris.json new.csv
      tanager predict iris.json new.parquet --proba --keep id -o probabilities.csv
      tanager predict iris.json new.csv --interval 0.9
      cat new.csv | tanager predict iris.json - | sort | uniq -c
      tanager predict iris.json new.csv --proba --json
    """
    from tanager.cli.training_data import read_row_batches, read_rows, streams
    from tanager.files.model_file import load_model
    from tanager.files.paths import check_output
    from tanager.files.write_table import escape_formula, escape_formulas, table_kind, table_suffix, table_writer

    if as_json and output != STREAM:
        raise OptionError("--json prints to stdout, and --output names a file.", hint="give one of them.")
    if as_json and stream:
        raise OptionError("--json prints all rows as one list, so --stream cannot go with it.")
    is_text = output == STREAM or table_suffix(output) != ".parquet"
    clf = load_model(model)
    if no_decision:
        clf.decision_ = None
    kept = list(dict.fromkeys(keep or ()))
    names = _column_names(clf, kept, proba or interval is not None, interval)
    written = [escape_formula(name) for name in names] if is_text and not as_json else names
    check_output(output, table_kind(written), reads=[model, data], force=force)
    if not as_json and streams(data, stream):
        batches, what = read_row_batches(data, clf, missing, kept), f"{data} batch by batch"
    else:
        X, _ = read_rows(data, clf, missing, kept)
        batches, what = iter([X]), f"{X.num_rows:,} rows"
    with working(f"Predicting {what}"):
        results = (_predict_rows(clf, rows, kept, names, interval) for rows in batches)
        if as_json:
            print(json.dumps(next(results).to_pylist(), indent=2, default=str))
            return
        with table_writer(output) as write:
            for predicted in results:
                write(escape_formulas(predicted) if is_text else predicted)


def _column_names(clf: TableClassifier, keep: Sequence[str], proba: bool, interval: float | None) -> list[str]:
    """The columns to keep, the class, and the probability of every class, with the ends of its interval."""
    from tanager.classifiers.base import check_intervals

    if interval is not None:
        check_intervals(clf, interval)
    target = clf.model_.nodes[-1]
    ends = ("",) if interval is None else ("", " lower", " upper")
    predicted = [target, *(f"P({target}={label}){end}" for label in clf.classes_ if proba for end in ends)]
    for name in keep:
        if name in predicted:
            raise OptionError(f"--keep {name!r} has the name of a column that is predicted.", hint="rename it in DATA.")
    return [*keep, *predicted]


def _predict_rows(
    clf: TableClassifier, rows: pa.Table, keep: Sequence[str], names: list[str], interval: float | None
) -> pa.Table:
    """The columns of these names."""
    import pyarrow as pa

    X = rows.select(clf.feature_names_in_.tolist())
    labels = clf.predict(X)
    if clf.decision_ is not None:  # a person may be asked about every row of a batch
        labels = pa.array(labels.tolist(), type=pa.array(clf.classes_.tolist()).type)
    columns = [*(rows.column(name) for name in keep), labels]
    if len(names) > len(columns):
        parts = [clf.predict_proba(X)]
        if interval is not None:
            ends = clf.predict_interval(X, interval)
            parts += [ends.lower, ends.upper]
        columns += [column for of_class in zip(*(part.T.copy() for part in parts), strict=True) for column in of_class]
    return pa.table(columns, names=names)
