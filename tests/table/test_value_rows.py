"""ValueRows: cut points learnt again from part of the rows are those that a schema of that part alone would have."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager import BayesianNetworkClassifier
from tanager.table.discretizer import choose_discretizer
from tanager.table.encoder import encode_rows, learn_schema
from tanager.table.training_table import read_training


def rows_of(seed, n_rows=60):
    """Numbers that tell something of the class, others that tell nothing, ties and gaps."""
    generator = np.random.default_rng(seed)
    y = generator.integers(0, 2, n_rows)
    X = np.column_stack([generator.normal(size=n_rows) + 2 * y, generator.integers(0, 5, n_rows) + 2.0 * y, -y])
    X[generator.random(X.shape) < 0.1] = np.nan
    return X, y, generator.integers(1, 4, n_rows).astype(np.float64)


@given(st.integers(0, 1000), st.sampled_from(["auto", "category"]), st.booleans())
@settings(max_examples=25, deadline=None)
def test_cuts_are_those_of_the_rows_kept_alone(seed, missing, weighted):
    X, y, weights = rows_of(seed)
    weights = weights if weighted else None
    clf = BayesianNetworkClassifier("tan", parameters="conditional", missing=missing)
    kept = np.random.default_rng(seed + 1).random(len(y)) < 0.7
    kept[:4], y[:2], y[2:4] = True, 0, 1
    values = clf._read(X, y, weights, clf._row_needs()).values
    ours = values.cut(values.rows.take(kept), values.rows.take(~kept))
    whole = read_training(X, y, weights)
    gap_states = missing == "category"
    cut = choose_discretizer("mdlp")
    part = whole.table.take(kept)
    own_weights = None if weights is None else weights[kept]
    schema = learn_schema(part, whole.target, whole.class_codes[kept], own_weights, cut, gap_states=gap_states)
    for found, rows in zip(ours, (kept, ~kept), strict=True):
        table = whole.table.take(rows)
        expected = encode_rows(table, range(len(table.names)), schema, whole.class_codes[rows], None)
        for node, column in enumerate(schema.attributes):
            if column.gap_state or not gap_states:  # a gap that only the rows held out have is no state of the part
                assert found.n_states[node] == column.n_states
                np.testing.assert_array_equal(found.column(node), expected.column(node))


@pytest.mark.parametrize(
    ("options", "asked"),
    [
        ({"structure": "tan", "parameters": "conditional"}, True),
        ({"structure": "tan", "parameters": "conditional", "discretizer": "quantile"}, False),
        ({"structure": "tan", "parameters": "conditional", "categorical_features": "all"}, False),
        ({"structure": "tan", "parameters": "frequency"}, False),
    ],
    ids=str,
)
def test_values_are_kept_only_where_cuts_have_seen_the_class_and_rows_are_held_out(options, asked):
    X, y, _ = rows_of(0)
    clf = BayesianNetworkClassifier(**options)
    assert (clf._read(X, y, None, clf._row_needs()).values is not None) == asked


def test_of_many_rows_or_a_large_weight_no_values_are_kept():
    generator = np.random.default_rng(0)
    X, y = generator.normal(size=(6_000, 1)), generator.integers(0, 2, 6_000)
    clf = BayesianNetworkClassifier("naive-bayes", parameters="conditional")
    kept = [
        clf._read(*rows, clf._row_needs()).values is not None
        for rows in ((X, y, None), (X, y, np.full(6_000, 2.0)), (X.repeat(2, axis=0), y.repeat(2), None))
    ]
    assert kept == [True, False, False]
