"""Tables to learn from in batches, their cut into batches, learners of a user, and when two models are the same."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tanager.additive.model import AdditiveModel
from tanager.classifiers.base import TableClassifier
from tanager.counts.engine import NumpyEngine
from tanager.network.mixture import MixtureNetwork, TreeAverageNetwork
from tanager.parameters import Frequency
from tanager.parameters.protocol import LearntNetwork, ParameterLearner, ParameterTask
from tanager.table.rows import EncodedBatch


def mixed_table(n_rows: int = 400, gaps: float = 0.0, seed: int = 0) -> pa.Table:
    """Text, booleans, small and wide integers, floats, and a class that depends on them."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_rows, 5))
    word = rng.choice(["red", "green", "blue"], n_rows)
    y = (x[:, 0] + (word == "red") + 0.5 * x[:, 1] * x[:, 2] > 0.3).astype(int) + (x[:, 3] > 1.2)
    columns = {
        "word": pa.array(word),
        "flag": pa.array(x[:, 1] > 0),
        "small": pa.array(np.round(2 * x[:, 0]).astype(np.int8)),
        "wide": pa.array(np.round(x[:, 2] * 1e3).astype(np.int64) * 10**9),
        "float": pa.array(x[:, 3] + 0.1 * x[:, 4]),
    }
    return with_holes(columns, y, gaps, rng)


def table_of_few_values(n_rows: int = 400, gaps: float = 0.0, seed: int = 0) -> pa.Table:
    """Text, booleans, bytes without and with holes, and numbers to be cut, all of few values."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_rows, 4))
    columns = {
        "word": pa.array(np.array(["red", "green", "blue"])[np.searchsorted([-0.5, 0.8], x[:, 0])]),
        "flag": pa.array(x[:, 1] + 0.5 * x[:, 0] > 0),
        "byte": pa.array(np.clip(np.round(x[:, 2] + x[:, 1]), -2, 2).astype(np.int8)),
        "holes": pa.array(np.array([7, -3, 90])[rng.integers(0, 3, n_rows)]),
        "number": pa.array(np.clip(np.round(2 * x[:, 3]), -3, 3)),
    }
    y = (x[:, 0] + x[:, 1] * x[:, 2] > 0.3).astype(int) + (x[:, 3] > 0.8)
    return with_holes(columns, y, gaps, rng)


def with_holes(columns: dict[str, pa.Array], y: np.ndarray, gaps: float, rng: np.random.Generator) -> pa.Table:
    """With a share of the cells missing, and the class."""
    for name, column in columns.items():
        columns[name] = pa.array(column.to_pylist(), column.type, mask=rng.random(len(y)) < gaps)
    return pa.table({**columns, "outcome": pa.array(np.array(["no", "yes", "perhaps"])[y])})


def split(table: pa.Table) -> tuple[pa.Table, pd.Series]:
    return table.drop_columns(["outcome"]), pd.Series(table["outcome"].to_numpy(), name="outcome", dtype=object)


def cut(table: pa.Table, edges: list[int]) -> Iterator[pa.Table]:
    bounds = [0, *sorted(edges), table.num_rows]
    for low, high in pairwise(bounds):
        yield table.slice(low, high - low).combine_chunks()


def without_some_classes(table: pa.Table) -> pa.Table:
    """The same with the class missing in every fifth row."""
    labels = pa.array([None if row % 5 == 0 else label for row, label in enumerate(table["outcome"].to_pylist())])
    return table.set_column(table.column_names.index("outcome"), "outcome", labels)


def assert_same_model(
    one: TableClassifier, other: TableClassifier, rtol: float = 1e-9, imputed: float | None = None
) -> None:
    """Equal but for the order of summation; `imputed` is the tolerance of arrays of imputations, by default rtol."""
    assert one.encoder_.schema == other.encoder_.schema
    assert one.model_.edges == other.model_.edges
    np.testing.assert_array_equal(one.classes_, other.classes_)
    assert one.classes_.dtype == other.classes_.dtype
    np.testing.assert_array_equal(one.feature_names_in_, other.feature_names_in_)
    score, expected_score = (getattr(clf, "structure_score_", None) for clf in (one, other))
    assert (score is None) == (expected_score is None)
    if expected_score is not None:
        assert score == pytest.approx(expected_score, rel=1e-12)
    for own, expected in zip(model_arrays(one), model_arrays(other), strict=True):
        np.testing.assert_allclose(own, expected, rtol=rtol, atol=rtol * np.abs(expected).max(initial=0.0))
    for own, expected in zip(imputation_arrays(one), imputation_arrays(other), strict=True):
        np.testing.assert_allclose(own, expected, atol=rtol if imputed is None else imputed)


def model_arrays(clf: TableClassifier) -> list[np.ndarray]:
    network = clf.model_
    if isinstance(network, MixtureNetwork | TreeAverageNetwork):
        weights = network.weights if isinstance(network, MixtureNetwork) else network.log_weights
        return [weights, *(table for member in network.members for table in member.tables)]
    effects = [network.intercept, *network.mains] if isinstance(network, AdditiveModel) else []
    return [*network.tables, *effects]


def imputation_arrays(clf: TableClassifier) -> list[np.ndarray]:
    """None for a classifier that does not average."""
    imputation = getattr(clf.missing_rule_, "imputation", None)
    if imputation is None:
        return []
    return [imputation.shares, *imputation.tables, imputation.nothing, *imputation.states]


class Softened(ParameterLearner):
    """A user's own learner: frequencies pulled half way to uniform. It needs counts, as a learner does by default."""

    def learn(self, task: ParameterTask) -> LearntNetwork:
        tables = [(table + 1.0 / table.shape[1]) / 2.0 for table in Frequency().tables(task)]
        return LearntNetwork(task.network(tables))


class FromRows(ParameterLearner):
    """A user's own learner that passes over the rows: shares of each state of a family, by sums over blocks."""

    needs = "passes"

    def learn(self, task: ParameterTask) -> LearntNetwork:
        counted = task.counts.rows.sum(partial(count_block, families=task.dag.families))
        return LearntNetwork(task.network([(own + 1.0) / (own + 1.0).sum(axis=1, keepdims=True) for own in counted]))


def count_block(block: EncodedBatch, families) -> list[np.ndarray]:
    counted = NumpyEngine().count(block, [family.nodes for family in families])
    return [
        cells.reshape(family.shape(block.n_states)).astype(float)
        for cells, family in zip(counted, families, strict=True)
    ]
