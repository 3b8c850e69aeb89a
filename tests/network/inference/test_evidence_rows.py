"""Rows grouped by kind, prepared once, and compiled where the work repays it."""

from __future__ import annotations

import numpy as np

from random_networks import random_network
from tanager.network.inference import evidence_rows
from tanager.network.inference.evidence_rows import EvidenceRows, distinct_rows
from tanager.network.inference.junction_tree import JunctionTree


def gappy_codes(network, n_rows):
    """Uniform codes, about a third of them missing."""
    generator = np.random.default_rng(0)
    codes = np.column_stack([generator.integers(0, r, n_rows) for r in network.n_states])
    return np.where(generator.random(codes.shape) < 0.3, network.n_states, codes)


def test_equal_rows_are_computed_once():
    network = random_network(5, [3, 2, 4], density=0.5)
    codes = gappy_codes(network, 2_000)
    rows = EvidenceRows.of(JunctionTree.of(network.dag, network.n_states).plan, codes)
    assert len(rows.first) == len(np.unique(codes, axis=0)) < 61
    assert (codes[rows.first][rows.kind] == codes).all()
    assert rows.total(None).sum() == 2_000


def test_rows_that_share_a_hash_are_told_apart():
    constant = 0x9E3779B97F4A7C15  # the first column 1 hashes to constant ^ (constant >> 32), and 0 to 0
    codes = np.array([[0, constant ^ (constant >> 32)], [1, 0], [1, 0]], dtype=np.uint64)
    first, kind = distinct_rows(codes, [0, 1])
    assert len(first) == 2
    assert (codes[first][kind] == codes).all()


def test_many_rows_without_two_alike_are_left_as_they_are_and_others_grouped(monkeypatch):
    """A sample of all rows decides, so the answers are the same, and so is the result of grouping where it matters."""
    network = random_network(5, [3, 2, 4, 3, 3, 3, 3, 3], density=0.5)
    plan = JunctionTree.of(network.dag, network.n_states).plan
    monkeypatch.setattr(evidence_rows, "ROWS_WORTH_A_SAMPLE", 500)
    alike = gappy_codes(network, 40)[np.arange(2_000) % 40]
    assert len(EvidenceRows.of(plan, alike).first) == len(np.unique(alike, axis=0))
    distinct = np.unique(gappy_codes(network, 3_000), axis=0)
    rows = EvidenceRows.of(plan, distinct)
    assert (rows.first == np.arange(len(distinct))).all()
    assert (rows.kind == rows.first).all()


def test_rows_prepared_once_give_what_their_codes_give():
    network = random_network(6, [3, 2, 4, 2], density=0.6)
    codes, weights = gappy_codes(network, 200), np.random.default_rng(0).random(200)
    tree = JunctionTree.of(network.dag, network.n_states)
    rows = tree.prepare(codes)
    assert (tree.log_evidence(network.tables, rows) == tree.log_evidence(network.tables, codes)).all()
    one, other = (tree.expected_counts(network.tables, given, weights) for given in (rows, codes))
    assert all((a == b).all() for a, b in zip(one.tables, other.tables, strict=True))


def test_many_passes_are_worth_compiling_for_rows_that_one_pass_is_not():
    network = random_network(6, [3, 2, 4, 2], density=0.6)
    codes = gappy_codes(network, 2_000)
    assert not JunctionTree.of(network.dag, network.n_states).prepare(codes).compiled
    assert JunctionTree.of(network.dag, network.n_states, passes=10_000).prepare(codes).compiled


def test_distinct_rows_may_be_grouped_in_any_order(monkeypatch):
    """As they are when two of them share a hash and all are sorted by their cells."""
    network = random_network(6, [3, 2, 4, 2], density=0.6)
    codes = np.unique(gappy_codes(network, 50), axis=0)
    tree = JunctionTree.of(network.dag, network.n_states)
    expected = tree.log_evidence(network.tables, codes)
    order = np.random.default_rng(0).permutation(len(codes))
    monkeypatch.setattr(evidence_rows, "distinct_rows", lambda codes, columns: (order, np.argsort(order)))
    assert not tree.prepare(codes).all_distinct
    np.testing.assert_array_equal(tree.log_evidence(network.tables, codes), expected)
