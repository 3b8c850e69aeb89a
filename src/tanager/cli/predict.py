"""`tanager predict`: the classes, or their probabilities, of the rows of a table."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

import typer

from tanager.cli import options
from tanager.cli.streams import STREAM
from tanager.errors import OptionError
from tanager.runtime.progress import working

if TYPE_CHECKING:
    import pyarrow as pa

    from tanager.classifiers.base import TableClassifier
    from tanager.metrics import Probabilities
    from tanager.metrics.conformal import KnownRows


def predict(
    model: options.Model,
    data: options.Data,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help=".csv, .tsv or .parquet; - is CSV on stdout.")
    ] = STREAM,
    proba: Annotated[
        bool, typer.Option("--proba", help="Also the probability of every class, beside the class.")
    ] = False,
    sets: Annotated[
        float | None,
        typer.Option(
            "--set",
            metavar="SHARE",
            help="Also the classes that the row may have: of the rows of every class about this share, such as 0.95, "
            "have it in their set.",
        ),
    ] = None,
    interval: Annotated[
        float | None,
        typer.Option(
            metavar="LEVEL",
            help="Also an interval of every probability that holds the truth so often, such as 0.9; needs a model of "
            "`tanager fit --intervals`.",
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="A column to keep, such as a customer number; may be repeated."),
    ] = None,
    no_decision: Annotated[
        bool, typer.Option("--no-decision", help="The most probable class, whatever the model decides.")
    ] = False,
    missing: options.Missing = None,
    force: options.Force = False,
    stream: Annotated[
        bool | None,
        typer.Option("--stream/--no-stream", help="Read and write batch by batch; by default where memory is short."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, an object for every row.")] = False,
) -> None:
    """Predict the class of every row of a table.

    Columns are found by name: the table may have others too, in any order. There is a line for every row, in the order
    of the table. In CSV and TSV a text that a spreadsheet would take for a formula begins with an apostrophe. A model
    that was fitted with costs or a threshold decides by them; the class is empty where a person is to be asked.

    With --set the model must keep its quality. A set of several classes is "not sure which", an empty one "unlike the
    rows of any class". In CSV and TSV the classes of a set are separated by " | ".

    Examples:

      tanager predict iris.json new.csv

      tanager predict iris.json new.parquet --proba --keep id -o probabilities.csv

      tanager predict iris.json new.csv --interval 0.9

      cat new.csv | tanager predict iris.json - | sort | uniq -c

      tanager predict iris.json new.csv --proba --json

      tanager predict iris.json new.csv --set 0.95
    """
    from tanager.cli.training_data import read_row_batches, read_rows, streams
    from tanager.files.formulas import escape_formula, escape_formulas
    from tanager.files.model_file import load_model
    from tanager.files.output_path import check_output
    from tanager.files.write_table import table_kind, table_suffix, table_writer, write_table

    if as_json and output != STREAM:
        raise OptionError("--json prints to stdout, and --output names a file.", hint="give one of them.")
    if as_json and stream:
        raise OptionError("--json prints all rows as one list, so --stream cannot go with it.")
    is_text = output == STREAM or table_suffix(output) != ".parquet"
    clf = load_model(model)
    if no_decision:
        clf.decision_ = None
    kept = list(dict.fromkeys(keep or ()))
    columns = _Columns(clf, kept, proba or interval is not None, interval, sets, is_text and not as_json)
    names = columns.names
    written = [escape_formula(name) for name in names] if is_text and not as_json else names
    check_output(output, table_kind(written), reads=[model, data], force=force)
    if not as_json and streams(data, stream):
        with working(f"Predicting {data} batch by batch"), table_writer(output) as write:
            for rows in read_row_batches(data, clf, missing, kept):
                found = columns.predict(rows)
                write(escape_formulas(found) if is_text else found)
        return
    with working(f"Reading {data}"):
        X, _ = read_rows(data, clf, missing, kept)
    with working(f"Predicting {X.num_rows:,} rows"):
        result = columns.predict(X)
    if as_json:
        print(json.dumps(result.to_pylist(), indent=2, default=str))
    else:
        write_table(escape_formulas(result) if is_text else result, output)


@dataclass(frozen=True)
class _Columns:
    """The columns that are written: those to keep, the class, and what else is asked for.

    proba     whether the probability of every class is
    interval  level of the intervals of the probabilities; None where no intervals are
    level     of the sets of classes; None where no sets are
    as_text   whether a set is written as text
    """

    clf: TableClassifier
    keep: Sequence[str]
    proba: bool
    interval: float | None
    level: float | None
    as_text: bool

    def __post_init__(self) -> None:
        for name in self.keep:
            if name in self.names[len(self.keep) :]:
                raise OptionError(
                    f"--keep {name!r} has the name of a column that is predicted.", hint="rename it in DATA."
                )
        if self.interval is not None:
            self.clf.check_intervals(self.interval)
        if self.level is not None:
            self._check_sets(self.level)

    @property
    def names(self) -> list[str]:
        target = self.clf.model_.nodes[-1]
        ends = ("",) if self.interval is None else ("", " lower", " upper")
        predicted = [
            target,
            *(f"P({target}={label}){end}" for label in self.clf.classes_ if self.proba for end in ends),
        ]
        return [*self.keep, *predicted, *([] if self.level is None else [f"set({target})"])]

    def predict(self, rows: pa.Table) -> pa.Table:
        """The columns of these rows."""
        import pyarrow as pa

        clf = self.clf
        X = rows.select(clf.feature_names_in_.tolist())
        labels = clf.predict(X)
        if clf.decision_ is not None:  # a person may be asked about every row of a batch
            labels = pa.array(labels.tolist(), type=pa.array(clf.classes_.tolist()).type)
        found = [*(rows.column(name) for name in self.keep), labels]
        if self.proba or self.level is not None:
            probabilities = clf.predict_proba(X)
            found += self._probabilities(X, probabilities) if self.proba else []
            found += [] if self.level is None else [self._sets(probabilities)]
        return pa.table(found, names=self.names)

    def _probabilities(self, X: pa.Table, probabilities: Probabilities) -> list[Probabilities]:
        """A column for every class or, with intervals, three."""
        if self.interval is None:
            return list(probabilities.T.copy())
        found = self.clf.predict_interval(X, self.interval)
        each = zip(probabilities.T.copy(), found.lower.T.copy(), found.upper.T.copy(), strict=True)
        return [column for columns in each for column in columns]

    def _sets(self, probabilities: Probabilities) -> pa.Array:
        import pyarrow as pa

        from tanager.metrics.conformal import make_sets

        assert self.level is not None
        sets = make_sets([self._known], [probabilities], self.clf.classes_, self.level)
        if self.as_text:
            return pa.array([" | ".join(map(str, labels)) for labels in sets.labels], type=pa.string())
        return pa.array(map(list, sets.labels), type=pa.list_(pa.array(self.clf.classes_.tolist()).type))

    @cached_property
    def _known(self) -> KnownRows:
        from tanager.classifiers.conformal import kept_rows

        return kept_rows(self.clf)

    def _check_sets(self, level: float) -> None:
        """Refuse a model that cannot make sets before a row is read; a class that is in every set is said once."""
        from tanager.errors import DataWarning
        from tanager.metrics.conformal import check_level, uncertified, uncertified_note

        classes = self.clf.classes_[uncertified(self._known.n_rows, check_level(level))]
        if note := uncertified_note(classes.tolist(), level):
            warnings.warn(note, DataWarning, stacklevel=2)
