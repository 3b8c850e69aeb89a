"""A table of docs/ over the field's sets: its options, its page, and its folds, measured where results lack them."""

from __future__ import annotations

import datetime
import os
import warnings
from argparse import ArgumentParser
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from experiments.commit import commit
from experiments.studies.data_sets import find_data_sets
from experiments.studies.field import field_study
from experiments.studies.results import Results
from experiments.studies.run_studies import run_studies
from experiments.studies.study import Study

FOLDER = Path(__file__).parent
DATA = Path(os.environ.get("TANAGER_DATA", FOLDER / "../../shared/data"))


def write_table(
    name: str,
    max_rows: int,
    study: Callable[[Study], Study],
    remark: str,
    body: Callable[[Results], Iterable[str]],
) -> None:
    """Write docs/NAME_table.md by `python -m experiments.NAME [--max-rows N] [--jobs N]`, its sets in order of names.

    study   makes the field's study the one to be run
    remark  ends the paragraph that says how the page was made; what `body` gives follows it
    """
    parser = ArgumentParser(prog=f"python -m experiments.{name}")
    parser.add_argument("--max-rows", type=int, default=max_rows, help="of a set")
    parser.add_argument("--jobs", type=int, default=-1)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    sets = [each for each in find_data_sets(DATA) if each.n_rows <= options.max_rows]
    field = field_study(sorted(sets, key=lambda each: each.name))
    ((_, results),) = run_studies([study(field)], FOLDER / "results", options.jobs)
    made = (
        f"Written by `python -m experiments.{name}` on {datetime.date.today()}, {commit()}, NumPy "
        f"{np.__version__}: {len(results.sets)} sets of up to {options.max_rows:,} rows, 5 folds, bins by MDLP."
    )
    lines = [f"<!-- written by experiments/{name}.py; do not edit -->", "", f"{made} {remark}", "", *body(results), ""]
    (FOLDER.parent / "docs" / f"{name}_table.md").write_text("\n".join(lines), encoding="utf-8")
