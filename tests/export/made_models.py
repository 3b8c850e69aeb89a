"""Classifiers made by hand, with names, categories and cut points that a language might stumble over."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pyarrow as pa

from additive.random_forests import Tree, forest_of
from tanager import BayesianNetworkClassifier, Network
from tanager.additive import AdditiveModel
from tanager.additive.forest import Forest
from tanager.missing.average import choose_rule
from tanager.structure.dag import Dag
from tanager.table.encoder import TableEncoder
from tanager.table.schema import ColumnSchema, TableSchema

NAMES = ['double "quote"', "single 'quote'", "select", "line\nbreak", "*/ end", "-- end", "</script>", "ünïcödé 🦜"]
NAMES += ["back\\slash", "__proto__", "%s {0} $1 @ ?? ??/", "n" * 300, " ", "tab\there", "code", "NAN"]
TEXTS = ["", "'", '"', "\\", "a\nb", "🦜", "é", "null", "NaN", "@", "0", "x" * 300]
TEXTS += ["A", "a", "%d", "??/", "\r", "\t", "日本"]
CUTS = [-1e308, -1.5, -5e-324, 0.0, 5e-324, 2.2250738585072014e-308, 0.1 + 0.2, 2.45, 1 / 3, 123456789.123456789]
CUTS += [2.0**53, 1e308]


def made_columns(rng: np.random.Generator, n: int, grouped: bool) -> tuple[ColumnSchema, ...]:
    """Columns of text and of numbers that are cut or categories; with two granularities where `grouped`."""
    columns = []
    for name in rng.permutation(NAMES)[:n].tolist():
        kind, gap = rng.integers(4), bool(rng.random() < 0.3)
        if kind == 0:
            texts = tuple(rng.permutation(TEXTS)[: rng.integers(1, 15)].tolist())
            columns.append(ColumnSchema(name, "categorical", texts, missing_state=gap))
        elif kind == 1:
            numbers = tuple(sorted(rng.permutation(CUTS)[: rng.integers(1, 12)].tolist()))
            columns.append(ColumnSchema(name, "categorical", numbers, missing_state=gap))
        elif kind == 2:
            columns.append(ColumnSchema(name, "categorical", (False, True), missing_state=gap))
        else:
            cuts = tuple(sorted(rng.permutation(CUTS)[: rng.integers(0, 12)].tolist()))
            groups = tuple(np.concatenate([[0], np.cumsum(rng.random(len(cuts)) < 0.5)]).astype(int).tolist())
            columns.append(
                ColumnSchema(name, "numeric", cuts=cuts, missing_state=gap, groups=groups if grouped and cuts else ())
            )
    return tuple(columns)


def target_of(rng: np.random.Generator) -> ColumnSchema:
    labels = tuple(rng.permutation(TEXTS)[: rng.integers(2, 5)].tolist())
    return ColumnSchema('the class\'s "name"', "categorical", labels)


def effects_model(seed: int, trees: bool = False) -> BayesianNetworkClassifier:
    rng = np.random.default_rng(seed)
    columns, target = made_columns(rng, int(rng.integers(1, 6)), grouped=True), target_of(rng)
    n_classes = target.n_states
    pairs = [pair for pair in combinations(range(len(columns)), 2) if rng.random() < 0.5]
    shapes = [(columns[i].coarse.n_states + 1, columns[j].coarse.n_states + 1, n_classes) for i, j in pairs]
    network = AdditiveModel(
        (*columns, target),
        rng.normal(size=n_classes),
        tuple(rng.normal(scale=30, size=(column.n_states + 1, n_classes)) for column in columns),
        tuple(pairs),
        tuple(rng.normal(size=shape) for shape in shapes),
        tuple(rng.dirichlet(np.ones(column.n_states)) for column in columns),
        forest=made_forest(rng, columns, n_classes) if trees else None,
    )
    return classifier_of(network)


def made_forest(rng: np.random.Generator, columns: tuple[ColumnSchema, ...], n_classes: int) -> Forest:
    """Trees of two splits, and one of none."""
    n_codes = [column.n_states + 1 for column in columns]

    def tree(n_splits: int) -> Tree:
        nodes = np.array([[rng.integers(len(columns)), 1, ~0], [rng.integers(len(columns)), ~1, ~2]])[:n_splits]
        left = rng.random((n_splits, max(n_codes))) < 0.5
        values = rng.normal(size=n_splits + 1)
        return Tree(int(rng.integers(n_classes)), nodes.astype(np.int64), left, values, np.ones(n_splits + 1))

    return forest_of([tree(2), tree(2), tree(0), tree(2)], n_codes, n_classes)


def tables_model(
    seed: int, max_parents: int = 1, missing: str = "marginalize", zeros: bool = False
) -> BayesianNetworkClassifier:
    """A network whose attributes have the class and up to so many attributes as parents, and may be impossible."""
    rng = np.random.default_rng(seed)
    columns, target = made_columns(rng, int(rng.integers(1, 6)), grouped=False), target_of(rng)
    n_states = [column.n_states for column in (*columns, target)]
    parents = [tuple(rng.permutation(node)[: rng.integers(max_parents + 1)].tolist()) for node in range(len(columns))]
    dag = Dag.augmented_naive_bayes([tuple(sorted(above)) for above in parents])
    tables = [rng.dirichlet(np.ones(n_states[family.child]), size=family.shape(n_states)[0]) for family in dag.families]
    for table in tables if zeros else ():
        table[:, 0] *= (rng.random(len(table)) < 0.5) | (table.shape[1] == 1)
        table /= table.sum(axis=1, keepdims=True)
    return classifier_of(Network((*columns, target), dag, tuple(tables), target.name), missing)


def classifier_of(network: AdditiveModel | Network, missing: str = "marginalize") -> BayesianNetworkClassifier:
    """A fitted classifier of a network, without rows."""
    clf = BayesianNetworkClassifier(missing=missing)
    *columns, target = network.columns
    clf.classes_ = np.array(target.categories, dtype=object)
    clf.n_features_in_ = len(columns)
    clf.feature_names_in_ = np.array([column.name for column in columns], dtype=object)
    clf.encoder_ = TableEncoder(TableSchema(tuple(columns), target))
    clf.missing_rule_ = choose_rule(network, None, missing)
    clf.model_ = network
    return clf


def made_rows(clf: BayesianNetworkClassifier, seed: int, n_rows: int = 40) -> pa.Table:
    """Cells at, just below and just above the cuts; categories seen and unseen; gaps. The first rows are complete."""
    rng = np.random.default_rng(seed)
    cells, n_complete = {}, n_rows // 4
    for column in clf.encoder_.schema.attributes:
        gap = (rng.random(n_rows) < 0.15) & (np.arange(n_rows) >= n_complete)
        first = column.categories[0] if column.categories else 0.0
        if isinstance(first, str):
            values, kind = [*column.categories, "unseen", *TEXTS], pa.string()
        elif isinstance(first, bool):
            values, kind = [False, True], pa.bool_()
        else:
            edges = [*column.categories, *column.cuts, *CUTS]
            near = [math.nextafter(edge, side) for edge in edges for side in (-math.inf, math.inf)]
            values, kind = [*edges, *near, -0.0], pa.float64()
        n_seen = len(column.categories) or len(values)
        chosen = rng.integers(np.where(np.arange(n_rows) < n_complete, n_seen, len(values)))
        finite = [values[k] if not isinstance(values[k], float) or math.isfinite(values[k]) else 0.0 for k in chosen]
        cells[column.name] = pa.array([None if g else v for v, g in zip(finite, gap, strict=True)], type=kind)
    return pa.table(cells)
