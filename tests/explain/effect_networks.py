"""Random networks of effects, and their log odds cell by cell: the oracle of what is said of them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd

from tanager.additive.model import AdditiveModel
from tanager.table.schema import ColumnSchema

NUMERIC = ColumnSchema("size", "numeric", cuts=(1.0, 2.0, 4.0, 8.0), groups=(0, 0, 1, 1, 2))
CATEGORICAL = ColumnSchema("colour", "categorical", ("red", "green", "blue"))
SWITCH = ColumnSchema("on", "categorical", ("no", "yes"))
WITH_GAPS = ColumnSchema("age", "numeric", cuts=(30.0, 60.0), missing_state=True)
ATTRIBUTES = (NUMERIC, CATEGORICAL, SWITCH, WITH_GAPS)


def effect_network(seed: int, n_classes: int = 2, pairs: bool = True, spreads: bool = False) -> AdditiveModel:
    """Over `ATTRIBUTES`; about two thirds of their pairs, or none."""
    generator = np.random.default_rng(seed)
    target = ColumnSchema("y", "categorical", tuple(f"c{k}" for k in range(n_classes)))
    chosen = [pair for pair in combinations(range(len(ATTRIBUTES)), 2) if pairs and generator.random() < 0.7]
    return AdditiveModel(
        (*ATTRIBUTES, target),
        generator.normal(size=n_classes),
        tuple(generator.normal(size=(column.n_states + 1, n_classes)) for column in ATTRIBUTES),
        tuple(chosen),
        tuple(
            generator.normal(size=(*(ATTRIBUTES[i].coarse.n_states + 1 for i in pair), n_classes)) for pair in chosen
        ),
        tuple(generator.dirichlet(np.ones(column.n_states)) for column in ATTRIBUTES),
        tuple(generator.uniform(0.1, 0.3, (column.n_states, n_classes)) for column in ATTRIBUTES) if spreads else (),
    )


def states_of(cells: tuple[float | None, str | None, str | None, float | None]) -> list[tuple[int, int]]:
    """(state, coarse state) of each attribute, counted by hand; one past the last for a missing cell."""
    size, colour, on, age = cells
    fine = 5 if size is None else sum(size >= cut for cut in NUMERIC.cuts)
    coarse = 3 if size is None else sum(size >= cut for cut in (2.0, 8.0))
    hue = 3 if colour not in CATEGORICAL.categories else CATEGORICAL.categories.index(colour)
    switch = 2 if on not in SWITCH.categories else SWITCH.categories.index(on)
    years = 3 if age is None else sum(age >= cut for cut in WITH_GAPS.cuts)
    return [(fine, coarse), (hue, hue), (switch, switch), (years, years)]


def class_terms(network: AdditiveModel, cells) -> np.ndarray:
    """(terms + 1, classes): main effects, pair effects, the intercept."""
    states = states_of(cells)
    mains = [main[states[i][0]] for i, main in enumerate(network.mains)]
    pairs = [table[states[i][1], states[j][1]] for (i, j), table in zip(network.pairs, network.tables, strict=True)]
    return np.array([*mains, *pairs, network.intercept])


def frame_of(rows) -> pd.DataFrame:
    names = [column.name for column in ATTRIBUTES]
    return pd.DataFrame(
        {name: pd.Series(list(cells), dtype=object) for name, cells in zip(names, zip(*rows, strict=True), strict=True)}
    )
