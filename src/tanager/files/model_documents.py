"""Parts of a model file as JSON, each with a writer and a reader that checks what it reads.

quality    {"split": "5 folds", "digest": "9f86...", "base_rate": [0.6, 0.4],
            "measures": {"accuracy": [0.98, 0.97, 0.99, 0.6], ...}, "confusion": [[59, 1], [1, 39]],
            "confidence": 0.97, "calibration_error": 0.01,
            "probabilities": [[0.9, 0.1], ...], "class_codes": [0, ...], "folds": [0, ...]}
decision   {"costs": [[0, 1], [10, 0]], "ask": null}
posterior  {"kind": "dirichlet", "rows": [...]} or {"kind": "reference", ...}

A measure has its value, the ends of its interval and the value of the base rate, null where there is none. Of at most
10,000 rows there are P(class | row), the true class and the fold, never an attribute. A decision with "threshold" is
for the class whose place is "positive". A Dirichlet posterior has the parameters of every
table. A reference posterior has the features of the reference model (`tanager.uncertainty.reference`) with the
mean and a factor of the covariance of their weights, whose lines are whole numbers of steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from tanager.additive.model import AnyModel
from tanager.arrays import Array
from tanager.decide import CostDecision, Decision, ThresholdDecision
from tanager.decide.decision import read_costs, read_price
from tanager.metrics import Measures, Predictions, Quality
from tanager.metrics.quality import MAX_ROWS_KEPT, finite
from tanager.network.document import (
    DocumentError,
    Json,
    array,
    arrays,
    integers,
    mapping,
    sequence,
    shorten,
    text,
)
from tanager.table.schema import Category, ColumnSchema
from tanager.uncertainty.dirichlet import DirichletPosterior
from tanager.uncertainty.posterior import AnyPosterior
from tanager.uncertainty.reference import DEPTH, Features, ReferencePosterior, Terms, line_steps, whole_steps

LONGEST_SPLIT = 200
CLOSE = 1e-9
LARGEST = 1e60
"""Numbers of a posterior above it could not be squared and added."""
QUALITY = (
    *("split", "digest", "base_rate", "measures", "confusion", "confidence", "calibration_error"),
    *("probabilities", "class_codes", "folds"),
)
REFERENCE = {"splits": 2, "left": 3, "means": 1, "scales": 1, "mean": 2, "steps": 2, "factor": 3}
"""Arrays of a reference posterior, and their dimensions."""


def write_quality(quality: Quality | None) -> Json:
    """The document, or null for no quality."""
    if quality is None:
        return None
    kept = quality.predictions.sample()
    parts = quality.measures, quality.low, quality.high, quality.base
    return {
        "split": quality.split,
        "digest": quality.digest,
        "base_rate": quality.base_rate.tolist(),
        "measures": {name: [finite(getattr(part, name)) for part in parts] for name in Measures._fields},
        "confusion": quality.confusion.tolist(),
        "confidence": quality.confidence,
        "calibration_error": quality.calibration_error,
        "probabilities": kept.probabilities.tolist(),
        "class_codes": kept.class_codes.tolist(),
        "folds": kept.folds.tolist(),
        "event": quality.event,
    }


def read_quality(document: Json, classes: NDArray[np.generic]) -> Quality | None:
    """The quality that was written; what it holds must fit together."""
    if document is None:
        return None
    content, n_classes = mapping(document, "quality"), len(classes)
    if set(content) - {"event"} != set(QUALITY):
        raise DocumentError(f"quality must hold {', '.join(sorted(QUALITY))}")
    probabilities = _distributions(content["probabilities"], n_classes, "quality.probabilities")
    n_rows = len(probabilities)
    predictions = Predictions(
        probabilities,
        _whole(content["class_codes"], n_rows, n_classes, "quality.class_codes"),
        _whole(content["folds"], n_rows, 1 << 31, "quality.folds"),
    )
    rows = sequence(content["confusion"], "quality.confusion", n_classes)
    quality = Quality(
        classes,
        _distributions([content["base_rate"]], n_classes, "quality.base_rate")[0],
        text(content["split"], "quality.split"),
        *_measures(content["measures"]),
        np.stack([_whole(row, n_classes, 1 << 53, "quality.confusion") for row in rows]),
        _share(content["confidence"], "quality.confidence"),
        _share(content["calibration_error"], "quality.calibration_error"),
        predictions,
        text(content["digest"], "quality.digest"),
        _read_event(content.get("event"), classes),
    )
    if len(quality.split) > LONGEST_SPLIT or not quality.n_rows or n_rows != min(quality.n_rows, MAX_ROWS_KEPT):
        raise DocumentError("quality must hold as many probabilities as confusion has rows, and some")
    return quality


def _read_event(document: Json, classes: NDArray[np.generic]) -> Category | None:
    """The class that is the event; files of earlier versions name none."""
    if document is not None and document not in classes.tolist():
        raise DocumentError(f"quality.event must be null or a class, got {shorten(document)}")
    return cast(Category | None, document)


def _distributions(document: Json, n_classes: int, where: str) -> Array:
    """(rows, classes) probabilities."""
    rows = array(document, 2, where)
    if rows.shape[1] != n_classes or (rows < 0).any() or (np.abs(rows.sum(axis=1) - 1) > 1e-6).any():
        raise DocumentError(f"{where} must hold a share for each of {n_classes} classes, which sum to one")
    return rows


def _whole(document: Json, length: int, below: int, where: str) -> NDArray[np.intp]:
    """`length` whole numbers, each from zero to below a limit."""
    numbers = integers(document, where, length)
    if not all(0 <= each < below for each in numbers):
        raise DocumentError(f"{where} must hold whole numbers from 0 to {below - 1}")
    return np.array(numbers, dtype=np.intp)


def _share(document: Json, where: str) -> float:
    if type(document) not in (int, float) or not 0 <= cast(float, document) <= 1 + CLOSE:
        raise DocumentError(f"{where} must be from 0 to 1, got {shorten(document)}")
    return float(cast(float, document))


def _measures(document: Json) -> tuple[Measures, Measures, Measures, Measures]:
    """Values, lower ends, upper ends, and those of the base rate."""
    content = mapping(document, "quality.measures")
    if set(content) != set(Measures._fields):
        raise DocumentError(f"quality.measures must hold {', '.join(Measures._fields)}")
    columns = []
    for name in Measures._fields:
        cells = sequence(content[name], f"quality.measures.{name}", 4)
        values = array([cell for cell in cells if cell is not None], 1, f"quality.measures.{name}")
        if (name != "auc" and len(values) < len(cells)) or (values < 0).any():
            raise DocumentError(f"quality.measures.{name} must hold four numbers that are not negative")
        columns.append([np.nan if cell is None else float(cast(float, cell)) for cell in cells])
    value, low, high, base = (Measures(*parts) for parts in zip(*columns, strict=True))
    return value, low, high, base


def write_decision(decision: Decision | None, classes: NDArray[np.generic]) -> Json:
    """The decision of a model of these classes, or null."""
    if decision is None:
        return None
    decision.check(classes)
    return cast(dict[str, Json], decision.to_dict())


def read_decision(document: Json, classes: NDArray[np.generic]) -> Decision | None:
    """The decision that `write_decision` wrote for a model of these classes."""
    if document is None:
        return None
    content, known = mapping(document, "decision"), cast(tuple[Category, ...], tuple(classes.tolist()))
    if "threshold" not in content:
        costs = read_costs(array(content.get("costs"), 2, "decision.costs"), known)
        return CostDecision(known, costs, read_price(content.get("ask")))
    positive, (threshold,) = content.get("positive"), array([content["threshold"]], 1, "decision.threshold")
    if type(positive) is not int or not 0 <= positive < len(known) or not 0 <= threshold < 2:
        raise DocumentError("decision must have the place of a class as 'positive', and a probability as 'threshold'")
    return ThresholdDecision(known, known[positive], float(threshold))


def write_posterior(posterior: AnyPosterior | None) -> dict[str, Json]:
    """{"posterior": ...}, or nothing where there is none."""
    if posterior is None:
        return {}
    if isinstance(posterior, DirichletPosterior):
        return {"posterior": {"kind": posterior.kind, "rows": [rows.tolist() for rows in posterior.rows]}}
    features = posterior.features
    document: dict[str, Json] = {
        "kind": posterior.kind,
        "attributes": list(features.terms.attributes),
        "pairs": [list(pair) for pair in features.terms.pairs],
        "splits": features.terms.splits.tolist(),
        "left": features.terms.left.astype(int).tolist(),
        "mains": [rows.tolist() for rows in features.mains],
        "paired": [rows.tolist() for rows in features.paired],
        "means": features.means.tolist(),
        "scales": features.scales.tolist(),
        "mean": posterior.mean.tolist(),
        "steps": line_steps(posterior.factor)[..., 0].tolist(),
        "factor": whole_steps(posterior.factor).astype(int).tolist(),
    }
    return {"posterior": document}


def read_posterior(document: Json, model: AnyModel, attributes: Sequence[ColumnSchema]) -> AnyPosterior | None:
    """The posterior that `write_posterior` wrote for a model, and a table of these attributes."""
    if document is None:
        return None
    content = mapping(document, "posterior")
    if text(content.get("kind"), "posterior.kind", ("dirichlet", "reference")) != "dirichlet":
        return _read_reference(content, model, attributes)
    if model.kind != "tables":
        raise DocumentError("posterior.kind is dirichlet, which is for a network of tables")
    rows = arrays(content.get("rows"), len(model.tables), 2, "posterior.rows")
    for table, parameters in zip(model.tables, rows, strict=True):
        if parameters.shape != table.shape or not (parameters > 0).all():
            raise DocumentError(f"posterior.rows must hold a positive number for each of {table.shape} entries")
    return DirichletPosterior(model, tuple(rows))


def _read_reference(content: dict[str, Json], model: AnyModel, columns: Sequence[ColumnSchema]) -> ReferencePosterior:
    states = np.array([column.coarse.n_states + 1 for column in columns])
    attributes = _attributes(content.get("attributes"), len(columns))
    pairs = [_attributes(pair, len(columns)) for pair in sequence(content.get("pairs"), "posterior.pairs")]
    mains, paired = (
        tuple(arrays(content.get(key), len(attributes), 2, f"posterior.{key}")) for key in ("mains", "paired")
    )
    values = {key: array(content.get(key), depth, f"posterior.{key}") for key, depth in REFERENCE.items()}
    splits, left, steps, factor = (values[key] for key in ("splits", "left", "steps", "factor"))
    if (
        splits.shape != (len(splits), 2**DEPTH - 1)
        or not np.isin(splits, np.arange(len(columns))).all()
        or left.shape[:2] != splits.shape
        or left.shape[2] < states.max()
        or not np.isin(left, (0, 1)).all()
    ):
        raise DocumentError("posterior.left must hold 0 or 1 for every split and every code")
    if any(len(rows) != states[a] for each in (mains, paired) for a, rows in zip(attributes, each, strict=True)):
        raise DocumentError("posterior.mains and posterior.paired must have a line for each state and a missing cell")
    if max(np.abs(each).max(initial=0.0) for each in (*mains, *paired, *values.values())) > LARGEST:
        raise DocumentError(f"posterior holds a number above {LARGEST:g}: squares of it could not be added")
    if any(len(pair) != 2 for pair in pairs) or factor.shape[:2] != steps.shape:
        raise DocumentError("posterior must have pairs of attributes, and a step for each line of its factor")
    scaled = factor * steps[..., np.newaxis]
    if not (steps > 0).all() or not np.array_equal(whole_steps(scaled), factor):
        raise DocumentError("posterior.factor must hold whole numbers of positive steps, a thousand at most in a line")
    terms = Terms(attributes, tuple((pair[0], pair[1]) for pair in pairs), splits.astype(np.int64), left > 0)
    features = Features(terms, mains, paired, values["means"], values["scales"])
    n_classes, size = model.columns[-1].n_states, len(features.kinds)
    shape = (1 if n_classes == 2 else n_classes, size + 1)
    if not (
        values["means"].shape == values["scales"].shape == (size,) and values["mean"].shape == shape == steps.shape
    ):
        raise DocumentError(f"posterior must have {size} features, and weights of them for each class")
    look_ups = tuple(column.coarse_codes.astype(np.int64) for column in columns)
    return ReferencePosterior(look_ups, features, values["mean"], scaled)


def _attributes(document: Json, n_attributes: int) -> tuple[int, ...]:
    numbers = tuple(integers(document, "the attributes of posterior"))
    if not set(numbers) <= set(range(n_attributes)):
        raise DocumentError(f"posterior must speak of attributes 0 to {n_attributes - 1}")
    return numbers
