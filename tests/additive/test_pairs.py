"""The ranking of pairs against brute force over all of them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle import batch_of, count_rows
from tanager.additive import pairs as pairs_module
from tanager.additive.pairs import rank_pairs
from tanager.table.schema import ColumnSchema


def table(seed, n_rows=200, n_states=(3, 2, 4, 2, 3), weighted=False):
    """Attributes of which some depend on each other, and some on the class together."""
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, n, n_rows) for n in n_states])
    codes[:, 4] = np.where(rng.random(n_rows) < 0.5, codes[:, 0], codes[:, 4])
    classes = np.where(rng.random(n_rows) < 0.7, (codes[:, 1] + codes[:, 3]) % 2, rng.integers(0, 2, n_rows))
    weights = rng.uniform(0.5, 2.0, n_rows) if weighted else None
    columns = [ColumnSchema(f"x{k}", "categorical", tuple(range(n))) for k, n in enumerate(n_states)]
    return batch_of(codes, classes, (*n_states, 2), weights), columns


def entropy(batch, nodes):
    counts = count_rows(batch, nodes)
    p = counts[counts > 0] / counts.sum()
    return -p @ np.log(p)


def by_hand(batch, most, usable=lambda i, j: True):
    """In turn the best by I(X;Y|C) - I(X;Y) and by I(X;Y|C), each once."""
    c, conditional, interaction = batch.n_attributes, {}, {}
    for i, j in combinations(range(batch.n_attributes), 2):
        if usable(i, j):
            h = {nodes: entropy(batch, list(nodes)) for nodes in ((i,), (j,), (c,), (i, j), (i, c), (j, c), (i, j, c))}
            conditional[i, j] = h[i, c] + h[j, c] - h[i, j, c] - h[c,]
            interaction[i, j] = conditional[i, j] - (h[i,] + h[j,] - h[i, j])
    orders = [sorted(values, key=values.get, reverse=True) for values in (interaction, conditional)]
    found = []
    for pair in (pair for turn in zip(*orders, strict=True) for pair in turn):
        if pair not in found:
            found.append(pair)
    return tuple(found[:most])


@given(st.integers(0, 1_000), st.integers(1, 10), st.booleans())
@settings(max_examples=10, deadline=None)
def test_the_ranking_is_that_of_brute_force(seed, most, weighted):
    batch, columns = table(seed, weighted=weighted)
    assert rank_pairs(batch, columns, most) == by_hand(batch, most)


def test_a_pair_that_is_not_allowed_never_appears():
    batch, columns = table(2)
    allowed = np.ones((5, 5), dtype=bool)
    allowed[1, 3] = allowed[3, 1] = allowed[0, 4] = allowed[4, 0] = False
    found = rank_pairs(batch, columns, 100, allowed)
    assert set(found) == set(combinations(range(5), 2)) - {(1, 3), (0, 4)}
    assert found == by_hand(batch, 100, lambda i, j: allowed[i, j])


def test_tables_of_more_cells_than_rows_are_left_out(monkeypatch):
    batch, columns = table(3, n_rows=60, n_states=(30, 2, 4, 2, 3))
    assert (0, 2) in rank_pairs(batch, columns, 100)  # few cells are always allowed
    monkeypatch.setattr(pairs_module, "FEW_CELLS", 8)
    found = rank_pairs(batch, columns, 100)
    assert set(found) == {pair for pair in combinations(range(5), 2) if pair not in {(0, 2), (0, 4)}}


def test_an_attribute_of_one_state_is_in_no_pair():
    batch, columns = table(4, n_states=(3, 2, 1, 2, 3))
    assert not any(2 in pair for pair in rank_pairs(batch, columns, 100))


def test_among_many_attributes_pairs_are_of_the_most_informative_ones(monkeypatch):
    rng = np.random.default_rng(5)
    classes = rng.integers(0, 2, 300)
    codes = np.column_stack(
        [np.where(rng.random(300) < share, classes, rng.integers(0, 2, 300)) for share in (0.0, 0.9, 0.1, 0.6, 0.3)]
    )
    columns = [ColumnSchema(f"x{k}", "categorical", (0, 1)) for k in range(5)]
    monkeypatch.setattr(pairs_module, "MAX_PAIRED", 3)
    found = rank_pairs(batch_of(codes, classes, (2,) * 6), columns, 100)
    assert set(found) == {(1, 3), (1, 4), (3, 4)}


@pytest.mark.parametrize(("n", "most"), [(0, 5), (1, 5), (5, 0)])
def test_where_there_can_be_no_pair_there_is_none(n, most):
    batch, columns = table(6)
    assert rank_pairs(batch.select(slice(n)), columns[:n], most) == ()
