"""A fit takes the place of the one before at once: nobody sees a part of each."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from tanager import DataError, NaiveBayesClassifier, TANClassifier

# Other numbers of columns, bins and classes: a mixture of the two has an index out of bounds or other values.
NARROW = [[0.0, 1.0], [1.0, 0.0]] * 10
FIRST, SECOND = (NARROW, ["a", "b"] * 10), ([[x, 5 - x] for x in range(6)] * 5, ["c", "d", "e"] * 10)
ROWS = [[0.0, 1.0], [4.0, 0.0]]


@pytest.mark.parametrize(
    "clf", [NaiveBayesClassifier(), TANClassifier(parameters="frequency")], ids=["naive Bayes", "TAN"]
)
def test_a_prediction_during_a_fit_is_that_of_the_old_model_or_of_the_new_one(clf):
    possible = {clf.fit(*data).predict_proba(ROWS).tobytes() for data in (FIRST, SECOND)}
    labels = {tuple(clf.fit(*data).predict(ROWS)) for data in (FIRST, SECOND)}
    done, faults = threading.Event(), []

    def predict() -> None:
        try:
            while not done.is_set():
                assert clf.predict_proba(ROWS).tobytes() in possible
                assert tuple(clf.predict(ROWS)) in labels
        except BaseException as error:
            faults.append(error)

    readers = [threading.Thread(target=predict) for _ in range(3)]
    for reader in readers:
        reader.start()
    for _ in range(20):
        clf.fit(*FIRST)
        clf.fit(*SECOND)
    done.set()
    for reader in readers:
        reader.join()
    assert faults == []


def test_a_batch_that_is_added_takes_effect_at_once():
    """In the middle of `partial_fit` the model is that of the batches before."""
    clf = NaiveBayesClassifier().partial_fit(*FIRST, classes=["a", "b"])
    before, seen = clf.predict_proba(ROWS), []
    learn = NaiveBayesClassifier._learn

    class Watched(NaiveBayesClassifier):
        def _learn(self, table, engine):
            learnt = learn(self, table, engine)
            seen.append(clf.predict_proba(ROWS))
            return learnt

    clf.__class__ = Watched
    clf.partial_fit([[7.0, 1.0]], ["b"])
    np.testing.assert_array_equal(seen, [before])
    assert not np.array_equal(clf.predict_proba(ROWS), before)


@pytest.mark.parametrize("labels", [["a"] * 20, ["a", None] * 10, [0.5, 0.25] * 10])
def test_a_fit_that_fails_leaves_the_model_as_it_was(labels):
    clf = TANClassifier(parameters="frequency").fit(*FIRST)
    before, state = clf.predict_proba(ROWS), dict(vars(clf))
    with pytest.raises(DataError):
        clf.fit(np.zeros((20, 3)), labels)
    assert vars(clf) == state
    np.testing.assert_array_equal(clf.predict_proba(ROWS), before)
