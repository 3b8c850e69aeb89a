"""`tanager stability`: what of a kind of model stays when it is fitted again and again."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from tanager.cli import options
from tanager.runtime.progress import working


def stability(
    data: options.Data,
    class_column: options.ClassColumn,
    draws: Annotated[int, typer.Option(min=2, help="How many fits.")] = 30,
    structure: options.Structure = None,
    pairs: options.Pairs = "auto",
    no_trees: options.NoTrees = False,
    criterion: options.Criterion = None,
    parameters: options.Parameters = None,
    categorical: options.Categorical = None,
    discretizer: options.Discretizer = None,
    engine: options.Engine = "auto",
    device: options.Device = None,
    class_weight: options.ClassWeight = None,
    monotone: options.Monotone = None,
    seed: options.Seed = 0,
    missing: options.Missing = None,
    drop: options.Drop = None,
    recipe: options.RecipeFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with every attribute and link.")] = False,
) -> None:
    """Fit a kind of model to rows of random weights again and again: how often each edge is there, how sure ranks are.

    Examples:

      tanager stability iris.csv --class species --structure tan

      tanager stability patients.csv --class outcome --draws 100 --json > stability.json
    """
    from tanager.cli.training_data import Reading, read_training_data
    from tanager.evaluate.stability import stability as measure_stability

    with working(f"Reading {data}"):
        X, y = read_training_data(data, class_column, Reading(missing or (), drop or (), recipe))
    chosen = options.ModelOptions(
        structure, criterion, parameters, categorical, discretizer, engine, device, seed, class_weight
    ).additive(monotone, pairs, no_trees)
    with working(f"Fitting {draws} times"):
        found = measure_stability(chosen.classifier(X.column_names, y), X, y, n_draws=draws, random_state=seed)
    print(json.dumps(found.to_dict(), indent=2) if as_json else found)
