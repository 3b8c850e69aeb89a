"""A table -> a checkup: every kind of finding is asked, and each column described."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from sklearn.utils.validation import check_consistent_length

from tanager.check.checkup import Checkup
from tanager.check.describe import describe_column
from tanager.check.facts import ColumnFacts
from tanager.check.finding import SEVERITIES, Finding
from tanager.check.findings.classes import describe_classes, find_in_class
from tanager.check.findings.codes import find_codes
from tanager.check.findings.constant import find_constant, find_repeated_columns
from tanager.check.findings.dates import find_dates
from tanager.check.findings.gaps import find_gaps
from tanager.check.findings.identifiers import find_free_text, find_identifier, find_row_numbers
from tanager.check.findings.leaks import find_leaks
from tanager.check.findings.numbers import find_numbers
from tanager.check.findings.repeated_rows import find_repeated_rows
from tanager.check.findings.spelling import find_spellings
from tanager.check.table_facts import FindInColumn, FindInTable, TableFacts
from tanager.runtime.resources import map_threads
from tanager.table.columns import Column, RawTable
from tanager.table.read_columns import read_arrow, read_objects
from tanager.table.training_table import read_labels, target_name

WHAT_IT_IS: tuple[FindInColumn, ...] = (
    find_dates, find_numbers, find_free_text, find_row_numbers, find_identifier, find_spellings, find_codes,
    find_constant,
)  # fmt: skip
"""What a column is: the first of these that finds something says it."""
OF_THE_TABLE: tuple[FindInTable, ...] = (find_repeated_columns, find_leaks, find_gaps, find_repeated_rows)


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
    columns = facts.columns
    findings = [finding for column in attributes if (finding := _what_it_is(column, facts)) is not None]
    findings += [finding for find in OF_THE_TABLE for finding in find(facts)]
    if target is not None:
        spelling = find_spellings(target, facts)
        findings += [*find_in_class(facts), *([spelling] if spelling else [])]
    order = {column.name: place for place, column in enumerate(columns)}
    findings.sort(key=lambda each: (SEVERITIES.index(each.severity), order.get(each.column or "", len(order))))
    return Checkup(
        n_rows=table.n_rows,
        target=None if target is None else target.name,
        classes="" if target is None else describe_classes(target),
        columns=tuple(describe_column(column, column is target, findings) for column in columns),
        findings=_without_echoes(findings),
    )


def _read_class(name: str, y: object, n_rows: int) -> Column:
    """The class as a column: of numbers too, which may be a quantity."""
    if isinstance(y, pa.ChunkedArray):
        return read_arrow(name, y)
    labels = read_labels(y)  # type: ignore[arg-type]
    check_consistent_length(labels, range(n_rows))
    return read_objects(name, labels)


def _what_it_is(column: ColumnFacts, facts: TableFacts) -> Finding | None:
    return next(filter(None, (find(column, facts) for find in WHAT_IT_IS)), None)


def _without_echoes(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings less those that a worse one about the same column makes idle, but for what mends them."""
    worst = {finding.column for finding in findings if finding.severity == "high"}
    return tuple(
        finding for finding in findings if finding.severity == "high" or finding.column not in worst or finding.steps
    )
