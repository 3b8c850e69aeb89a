"""Studies: parallel, seeded, resumed, and not stopped by a pair that fails; the measures of a fold."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from sklearn.metrics import log_loss

from experiments.studies.data_sets import DataSet
from experiments.studies.entries import parse_entry
from experiments.studies.measured_fold import measure_fold
from experiments.studies.protocol import KFold, Protocol
from experiments.studies.study import Study
from tanager import NaiveBayesClassifier
from tanager.evaluate.cross_validate import add_unseen_classes

TIMES = ("fit_seconds", "predict_seconds")
FREQUENCIES = {"naive-bayes": "naive-bayes=naive-bayes:frequency", "tan": "tan=tan:ll:frequency"}


def study_of(sets, *specs, protocol=None):
    """By frequencies unless a spec says otherwise: what the defaults are does not matter here."""
    entries = [parse_entry(FREQUENCIES.get(spec, spec)) for spec in specs]
    return Study("s", "A study", sets, entries, protocol or Protocol(KFold(3)))


def without_times(results):
    return [{key: value for key, value in record.items() if key not in TIMES} for record in results.records]


def test_a_study_measures_each_pair_on_the_same_folds(sets, tmp_path):
    results = study_of(sets, "naive-bayes=naive-bayes:frequency", "tan").run(tmp_path / "out")
    assert results.matrix("error").shape == (3, 2)
    X, y = sets[0].read()
    losses = []
    for train, test in KFold(3).folds(sets[0], y, 0):
        clf = NaiveBayesClassifier().fit(X.take(train), y[train])
        losses.append(log_loss(y[test], clf.predict_proba(X.take(test))))
    assert results.matrix("log_loss")[0, 0] == pytest.approx(np.mean(losses))
    np.testing.assert_allclose(results.matrix("error"), 1 - results.matrix("accuracy"))
    assert results.test_rows().tolist() == [40, 40, 40]
    curve = results.calibration("naive-bayes")
    assert sum(curve.count) == 120
    right = np.dot(curve.count, curve.observed)
    assert right == pytest.approx(40 * results.column("naive-bayes", "accuracy").sum(), abs=1.5)


def test_a_run_cut_short_goes_on_where_it_stopped(sets, tmp_path):
    study, folder = study_of(sets, "naive-bayes", "tan"), tmp_path / "out"

    def stop(record, done, total):
        if done == 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        study.run(folder, progress=stop)
    lines = (folder / "results.jsonl").read_text().splitlines()
    assert len(lines) == 7
    with (folder / "results.jsonl").open("a") as file:
        file.write('{"set": "spl')  # killed in the middle of a line
    seen = []
    results = study.run(folder, progress=lambda record, done, total: seen.append((done, total)))
    assert seen == [(done, 18) for done in range(8, 19)]
    assert (folder / "results.jsonl").read_text().splitlines()[:7] == lines
    assert without_times(results) == without_times(study.run(tmp_path / "other"))
    assert study.run(folder, progress=lambda *_: pytest.fail("nothing is left to do")).records == results.records


def test_a_failing_pair_is_recorded_tried_again_and_does_not_stop_the_rest(sets, tmp_path):
    # TAN with fewer than two classes in training cannot be fitted: one class has a single row.
    class OneOdd(DataSet):
        def read(self):
            return pa.table({"x": ["u", "v"] * 5}), np.array(["a"] * 9 + ["b"])

    study = study_of([OneOdd("odd", 10), sets[0]], "tan", protocol=Protocol(KFold(3)))
    results = study.run(tmp_path / "out")
    assert [record["set"] for record in results.failures] == ["odd"]
    assert "one class" in results.failures[0]["failure"]
    assert np.isnan(results.matrix("error")[0, 0])
    assert results.matrix("error")[1, 0] < 0.5
    tried = []
    study.run(tmp_path / "out", progress=lambda record, done, total: tried.append(record["set"]))
    assert tried == ["odd"]


def test_results_of_a_classifier_that_has_changed_are_not_taken_for_it(sets, tmp_path):
    study_of(sets[:1], "c=naive-bayes:frequency").run(tmp_path / "out")
    changed = study_of(sets[:1], "c=naive-bayes:frequency(alpha=9)")
    new = changed.run(tmp_path / "out")
    np.testing.assert_array_equal(new.matrix("log_loss"), changed.run(tmp_path / "alone").matrix("log_loss"))


X = pa.table({"x": ["u", "v", "u", "v", "u", "v"], "n": [0.0, 1.0, 0.2, 0.9, 0.1, 1.2]})
Y = np.array(["a", "b", "a", "b", "a", "c"])
CLASSES = np.unique(Y)


def test_an_unseen_class_gets_the_share_of_one_pseudo_row_and_rows_still_add_up():
    p = np.array([[0.25, 0.75], [1.0, 0.0]])
    spread_out = add_unseen_classes(p, np.array(["a", "c"]), np.array(["a", "b", "c"]), 7)
    np.testing.assert_allclose(spread_out[:, 1], 0.1)
    np.testing.assert_allclose(spread_out.sum(axis=1), 1)
    np.testing.assert_allclose(spread_out[0, 0] / spread_out[0, 2], 1 / 3)


def test_a_fold_without_a_class_is_measured():
    fold = measure_fold(NaiveBayesClassifier(), X, Y, np.arange(4), np.array([4, 5]), CLASSES)
    assert fold.probabilities is not None
    assert fold.probabilities.shape == (2, 3)
    assert fold.probabilities[:, 2] == pytest.approx(1 / 7)
    assert fold.measures.log_loss == pytest.approx(log_loss(Y[4:], fold.probabilities, labels=CLASSES))
