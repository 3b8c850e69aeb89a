"""Studies: parallel, seeded, resumed, and not stopped by a pair that fails; the measures of a fold."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from sklearn.metrics import log_loss
from sklearn.svm import SVC

from experiments.studies.data_sets import DataSet
from experiments.studies.entries import parse_entry
from experiments.studies.measured_fold import measure_fold
from experiments.studies.on_table import OnTable
from experiments.studies.page import write_page
from experiments.studies.protocol import KFold, Protocol
from experiments.studies.results_folder import results_folder
from experiments.studies.study import Study
from tanager import AdditiveClassifier, NaiveBayesClassifier
from tanager.errors import DataError, FileError
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


def test_a_run_out_of_time_gives_whole_pairs_and_the_page_says_what_is_missing(sets, tmp_path):
    folder, page = tmp_path / "out", tmp_path / "page.md"
    whole = study_of(sets[:2], "naive-bayes").run(folder)
    lines = (folder / "results.jsonl").read_text().splitlines(keepends=True)
    (folder / "results.jsonl").write_text("".join(lines[:-1]))  # the second set lacks a fold
    study = study_of(sets[:2], "naive-bayes", "tan")
    results = study.run(folder, seconds=0.0)
    assert without_times(results) == without_times(whole)[:3]
    assert np.isnan(results.column("tan", "error")).all()
    write_page(page, "command", [(study, results, [])])
    assert "Not run yet: tan on 2 sets, naive-bayes on 1 sets." in page.read_text()
    assert len(study.run(folder, seconds=600.0).records) == 12


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


def test_classifiers_are_told_apart_by_options_they_do_not_show(sets, monkeypatch):
    before = study_of(sets[:1], "default").entries[0].text
    monkeypatch.setitem(AdditiveClassifier.__init__.__kwdefaults__, "discretizer", "quantile")
    assert study_of(sets[:1], "default").entries[0].text != before


def test_a_folder_of_other_settings_is_refused(sets, tmp_path):
    study_of(sets[:1], "naive-bayes").run(tmp_path / "out")
    with pytest.raises(FileError, match=r"(?s)other settings.*seed=0.*seed=1.*another folder"):
        study_of(sets[:1], "naive-bayes", protocol=Protocol(KFold(3), seed=1)).run(tmp_path / "out")


def test_damaged_results_are_refused(tmp_path):
    with results_folder(tmp_path, "x") as folder:
        folder.append({"set": "a"})
    (tmp_path / "results.jsonl").write_text('{"set"\n{}\n')
    with pytest.raises(FileError, match="damaged"), results_folder(tmp_path, "x"):
        pass
    (tmp_path / "settings.json").write_text("{}")
    with pytest.raises(FileError, match="does not say"), results_folder(tmp_path, "x"):
        pass
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="cannot keep results"), results_folder(tmp_path / "file" / "f", "x"):
        pass


def test_slow_pairs_are_left_out(sets):
    study = study_of(sets, "naive-bayes")
    limited = [type(entry)(entry.name, entry.estimator, max_rows=28) for entry in study.entries]
    given = Protocol(KFold(4, given=True))  # 30 training rows of `split`, 30 of the others
    assert study_of(sets, "naive-bayes", protocol=given).jobs()
    assert Study("s", "", sets, limited, given).jobs() == []


def test_a_set_of_one_class_is_refused():
    class One(DataSet):
        def read(self):
            return pa.table({"x": ["u", "v"]}), np.array(["a", "a"])

    with pytest.raises(DataError, match="holds 1 class"):
        Protocol().prepare(One("one"))


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


def test_the_training_cll_is_the_log_likelihood_of_the_training_classes():
    fold = measure_fold(NaiveBayesClassifier(), X, Y, np.arange(6), np.arange(6), CLASSES)
    assert fold.measures.train_cll == pytest.approx(-6 * fold.measures.log_loss)


def test_a_classifier_without_probabilities_has_an_accuracy_only():
    fold = measure_fold(OnTable(SVC()), X, Y, np.arange(4), np.array([4, 5]), CLASSES)
    assert fold.probabilities is None
    assert fold.measures.accuracy == 0.5
    assert np.isnan([fold.measures.log_loss, fold.measures.brier, fold.measures.auc, fold.measures.train_cll]).all()
