"""Laws of Fayyad-Irani discretisation; the oracle is the definition, written out with lists."""

from __future__ import annotations

import math
import pickle
import tracemalloc
from collections import defaultdict
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris

from tanager.errors import DataError
from tanager.table.discretizer import MDLPDiscretizer, mdl_cuts
from tanager.table.value_counts import count_values

# (value, class, number of such rows): many ties, and enough rows for cuts to pay.
cells = st.lists(
    st.tuples(
        st.sampled_from([-3.0, -1.0, -0.0, 0.0, 0.5, 2.0, 2.25, 8.0, 9.0]), st.integers(0, 3), st.integers(1, 25)
    ),
    min_size=1,
    max_size=24,
)


def entropy(weights: dict[object, float]) -> float:
    total = sum(weights.values())
    return -sum(w / total * math.log2(w / total) for w in weights.values())


def class_weights(rows):
    weights = defaultdict(float)
    for _, label, weight in rows:
        weights[label] += weight
    return weights


def oracle_cuts(rows):
    """Fayyad and Irani 1993, equations 1 to 3, over every midpoint between distinct values; rows are weighted."""
    whole = class_weights(rows)
    n, k, e = sum(whole.values()), len(whole), entropy(whole)
    distinct = sorted({value for value, _, _ in rows})
    if n <= 1 or k == 1 or len(distinct) == 1:
        return []
    candidates = []
    for a, b in pairwise(distinct):
        low, high = [row for row in rows if row[0] <= a], [row for row in rows if row[0] >= b]
        low_weights, high_weights = class_weights(low), class_weights(high)
        e1, e2 = entropy(low_weights), entropy(high_weights)
        mean = (sum(low_weights.values()) * e1 + sum(high_weights.values()) * e2) / n
        penalty = k * e - len(low_weights) * e1 - len(high_weights) * e2
        candidates.append((mean, penalty, (a + b) / 2, low, high))
    least = min(candidate[0] for candidate in candidates)
    mean, penalty, cut, low, high = next(c for c in candidates if c[0] <= least + 1e-10 * e)
    if e - mean <= (math.log2(n - 1) + math.log2(3**k - 2) - penalty) / n:
        return []
    return [*oracle_cuts(low), cut, *oracle_cuts(high)]


def cuts_of(column, classes, weights=None):
    classes = np.asarray(classes, dtype=int)
    n_classes = int(classes.max(initial=0)) + 1
    weights = None if weights is None else np.asarray(weights, dtype=float)
    column = np.asarray(column, dtype=float)
    return mdl_cuts(count_values(column, classes, weights, n_classes=n_classes), n_classes).tolist()


def unzip(rows):
    return [np.array(part) for part in zip(*rows, strict=True)]


@settings(max_examples=200, deadline=None)
@given(cells)
def test_cuts_equal_the_brute_force_recursion(rows):
    column, classes, repeats = unzip(rows)
    assert cuts_of(np.repeat(column, repeats), np.repeat(classes, repeats)) == oracle_cuts(rows)


def test_the_smallest_samples_are_cut_exactly_when_the_formula_says_so():
    for low in range(1, 12):
        for high in range(1, 12):
            for noise in range(4):
                rows = [(0.0, 0, low), (1.0, 1, high), (0.0, 1, noise)][: 3 if noise else 2]
                assert cuts_of(*unzip(rows)) == oracle_cuts(rows), rows


@pytest.mark.parametrize("n_classes", [2, 5, 150])
@pytest.mark.parametrize("n_values", [30, 200])
def test_cuts_equal_the_brute_force_recursion_at_depth(n_values, n_classes):
    rng = np.random.default_rng(0)
    ranks = rng.integers(0, n_values, 3000)
    bands = ranks * 8 // n_values * 19 % n_classes  # eight bands of one class each, and noise
    classes = np.where(rng.random(3000) < 0.8, bands, rng.integers(0, n_classes, 3000))
    expected = oracle_cuts(list(zip((ranks / 4).tolist(), classes.tolist(), [1] * 3000, strict=True)))
    assert len(expected) >= 7
    assert cuts_of(ranks / 4, classes) == expected


@settings(max_examples=100, deadline=None)
@given(cells, st.randoms(use_true_random=False))
def test_whole_weights_equal_repeated_rows_in_any_order(rows, random):
    column, classes, repeats = unzip(rows)
    order = list(range(int(repeats.sum())))
    random.shuffle(order)
    repeated = cuts_of(np.repeat(column, repeats)[order], np.repeat(classes, repeats)[order])
    assert cuts_of(column, classes, repeats) == repeated


@settings(max_examples=100, deadline=None)
@given(cells, st.floats(0.01, 3.0))
def test_fractional_weights_follow_the_formula(rows, scale):
    column, classes, repeats = unzip(rows)
    weights = repeats * scale
    as_rows = weights / min(1.0, weights.mean())  # weights below one in the mean are scaled to one
    expected = oracle_cuts(list(zip(column.tolist(), classes.tolist(), as_rows.tolist(), strict=True)))
    assert cuts_of(column, classes, weights) == expected


@settings(max_examples=100, deadline=None)
@given(cells, st.floats(1e-6, 1.0))
def test_the_unit_of_weights_below_one_in_the_mean_does_not_matter(rows, unit):
    column, classes, repeats = unzip(rows)
    weights = repeats / max(repeats)
    assert cuts_of(column, classes, unit * weights) == cuts_of(column, classes, weights)


@settings(max_examples=50, deadline=None)
@given(cells, cells)
def test_rows_missing_or_of_weight_zero_count_for_nothing(rows, ignored):
    column, classes, repeats = unzip(rows)
    other, other_classes, _ = unzip(ignored)
    zeros = np.zeros(other.size)
    all_classes = np.concatenate([classes, other_classes, other_classes])
    all_weights = np.concatenate([repeats, zeros, zeros + 7])
    assert cuts_of(np.concatenate([column, other, zeros + np.nan]), all_classes, all_weights) == cuts_of(
        column, classes, repeats
    )


@settings(max_examples=50, deadline=None)
@given(cells, st.permutations(range(4)))
def test_the_names_of_the_classes_do_not_matter(rows, names):
    column, classes, repeats = unzip(rows)
    assert cuts_of(column, np.array(names)[classes], repeats) == cuts_of(column, classes, repeats)


@pytest.mark.parametrize(
    ("column", "classes", "weights"),
    [
        pytest.param([5.0] * 40, [0, 1] * 20, None, id="constant"),
        pytest.param(range(40), [0] * 40, None, id="one class"),
        pytest.param(range(40), [0] * 40, [0.03] * 40, id="one class of little weight"),
        pytest.param([np.nan] * 40, [0, 1] * 20, None, id="all missing"),
        pytest.param([-0.0] * 20 + [0.0] * 20, [0] * 20 + [1] * 20, None, id="zeros of both signs"),
        pytest.param([], [], None, id="no row"),
    ],
)
def test_no_cut_where_there_is_nothing_to_tell_apart(column, classes, weights):
    assert cuts_of(column, classes, weights) == []


@pytest.mark.parametrize(
    ("low", "high"),
    [(1.0, math.nextafter(1.0, 2.0)), (0.0, 5e-324), (-5e-324, 0.0), (1.6e308, 1.7e308), (-1.7e308, 1.7e308)],
)
def test_the_cut_parts_neighbours_however_near_or_large(low, high):
    (cut,) = cuts_of([low] * 20 + [high] * 20, [0] * 20 + [1] * 20)
    assert low < cut <= high


def test_of_equally_good_cuts_the_lowest_is_taken():
    # The counts read the same from both ends, but once one end is cut off, cutting off the other does not pay.
    counts = np.array([[20, 0], [0, 10], [10, 0], [10, 0], [0, 10], [20, 0]])
    column, classes = np.nonzero(counts)
    assert cuts_of(column, classes, counts[column, classes]) == [0.5, 1.5]


def test_hundreds_of_classes_in_order_are_parted_without_a_table_of_values_by_classes():
    n_classes, n_each = 700, 30  # 3^700 overflows
    column = np.arange(n_classes * n_each) + 0.5
    tracemalloc.start()
    cuts = cuts_of(column, np.arange(column.size) // n_each)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert cuts == [n_each * k for k in range(1, n_classes)]
    assert peak < 500 * column.size  # the table would take 5,600 bytes a row


def test_iris_has_the_cuts_of_an_independent_implementation():
    # As EntropyMDL of Orange 3.40 gives them.
    X, y = load_iris(return_X_y=True)
    theirs = [[5.55, 6.15], [2.95, 3.35], [2.45, 4.75], [0.8, 1.75]]
    for cuts, expected in zip(MDLPDiscretizer().fit(X, y).cuts_, theirs, strict=True):
        assert cuts.tolist() == pytest.approx(expected)


def test_a_cell_is_in_the_bin_with_as_many_cuts_at_or_below_it():
    X, y = load_iris(return_X_y=True)
    discretizer = MDLPDiscretizer().fit(X, y)
    probe = np.array([[cuts[0], cuts[0] - 1e-9, cuts[-1], np.nan] for cuts in discretizer.cuts_]).T
    expected = np.array([[1, 0, cuts.size, np.nan] for cuts in discretizer.cuts_]).T
    np.testing.assert_array_equal(discretizer.transform(probe), expected)
    assert discretizer.n_bins_.tolist() == [cuts.size + 1 for cuts in discretizer.cuts_]
    for edges, cuts in zip(discretizer.bin_edges_, discretizer.cuts_, strict=True):
        assert edges.tolist() == [-math.inf, *cuts, math.inf]


def test_labels_weights_threads_and_copies_do_not_change_the_cuts():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"], dtype=object)[y]
    expected = [cuts.tolist() for cuts in MDLPDiscretizer(n_jobs=1).fit(X, y).cuts_]
    copied = clone(MDLPDiscretizer(n_jobs=3)).fit(X.tolist(), names.tolist())
    large = MDLPDiscretizer().fit(np.asfortranarray(X), (y - 1) * 10**12, sample_weight=np.ones(len(y)))
    frame = MDLPDiscretizer().fit(pd.DataFrame(X, columns=list("abcd")), pd.Series(names, dtype="category"))
    reals = MDLPDiscretizer().fit(X, y / 1)
    for other in (copied, large, frame, reals, pickle.loads(pickle.dumps(copied))):
        assert [cuts.tolist() for cuts in other.cuts_] == expected


@pytest.mark.parametrize(
    ("dtype", "low", "high"), [(np.int8, -128, 127), (np.uint8, 0, 255), (np.uint64, 2**64 - 9, 2**64 - 1)]
)
def test_labels_may_use_the_whole_range_of_their_dtype(dtype, low, high):
    X = np.arange(400.0)[:, np.newaxis]
    y = np.repeat(np.array([low, high], dtype=dtype), 200)
    assert MDLPDiscretizer().fit(X, y).cuts_[0].tolist() == [199.5]


def test_output_frames_keep_the_column_names():
    X, y = load_iris(return_X_y=True, as_frame=True)
    bins = MDLPDiscretizer().set_output(transform="pandas").fit_transform(X, y)
    assert list(bins.columns) == list(X.columns)


@pytest.mark.parametrize("bad", [math.inf, -math.inf])
def test_infinity_is_refused_by_the_name_of_its_column(bad):
    X, y = load_iris(return_X_y=True, as_frame=True)
    fitted = MDLPDiscretizer().fit(X, y)
    X.iloc[3, 2] = bad
    with pytest.raises(DataError, match=r"'petal length \(cm\)'.*infinity"):
        MDLPDiscretizer().fit(X, y)
    with pytest.raises(DataError, match=r"'petal length \(cm\)'.*infinity"):
        fitted.transform(X)
    with pytest.raises(DataError, match=r"column 2 .*infinity"):
        MDLPDiscretizer().fit(X.to_numpy(), y)


def test_bad_targets_and_weights_are_refused():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="continuous"):
        MDLPDiscretizer().fit(X, y + 0.5)
    with pytest.raises(ValueError, match="Negative"):
        MDLPDiscretizer().fit(X, y, sample_weight=np.arange(-1, 149))
