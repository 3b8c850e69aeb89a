"""Trees and triples see rows without gaps, as the answers that are averaged over gaps ask them."""

import numpy as np
import pytest

from tanager import PairwiseClassifier
from tanager.parameters.effects.completed import completed_codes
from tanager.table.batch import EncodedBatch
from tanager.table.schema import ColumnSchema

COLUMNS = (
    ColumnSchema("letter", "categorical", categories=("a", "b", "c")),
    ColumnSchema("number", "numeric", cuts=(1.0, 2.0, 3.0), groups=(0, 0, 1, 1)),
    ColumnSchema("never", "categorical", categories=("a", "b")),
    ColumnSchema("other", "categorical", categories=tuple(f"{k}" for k in range(200))),
)
STATES = np.array([3, 4, 2, 200])


def gappy_rows(seed, n=4_000):
    """Coarse codes, then the fine ones of the number; one column has no cell, one no gap."""
    rng = np.random.default_rng(seed)
    fine = np.column_stack([rng.choice(3, n, p=[0.7, 0.2, 0.1]), *rng.integers(0, [[4], [1], [200]], (3, n))])
    fine[:, 2] = 2
    fine[:, :2][rng.random((n, 2)) < 0.4] = 99
    fine = np.where(fine == 99, STATES, fine)
    coarse = np.array([0, 0, 1, 1, 2])[fine[:, 1]]
    codes = np.column_stack([fine[:, 0], coarse, fine[:, 2:], fine[:, 1]]).astype(np.uint8)
    classes = rng.integers(0, 2, n).astype(np.uint8)
    weights = rng.integers(1, 4, n).astype(float)
    return EncodedBatch(np.asfortranarray(codes), classes, (3, 2, 2, 200, 4, 2), np.ones(5, bool), weights), fine


@pytest.mark.parametrize("seed", range(3))
def test_cells_present_stay_and_gaps_are_states_in_the_shares_of_the_rows_that_have_the_cell(seed):
    batch, fine = gappy_rows(seed)
    completed = completed_codes(batch, COLUMNS)
    present = fine < STATES
    np.testing.assert_array_equal(completed[present], fine[present])
    for attribute in (0, 1):
        has = present[:, attribute]
        shares = np.bincount(fine[has, attribute], batch.row_weights[has]) / batch.row_weights[has].sum()
        drawn = np.bincount(completed[~has, attribute], minlength=STATES[attribute]) / (~has).sum()
        np.testing.assert_allclose(drawn, shares, atol=0.06)
    np.testing.assert_array_equal(completed[:, 2], 2)


def test_a_row_is_completed_by_what_it_holds_wherever_it_stands():
    batch, _ = gappy_rows(0)
    order = np.random.default_rng(1).permutation(batch.n_rows)
    np.testing.assert_array_equal(completed_codes(batch.take(order), COLUMNS), completed_codes(batch, COLUMNS)[order])


@pytest.mark.parametrize("seed", range(2))
def test_where_gaps_tell_the_class_the_model_is_no_worse_than_the_class_frequencies(seed):
    """Trees that asked for gaps told the rows held out apart, and were wrong once the gaps were averaged over."""
    rng = np.random.default_rng(seed)
    y, X = rng.integers(0, 2, 600), rng.integers(0, 3, (600, 4)).astype(str).astype(object)
    X[y == 0, 0] = None
    X[(y == 0) & (rng.random(600) < 0.9), 1] = None
    clf = PairwiseClassifier().fit(X, y)
    assert -np.log(clf.predict_proba(X)[np.arange(600), y]).mean() < np.log(2)
    frequencies = np.bincount(y) / 600
    np.testing.assert_allclose(clf.predict_proba(np.full((1, 4), None))[0], frequencies, atol=0.005)
