"""`tanager fit`: learn a model from a table and write it to a file."""

from __future__ import annotations

import json
import shlex
from typing import Annotated

import typer

from tanager.cli import options
from tanager.cli.streams import STREAM, output_file
from tanager.errors import OptionError
from tanager.progress import say, working


def fit(
    data: options.Data,
    class_column: options.ClassColumn,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Where the model goes (JSON); - is stdout.")
    ],
    structure: options.Structure = "pairwise",
    score: options.Score = "fcll",
    parameters: options.Parameters = "conditional",
    categorical: options.Categorical = None,
    discretizer: options.Discretizer = "mdlp",
    engine: options.Engine = "auto",
    seed: options.Seed = 0,
    missing: options.Missing = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was learnt, as JSON.")] = False,
) -> None:
    """Learn a model from a table.

    Examples:

      tanager fit iris.csv --class species -o iris.json

      tanager fit votes.arff --class party --structure naive-bayes -o votes.json

      tanager fit codes.csv.gz --class y --categorical zip,branch --missing '?' -o codes.json

      tanager fit iris.csv --class species --structure 'kdb(k=3)' --score 'bdeu(ess=5)' -o iris.json

      zcat iris.csv.gz | tanager fit - --class species -o - > iris.json
    """
    from tanager.cli.training_data import read_training_data
    from tanager.files.model_file import save_model

    if as_json and output == STREAM:
        raise OptionError("--json and -o - would both print to stdout.", hint="give the model a file.")
    with output_file(output, ".json") as path:
        with working(f"Reading {data}"):
            X, y = read_training_data(data, class_column, missing)
        chosen = options.ModelOptions(structure, score, parameters, categorical, discretizer, engine, seed)
        with working(f"Fitting {X.num_rows:,} rows x {X.num_columns:,} attributes"):
            clf = chosen.classifier(X.column_names).fit(X, y)
        save_model(clf, path)
    if as_json:
        summary = {
            "model": output,
            "rows": X.num_rows,
            "attributes": X.num_columns,
            "classes": clf.classes_.tolist(),
            "edges": len(clf.network_.edges),
            "structure_score": clf.structure_score_,
        }
        print(json.dumps(summary, indent=2))
    elif output != STREAM:
        say(f"{output}: {structure}, {X.num_rows:,} rows, {X.num_columns:,} attributes, {len(clf.classes_):,} classes")
        if data != STREAM:
            say(f"Look at it: {shlex.join(['tanager', 'report', output, data])}")
