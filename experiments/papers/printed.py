"""Means that a page of results prints: rivals that were not measured again keep theirs."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from experiments.papers.rivals import OTHERS
from experiments.studies.jobs import Record, pair_of
from experiments.studies.results import UNITS, Results
from experiments.studies.study import Study

Table = dict[str, dict[str, float]]
"""classifier -> set -> value, as printed."""


def read_table(page: str, title: str, heading: str) -> Table:
    """The first table below a heading in the section of a title, without its means; empty cells are left out.

    Empty if the page has no such section or heading.
    """
    section = page.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    below = section.partition(f"\n### {heading}\n")[2].splitlines()
    rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in below if line.startswith("|")]
    end = next((place for place, row in enumerate(rows) if row[0].startswith("**")), 0)
    return {
        name: {row[0]: float(row[column]) for row in rows[2:end] if len(row) > column and row[column]}
        for column, name in enumerate(rows[0] if end else [])
        if column
    }


def keep_printed(study: Study, results: Results, page: str) -> tuple[Study, Results]:
    """With what the page prints of other people's classifiers where there is no record; the study's notes say so."""
    rivals = {entry.name: entry.text for entry in study.entries if entry.text.startswith(OTHERS)}
    have = set(map(pair_of, results.records))
    found: dict[tuple[str, str], Record] = {}
    for measure in study.measures:
        unit = UNITS[measure]
        for rival, by_set in read_table(page, study.title, unit.heading).items():
            for name, value in by_set.items():
                if rival in rivals and name in results.sets and (name, rival) not in have:
                    heading = {"set": name, "classifier": rival, "estimator": rivals[rival], "test_rows": 0}
                    own = found.setdefault((name, rival), heading)
                    own |= {"accuracy": 1.0 - value / unit.factor} if measure == "error" else {measure: value}
    if not found:
        return study, results
    # As many as there are folds, so that times add up as those of others do.
    n_folds = max(Counter(map(pair_of, results.records)).values(), default=1)
    kept_records = [record | {"fold": fold} for record in found.values() for fold in range(n_folds)]
    counted = Counter(rival for _, rival in found)
    kept = ", ".join(f"{rival} on {number} sets" for rival, number in counted.most_common())
    note = f"Not measured again, but as an earlier page printed it, to its digits: {kept}."
    return (
        replace(study, notes=(*study.notes, note)),
        Results(results.sets, results.classifiers, [*results.records, *kept_records]),
    )
