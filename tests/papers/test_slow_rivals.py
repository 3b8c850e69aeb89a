"""`python -m experiments.slow_rivals`: tables read back from the page that a study writes."""

from __future__ import annotations

from experiments.slow_rivals import FIELD, read_table
from tanager.experiments.tables import TextTable


def test_a_table_of_the_field_is_read_as_it_was_written_and_no_other_section_is():
    heading = "log-loss in nats"
    values = {"tanager default": {"a": 0.25, "b": 1.5}, "EBM": {"a": 0.3}}
    rows = [["a", "0.250", "0.300"], ["b", "1.500", ""], ["**mean**", "0.875", "0.300"]]
    other = TextTable(heading, ["set", "tanager default", "EBM"], [["a", "9.000", "9.000"], ["**mean**", "9", "9"]])
    field = TextTable(heading, ["set", "tanager default", "EBM"], rows)
    page = "\n".join(["## A paper", *_shown(other), FIELD, *_shown(field)])
    assert read_table(page, f"### {heading}") == values


def _shown(table: TextTable) -> list[str]:
    lines = ["| " + " | ".join(cells) + " |" for cells in (table.header, ["---"] * len(table.header), *table.rows)]
    return [f"### {table.title}", "", *lines, ""]
