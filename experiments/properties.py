"""Properties of every fit that take too long for a test, written to docs/properties.md in about ten minutes.

    python -m experiments.properties      # $TANAGER_DATA names the folder of benchmark tables

Noise: classes drawn by a coin. Evidence: P(class) with no cell known, and with one. Both for the additive model and for
TAN with conditional tables.
"""

from __future__ import annotations

import datetime
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from experiments.commit import commit
from experiments.studies.data_sets import find_data_sets
from tanager import AdditiveClassifier, BayesianNetworkClassifier
from tanager.errors import DataWarning

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "properties.md"
DATA = Path(os.environ.get("TANAGER_DATA", ROOT / "../shared/data"))
N_SEEDS, N_FRESH, MIN_ROWS = 10, 20_000, 30
TABLES = ("audiology", "car", "chess", "crx", "german", "lymphography", "splice", "tic-tac-toe", "vote", "zoo")
MODELS = {"additive model": AdditiveClassifier, "TAN": BayesianNetworkClassifier}


def noise_columns(kind: str, rng: np.random.Generator, n_rows: int) -> NDArray[Any]:
    if kind.startswith("200"):
        return rng.normal(size=(n_rows, 200))
    return rng.integers(0, 3, (n_rows, 30)) if kind.startswith("30") else rng.integers(0, 10, (n_rows, 2))


NOISE = {"30 columns of 3 categories": 300, "2 columns of 10 categories": 2_000, "200 normal columns": 300}


def noise() -> Iterator[str]:
    """Log-loss of fresh rows above log 2, and how often the model has no term of two attributes and no trees."""
    yield "| noise | training rows | model | mean excess log-loss | highest | no pair, edge or tree |"
    yield "| --- | ---: | --- | ---: | ---: | ---: |"
    for kind, n_rows in NOISE.items():
        for name, make in MODELS.items():
            found = [one_fit(kind, n_rows, make, seed) for seed in range(N_SEEDS)]
            excess = [each[0] for each in found]
            alone = sum(each[1] for each in found)
            yield (
                f"| {kind} | {n_rows:,} | {name} | {np.mean(excess):.4f} | {max(excess):.4f} | {alone} of {N_SEEDS} |"
            )


def one_fit(kind: str, n_rows: int, make: Any, seed: int) -> tuple[float, bool]:
    rng = np.random.default_rng(seed)
    X, fresh = noise_columns(kind, rng, n_rows), noise_columns(kind, rng, N_FRESH)
    y, truth = rng.integers(0, 2, n_rows), rng.integers(0, 2, N_FRESH)
    clf = make(categorical_features="all" if X.dtype.kind == "i" else "from_dtype").fit(X, y)
    p = clf.predict_proba(fresh)[np.arange(N_FRESH), truth]
    if isinstance(clf, AdditiveClassifier):
        alone = clf.trace_.pairs == 0 and clf.model_.forest is None
    else:
        alone = bool(np.isinf(clf.trace_.parameters.strength[1:]).all())
    return float(-np.log(p).mean() - np.log(2.0)), alone


def evidence() -> Iterator[str]:
    """Distances of P(class | evidence) from the class frequencies of the training rows that have the evidence."""
    yield "| table | rows | model | no cell known | one cell known, mean | highest |"
    yield "| --- | ---: | --- | ---: | ---: | ---: |"
    for data_set in sorted(find_data_sets(DATA), key=lambda each: each.n_rows):
        if data_set.name not in TABLES:
            continue
        X, y = data_set.read()
        for name, make in MODELS.items():
            nothing, one = distances(make().fit(X, y), X, y)
            if one:
                yield (
                    f"| {data_set.name} | {len(y):,} | {name} | {nothing:.4f} | {np.mean(one):.4f} | {max(one):.3f} |"
                )


def distances(clf: Any, X: pa.Table, y: NDArray[Any]) -> tuple[float, list[float]]:
    """With no cell known; and with one known, for each category of a text column that `MIN_ROWS` rows or more have."""
    nothing = np.abs(given(clf, X, {}) - frequencies(clf, y)).max()
    one = []
    for name in X.column_names:
        cells = np.array(X.column(name).to_pylist(), dtype=object)
        for cell in sorted({each for each in cells.tolist() if isinstance(each, str)}):
            having = cells == cell
            if having.sum() >= MIN_ROWS:
                one.append(float(np.abs(given(clf, X, {name: cell}) - frequencies(clf, y[having])).max()))
    return float(nothing), one


def given(clf: Any, X: pa.Table, evidence: dict[str, str]) -> NDArray[np.float64]:
    """P(class | evidence), all other cells unknown."""
    if isinstance(clf, AdditiveClassifier):  # an empty cell may be its state "missing"
        return np.array(list(clf.query(evidence).values()))
    row = {name: pa.array([evidence.get(name)], X.schema.field(name).type) for name in X.column_names}
    return np.array(clf.predict_proba(pa.table(row))[0])


def frequencies(clf: Any, y: NDArray[Any]) -> NDArray[np.float64]:
    return np.array([np.mean(y == label) for label in clf.classes_])


def main() -> None:
    made = f"{datetime.date.today()}, {commit()}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        lines = [
            "# Properties, measured",
            "",
            f"Written by `python -m experiments.properties` on {made}. Properties of every fit that take too long for "
            "a test.",
            "",
            "## Noise",
            "",
            f"The classes are drawn by a coin, so log 2 is the best log-loss. {N_SEEDS} seeds, {N_FRESH:,} fresh rows.",
            "",
            *noise(),
            "",
            "## No evidence, and one cell",
            "",
            "The largest difference between P(class) and the class frequencies of the training rows: with no cell "
            f"known, and with one known category that at least {MIN_ROWS} training rows have.",
            "",
            *evidence(),
            "",
        ]
    PAGE.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
