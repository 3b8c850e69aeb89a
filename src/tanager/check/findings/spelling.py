"""Texts that differ only by blanks or case, in an attribute or, worse, in the class."""

from __future__ import annotations

from tanager.check.facts import ColumnFacts
from tanager.check.finding import Finding, Severity
from tanager.check.table_facts import TableFacts
from tanager.recipe.steps import Merge
from tanager.recipe.texts import merge_key
from tanager.registry import list_names

OPTION = "tanager check --fix writes a recipe that merges them"


def find_spellings(column: ColumnFacts, table: TableFacts) -> Finding | None:
    """Several spellings of one text; or cells that are blank, which look empty and are not."""
    groups: dict[str, list[int]] = {}
    for position, text in enumerate(column.texts):
        groups.setdefault(merge_key(text), []).append(position)
    blank = groups.pop("", [])
    several = {key: group for key, group in groups.items() if len(group) > 1}
    if not several and not blank:
        return None
    kept = tuple(_usual(column, group) for group in several.values())
    rare = min((p for group in several.values() for p in group), key=lambda p: column.counts[p], default=None)
    position = blank[0] if rare is None else rare
    row = column.row_of(position)
    odd = [p for group in several.values() for p in group if column.texts[p] not in kept] + blank
    is_class = column is table.target
    what = "holds cells of nothing but blanks"
    if several:
        first = next(iter(several.values()))
        what = f"holds texts that differ only by blanks or case: {list_names([column.texts[p] for p in first], 3)}"
        what += f" and {len(several) - 1} more groups" if len(several) > 1 else ""
    share = float(column.counts[odd].sum() / column.n_rows)
    severity: Severity = "high" if is_class else "medium"
    return Finding(severity, column.name, what, OPTION, row, column.show(row), share, (Merge(column.name, kept),))


def _usual(column: ColumnFacts, group: list[int]) -> str:
    """The spelling that most rows have, without stray blanks."""
    return " ".join(column.texts[max(group, key=lambda p: column.counts[p])].split())
