"""Noise is refused: every structure on columns that know nothing of the class, and data from pairs alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tanager import AdditiveClassifier, BayesianNetworkClassifier
from tanager.runtime.resources import thread_limit

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

N_SEEDS, N_FRESH = 20, 20_000
ASKED_EXCESS, ASKED_REFUSED = 0.005, 19
STRUCTURES: dict[str, Any] = {
    **{name: name for name in ("tan", "bckg", "kdb", "hill-climb")},
    "additive": {},
    "additive, no trees": {"trees": False},
    "additive, no pairs, no trees": {"pairs": 0, "trees": False},
}
NOISE: dict[str, Callable[[np.random.Generator, int], NDArray[Any]]] = {
    "30 attributes of 3 states, 300 rows": lambda generator, n_rows: generator.integers(0, 3, (n_rows, 30)),
    "2 attributes of 10 states, 2,000 rows": lambda generator, n_rows: generator.integers(0, 10, (n_rows, 2)),
    "200 normal columns, 300 rows": lambda generator, n_rows: generator.normal(size=(n_rows, 200)),
}
N_ROWS = dict(zip(NOISE, (300, 2_000, 300), strict=True))
PAIRS = ("10 attributes of 3 states, 2,000 rows, 3 pairs", "10 attributes of 3 states, 500 rows, 3 pairs")
PAIR_ROWS = dict(zip(PAIRS, (2_000, 500), strict=True))
BOOSTED = ("additive",)


def cases() -> Iterator[tuple[str, str, int]]:
    for seed in range(N_SEEDS):
        yield from ((shape, structure, seed) for shape in NOISE for structure in STRUCTURES)
        yield from ((shape, structure, seed) for shape in PAIRS for structure in BOOSTED)


def measure(shape: str, structure: str, seed: int) -> dict[str, Any]:
    with thread_limit(1):
        return (noise if shape in NOISE else from_pairs)(shape, structure, seed)


def noise(shape: str, structure: str, seed: int) -> dict[str, Any]:
    """What the log-loss of fresh rows is above log 2, and whether all that looks at two attributes was refused."""
    generator = np.random.default_rng(seed)
    X, fresh = NOISE[shape](generator, N_ROWS[shape]), NOISE[shape](generator, N_FRESH)
    y, truth = generator.integers(0, 2, len(X)), generator.integers(0, 2, N_FRESH)
    kinds = "from_dtype" if X.dtype == np.float64 else "all"
    options = STRUCTURES[structure]
    if isinstance(options, dict):
        clf: Any = AdditiveClassifier(**options, categorical_features=kinds)
    else:
        clf = BayesianNetworkClassifier(options, parameters="conditional", categorical_features=kinds)
    p = clf.fit(X, y).predict_proba(fresh)[np.arange(N_FRESH), truth]
    if isinstance(clf, AdditiveClassifier):
        refused = clf.trace_.pairs == 0 and clf.trace_.tree_rounds == 0
    else:
        refused = np.isinf(clf.trace_.parameters.strength[1:]).all()
    return {"excess": float(-np.log(p).mean() - np.log(2.0)), "refused": bool(refused)}


def from_pairs(shape: str, structure: str, seed: int) -> dict[str, Any]:
    """Whether trees were refused; log odds are three main effects and three pairs, normal in each cell."""
    generator = np.random.default_rng(seed)
    X = generator.integers(0, 3, (PAIR_ROWS[shape], 10))
    log_odds = np.zeros(len(X))
    for attribute in range(3):
        log_odds += generator.normal(size=3)[X[:, attribute]]
    for first, second in ((0, 1), (2, 3), (4, 5)):
        log_odds += 1.5 * generator.normal(size=(3, 3))[X[:, first], X[:, second]]
    y = generator.random(len(X)) < 1.0 / (1.0 + np.exp(-log_odds))
    trace = AdditiveClassifier(**STRUCTURES[structure], categorical_features="all").fit(X, y).trace_
    return {"refused": trace.tree_rounds == 0, "pairs": trace.pairs}


def section(records: pd.DataFrame) -> list[str]:
    lines = [
        "## Noise",
        "",
        f"Two classes drawn by a coin, {N_SEEDS} seeds; losses of {N_FRESH:,} fresh rows, in nats above log 2. Refused"
        ": no pair, tree or edge between attributes has an effect.",
        "",
        f"| noise | structure | seeds | mean excess (asked {ASKED_EXCESS}) | highest | refused (asked {ASKED_REFUSED}"
        ") |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for shape in NOISE:
        for structure in STRUCTURES:
            found = records[(records["shape"] == shape) & (records["structure"] == structure)]
            if found.empty:
                continue
            excess = found["excess"]
            figures = f"{len(found)} | {excess.mean():.4f} | {excess.max():.4f} | {found['refused'].sum()}"
            lines.append(f"| {shape} | {structure} | {figures} |")
    lines += [
        "",
        "Classes drawn from main effects and pairs alone. Refused: no tree.",
        "",
        f"| data | structure | seeds | refused (asked {ASKED_REFUSED}) | pairs kept, mean |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    for shape in PAIRS:
        for structure in BOOSTED:
            found = records[(records["shape"] == shape) & (records["structure"] == structure)]
            if found.empty:
                continue
            figures = f"{len(found)} | {found['refused'].sum()} | {found['pairs'].mean():.1f}"
            lines.append(f"| {shape} | {structure} | {figures} |")
    return [*lines, ""]


KEYS = ("shape", "structure", "seed")
