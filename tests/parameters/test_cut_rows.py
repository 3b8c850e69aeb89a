"""No learner notices how the rows are cut: counts and what is made of counts bit for bit, all else to 1e-7."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cut_rows import CutRows
from oracle import batch_of, random_batch, take_rows
from parameters.tasks import assert_same, store, task_of
from tanager.parameters import (
    DFE,
    EM,
    ACLLOptimal,
    Conditional,
    Frequency,
    LikelihoodGradient,
    Pruned,
)
from tanager.parameters.row_likelihood import RowLikelihood
from tanager.structure.dag import Dag
from tanager.table.rows import EncodedBatch

N_STATES = (3, 2, 4, 2, 3)
NAIVE = Dag.augmented_naive_bayes([()] * 4)
TREE = Dag.augmented_naive_bayes([(), (0,), (0,), (1,)])
APART = Dag(((4,), (0,), (4,), (), ()))  # families with and without the class

# Descents end where the loss is exact to its last digits, which leaves the tables seven.
TIGHT = {"tol": 1e-10, "max_iter": 5_000}
CLOSE = {"tol": 1e-6, "max_iter": 5_000}
LEARNERS = {
    "em": (EM(tol=1e-10, max_iter=5_000), TREE),
    "em of friedman": (EM(tol=1e-10, max_iter=5_000, smoothing="friedman"), TREE),
    "likelihood-gradient": (LikelihoodGradient(**TIGHT), TREE),
    "pruned": (Pruned(), NAIVE),
    "dfe": (DFE(passes=2), TREE),
    "dfe of other families": (DFE(passes=2), APART),
    "conditional": (Conditional(strength=(1.0, 2.0), **CLOSE), TREE),
    "conditional, strengths chosen": (Conditional(**TIGHT), TREE),
    "conditional, mixed": (Conditional("mixed", "generative", 1.0, **CLOSE), TREE),
}


def informative(gaps: float = 0.2, weighted: bool = True, n_rows: int = 210) -> EncodedBatch:
    """Rows whose class follows two attributes."""
    batch = random_batch(3, n_rows, N_STATES, gaps=gaps, weighted=weighted)
    rng = np.random.default_rng(4)
    classes = np.where(rng.random(n_rows) < 0.7, batch.codes[:, 1] + batch.codes[:, 3], rng.integers(0, 3, n_rows))
    return batch_of(batch.codes, classes, N_STATES, batch.weights)


def both(learner, dag, batch, unlabelled=None):
    """What is learnt from the rows whole and cut."""
    parts = None if unlabelled is None else CutRows.of(unlabelled)
    whole, cut = task_of(dag, batch, unlabelled=unlabelled), task_of(dag, CutRows.of(batch), unlabelled=parts)
    return learner.learn(whole).network.tables, learner.learn(cut).network.tables


@pytest.mark.parametrize("learner", [Frequency(), Frequency("friedman"), ACLLOptimal()])
@pytest.mark.parametrize("dag", [NAIVE, TREE, APART])
def test_tables_made_of_counts_are_the_same_bit_for_bit(learner, dag):
    assert_same(*both(learner, dag, informative(weighted=False)), rtol=0)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("learner", "dag"), LEARNERS.values(), ids=LEARNERS)
def test_what_is_learnt_does_not_depend_on_how_the_rows_are_cut(learner, dag, weighted):
    whole, cut = both(learner, dag, informative(weighted=weighted))
    assert_same(cut, whole, rtol=1e-7)


@pytest.mark.parametrize("learner", [EM(tol=1e-10, max_iter=5_000), LikelihoodGradient(**TIGHT)])
def test_nor_on_how_rows_without_a_class_are_cut(learner):
    batch = informative()
    labelled, rest = take_rows(batch, range(140)), take_rows(batch, range(140, 210))
    unlabelled = replace(rest, class_codes=np.full(70, 3, dtype=np.uint8))
    whole, cut = both(learner, TREE, labelled, unlabelled)
    assert_same(cut, whole, rtol=1e-9)
    alone = learner.learn(task_of(TREE, labelled)).network.tables
    assert max(np.abs(a - b).max() for a, b in zip(alone, whole, strict=True)) > 1e-3


def test_a_node_hidden_in_some_blocks_alone_is_not_hidden():
    """The first blocks have no cell of a node; so random shares there would be wrong."""
    batch = informative(weighted=False)
    codes = batch.codes.copy()
    codes[:100, 2] = N_STATES[2]
    assert_same(*both(EM(max_iter=1, tol=1e9), TREE, batch_of(codes, batch.class_codes, N_STATES)), rtol=1e-12)


@pytest.mark.parametrize("leave_one_out", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_likelihood_of_rows_is_that_of_all_blocks_together(leave_one_out, weighted):
    batch = informative(weighted=weighted)
    whole, cut = (RowLikelihood(store(rows), Frequency(), leave_one_out) for rows in (batch, CutRows.of(batch)))
    for dag in (NAIVE, TREE, APART, NAIVE):
        assert cut(dag) == pytest.approx(whole(dag), rel=1e-12)
