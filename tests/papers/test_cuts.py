"""Cuts made beside the classifiers."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.papers.cuts import two_bins_or_more
from tanager.table.discretizer import mdl_cuts
from tanager.table.value_counts import count_values

ROWS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 2)), min_size=1, max_size=40)


def entropy_left(x, y, cut):
    """Rows times entropy of the classes, summed over both sides of a cut."""
    total = 0.0
    for side in (y[x < cut], y[x >= cut]):
        shares = np.bincount(side) / max(len(side), 1)
        total -= len(side) * sum(share * np.log(share) for share in shares if share)
    return total


@given(ROWS)
@settings(max_examples=50)
def test_there_are_two_bins_unless_all_values_are_equal_and_the_best_cut_is_one_of_them(rows):
    x, y = np.array(rows, dtype=float)[:, 0], np.array(rows)[:, 1]
    cuts = two_bins_or_more(count_values(x, y, n_classes=3), 3)
    candidates = np.unique(x)[1:] - 0.5
    assert len(cuts) == 0 if len(candidates) == 0 else len(cuts) > 0
    if len(candidates):
        least = min(entropy_left(x, y, cut) for cut in candidates)
        assert np.isclose(min(entropy_left(x, y, cut) for cut in cuts), least)
        assert (np.diff(cuts) > 0).all()


def test_where_the_first_cut_pays_the_cuts_are_fayyad_and_iranis():
    random = np.random.default_rng(0)
    y = random.integers(0, 3, 300)
    counts = count_values(y + random.normal(0, 0.2, 300), y, n_classes=3)
    assert len(mdl_cuts(counts, 3)) >= 2
    np.testing.assert_array_equal(two_bins_or_more(counts, 3), mdl_cuts(counts, 3))
