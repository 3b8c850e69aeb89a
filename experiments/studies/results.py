"""Results: the records of a study as tables of sets by classifiers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from experiments.studies.jobs import BIN_EDGES, Record
from tanager.metrics import ReliabilityCurve

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Unit:
    """How a measure is shown: heading, factor, digits; and whether less of it is better."""

    heading: str
    factor: float = 1.0
    digits: int = 3
    less_is_better: bool = True

    def show(self, value: float) -> str:
        return "" if np.isnan(value) else f"{self.factor * value:.{self.digits}f}"


UNITS = {
    "error": Unit("error in %", 100.0, 2),
    "accuracy": Unit("accuracy in %", 100.0, 2, less_is_better=False),
    "log_loss": Unit("log-loss in nats"),
    "brier": Unit("Brier score"),
    "auc": Unit("area under the ROC curve", less_is_better=False),
    "train_cll": Unit("conditional log likelihood of the training rows, nats", digits=1, less_is_better=False),
    "fit_seconds": Unit("processor seconds to fit"),
    "predict_seconds": Unit("processor seconds to predict"),
}
"""Every measure by the name it is asked for; a study with a measure of its own adds it."""


@dataclass(frozen=True)
class Results:
    """Records in the order of the study; sets and classifiers in that of its tables."""

    sets: Sequence[str]
    classifiers: Sequence[str]
    records: Sequence[Record]

    @cached_property
    def _by_pair(self) -> dict[tuple[str, str], list[Record]]:
        pairs: dict[tuple[str, str], list[Record]] = defaultdict(list)
        for record in self.records:
            pairs[record["set"], record["classifier"]].append(record)
        return pairs

    @property
    def failures(self) -> list[Record]:
        return [record for record in self.records if "failure" in record]

    def matrix(self, measure: str) -> Matrix:
        """(n_sets, n_classifiers) mean over the folds; NaN where a fold failed or the measure was not taken."""
        result = np.full((len(self.sets), len(self.classifiers)), np.nan)
        for (name, classifier), records in self._by_pair.items():
            values = [_value(record, measure) for record in records]
            result[self.sets.index(name), self.classifiers.index(classifier)] = np.mean(values)
        return result

    def by_fold(self, measure: str) -> Matrix:
        """(n_folds, n_classifiers) of a single set; NaN where a fold failed or the measure was not taken."""
        folds = [[_value(record, measure) for record in self._by_pair[self.sets[0], name]] for name in self.classifiers]
        n_folds = max(map(len, folds))
        return np.array([fold + [np.nan] * (n_folds - len(fold)) for fold in folds]).T

    def column(self, classifier: str, measure: str) -> Matrix:
        """(n_sets,) one classifier's values; all NaN if it was not run."""
        if classifier not in self.classifiers:
            return np.full(len(self.sets), np.nan)
        return self.matrix(measure)[:, self.classifiers.index(classifier)]

    def margins(self, classifier: str, measure: str) -> Matrix:
        """(n_sets,) half the width of the 95 % interval of the mean over the folds (Student's t); NaN below two."""
        result = np.full(len(self.sets), np.nan)
        for place, name in enumerate(self.sets):
            values = [_value(record, measure) for record in self._by_pair.get((name, classifier), [])]
            if len(values) > 1:
                result[place] = stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values))
        return result

    def with_share_of_sets(self, share: float, measure: str) -> Results:
        """Without the classifiers that have the measure on a smaller share of the sets."""
        known = np.mean(~np.isnan(self.matrix(measure)), axis=0) >= share
        kept = [name for name, is_known in zip(self.classifiers, known, strict=True) if is_known]
        return Results(self.sets, kept, [record for record in self.records if record["classifier"] in kept])

    def to_dict(self) -> dict[str, dict[str, dict[str, float]]]:
        """measure -> classifier -> set -> mean over the folds, where there is one."""
        result = {}
        for measure in UNITS:
            values = self.matrix(measure)
            result[measure] = {
                classifier: {name: float(v) for name, v in zip(self.sets, column, strict=True) if not np.isnan(v)}
                for classifier, column in zip(self.classifiers, values.T, strict=True)
            }
        return {measure: by_classifier for measure, by_classifier in result.items() if any(by_classifier.values())}

    def test_rows(self) -> Matrix:
        """(n_sets,) rows tested in all the folds of a set."""
        result = np.zeros(len(self.sets))
        for (name, _), records in self._by_pair.items():
            rows = [record["test_rows"] for record in records if "failure" not in record]
            result[self.sets.index(name)] = max(result[self.sets.index(name)], sum(rows))
        return result

    def seconds(self) -> dict[str, float]:
        """classifier -> time of all its fits and predictions, the slowest first; those that failed are not counted."""
        total = dict.fromkeys(self.classifiers, 0.0)
        for record in self.records:
            total[record["classifier"]] += record.get("fit_seconds", 0.0) + record.get("predict_seconds", 0.0)
        return dict(sorted(total.items(), key=lambda each: -each[1]))

    def calibration(self, classifier: str) -> ReliabilityCurve:
        """How often the predicted class is right, by its probability, over all sets and folds."""
        bins = [
            record["calibration"]
            for record in self.records
            if record["classifier"] == classifier and "calibration" in record
        ]
        return ReliabilityCurve.of_sums(np.sum(bins, axis=0) if bins else np.zeros((0, 3)), BIN_EDGES)


def _value(record: Record, measure: str) -> float:
    if measure == "error":
        return 1.0 - _value(record, "accuracy")
    value: float = record.get(measure, np.nan)
    return value
