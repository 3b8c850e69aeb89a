"""`tanager fit`: learn a model from a table and write it to a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tanager.cli import options
from tanager.cli.progress import say, working


def fit(
    data: options.Data,
    class_column: options.ClassColumn,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where the model goes (JSON).")],
    structure: options.Structure = "tan",
    score: options.Score = "fcll",
    parameters: options.Parameters = "conditional",
    categorical: options.Categorical = None,
    discretizer: options.Discretizer = "mdlp",
    engine: options.Engine = "auto",
    seed: options.Seed = 0,
    missing: options.Missing = None,
) -> None:
    """Learn a model from a table.

    Examples:

      tanager fit iris.csv --class species -o iris.json

      tanager fit votes.arff --class party --structure naive-bayes -o votes.json

      tanager fit codes.csv.gz --class y --categorical zip,branch --missing '?' -o codes.json
    """
    from tanager.cli.training_data import read_training_data
    from tanager.files.atomic import check_writable
    from tanager.files.model_file import save_model

    check_writable(output)
    with working(f"Reading {data}"):
        X, y = read_training_data(data, class_column, missing)
    chosen = options.ModelOptions(structure, score, parameters, categorical, discretizer, engine, seed)
    with working(f"Fitting {X.num_rows:,} rows x {X.num_columns:,} attributes"):
        clf = chosen.classifier(X.column_names).fit(X, y)
    save_model(clf, output)
    say(f"{output}: {structure}, {X.num_rows:,} rows, {X.num_columns:,} attributes, {len(clf.classes_):,} classes")
