"""P(class | row) averaged over what missing cells may hold, against sums over every completion of a row."""

from dataclasses import replace
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from gaps.by_hand import averaged_by_hand, corrected, random_filler, random_filling
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris

from additive.random_forests import random_forest
from explain.effect_networks import effect_network
from random_networks import joint, random_network
from tanager import BayesianNetworkClassifier, NaiveBayesClassifier, TANClassifier
from tanager.classifiers.base import code_labelled
from tanager.missing import average
from tanager.missing.average import Averaged
from tanager.missing.completions import Completions
from tanager.missing.filler import FillingTree
from tanager.missing.filling import learn_filler
from tanager.missing.sum_out import SummedOut
from tanager.network.network import Network
from tanager.parameters import PARAMETERS
from tanager.structure.dag import Dag
from tanager.table.columns import code_dtype
from tanager.table.schema import ColumnSchema

ROOT = Path(__file__).parents[2]
N_STATES = [3, 2, 4, 2, 3]


def filling(seed=0, n_states=N_STATES):
    """A random tree-augmented naive Bayes network, with two trees."""
    generator = np.random.default_rng(seed)
    parents = [[], [0], [1], [], *([3] for _ in n_states[5:])][: len(n_states) - 1]
    dag = Dag.augmented_naive_bayes(parents)
    tables = tuple(
        generator.dirichlet(np.ones(n_states[family.child]), size=family.shape(n_states)[0]) for family in dag.families
    )
    columns = random_network(0, n_states, density=0.0).columns
    return Network(columns, dag, tables, columns[-1].name)


def tables(seed):
    return random_network(seed, N_STATES, density=0.7)


def with_trees(seed):
    """Effects, and trees of one leaf to more than a word has bits for."""
    network = effect_network(seed, 3)
    n_codes = [n + 1 for n in network.n_states[:-1]]
    return replace(network, forest=random_forest(seed, [1, 2, 4, 6, 9, 5, 100], n_codes, 3))


def rows_of(n_states, seed, n_rows=12):
    """Rows of every pattern of gaps, but for those that chance leaves out."""
    rows = [*product(*(range(r + 1) for r in n_states[:-1]))]
    chosen = np.random.default_rng(seed).permutation(len(rows))[:n_rows]
    return np.asfortranarray([rows[k] for k in chosen], dtype=code_dtype(max(n_states)))


def completions(network, row):
    """F(state of all attributes | cells present, any class), and by class; of states that hold the cells present."""
    fits = {
        state: p
        for state, p in joint(network).items()
        if all(cell in (k, r) for cell, k, r in zip(row, state, network.n_states, strict=False))
    }
    total = sum(fits.values())
    return {state: p / total for state, p in fits.items()}


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_what_the_cells_present_say_of_class_and_attributes_is_what_enumeration_finds(seed):
    network = filling(seed)
    codes, tree = rows_of(N_STATES, seed), FillingTree.of(network)
    likelihoods, weights = tree._collect(codes)
    for position, row in enumerate(codes):
        by_class = np.zeros(N_STATES[-1])
        root = np.zeros((N_STATES[-1], N_STATES[0]))
        for state, p in completions(network, row).items():
            by_class[state[-1]] += p
            root[state[-1], state[0]] += p
        assert weights[:, position] / weights[:, position].sum() == pytest.approx(by_class, rel=1e-9)
        found = tree.tables[0][:, 0] * likelihoods[0][:, position]
        np.testing.assert_allclose(
            found / found.sum(axis=1, keepdims=True), root / root.sum(axis=1, keepdims=True), rtol=1e-9, atol=1e-12
        )


def test_every_completion_of_a_row_of_forty_attributes_is_there_once():
    completed = Completions(None, SimpleNamespace(n_states=[2] * 41))
    completed.__dict__["network_sums"] = SimpleNamespace(values=np.tile([[0], [1]], 40))
    missing = np.arange(40) % 20 == 0
    rows = completed._every_row(np.zeros(40, np.uint8), missing)
    assert rows[:, missing].tolist() == [list(states) for states in product((0, 1), repeat=2)]
    assert not rows[:, ~missing].any()


@pytest.mark.parametrize("compiled", [False, True])
def test_draws_keep_the_cells_present_and_fill_the_others_as_often_as_they_are_probable(compiled):
    network, n_draws = filling(1), 20_000
    codes = rows_of(N_STATES, 1)
    filled = FillingTree.of(network).fill(codes, n_draws, compiled)
    for position, row in enumerate(codes):
        shares = dict.fromkeys(product(*(range(r) for r in N_STATES[:-1])), 0.0)
        for state, p in completions(network, row).items():
            shares[state[:-1]] += p
        states, counts = np.unique(filled[:, position].T, axis=0, return_counts=True)
        found = dict(zip(map(tuple, states.tolist()), counts / n_draws, strict=True))
        for state, share in shares.items():
            # Five standard errors of independent draws; these are spread more evenly.
            assert found.get(state, 0.0) == pytest.approx(share, abs=5 * np.sqrt(share / n_draws) + 1e-9)


def test_compiled_and_other_draws_are_the_same():
    network = filling(2, [3, 2, 4, 2, 3, 5, 2])
    codes, tree = rows_of(network.n_states, 2, 200), FillingTree.of(network)
    np.testing.assert_array_equal(tree.fill(codes, 32), tree.fill(codes, 32, compiled=True))


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("make", [tables, lambda seed: effect_network(seed, 3), with_trees])
def test_the_average_is_the_posterior_summed_over_every_completion(make, compiled):
    for seed in range(3):
        network = make(seed)
        filling, codes = random_filling(network, seed), rows_of(network.n_states, seed, 20)
        found = np.exp(Averaged(network, filling)._answer(codes, compiled))
        for row, values in zip(codes.tolist(), found, strict=True):
            np.testing.assert_allclose(values, averaged_by_hand(network, filling, tuple(row)), rtol=0, atol=1e-12)


@pytest.mark.parametrize("compiled", [False, True])
def test_many_draws_come_near_the_sum_over_every_completion(compiled, monkeypatch):
    """The two ways to complete a row are of one distribution."""
    network = tables(3)
    rule, codes = Averaged(network, random_filling(network, 3)), rows_of(N_STATES, 3, 40)
    exact = np.exp(rule.log_posterior(codes))
    monkeypatch.setattr(average, "MAX_COMPLETIONS", 1)
    np.testing.assert_allclose(np.exp(rule._answer(codes, compiled)), exact, atol=0.02)


def test_compiled_and_other_averages_of_draws_are_the_same(monkeypatch):
    monkeypatch.setattr(average, "MAX_COMPLETIONS", 1)
    for seed in range(3):
        network = with_trees(seed)
        rule, codes = Averaged(network, random_filling(network, seed)), rows_of(network.n_states, seed, 150)
        np.testing.assert_allclose(rule._answer(codes, True), rule._answer(codes, False), rtol=0, atol=1e-12)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_rare_state_as_the_only_gap_has_its_exact_share(compiled):
    """32 draws of a state that 1 % of the rows have are none or one."""
    columns = tuple(ColumnSchema(name, "categorical", ("no", "yes")) for name in ("rare", "class"))
    even = np.array([[0.5, 0.5]])
    network = Network(columns, Dag(((1,), ())), (np.array([[0.996, 0.004], [0.1, 0.9]]), even), "class")
    filler = replace(network, tables=(np.array([[0.99, 0.01], [0.99, 0.01]]), even))
    given_no, given_yes = 0.1 / 1.096, 0.9 / 0.904
    found = np.exp(Averaged(network, corrected(network, filler))._answer(np.array([[2]], dtype=np.uint8), compiled))
    assert found[0, 1] == pytest.approx(0.99 * given_no + 0.01 * given_yes, abs=1e-12)


def test_the_answer_of_a_row_does_not_depend_on_the_rows_beside_it():
    n_states = [3] * 9 + [2]  # from few completions to many
    network = random_network(4, n_states, density=0.3)
    rule, codes = Averaged(network, random_filling(network, 4)), np.random.default_rng(4).integers(0, 4, (40, 9))
    codes = codes.astype(np.uint8)
    codes[0] = codes[7] = 3
    codes[20:30] = codes[3]
    alone = [rule.log_posterior(codes[[k]])[0] for k in range(len(codes))]
    for compiled in (False, True):
        np.testing.assert_allclose(rule._answer(codes, compiled), alone, rtol=1e-9)


def test_a_filler_of_its_own_joint_gives_what_marginalizing_does():
    """F(m | o) P(c | o, m) summed over m is P(c | o) when both are of one distribution."""
    network, codes = filling(5), rows_of(N_STATES, 5)
    found = np.exp(Averaged(network, corrected(network, network)).log_posterior(codes))
    for row, values in zip(codes, found, strict=True):
        expected = np.zeros(N_STATES[-1])
        for state, p in completions(network, row).items():
            expected[state[-1]] += p
        assert values == pytest.approx(expected, abs=1e-12)


def test_hundreds_of_attributes_do_not_underflow():
    network = filling(0, [2] * 601)
    codes = np.zeros((3, 600), dtype=np.uint8, order="F")
    codes[0], codes[1, 3], codes[2, 100:] = 2, 2, 2  # the fourth attribute is the parent of all after it
    expected = np.exp(SummedOut(network).log_posterior(codes))
    for compiled in (False, True):
        found = np.exp(Averaged(network, corrected(network, network))._answer(codes, compiled))
        np.testing.assert_allclose(found, expected, atol=0.05)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("first", [0, 1])
def test_an_attribute_that_hundreds_of_others_disagree_about_is_drawn_evenly(first, compiled):
    """The product over its children is 1e-600 in either state."""
    n_attributes = 401
    linked = np.array([[0.999, 0.001], [0.999, 0.001], [0.001, 0.999], [0.001, 0.999]])
    dag = Dag.augmented_naive_bayes([[], *[[0]] * (n_attributes - 1)])
    tables = (np.full((2, 2), 0.5), *[linked] * (n_attributes - 1), np.full((1, 2), 0.5))
    columns = random_network(0, [2] * (n_attributes + 1), density=0.0).columns
    tree = FillingTree.of(Network(columns, dag, tables, columns[-1].name))
    codes = np.full((1, n_attributes), first, dtype=np.uint8, order="F")
    codes[0, 201:], codes[0, 0] = 1 - first, 2
    assert np.bincount(tree.fill(codes, 512, compiled)[0, 0]) == pytest.approx([256, 256], abs=2)


def test_a_row_of_many_cells_does_not_underflow_beside_one_of_none():
    network = random_filler(random_network(0, [2] * 1_601, density=0.0), 0)
    codes = np.zeros((2, 1_600), dtype=np.uint8, order="F")
    codes[0], codes[1, 3] = 2, 2
    _, weights = FillingTree.of(network)._collect(codes)
    np.testing.assert_allclose((weights / weights.sum(axis=0)).T, np.exp(SummedOut(network).log_posterior(codes)))


def test_expected_terms_are_means_over_every_completion(monkeypatch):
    """The way of the experiment that adds up: each family's term replaced by its mean."""
    monkeypatch.syspath_prepend(ROOT)
    from experiments.gap_ways import log_expected_terms

    network, filler, codes = random_network(6, N_STATES, density=0.6), filling(6), rows_of(N_STATES, 6)
    logs = {state: np.log(p) for state, p in joint(network).items()}
    for row, values in zip(codes, log_expected_terms(network, filler, codes), strict=True):
        # Families without the class add the same to every class; they cancel.
        expected = np.zeros(N_STATES[-1])
        for state, p in completions(filler, row).items():
            expected += p * np.array([logs[(*state[:-1], c)] for c in range(N_STATES[-1])])
        assert values == pytest.approx(expected - np.log(np.exp(expected).sum()), abs=1e-9)


def gappy_iris(share=0.2):
    X, y = load_iris(return_X_y=True, as_frame=True)
    return X, X.mask(np.random.default_rng(0).random(X.shape) < share), y


@pytest.mark.parametrize("parameters", sorted(name for name in PARAMETERS if not PARAMETERS[name].describes_attributes))
def test_discriminative_tables_are_averaged_by_default(parameters):
    X, gappy, y = gappy_iris()
    found = [
        BayesianNetworkClassifier("naive-bayes", parameters=parameters, missing=missing).fit(X, y).predict_proba(gappy)
        for missing in ("auto", "average", "marginalize")
    ]
    np.testing.assert_array_equal(found[0], found[1])
    assert np.abs(found[0] - found[2]).max() > 1e-3


@pytest.mark.parametrize("parameters", ["em", "frequency", "hierarchical", "likelihood-gradient"])
def test_tables_that_describe_the_attributes_are_marginalized_by_default(parameters):
    X, gappy, y = gappy_iris()
    clf = TANClassifier(parameters=parameters).fit(X, y)
    assert clf.filler_ is None
    expected = TANClassifier(parameters=parameters, missing="marginalize").fit(X, y).predict_proba(gappy)
    np.testing.assert_array_equal(clf.predict_proba(gappy), expected)


def test_the_filler_is_the_likeliest_tree():
    _, gappy, y = gappy_iris()
    assert TANClassifier().fit(gappy, y).filler_.dag == TANClassifier("ll", "frequency").fit(gappy, y).network_.dag


def test_counts_without_pairs_fill_by_naive_bayes():
    X, gappy, y = gappy_iris()
    clf = NaiveBayesClassifier(missing="average").partial_fit(X[::2], y[::2], classes=[0, 1, 2])
    clf.partial_fit(X[1::2], y[1::2])
    assert all(len(parents) == 1 for parents in clf.filler_.dag.parents[:-1])
    assert clf.score(gappy, y) > 0.85
    assert (
        learn_filler(code_labelled(clf, X, y).counts(), clf.class_count_, clf.network_.columns).dag != clf.filler_.dag
    )


def test_what_a_missing_cell_means_is_decided_by_fit():
    X, gappy, y = gappy_iris()
    clf = TANClassifier(missing="marginalize").fit(X, y)
    before = clf.predict_proba(gappy)
    np.testing.assert_array_equal(clf.set_params(missing="average").predict_proba(gappy), before)


def test_a_row_of_gaps_has_the_frequencies_of_the_classes():
    """What P(class | x) is on average over the training rows, which for `cll` is the frequency of the class."""
    X, _, y = gappy_iris()
    clf = TANClassifier().fit(X[:120], y[:120])
    nothing = pd.DataFrame({name: [np.nan] for name in X})
    assert clf.predict_proba(nothing)[0] == pytest.approx([50 / 120, 50 / 120, 20 / 120], abs=0.05)


@pytest.mark.parametrize("work", [0, np.inf], ids=["compiled", "numpy"])
def test_a_class_that_no_row_has_yet_is_never_drawn(work, monkeypatch):
    monkeypatch.setattr("tanager.missing.average.WORK_WORTH_COMPILING", work)
    X, gappy, y = gappy_iris(0.5)
    clf = NaiveBayesClassifier(missing="average").partial_fit(X[:100], y[:100], classes=[0, 1, 2])
    found = clf.predict_proba(gappy)
    assert found.sum(axis=1) == pytest.approx(1.0)
    assert (found[:, 2] == 0.0).all()
