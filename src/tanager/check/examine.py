"""A table -> a checkup: every check runs, each column is described, and rows and columns are compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from sklearn.utils.validation import check_consistent_length

from tanager.check.checkup import (
    SEVERITIES,
    Checkup,
    ColumnFacts,
    ColumnSummary,
    Finding,
    Severity,
    TableFacts,
    drop_option,
    percent,
    shorten,
)
from tanager.check.class_issues import describe_classes, find_class_issues, find_leaks, find_missing_values
from tanager.check.column_issues import (
    MANY,
    find_column_issue,
    find_missing_texts,
    find_spellings,
    merge_spellings,
    reads,
)
from tanager.check.preprocessing import Drop
from tanager.runtime.resources import map_threads
from tanager.table.columns import Column, RawTable
from tanager.table.read_columns import read_arrow, read_objects
from tanager.table.schema import format_values
from tanager.table.training_table import read_labels, target_name

KINDS = {"date": "dates", "datetime": "times", "zoned": "times with a zone"}
KINDS |= {"duration": "durations", "number": "numbers"}
LONGEST_EXAMPLE = 24
FEWEST_RARE_ROWS = 10
"""Columns with fewer rows outside their most common cell may be alike by chance."""
WORTH_A_LOOK = 0.01


def examine(
    table: RawTable, y: object = None, leading_zeros: Sequence[str] = (), class_name: str | None = None
) -> Checkup:
    """The checkup of a table that was read, and of the class of its rows; `class_name` is that of y where it has none.

    leading_zeros  columns of digits, some of which begin with a zero in the file
    """
    attributes = tuple(map_threads(ColumnFacts.of, table.columns))
    target = None
    if y is not None:
        target = ColumnFacts.of(_read_class(class_name or target_name(y, table.names), y, table.n_rows))
    facts = TableFacts(attributes, target, table.n_rows, leading_zeros)
    every = [find_column_issue(column, facts) for column in attributes]
    every += [find_missing_texts(column) for column, found in zip(attributes, every, strict=True) if not reads(found)]
    every += find_repeated_columns(facts) + find_repeated_rows(facts)
    merged = replace(facts, target=None if target is None else merge_spellings(target))
    leaks = find_leaks(merged)
    every += leaks + find_missing_values(merged, leaks)
    if target is not None:
        every += [*find_class_issues(merged), find_spellings(target, facts), find_missing_texts(target, is_class=True)]
    place = {column.name: number for number, column in enumerate(facts.columns)}
    findings = sorted(
        (finding for finding in every if finding is not None),
        key=lambda each: (SEVERITIES.index(each.severity), place.get(each.column or "", len(place))),
    )
    name = None if target is None else target.name
    # An attribute with an issue of high severity has its other issues shown only where preprocessing fixes them.
    worst = {finding.column for finding in findings if finding.severity == "high"} - {name}
    return Checkup(
        n_rows=table.n_rows,
        target=name,
        classes="" if target is None else describe_classes(merge_spellings(target)),
        columns=tuple(describe_column(column, column is target) for column in facts.columns),
        findings=tuple(each for each in findings if each.severity == "high" or each.column not in worst or each.steps),
    )


def _read_class(name: str, y: object, n_rows: int) -> Column:
    """The class as a column: of numbers too, which may be a quantity."""
    if isinstance(y, pa.ChunkedArray):
        return read_arrow(name, y)
    labels = read_labels(y)  # type: ignore[arg-type]
    check_consistent_length(labels, range(n_rows))
    return read_objects(name, labels)


def describe_column(column: ColumnFacts, is_class: bool) -> ColumnSummary:
    kind = KINDS.get(column.unit, "categories") if len(column.values) else "nothing"
    kind = "class" if is_class else kind
    return ColumnSummary(column.name, kind, _contents(column), len(column.values), column.missing_share)


def _contents(column: ColumnFacts) -> str:
    n_distinct = len(column.values)
    if not n_distinct:
        return "no cell holds anything"
    if column.unit:
        values = np.asarray(column.values)
        ends = format_values([values[0].item(), values[-1].item()], column.unit)
        kind = "whole numbers" if column.is_whole else KINDS[column.unit]
        return f"{kind} from {ends[0]} to {ends[1]}" if n_distinct > 1 else f"{kind}, all the same"
    kind = "text" if column.texts else "true or false"
    if n_distinct == column.n_observed > 1:
        return f"{kind}, all different"
    usual = shorten(str(column.values[int(column.counts.argmax())]), LONGEST_EXAMPLE)
    return f"{kind}, {'mostly' if n_distinct > 1 else 'always'} {usual!r}"


def find_repeated_columns(table: TableFacts) -> list[Finding]:
    """Columns that are a renaming of another: a code and its name, or the same twice."""
    first: dict[tuple[str, bytes], ColumnFacts] = {}
    findings = []
    for column in table.attributes:
        key = _signature(column)
        earlier = column if key is None else first.setdefault(key, column)
        if earlier is not column:
            what, steps = f"is a renaming of column {earlier.name!r}", (Drop(column.name),)
            findings.append(column.finding("medium", what, drop_option(column.name), steps=steps))
    return findings


def _signature(column: ColumnFacts) -> tuple[str, bytes] | None:
    """Equal for two columns each of which is a renaming of the other; numbers keep their order.

    Of a column with many distinct cells nearly any other is a renaming, unless the order counts.
    """
    if column.n_rows - int(column.counts.max(initial=0)) < FEWEST_RARE_ROWS or len(column.values) < 2:
        return None
    if column.distinct_share > MANY:
        return ("order", column.codes.astype(np.int64).tobytes()) if column.unit else None
    codes = pa.array(column.codes, mask=column.codes < 0).dictionary_encode().indices  # in the order of appearance
    return "names", codes.cast(pa.int64()).fill_null(-1).to_numpy().tobytes()


def find_repeated_rows(table: TableFacts) -> list[Finding]:
    """Rows equal in every column and the class to an earlier one: held out of training they would not be new."""
    groups = np.zeros(table.n_rows, dtype=np.int64)
    first = groups[:1]
    # Columns with many distinct cells separate rows soonest.
    for column in sorted(table.columns, key=lambda each: -len(each.values)):
        cells = groups * (len(column.values) + 1) + column.codes + 1
        _, first, groups = np.unique(cells, return_index=True, return_inverse=True)
        if len(first) == table.n_rows:
            return []
    repeated = np.setdiff1d(np.arange(table.n_rows), first)
    n_repeated, share = len(repeated), len(repeated) / max(table.n_rows, 1)
    if not n_repeated:
        return []
    # A table with many distinct numbers seldom has the same row twice by chance.
    improbable = any(column.unit and column.distinct_share > MANY for column in table.attributes)
    severity: Severity = "high" if improbable and share >= WORTH_A_LOOK else "low"
    what = f"{n_repeated:,} of {table.n_rows:,} rows ({percent(share)}) repeat an earlier row"
    option = "if they are copies, leave them out: held-out rows must be new"
    return [Finding(severity, None, what, option, int(repeated[0]), share=share)]
