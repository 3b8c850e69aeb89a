"""How good the model is on rows whose class is known, at every threshold too, and where it fails."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import entropy, norm, rankdata
from sklearn.metrics import precision_recall_curve, roc_curve

from tanager.arrays import Array, Codes, Places
from tanager.classifiers.base import TableClassifier
from tanager.decide import Decision, measure_decision
from tanager.errors import DataError, DataWarning
from tanager.evaluate.cross_validate import cross_validate_model, quality_of_training_table
from tanager.explain.explanation import log_base_rates
from tanager.metrics import (
    Measures,
    Predictions,
    Quality,
    ReliabilityCurve,
    Share,
    areas_under_roc,
    log_true,
    measure_calibration,
    one_hot,
)
from tanager.metrics.basic import confusion_matrix
from tanager.metrics.quality import event_line, measure_rows, sampled_rows
from tanager.report.data_section import PageRows
from tanager.report.json_page import Json, number
from tanager.runtime.progress import working
from tanager.table.schema import ColumnSchema

MAX_CURVES, MAX_POINTS = 60, 6_000
GRID = (0.001, 0.002, 0.005, *(k / 100 for k in range(1, 100)), 0.995, 0.998, 0.999)
"""Thresholds that the reader can choose from, besides that of a decision."""
HARDLY_DECIDED = 1e-9
"""How far the probability of a row that stands for others is from a half."""
FEWEST_IN_GROUP = 30
LEVEL = 0.05
"""The probability that, of a model whose losses are the same everywhere, any group at all is listed."""
MAX_MISTAKES = 300
MAX_GROUPS = 10


@dataclass(frozen=True)
class JudgedRows:
    """A quality, and of each of its predictions the number of the row given; None where the two cannot be matched."""

    quality: Quality
    rows: Places | None

    @property
    def probabilities(self) -> Array:
        return self.quality.predictions.probabilities

    @property
    def class_codes(self) -> Places:
        return self.quality.predictions.class_codes.astype(np.intp)


def judge_rows(clf: TableClassifier, X: object, rows: PageRows | None, quality: Quality | None) -> JudgedRows | None:
    """The quality of a model on rows that have a class, or, without rows, the one that is known; None if there is none.

    Rows that the model was learnt from are judged by cross-validation: the quality that the model keeps or, where it
    keeps none, one computed here. Other rows are judged by the model's own predictions.
    """
    if rows is None:
        return None if quality is None else JudgedRows(quality, None)
    class_codes = rows.class_codes
    if class_codes is None:
        return None
    y = clf.classes_[class_codes]
    held_out = quality_of_training_table(clf, X, y, quality)
    if held_out is None and quality is None and is_training_table(clf, rows.codes, class_codes):
        with working("Cross-validating") as update:
            try:
                held_out = cross_validate_model(clf, X, y, update=update)
            except DataError as error:
                warnings.warn(f"the page judges no predictions: {error}", DataWarning, stacklevel=5)
                return None
    if held_out is not None:
        return JudgedRows(held_out, match_rows(held_out, class_codes))
    predictions = Predictions(rows.proba, class_codes, np.zeros(len(class_codes), dtype=np.intp))
    base_rate = np.exp(log_base_rates(clf))
    return JudgedRows(Quality.of(predictions, clf.classes_, base_rate, split=""), np.arange(len(class_codes)))


def no_better(quality: Quality) -> str:
    """That a model gives no better probabilities than the class frequencies, in a sentence; "" if it does."""
    if quality.measures.log_loss < quality.base.log_loss:
        return ""
    usual = quality.classes[int(np.argmax(quality.base_rate))]
    where = "On new rows" if quality.split else "On the rows given"
    return f"{where} this model is no better than always predicting {str(usual)!r}. Do not use it."


def wrong_rows(rows: PageRows, judged: JudgedRows | None) -> Places | None:
    """The rows whose class is predicted wrongly: by models that had not seen them, where they were judged so."""
    if rows.class_codes is None:
        return None
    if judged is None or judged.rows is None:
        return np.flatnonzero(rows.proba.argmax(axis=1) != rows.class_codes)
    return judged.rows[judged.probabilities.argmax(axis=1) != judged.class_codes]


def match_rows(quality: Quality, class_codes: Places) -> Places | None:
    """The row of each prediction, where every row was judged once: all of them, or those that a model file keeps."""
    predictions = quality.predictions
    if quality.n_rows != len(class_codes):
        return None
    rows = sampled_rows(quality.n_rows, len(predictions.class_codes))
    return rows if np.array_equal(class_codes[rows], predictions.class_codes) else None


def is_training_table(clf: TableClassifier, codes: Codes, class_codes: Places) -> bool:
    """Whether rows are those that an additive model was learnt from, by the shares of all states, which it stores.

    A network of tables does not store them: no rows are taken for its training rows.
    """
    network = clf.model_
    counts = np.bincount(class_codes, minlength=len(clf.classes_))
    if network.kind != "effects" or not np.array_equal(counts, clf.class_count_):
        return False
    for attribute, density in enumerate(network.densities):
        states = np.bincount(codes[:, attribute], minlength=len(density) + 1)[: len(density)]
        if not np.allclose(states / max(1, states.sum()), density, rtol=0.0, atol=1e-9):
            return False
    return True


def describe_quality(quality: Quality, decision: Decision | None = None) -> dict[str, Json]:
    """The measures, with areas, curves and thresholds of one class against the rest.

    The areas of classes and the curves are of the predictions at hand, which may be a part of those measured.
    """
    proba, class_codes = quality.predictions.probabilities, quality.predictions.class_codes
    n_classes = len(quality.classes)
    truth = one_hot(class_codes, n_classes)
    counted = CountedRows.of(quality)
    weights = None if (counted.weights == 1.0).all() else counted.weights[: len(class_codes)]
    calibrated = measure_calibration(proba, class_codes, quality.classes)
    areas = areas_under_roc(proba, class_codes)
    return {
        "split": quality.split,
        "n_rows": quality.n_rows,
        "measures": [list[Json](row) for row in measure_rows(quality)],
        **{name: number(value) for name, value in quality.measures._asdict().items()},
        "intervals": {
            name: [number(low, 4), number(high, 4)]
            for name, low, high in zip(Measures._fields, quality.low, quality.high, strict=True)
        },
        "base_rate": {name: number(value) for name, value in quality.base._asdict().items()},
        "calibration_error": number(quality.calibration_error),
        "confusion": quality.confusion.tolist() if n_classes <= MAX_CURVES else None,
        "n_kept": len(class_codes),
        "classes": [
            {"support": int(quality.confusion[k].sum()), **shares, "auc": number(areas[k], 6)}
            for k, shares in enumerate(quality.by_class())
        ],
        "curves": [
            _curves(truth[:, k], proba[:, k], n_classes, calibrated.by_class[k], weights)
            for k in range(min(n_classes, MAX_CURVES))
        ],
        "thresholds": [describe_thresholds(quality, counted, k, decision) for k in range(min(n_classes, MAX_CURVES))],
    }


def describe_event(quality: Quality, decided: dict[str, Json] | None) -> dict[str, Json]:
    """The event, and in words how many of its cases are found; of many classes without one those missed most often."""
    if decided is not None:
        quality = replace(quality, confusion=np.array(decided["confusion"]))
    return {"code": quality.event_code, "words": event_line(quality)}


def _curves(
    truth: NDArray[np.bool_], proba: Array, n_classes: int, reliability: ReliabilityCurve, weights: Array | None
) -> dict[str, Json] | None:
    """ROC, precision and recall, and calibration of one class; None where the rows are all of it or none is."""
    if truth.all() or not truth.any():
        return None
    n_points = max(20, min(200, MAX_POINTS // n_classes))
    false_rate, true_rate, _ = roc_curve(truth, proba, sample_weight=weights)
    precision, recall, _ = precision_recall_curve(truth, proba, sample_weight=weights, drop_intermediate=True)
    return {
        "roc": _points(false_rate, true_rate, n_points),
        "pr": _points(recall[::-1], precision[::-1], n_points),
        "share": number(np.average(truth, weights=weights), 4),
        "calibration": [
            [number(predicted, 5), number(observed, 5), count, *Share(round(observed * count), count).interval]
            for predicted, observed, count in zip(
                reliability.mean_predicted, reliability.observed, reliability.count, strict=True
            )
        ],
    }


def _points(x: Array, y: Array, most: int) -> list[Json]:
    chosen = np.unique(np.linspace(0, len(x) - 1, min(len(x), most)).round().astype(int))
    return [[number(value, 4) for value in values[chosen].tolist()] for values in (x, y)]


@dataclass(frozen=True)
class CountedRows:
    """Predictions that stand for all rows judged, of which a model file keeps a part.

    Of each true class the weights of those predicted to be of each class add up to the confusion of all rows. A cell of
    it from which no row was kept has one that is hardly decided.
    """

    probabilities: Array
    class_codes: Places
    weights: Array

    @classmethod
    def of(cls, quality: Quality) -> CountedRows:
        """The predictions of a quality, weighted."""
        proba, truth = quality.predictions.probabilities, quality.predictions.class_codes.astype(np.intp)
        kept = confusion_matrix(proba, truth)
        said = proba.argmax(axis=1)
        cells = np.argwhere((kept == 0) & (quality.confusion > 0))
        hardly = np.zeros((len(cells), proba.shape[1]))
        for sign, codes in zip((-1, 1), cells.T, strict=True):
            hardly[np.arange(len(cells)), codes] += 0.5 + sign * HARDLY_DECIDED
        weights = np.concatenate(
            [(quality.confusion / np.maximum(kept, 1))[truth, said], quality.confusion[tuple(cells.T)]]
        )
        return cls(np.concatenate([proba, hardly]), np.concatenate([truth, cells[:, 0]]), weights)


def describe_thresholds(
    quality: Quality, counted: CountedRows, class_code: int, decision: Decision | None
) -> dict[str, Json]:
    """Of each threshold t the rows with P(class) >= t: of the class ("found"), and others ("alarms")."""
    p, truth = counted.probabilities[:, class_code], counted.class_codes == class_code
    chosen = decided_threshold(decision, class_code)
    thresholds = np.array(GRID if chosen is None else sorted({*GRID, chosen}))
    counts = [counts_above(p[rows], counted.weights[rows], thresholds) for rows in (truth, ~truth)]
    if decision is None and len(quality.classes) == 2:
        # The more probable class: of two that are equally probable the first, which is the second's threshold too.
        for each, true_class in zip(counts, (class_code, 1 - class_code), strict=True):
            each[thresholds == 0.5] = quality.confusion[true_class, class_code]
    of_class = int(quality.confusion[class_code].sum())
    return {
        "thresholds": thresholds.tolist(),
        "found": counts[0].tolist(),
        "alarms": counts[1].tolist(),
        "of_class": of_class,
        "others": quality.n_rows - of_class,
        "decided": chosen,
    }


def counts_above(probabilities: Array, weights: Array, thresholds: Array) -> NDArray[np.intp]:
    """(n_thresholds,) how many are at least as large, each counted as often as its weight says."""
    order = np.argsort(probabilities, kind="stable")
    sums = np.concatenate([[0.0], np.cumsum(weights[order])])
    above = sums[-1] - sums[np.searchsorted(probabilities[order], thresholds, side="left")]
    return np.asarray(np.round(above).astype(np.intp))


def decided_threshold(decision: Decision | None, class_code: int) -> float | None:
    """The probability of a class from which on a decision is for it; None where it depends on several probabilities.

    With costs of two classes that is where both decisions are expected to cost the same.
    """
    if decision is None or decision.price is not None or decision.positive_code != class_code:
        return None
    threshold = decision.to_dict().get("threshold")
    if isinstance(threshold, float):
        return threshold
    costs = np.array(decision.cost_table)
    other = 1 - class_code
    alarm = costs[other, class_code] - costs[other, other]
    missed = costs[class_code, other] - costs[class_code, class_code]
    return float(alarm / (alarm + missed)) if alarm + missed > 0 else None


def describe_decision(decision: Decision | None, quality: Quality) -> dict[str, Json] | None:
    """The decision in words, and what it costs per row beside simpler rules."""
    if decision is None:
        return None
    counted = CountedRows.of(quality)
    proba, class_codes, weights = counted.probabilities, counted.class_codes, counted.weights
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `fit` has said that nobody reaches the threshold
        measured = measure_decision(decision, proba, class_codes, weights / weights.mean())
    n_classes = len(decision.classes)
    cells = class_codes * (n_classes + 1) + decision.choose(proba)
    counts = np.bincount(cells, weights, n_classes * (n_classes + 1)).round().astype(int).reshape(n_classes, -1)
    return {
        "words": str(decision),
        "positive": decision.positive_code,
        "asks": decision.price is not None,
        "asked": measured.asked,
        "n_rows": measured.n_rows,
        "costs": [list(row) for row in decision.cost_table],
        "rules": [asdict(rule) for rule in measured.rules],
        "confusion": [list(row) for row in counts.tolist()],
    }


def describe_failures(clf: TableClassifier, rows: PageRows | None, judged: JudgedRows | None) -> dict[str, Json]:
    """Examples, mistakes and groups, where it is known which row each prediction is of.

    Mistakes are rows of the page that are predicted wrongly, the most confident error first. Examples are the most
    confident correct row, the least confident one, and the most confident error. See `describe_row`.
    """
    if rows is None or judged is None or judged.rows is None:
        return {"examples": None, "mistakes": None, "groups": None}
    here = np.flatnonzero(np.isin(judged.rows, rows.on_page))
    said, confidence = judged.probabilities.argmax(axis=1)[here], judged.probabilities.max(axis=1)[here]
    ranked, is_right = np.argsort(-confidence, kind="stable"), said == judged.class_codes[here]
    wrong = here[ranked[~is_right[ranked]]]
    picks = {"right": here[ranked[is_right[ranked]]][:1], "uncertain": here[ranked[-1:]], "wrong": wrong[:1]}
    return {
        "examples": [[kind, *describe_row(judged, rows, k)] for kind, chosen in picks.items() for k in chosen],
        "mistakes": [describe_row(judged, rows, k) for k in wrong[:MAX_MISTAKES]],
        "groups": describe_groups(clf.model_.columns[: clf.n_features_in_], rows.codes, judged),
    }


def describe_row(judged: JudgedRows, rows: PageRows, k: int) -> list[Json]:
    """The number of a row, its true and predicted class, P of both, and what the model of the page predicts, and P."""
    assert judged.rows is not None
    row, truth, proba = judged.rows[k], int(judged.class_codes[k]), judged.probabilities[k]
    said, of_page = int(proba.argmax()), rows.proba[row]
    figures = number(proba[truth]), number(proba[said])
    return [int(rows.numbers[row]), truth, said, *figures, int(of_page.argmax()), float(of_page.max())]


def describe_groups(columns: tuple[ColumnSchema, ...], codes: Codes, judged: JudgedRows) -> dict[str, Json]:
    """Groups whose loss is higher than that of the other rows by more than chance, the most certain first, at most ten.

    Every coarse state of every attribute with at least FEWEST_IN_GROUP rows, and as many others, is a group; missing
    values are one more state. The test is Wilcoxon's rank sum, its p value multiplied by the number of groups. A group
    whose classes are more balanced has a higher loss at the same skill; it is listed only if its mean loss, as a share
    of that of its own base rate, is higher too.
    """
    assert judged.rows is not None
    losses, truth = -log_true(judged.probabilities, judged.class_codes), judged.class_codes  # in nats
    right, ranks, n_rows = judged.probabilities.argmax(axis=1) == truth, rankdata(losses), len(losses)
    tested = 0
    found: list[dict[str, Any]] = []
    for attribute, column in enumerate(columns):
        coarse = column.coarse_codes[codes[judged.rows, attribute].astype(np.intp)]
        for state, name in enumerate([*map(str, column.coarse.states), "missing"]):
            inside = coarse == state
            size = int(inside.sum())
            if not FEWEST_IN_GROUP <= size <= n_rows - FEWEST_IN_GROUP:
                continue
            tested += 1
            deviation = ranks.std() * np.sqrt((n_rows - size) / (size * (n_rows - 1.0)))
            p = float(norm.sf((ranks[inside].mean() - ranks.mean()) / max(deviation, 1e-9)))
            (share, base), (rest_share, rest_base) = (base_rate_of(truth[rows]) for rows in (inside, ~inside))
            loss, rest_loss = float(losses[inside].mean()), float(losses[~inside].mean())
            if p <= LEVEL and loss > rest_loss and loss * rest_base > rest_loss * base:
                found.append(
                    {
                        "attribute": column.name,
                        "state": name,
                        "rows": size,
                        "loss": loss,
                        "base_loss": base,
                        "accuracy": float(right[inside].mean()),
                        "base_accuracy": share,
                        "rest_accuracy": float(right[~inside].mean()),
                        "rest_base_accuracy": rest_share,
                        "p": p,
                    }
                )
    listed = sorted(
        (each for each in found if each["p"] * tested <= LEVEL), key=lambda each: (each["p"], -each["loss"])
    )
    return {
        "tested": tested,
        "fewest": FEWEST_IN_GROUP,
        "level": LEVEL,
        "more": max(0, len(listed) - MAX_GROUPS),
        "found": [{**each, "p": each["p"] * tested} for each in listed[:MAX_GROUPS]],
    }


def base_rate_of(class_codes: Places) -> tuple[float, float]:
    """The share of the most frequent class, and the log-loss of the shares of all classes (their entropy)."""
    shares = np.bincount(class_codes) / len(class_codes)
    return float(shares.max()), float(entropy(shares))
