"""Memory and time that a fit takes, and predictions of other threads meanwhile."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tanager import (
    AdditiveClassifier,
    BayesianNetworkClassifier,
    DataError,
    MemoryLimitError,
    NaiveBayesClassifier,
    OptionError,
    TANClassifier,
)
from tanager.structure import AnDE

N_ROWS = 150
NAMES_OF_ROWS = pa.table({"a": [f"a{k}" for k in range(N_ROWS)], "b": [f"b{k}" for k in range(N_ROWS)]})
CLASSES = np.arange(N_ROWS) % 2


def peak_of(fit) -> int:
    tracemalloc.start()
    try:
        fit()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def assert_takes_no_more_than_refused_for(clf, X, y):
    """The bytes in the refusal of a fit that is allowed none bound what the fit takes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tanager.classifiers.coded_table.available_memory", lambda: 0)
        with pytest.raises(MemoryLimitError) as refusal:
            clf.fit(X, y)
    most = float(re.search(r"about (\S+) GiB", str(refusal.value))[1]) * 2**30
    clf.fit(X, y)  # imports and compiled code are no part of it
    assert most / 20 < peak_of(lambda: clf.fit(X, y)) < most + 2**22


@pytest.mark.parametrize(
    "clf",
    [TANClassifier(parameters="frequency"), TANClassifier(), AdditiveClassifier(pairs=[("a", "b")])],
    ids=["frequency", "conditional", "a pair asked for"],
)
def test_a_fit_takes_no_more_than_it_would_be_refused_for(clf):
    assert_takes_no_more_than_refused_for(clf, NAMES_OF_ROWS, CLASSES)


@pytest.mark.parametrize("n", [1, 2])
def test_a_mean_of_networks_takes_no_more_than_it_would_be_refused_for(n):
    """That of all networks, not of their common structure: 26 attributes of five states have 325 pairs."""
    rng = np.random.default_rng(0)
    table = pa.table({f"x{k}": pa.array(rng.integers(0, 5, 400).astype(str)) for k in range(26)})
    clf, y = BayesianNetworkClassifier(AnDE(n), parameters="frequency"), rng.integers(0, 2, 400)
    assert_takes_no_more_than_refused_for(clf, table, y)


def test_a_fit_that_would_take_too_much_is_refused_before_it_takes_it(monkeypatch):
    """Before pairs are counted: every tree has tables at least as large as this one."""
    limit = 60 << 20
    monkeypatch.setattr("tanager.counts.count_store.MEMORY_LIMIT", limit)
    monkeypatch.setattr("tanager.counts.count_store.CountStore.pairs", lambda self: pytest.fail("pairs were counted"))

    def fit() -> None:
        with pytest.raises(MemoryLimitError, match=r"table over 'a', 'b', 'class' alone has 45,000 cells"):
            TANClassifier().fit(NAMES_OF_ROWS, CLASSES)

    assert peak_of(fit) < limit


WIDE = """
import resource, sys
import numpy as np
from tanager import AdditiveClassifier, MemoryLimitError

X, y = np.random.default_rng(0).normal(size=(3, 1_000)), [0, 1, 0]
AdditiveClassifier().fit(X[:, :5], y)  # imports and compiled code are no part of it
for room in (1 << 20, 1 << 22, 1 << 24, 1 << 26, 1 << 30):
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + room, resource.RLIM_INFINITY))
    try:
        shares = AdditiveClassifier().fit(X, y).predict_proba(X)
        print("answer", abs(shares.sum(axis=1) - 1).max() < 1e-12)
    except MemoryLimitError as error:
        print("refused", str(error).splitlines()[0])
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no limit on addresses can be set here")
def test_the_default_on_many_columns_answers_or_refuses_whatever_memory_is_left():
    """In a process of its own, since a limit on memory holds for all that runs in one."""
    ran = subprocess.run([sys.executable, "-c", WIDE], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    said = [line.split()[0] for line in ran.stdout.splitlines()]
    assert (said[0], said[-1], len(said)) == ("refused", "answer", 5)
    assert "answer False" not in ran.stdout


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


@pytest.mark.parametrize("option", [{"n_jobs": "x"}, {"n_jobs": 1.5}, {"verbose": "x"}])
def test_options_that_are_no_whole_numbers_are_refused_by_name(option):
    (name,) = option
    with pytest.raises(OptionError, match=f"{name}=.* is not valid; expected a whole number"):
        NaiveBayesClassifier(**option).fit([[1], [2]] * 6, [0, 1] * 6)


def test_evidence_that_is_no_mapping_is_refused_by_name():
    X, y = [[1.0], [2.0]] * 6, [0, 1] * 6
    for ask in AdditiveClassifier().fit(X, y).query, NaiveBayesClassifier().fit(X, y).network_.log_evidence:
        with pytest.raises(OptionError, match="evidence=3 is not valid; expected a mapping"):
            ask(3)
