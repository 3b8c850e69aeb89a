"""Properties of every rule: complete rows, what is predicted, parts that add up, and what is lost without a term."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris

from all_parts import make_classifier
from explain.effect_networks import effect_network
from missing.drawn_rows import entries_of, posterior, random_imputation
from random_networks import random_network
from tanager import BayesianNetworkClassifier
from tanager.files.model_file import load_model, save_model
from tanager.missing.average import Averaged, choose_rule
from tanager.missing.marginalize import SummedOut
from tanager.missing.rule import Expected, MissingRule, Skipped
from tanager.parameters import PARAMETERS
from tanager.structure import Fixed
from tanager.table.columns import code_dtype

SEEDS = st.integers(0, 2**32 - 1)


def tables(seed: int):
    return random_network(seed, [3, 2, 3, 2, 3], density=0.6)


def averaged(network, seed: int) -> Averaged:
    return Averaged(network, random_imputation(network, seed))


RULES = {
    "summed out": lambda seed: SummedOut(tables(seed)),
    "left out": lambda seed: Skipped(tables(seed)),
    "averaged tables": lambda seed: averaged(tables(seed), seed),
    "expected effect": lambda seed: Expected(effect_network(seed, 3)),
    "averaged effects": lambda seed: averaged(effect_network(seed, 3), seed),
}
every_rule = pytest.mark.parametrize("make", RULES.values(), ids=RULES)


def rows_of(rule: MissingRule, seed: int, unknown: bool = True, n_rows: int = 6) -> np.ndarray:
    n_states = np.array(rule.network.n_states[:-1])
    codes = np.random.default_rng(seed).integers(0, n_states + unknown, (n_rows, len(n_states)))
    return np.asfortranarray(codes, dtype=code_dtype(max(rule.network.n_states)))


@every_rule
@settings(max_examples=10, deadline=None)
@given(seed=SEEDS)
def test_a_complete_row_has_the_posterior_of_the_network_whatever_the_rule(make, seed):
    rule = make(seed)
    codes = rows_of(rule, seed, unknown=False)
    found = np.exp(rule.log_posterior(codes))
    for row, values in zip(codes.tolist(), found, strict=True):
        assert values == pytest.approx(posterior(rule.network, row), rel=1e-9)


@every_rule
@settings(max_examples=15, deadline=None)
@given(seed=SEEDS)
def test_the_parts_add_up_to_the_log_odds_whatever_cells_are_unknown(make, seed):
    rule = make(seed)
    codes = rows_of(rule, seed)
    logs = rule.log_posterior(codes)
    complete = (codes < np.array(rule.network.n_states[:-1])).all(axis=1)
    for favoured, against in permutations(range(3), 2):
        odds = logs[:, favoured] - logs[:, against]
        classes = [np.full(len(codes), c, dtype=np.intp) for c in (favoured, against)]
        parts = rule.contributions(codes, *classes, odds)
        assert parts.terms.shape == (len(codes), len(rule.network.terms))
        np.testing.assert_allclose(parts.prior + parts.terms.sum(axis=1) + parts.remainder, odds, atol=1e-9)
        assert not parts.remainder[complete].any()
        assert rule.rest is not None or not parts.remainder.any()


@settings(max_examples=15, deadline=None)
@given(SEEDS)
def test_an_expected_effect_is_the_entry_of_an_unknown_cell(seed):
    rule = Expected(effect_network(seed, 3))
    codes = rows_of(rule, seed)
    favoured, against = np.zeros(len(codes), dtype=np.intp), np.ones(len(codes), dtype=np.intp)
    logs = rule.log_posterior(codes)
    parts = rule.contributions(codes, favoured, against, logs[:, 0] - logs[:, 1])
    for k, row in enumerate(codes.tolist()):
        assert np.exp(logs[k]) == pytest.approx(posterior(rule.network, row), rel=1e-9)
        entries = entries_of(rule.network, row)
        np.testing.assert_allclose([*parts.terms[k], parts.prior[k]], entries[:, 0] - entries[:, 1], atol=1e-12)


IRIS = load_iris(as_frame=True)
HELD = [
    ("tan", "auto", "conditional", Averaged),
    ("tan", "auto", "frequency", SummedOut),
    ("tan", "category", "frequency", SummedOut),
    ("tan", "category", "conditional", Averaged),
    ("tan", "average", "frequency", SummedOut),
    ("tan", "marginalize", "conditional", SummedOut),
    ("tan", "skip", "frequency", Skipped),
    ("additive", "auto", "", Averaged),
    ("additive", "average", "", Averaged),
    *(
        ("naive-bayes", "average", name, SummedOut if learner.describes_attributes else Averaged)
        for name, learner in PARAMETERS.items()
    ),
]


@pytest.mark.parametrize(("structure", "missing", "parameters", "kind"), HELD)
def test_a_fitted_classifier_holds_the_rule_of_its_options_and_a_file_keeps_it(
    structure, missing, parameters, kind, tmp_path
):
    clf = make_classifier(structure, parameters=parameters, missing=missing).fit(IRIS.data, IRIS.target)
    save_model(clf, tmp_path / "model.json")
    read = load_model(tmp_path / "model.json")
    for each in (clf, read):
        assert type(each.missing_rule_) is kind
    gappy = IRIS.data.mask(np.random.default_rng(0).random(IRIS.data.shape) < 0.3)
    np.testing.assert_array_equal(read.predict_proba(gappy), clf.predict_proba(gappy))


@pytest.mark.parametrize("missing", ["auto", "category", "marginalize"])
def test_hidden_nodes_are_summed_out(missing):
    network = tables(4)
    rows = pd.DataFrame(network.sample(60, random_state=0))
    clf = BayesianNetworkClassifier(Fixed(network), parameters="conditional", missing=missing)
    clf.fit(rows.drop(columns=["n1", "n4"]), rows["n4"])
    assert network.nodes[1] in clf.network_.nodes
    assert type(clf.missing_rule_) is SummedOut


def test_a_network_alone_is_summed_out_or_has_expected_effects():
    assert type(choose_rule(tables(0))) is SummedOut
    assert type(choose_rule(effect_network(0))) is Expected
