"""EM against expected counts by enumeration and known optima; the gradient of the likelihood against EM."""

import os
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from oracle import batch_of, random_batch, take_rows
from parameters.tasks import assert_same, loss_by_rows, task_of
from random_networks import networks, random_network
from tanager.errors import OptionError
from tanager.network.network import sample_codes
from tanager.parameters import EM, Frequency, LikelihoodGradient, expected_counts
from tanager.parameters.expected_counts import IncompleteRows
from tanager.runtime.resources import thread_limit
from tanager.structure.dag import Dag

CHAIN = Dag.augmented_naive_bayes([(), (0,), (1,)])
CHAIN_STATES = (2, 3, 2, 2)


def task(dag, batch):
    """Rows of which some may lack the class: its code is then the number of classes."""
    labelled = batch.class_codes < batch.n_classes
    unlabelled = None if labelled.all() else take_rows(batch, np.flatnonzero(~labelled))
    return task_of(dag, take_rows(batch, np.flatnonzero(labelled)), unlabelled=unlabelled)


def drawn(network, n_rows, seed, gaps=0.25, unlabelled=0.0):
    """Rows of a network, a share of the cells and of the classes missing completely at random."""
    generator = np.random.default_rng(seed)
    codes = sample_codes(network.dag, network.tables, n_rows, generator)
    missing = generator.random(codes.shape) < gaps
    missing[:, -1] = generator.random(n_rows) < unlabelled
    missing[0, -1] = False
    codes = np.where(missing, network.n_states, codes)
    return batch_of(codes[:, :-1], codes[:, -1], network.n_states)


def posterior_by_enumeration(network_tables, dag, batch, alpha):
    """log P(cells present) of every row plus alpha log theta of every entry, cell by cell; a class alone has none."""
    network = task_of(dag, batch).network(network_tables)
    codes = np.column_stack([batch.codes, batch.class_codes])
    likelihood = -loss_by_rows(network, codes, (), batch.row_weights, "ll")
    pulled = network_tables if dag.parents[-1] else network_tables[:-1]
    return likelihood + alpha * sum(np.log(table).sum() for table in pulled)


@settings(max_examples=15, deadline=None)
@given(networks(4), st.integers(0, 1000), st.sampled_from(["laplace", "friedman"]), st.sampled_from([None, 0.01]))
def test_the_log_posterior_never_falls(network, seed, smoothing, alpha):
    batch = drawn(network, 60, seed, unlabelled=0.3)
    trace = EM(tol=1e-6, max_iter=3000, smoothing=smoothing, alpha=alpha).learn(task(network.dag, batch)).trace
    values = np.array(trace.log_posterior)
    assert np.diff(values).min() >= -1e-9 * abs(values[0])
    assert len(values) == len(trace.log_likelihood) == trace.iterations + 1


@pytest.mark.parametrize("unlabelled", [0.0, 0.3])
def test_the_trace_is_what_summing_over_all_completions_of_each_row_gives(unlabelled):
    network = random_network(5, [2, 3, 2, 2], density=0.7)
    batch = drawn(network, 50, 2, unlabelled=unlabelled)
    learnt = EM(alpha=0.7, tol=1e-7, max_iter=1000).learn(task(network.dag, batch))
    expected = posterior_by_enumeration(learnt.network.tables, network.dag, batch, alpha=0.0)
    assert learnt.trace.log_likelihood[-1] == pytest.approx(expected, rel=1e-10)


def test_a_column_may_have_gaps_in_rows_without_a_class_alone():
    network = random_network(5, [2, 3, 2, 2], density=0.7)
    batch = drawn(network, 60, 2, gaps=0.0, unlabelled=0.5)
    codes = batch.codes.copy()
    codes[(batch.class_codes == 2) & (np.arange(60) % 2 == 0), 1] = 3
    gappy = batch_of(codes, batch.class_codes, batch.n_states)
    work = task(network.dag, gappy)
    assert not work.counts.rows.incomplete.any()
    learnt = EM(alpha=0.7, tol=1e-7, max_iter=1000).learn(work)
    expected = posterior_by_enumeration(learnt.network.tables, network.dag, gappy, alpha=0.0)
    assert learnt.trace.log_likelihood[-1] == pytest.approx(expected, rel=1e-10)


def test_it_ends_where_a_general_optimiser_of_the_enumerated_posterior_ends():
    dag, n_states = Dag.augmented_naive_bayes([(), (0,)]), (2, 2, 2)
    batch = random_batch(0, 40, n_states, gaps=0.4)
    learnt = EM(tol=1e-10, max_iter=5000).learn(task(dag, batch))

    def tables(logits):
        p = 1.0 / (1.0 + np.exp(-logits))
        rows = np.column_stack([p, 1.0 - p])
        return rows[:2], rows[2:6], rows[6:]

    def loss(logits):
        return -posterior_by_enumeration(tables(logits), dag, batch, alpha=1.0)

    best = minimize(loss, np.zeros(7), method="BFGS", options={"gtol": 1e-7, "maxiter": 300})
    assert learnt.trace.log_posterior[-1] == pytest.approx(-best.fun, abs=1e-6)
    assert_same(learnt.network.tables, tables(best.x), atol=1e-4)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["laplace", "friedman"]), st.booleans())
def test_naive_bayes_with_only_attributes_missing_is_at_its_optimum_from_the_start(seed, smoothing, weighted):
    """Zhou 2002, theorem 4.1: frequencies over the rows present are the maximum likelihood estimate."""
    batch = random_batch(seed, 80, (3, 2, 4, 3), gaps=0.4, weighted=weighted)
    naive = task(Dag.augmented_naive_bayes([()] * 3), batch)
    learnt = EM(smoothing=smoothing).learn(naive)
    assert learnt.trace.iterations == 1
    assert learnt.trace.converged
    assert_same(learnt.network.tables, Frequency(smoothing).learn(naive).network.tables, rtol=1e-12)


@pytest.mark.parametrize("smoothing", ["laplace", "friedman"])
def test_complete_rows_give_the_frequencies_and_need_no_iteration(smoothing):
    batch = random_batch(1, 60, CHAIN_STATES)
    learnt = EM(smoothing=smoothing).learn(task(CHAIN, batch))
    assert learnt.trace.iterations == learnt.trace.rows_with_missing == 0
    assert_same(learnt.network.tables, Frequency(smoothing).learn(task(CHAIN, batch)).network.tables, rtol=1e-15)
    expected = posterior_by_enumeration(learnt.network.tables, CHAIN, batch, alpha=0.0)
    assert learnt.trace.log_likelihood == pytest.approx([expected], rel=1e-12)


def missing_at_random(seed, n_rows, rule):
    """Rows of a chain under a class; attribute 2 is missing as `rule` says of (attribute 1, class)."""
    network = random_network(seed, [2, 3, 2, 2], density=0.0)
    generator = np.random.default_rng(seed)
    tables = (
        np.array([[0.7, 0.3], [0.2, 0.8]]),
        generator.dirichlet(np.ones(3), size=4),
        np.array([[0.9, 0.1], [0.6, 0.4], [0.5, 0.5], [0.2, 0.8], [0.1, 0.9], [0.3, 0.7]]),
        np.array([[0.6, 0.4]]),
    )
    codes = sample_codes(CHAIN, tables, n_rows, generator)
    chance = rule(codes[:, 2], codes[:, 3])
    codes[generator.random(n_rows) < chance, 1] = network.n_states[1]
    return tables, batch_of(codes[:, :3], codes[:, 3], CHAIN_STATES)


@pytest.mark.parametrize(
    "rule",
    [lambda x, c: np.where(x == 0, 0.7, 0.05), lambda x, c: np.where(x == c, 0.6, 0.1)],
    ids=["by an attribute", "by attribute and class"],
)
def test_it_recovers_tables_that_complete_rows_get_wrong(rule):
    """Tolerance: entries of conditional tables of 40,000 rows are off by about 0.005; 0.03 is six times that."""
    truth, batch = missing_at_random(4, 40_000, rule)
    learnt = EM().learn(task(CHAIN, batch)).network.tables
    complete = take_rows(batch, np.flatnonzero(batch.codes[:, 1] < 3))
    biased = Frequency().learn(task(CHAIN, complete)).network.tables
    errors = [max(np.abs(a - b).max() for a, b in zip(tables, truth, strict=True)) for tables in (learnt, biased)]
    assert errors[0] < 0.03
    assert errors[1] > 0.1


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10_000))
def test_integer_weights_equal_repeated_rows(seed):
    generator = np.random.default_rng(seed)
    plain = random_batch(seed, 40, CHAIN_STATES, gaps=0.3)
    classes = np.where(generator.random(40) < 0.2, 2, plain.class_codes)
    classes[0] = 0
    repeats = generator.integers(1, 4, 40)
    weighted = batch_of(plain.codes, classes, CHAIN_STATES, repeats)
    repeated = take_rows(batch_of(plain.codes, classes, CHAIN_STATES), np.repeat(np.arange(40), repeats))
    one, other = (EM().learn(task(CHAIN, batch)) for batch in (weighted, repeated))
    assert_same(one.network.tables, other.network.tables, rtol=1e-9)
    assert one.trace.log_posterior == pytest.approx(other.trace.log_posterior, rel=1e-12)


def test_inferring_the_rows_part_by_part_changes_nothing(monkeypatch):
    network = random_network(5, [2, 3, 2, 2], density=0.7)
    work = task(network.dag, drawn(network, 90, 2, gaps=0.1, unlabelled=0.3))
    whole = EM(tol=1e-7, max_iter=1000).learn(work)
    monkeypatch.setattr(expected_counts, "PART_ROWS", 7)
    parts = EM(tol=1e-7, max_iter=1000).learn(work)
    assert_same(parts.network.tables, whole.network.tables, rtol=1e-9)
    assert parts.trace.log_posterior == pytest.approx(whole.trace.log_posterior, rel=1e-12)
    assert parts.trace.rows_with_missing == whole.trace.rows_with_missing


def print_peaks():
    """Bytes that an iteration takes at most, for 4,000 and for 16,000 rows."""
    expected_counts.PART_ROWS = 512
    for n_rows in (4_000, 16_000):
        batch = random_batch(0, n_rows, CHAIN_STATES, gaps=0.5)
        rows = IncompleteRows(CHAIN, [batch], "abcd")
        tables = Frequency().learn(task(CHAIN, batch)).network.tables
        with thread_limit(1):  # parts at work at the same time would add up
            rows.expect(tables)
            tracemalloc.start()
            rows.expect(tables)
        print(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()


def test_memory_is_that_of_a_part_whatever_the_number_of_rows():
    # In a process of its own: threads that other tests have left take memory too.
    command = [sys.executable, "-c", "from parameters.test_em import print_peaks; print_peaks()"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])}
    out = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    few, many = map(int, out.split())
    # A part leaves a sum behind it, not its rows: an array over the rows would be 8 bytes for each.
    assert many - few < 2 * 12_000


def mixture(n_rows, seed=0):
    """Rows of class -> hidden -> four signs, the hidden node missing in all of them; and the network they are of."""
    dag = Dag((*((4,),) * 4, (5,), ()))
    sign = np.array([[0.9, 0.1], [0.15, 0.85]])
    tables = (sign, sign, sign, sign, np.array([[0.8, 0.2], [0.3, 0.7]]), np.array([[0.5, 0.5]]))
    codes = sample_codes(dag, tables, n_rows, np.random.default_rng(seed))
    codes[:, 4] = 2
    return dag, tables, batch_of(codes[:, :5], codes[:, 5], (2,) * 6)


def test_a_hidden_node_is_learnt_up_to_the_names_of_its_states():
    """Entries of tables of 20,000 rows are off by about 0.005, those given a hidden node by a few times that."""
    dag, truth, batch = mixture(20_000)
    found = EM(tol=1e-7, max_iter=1000).learn(task(dag, batch)).network.tables
    if found[0][0, 0] < found[0][1, 0]:  # the states of the hidden node have no names of their own
        found = (*(table[::-1] for table in found[:4]), found[4][:, ::-1], found[5])
    assert_same(found, truth, atol=0.04)


def test_a_start_at_which_the_states_of_a_hidden_node_are_alike_would_never_be_left():
    dag, _, batch = mixture(500)
    rows = IncompleteRows(dag, [batch], "abcdef")
    alike = em_steps(dag, batch, [np.full(family.shape(batch.n_states), 0.5) for family in dag.families], 3)
    assert all(np.allclose(table[0], table[1]) for table in alike[:4])
    learnt = EM().learn(task(dag, batch))
    assert learnt.trace.log_likelihood[-1] > rows.expect(alike)[1] + 50
    assert EM().learn(task(dag, batch)).trace == learnt.trace  # drawn, but always the same


def test_a_state_seen_only_beside_missing_parents_keeps_a_probability():
    codes = [[0, 0], [1, 0], [2, 1], [2, 1], [0, 0]]
    batch = batch_of(codes, [0, 1, 0, 1, 1], (2, 2, 2))
    learnt = EM(smoothing="friedman").learn(task(Dag.augmented_naive_bayes([(), (0,)]), batch))
    assert learnt.network.tables[1][:, 1].min() > 0
    assert np.isfinite(learnt.trace.log_posterior).all()


def test_an_attribute_without_any_cell_changes_nothing_else():
    batch = random_batch(6, 80, (2, 2, 2), gaps=0.3)
    wider = batch_of(np.column_stack([batch.codes, np.full(80, 1)]), batch.class_codes, (2, 2, 1, 2))
    plain = EM().learn(task(Dag.augmented_naive_bayes([(), (0,)]), batch)).network.tables
    found = EM().learn(task(Dag.augmented_naive_bayes([(), (0,), (1,)]), wider)).network.tables
    assert_same((*found[:2], found[3]), plain, rtol=1e-12)
    np.testing.assert_array_equal(found[2], 1.0)


def test_stopping_early_is_said():
    batch = random_batch(2, 300, CHAIN_STATES, gaps=0.5)
    with pytest.warns(ConvergenceWarning, match="LikelihoodGradient stopped after 2 iterations"):
        LikelihoodGradient(max_iter=2, tol=1e-12).learn(task(CHAIN, batch))
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        learnt = EM(max_iter=2, tol=1e-12).learn(task(CHAIN, batch))
    assert learnt.trace.iterations == 2
    assert not learnt.trace.converged


def test_what_is_still_to_come_is_said_per_row():
    batch = random_batch(2, 300, CHAIN_STATES, gaps=0.5)
    said = []
    for times in (1, 10):
        heavy = replace(batch, weights=np.full(300, float(times)))
        with pytest.warns(ConvergenceWarning) as caught:
            EM(max_iter=2, tol=1e-12, alpha=float(times)).learn(task(CHAIN, heavy))
        said.append(str(caught[0].message))
    assert said[0] == said[1]


@pytest.mark.parametrize("options", [{"max_iter": 0}, {"tol": 0.0}, {"alpha": 0.0}, {"smoothing": "none"}])
@pytest.mark.parametrize("learner", [EM, LikelihoodGradient])
def test_options_out_of_range_are_refused(learner, options):
    with pytest.raises(OptionError, match=next(iter(options))):
        learner(**options).learn(task(CHAIN, random_batch(0, 20, CHAIN_STATES)))


def em_steps(dag, batch, tables, steps: int):
    """Expected counts plus a pseudo-row in every cell but the class's, divided by their sums, so many times."""
    rows = IncompleteRows(dag, [batch], "abcdef")
    for _ in range(steps):
        counts, _ = rows.expect(tables)
        cells = [own + 1.0 for own in counts]
        cells[-1] -= not dag.parents[-1]
        tables = [own / own.sum(axis=1, keepdims=True) for own in cells]
    return tables


TAN = Dag.augmented_naive_bayes([(), (0,), (1,), (0,)])


@pytest.mark.parametrize("weighted", [False, True])
def test_with_no_gap_the_tables_are_the_smoothed_frequencies(weighted):
    batch = random_batch(1, 60, (2, 3, 2, 2, 3), weighted=weighted)
    work = task(TAN, batch)
    for smoothing in ("laplace", "friedman"):
        found = LikelihoodGradient(smoothing, tol=1e-14).learn(work)
        assert_same(found.network.tables, Frequency(smoothing).learn(work).network.tables, atol=1e-6)
        assert found.trace.passes <= 3


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_it_reaches_the_likelihood_that_em_reaches(seed):
    batch = random_batch(seed, 80, (2, 3, 2, 2, 2), gaps=0.5, weighted=seed == 2)
    work = task(TAN, batch)
    found, climbed = LikelihoodGradient(tol=1e-10).learn(work), EM(tol=1e-12, max_iter=5_000).learn(work)
    reached = climbed.trace.log_posterior[-1]
    assert posterior_by_enumeration(found.network.tables, TAN, batch, 1.0) == pytest.approx(reached, abs=1e-5)
    assert reached > climbed.trace.log_posterior[0] + 1e-3
    assert_same(found.network.tables, climbed.network.tables, atol=2e-3)


def test_no_em_step_from_where_it_ends_gains_anything_with_a_hidden_node():
    """A mixture: the class sees four attributes through a hidden node; the start is not the saddle of equal shares."""
    generator = np.random.default_rng(5)
    hidden = generator.integers(0, 2, 400)
    seen = np.column_stack([np.where(generator.random(400) < 0.9, hidden, 1 - hidden) for _ in range(4)])
    dag = Dag(((1,), (), (1,), (1,), (1,)))
    codes = np.column_stack([seen[:, 0], np.full(400, 2), seen[:, 1:3]])
    batch = batch_of(codes, seen[:, 3], (2, 2, 2, 2, 2))
    found = LikelihoodGradient(tol=1e-10).learn(task(dag, batch))
    tables = found.network.tables, em_steps(dag, batch, found.network.tables, 20)
    reached, further = (posterior_by_enumeration(each, dag, batch, 1.0) for each in tables)
    assert reached <= further + 1e-9
    assert reached == pytest.approx(further, abs=1e-5)
    for node in (0, 2, 3, 4):  # the hidden cause is found: nine in ten of each attribute agree with it
        np.testing.assert_allclose(np.sort(found.network.tables[node].max(axis=1)), [0.9, 0.9], atol=0.06)


def test_the_penalised_likelihood_never_falls():
    batch = random_batch(3, 100, (2, 3, 2, 3, 2), gaps=0.6)
    values = LikelihoodGradient().learn(task(TAN, batch)).trace.objective
    assert all(late <= early for early, late in pairwise(values))


def test_the_table_of_a_hidden_leaf_stays_at_equal_shares_since_no_cell_speaks_of_it():
    dag = Dag(((2,), (0,), ()))
    codes = np.column_stack([np.arange(20) % 2, np.full(20, 2)])
    work = task(dag, batch_of(codes, (np.arange(20) // 2) % 2, (2, 2, 2)))
    found = LikelihoodGradient(tol=1e-14).learn(work)
    assert (found.network.tables[1] == 0.5).all()
    np.testing.assert_allclose(found.network.tables[0], Frequency().learn(work).network.tables[0], atol=1e-6)


def test_rows_without_a_class_are_learnt_from():
    """With the class hidden in some rows it is EM's optimum that is reached, not that of the others alone."""
    batch = random_batch(7, 60, (2, 3, 2, 2, 2), gaps=0.3)
    unlabelled = batch_of(batch.codes[40:], np.full(20, 2), batch.n_states)
    some = task(TAN, take_rows(batch, range(40)))
    work = replace(some, unlabelled=unlabelled)
    found = LikelihoodGradient(tol=1e-10).learn(work).network.tables
    assert_same(found, EM(tol=1e-12, max_iter=5000).learn(work).network.tables, atol=1e-3)
    assert np.abs(found[0] - LikelihoodGradient(tol=1e-10).learn(some).network.tables[0]).max() > 1e-2
