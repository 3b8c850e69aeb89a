"""The quality of a model <-> JSON.

    {"split": "5 folds", "digest": "9f86...", "base_rate": [0.6, 0.4],
     "measures": {"accuracy": [0.98, 0.97, 0.99, 0.6], ...}, "confusion": [[59, 1], [1, 39]],
     "confidence": 0.97, "calibration_error": 0.01,
     "probabilities": [[0.9, 0.1], ...], "class_codes": [0, ...], "folds": [0, ...]}

A measure has its value, the ends of its interval and the value of the base rate, null where there is none. Of at most
10,000 rows there are P(class | row), the true class and the fold: never an attribute.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

from tanager.metrics import Measures, Predictions, Quality, confusion_matrix, measure, measure_calibration
from tanager.metrics.quality import MAX_ROWS_KEPT, finite
from tanager.network.document import DocumentError, Json, array, mapping, numbers, sequence, shorten, text

LONGEST_SPLIT = 200
CLOSE = 1e-9
KEYS = {
    "split",
    "digest",
    "base_rate",
    "measures",
    "confusion",
    "confidence",
    "calibration_error",
    "probabilities",
    "class_codes",
    "folds",
}


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
    }


def read_quality(document: Json, classes: NDArray[np.generic]) -> Quality | None:
    """The quality that was written; what it holds must fit together."""
    if document is None:
        return None
    found = mapping(document, "quality")
    if set(found) != KEYS:
        raise DocumentError(f"quality must hold {', '.join(sorted(KEYS))}")
    predictions = _predictions(found, len(classes))
    confusion = _counts(found["confusion"], len(classes))
    measures, low, high, base = _measures(found["measures"])
    quality = Quality(
        classes,
        _shares(found["base_rate"], len(classes)),
        text(found["split"], "quality.split"),
        measures,
        low,
        high,
        base,
        confusion,
        _share(found["confidence"], "quality.confidence"),
        _share(found["calibration_error"], "quality.calibration_error"),
        predictions,
        text(found["digest"], "quality.digest"),
    )
    _check(quality)
    return quality


def _predictions(found: dict[str, Json], n_classes: int) -> Predictions:
    probabilities = array(found["probabilities"], 2, "quality.probabilities")
    n_rows = len(probabilities)
    if n_rows > MAX_ROWS_KEPT or probabilities.shape[1] != n_classes:
        raise DocumentError(f"quality.probabilities has shape {probabilities.shape}, expected {n_classes} of each row")
    if (probabilities < 0).any() or (np.abs(probabilities.sum(axis=1) - 1) > 1e-6).any():
        raise DocumentError("quality.probabilities must hold rows that sum to one")
    class_codes = _whole(found["class_codes"], n_rows, n_classes, "quality.class_codes")
    return Predictions(probabilities, class_codes, _whole(found["folds"], n_rows, 1 << 31, "quality.folds"))


def _whole(document: Json, length: int, below: int, where: str) -> NDArray[np.intp]:
    """So many whole numbers from zero to below a limit."""
    found = sequence(document, where, length)
    if not all(type(each) is int and 0 <= each < below for each in found):
        raise DocumentError(f"{where} must hold whole numbers from 0 to {below - 1}")
    return np.array(found, dtype=np.intp)


def _counts(document: Json, n_classes: int) -> NDArray[np.intp]:
    rows = sequence(document, "quality.confusion", n_classes)
    return np.stack([_whole(row, n_classes, 1 << 53, "quality.confusion") for row in rows])


def _shares(document: Json, n_classes: int) -> NDArray[np.float64]:
    rates = np.array(numbers(document, "quality.base_rate"), dtype=np.float64)
    if len(rates) != n_classes or (rates < 0).any() or abs(rates.sum() - 1) > 1e-6:
        raise DocumentError("quality.base_rate must hold a share for each class, which sum to one")
    return rates


def _share(document: Json, where: str) -> float:
    if type(document) not in (int, float) or not 0 <= cast(float, document) <= 1 + CLOSE:
        raise DocumentError(f"{where} must be from 0 to 1, got {shorten(document)}")
    return float(cast(float, document))


def _measures(document: Json) -> list[Measures]:
    """Values, lower ends, upper ends, and those of the base rate."""
    found = mapping(document, "quality.measures")
    if set(found) != set(Measures._fields):
        raise DocumentError(f"quality.measures must hold {', '.join(Measures._fields)}")
    columns = []
    for name in Measures._fields:
        cells = sequence(found[name], f"quality.measures.{name}", 4)
        values = numbers([cell for cell in cells if cell is not None], f"quality.measures.{name}")
        if (name != "auc" and len(values) < len(cells)) or any(value < 0 for value in values):
            raise DocumentError(f"quality.measures.{name} must hold four numbers that are not negative")
        columns.append([np.nan if cell is None else float(cast(float, cell)) for cell in cells])
    return [Measures(*parts) for parts in zip(*columns, strict=True)]


def _check(quality: Quality) -> None:
    """Values that follow from others are as they do; all of them do where all predictions are kept."""
    kept, n_rows = quality.predictions, quality.n_rows
    right = float(np.diag(quality.confusion).sum())
    if len(quality.split) > LONGEST_SPLIT or not n_rows or len(kept.class_codes) != min(n_rows, MAX_ROWS_KEPT):
        raise DocumentError("quality must hold as many probabilities as confusion has rows, and some")
    same = abs(quality.measures.accuracy - right / n_rows) < CLOSE
    if n_rows <= MAX_ROWS_KEPT:
        base = np.broadcast_to(quality.base_rate, kept.probabilities.shape)
        calibrated = measure_calibration(kept.probabilities, kept.class_codes, quality.classes)
        pairs = (
            (quality.measures, measure(kept.probabilities, kept.class_codes)),
            (quality.base, measure(base, kept.class_codes)),
            (quality.confusion, confusion_matrix(kept.probabilities, kept.class_codes)),
            (quality.confidence, kept.probabilities.max(axis=1).mean()),
            (quality.calibration_error, calibrated.expected_error),
        )
        same &= all(np.allclose(one, other, rtol=CLOSE, atol=CLOSE, equal_nan=True) for one, other in pairs)
    if not same:
        raise DocumentError("quality holds measures that are not those of its probabilities")
