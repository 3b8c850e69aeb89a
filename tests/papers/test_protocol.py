"""What papers did to the rows before any classifier saw them: rows dropped, cells removed, numbers cut."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.papers.cuts import two_bins_or_more
from experiments.papers.protocol import PaperProtocol
from experiments.studies.data_sets import find_data_sets
from experiments.studies.protocol import KFold
from studies.small_sets import write_sets
from tanager import NaiveBayesClassifier
from tanager.table.discretizer import mdl_cuts
from tanager.table.value_counts import count_values


@pytest.fixture
def sets(tmp_path):
    return find_data_sets(write_sets(tmp_path))


def test_incomplete_rows_are_dropped_but_for_sets_that_need_them(sets):
    X, y = sets[1].read()
    complete = np.array([None not in row.values() for row in X.to_pylist()])
    assert not complete.all()
    dropped = PaperProtocol(KFold(2), drop_incomplete=True).prepare(sets[1])
    assert dropped.X.to_pylist() == X.filter(pa.array(complete)).to_pylist()
    assert dropped.y.tolist() == y[complete].tolist()
    kept = PaperProtocol(KFold(2), drop_incomplete=True, kept_incomplete=("mixed",)).prepare(sets[1])
    assert kept.X == X


def test_cells_are_removed_at_random_and_nothing_else_changes(sets):
    X, _ = sets[0].read()
    spoilt = PaperProtocol(KFold(2), removed_share=0.25).prepare(sets[0]).X
    share = sum(column.null_count for column in spoilt.columns) / (2 * X.num_rows)
    assert 0.1 < share < 0.4
    for before, after in zip(X.columns, spoilt.columns, strict=True):
        assert all(new in (old, None) for old, new in zip(before.to_pylist(), after.to_pylist(), strict=True))


def test_numbers_can_be_categories(sets):
    prepared = PaperProtocol(KFold(2), categorical_sets=("easy",)).prepare(sets[0])
    assert set(prepared.X.schema.types) == {pa.string()}


def test_numbers_can_be_cut_before_the_split_by_all_rows(sets):
    X, y = sets[0].read()
    cut = PaperProtocol(KFold(2), cuts="all rows").prepare(sets[0]).X
    cuts = NaiveBayesClassifier().fit(X, y).encoder_.schema.attributes[0].cuts
    bins = np.searchsorted(cuts, X.column("x").to_numpy(), side="right")
    names = dict(zip(bins.tolist(), cut.column("x").to_pylist(), strict=True))
    assert len(set(names.values())) == len(names) == len(cuts) + 1 > 1
    assert [names[each] for each in bins.tolist()] == cut.column("x").to_pylist()
    mixed, gaps = PaperProtocol(KFold(2), cuts="all rows").prepare(sets[1]).X, sets[1].read()[0]
    assert [column.null_count for column in mixed.columns] == [column.null_count for column in gaps.columns]


def test_numbers_can_be_cut_by_the_test_rows_of_each_fold(sets):
    X, y = sets[0].read()
    protocol = PaperProtocol(KFold(2), cuts="test rows")
    data = protocol.prepare(sets[0])
    assert data.X == X
    for fold, (_, test) in enumerate(data.folds):
        seen = protocol.attributes(data, fold)
        for name in X.column_names:
            x = X.column(name).to_numpy()
            counts = count_values(x[test], (y[test] == "b").astype(int), n_classes=2)
            bins = np.searchsorted(two_bins_or_more(counts, 2), x, side="right").tolist()
            names = dict(zip(bins, seen.column(name).to_pylist(), strict=True))
            assert len(set(names.values())) == len(names) >= 2
            assert [names[each] for each in bins] == seen.column(name).to_pylist()


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
