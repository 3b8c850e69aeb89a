"""Neither the order of named columns nor that of rows is a part of the table; positions in a bare array are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from all_parts import FITTING, PARTS, make_classifier
from tanager import BayesianNetworkClassifier, structure_score
from tanager.additive.model import AdditiveTrace
from tanager.errors import OptionError
from tanager.scores import BDe
from tanager.structure import STRUCTURES, Fixed, HillClimb, Tree

# It takes one row after the other.
ROW_BY_ROW = {"dfe"}


def small_table(seed: int, n_rows: int = 60, gaps: float = 0.1) -> tuple[pd.DataFrame, pd.Series]:
    """Columns that depend on each other and on the class; two are the same, so that searches meet ties."""
    generator = np.random.default_rng(seed)
    y = generator.integers(0, 2, n_rows)
    one, other = generator.integers(0, 3, (2, n_rows))
    columns = {
        "m": np.where(generator.random(n_rows) < 0.6, y, one),
        "c": np.where(generator.random(n_rows) < 0.7, one, other),
        "z": generator.normal(size=n_rows) + y,
        "a": one,
        "twin of a": one,
    }
    X = pd.DataFrame({name: values if name == "z" else values.astype(str) for name, values in columns.items()})
    X = X.mask(generator.random(X.shape) < gaps)
    X["twin of a"] = X["a"]
    return X, pd.Series(np.array(["no", "yes"])[y], name="answer")


def fitted(structure, parameters, X, y, weights=None, criterion=None):
    options = {"criterion": criterion, "parameters": parameters, "random_state": 3}
    return make_classifier(structure, **options).fit(X, y, weights)


def steps(clf):
    """What the search did; of an additive model the choices."""
    trace = clf.trace_
    if isinstance(trace, AdditiveTrace):
        return replace(trace, validation_losses=(), change_of_p=None)
    return [step.action for step in trace.structure], getattr(trace.parameters, "strength", None)


def assert_same(one, other, rows, atol=1e-9):
    """The same structure and strengths, found by the same steps, and the same probabilities, of rows with gaps too."""
    assert set(one.model_.edges) == set(other.model_.edges)
    assert steps(one) == steps(other)
    probabilities = [clf.predict_proba(rows[list(clf.feature_names_in_)]) for clf in (one, other)]
    np.testing.assert_allclose(*probabilities, rtol=0, atol=atol)


@pytest.mark.parametrize(("structure", "parameters"), PARTS)
@given(seed=st.integers(0, 1_000), names=st.permutations(["m", "c", "z", "a", "twin of a"]))
@example(seed=1, names=["twin of a", "a", "z", "c", "m"])
@settings(max_examples=2, deadline=None)
def test_any_order_of_columns_gives_the_same_model(structure, parameters, seed, names):
    X, y = small_table(seed)
    one, other = (fitted(structure, parameters, X[order], y) for order in (list(X), names))
    assert_same(one, other, X)


@pytest.mark.parametrize(
    ("structure", "parameters", "n_rows"),
    [
        *((*parts, 60) for parts in PARTS if parts[1] not in ROW_BY_ROW),
        ("additive", "", 60),
        # Folds then have some of the rows.
        *((structure, "conditional", 11_000) for structure in ("naive-bayes", "tan", "kdb", "additive")),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_shuffled_rows_give_the_same_model(structure, parameters, n_rows, weighted):
    X, y = small_table(2, n_rows)
    generator = np.random.default_rng(0)
    weights, order = generator.uniform(0.5, 2.0, len(y)), generator.permutation(len(y))
    shuffled = X.iloc[order], y.iloc[order], weights[order] if weighted else None
    one = fitted(structure, parameters, X, y, weights if weighted else None)
    other = fitted(structure, parameters, *shuffled)
    assert one.encoder_.schema == other.encoder_.schema
    assert_same(one, other, X, 1e-9 if n_rows == 60 and structure != "additive" else 1e-4)


@pytest.mark.parametrize(
    "structure",
    [
        lambda name: Tree(root=name("c")),
        lambda name: Tree(required_edges=[(name("z"), name("m"))], forbidden_edges=[(name("a"), name("c"))]),
        lambda name: HillClimb(required_edges=[(name("z"), name("a"))], forbidden_edges=[(name("c"), name("a"))]),
        lambda name: HillClimb(class_edges="free", required_edges=[(name("m"), name("answer"))]),
        lambda name: Fixed([(name("z"), name("m")), (name("a"), name("z"))]),
        lambda name: Fixed({name("m"): [name("z"), name("c")]}),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_a_number_in_an_option_is_the_place_of_a_column_in_the_table(structure, turned):
    X, y = small_table(3, gaps=0.0)
    X = X[X.columns[::-1]] if turned else X
    places = [*X.columns, "answer"]
    assert_same(*(fitted(structure(name), "frequency", X, y) for name in (str, places.index)), X)


@pytest.mark.parametrize("criterion", ["fcll", "bdeu", "cll"])
def test_the_score_of_a_structure_is_that_of_its_columns(criterion):
    X, y = small_table(5)
    turned = list(X)[::-1]
    scores = [
        structure_score(X[names], y, {child: [parent]}, criterion)
        for names, child, parent in [(list(X), "m", "z"), (turned, "m", "z"), (list(X), 0, 2), (turned, 4, 2)]
    ]
    np.testing.assert_allclose(scores, scores[0], rtol=1e-12)


def test_a_prior_network_is_matched_by_name():
    X, y = small_table(6, gaps=0.0)
    X = X.drop(columns=["z", "twin of a"])
    prior = fitted("tan", "frequency", X, y).network_
    for network in (prior, prior.reordered((2, 0, 1, 3))):
        one, other = (
            fitted("tan", "frequency", X[names], y, criterion=BDe(network)) for names in (list("mca"), list("acm"))
        )
        assert_same(one, other, X)
    with pytest.raises(OptionError, match="'b' is no node of the prior network"):
        fitted("tan", "frequency", X.assign(b=X["a"]), y, criterion=BDe(prior))


def test_the_columns_of_a_bare_array_keep_their_places():
    generator = np.random.default_rng(7)
    codes = generator.integers(0, 3, (80, 12))  # x10 and x11 would come before x2
    codes[:, 11] = codes[:, 2]
    y = np.where(generator.random(80) < 0.7, codes[:, 2] > 0, codes[:, 5] > 1)
    named = pd.DataFrame(codes, columns=[f"x{place:02}" for place in range(12)])
    for structure in STRUCTURES:
        clf = BayesianNetworkClassifier(structure, parameters=FITTING[structure], categorical_features="all")
        expected = clf.fit(named, y).predict_proba(named)
        dag = clf.network_.dag
        np.testing.assert_array_equal(clf.fit(codes, y).predict_proba(codes), expected)
        assert clf.network_.dag == dag


@pytest.mark.filterwarnings("ignore:column .* holds no value")
@pytest.mark.parametrize("name", ["0", "y"])  # the first attribute by name, and a later one
@pytest.mark.parametrize("criterion", [None, "bic"])
@pytest.mark.parametrize("structure", ["tan", "bckg", "kdb", "hill-climb"])
def test_an_attribute_without_any_value_changes_nothing(structure, criterion, name):
    X, y = small_table(3, n_rows=200)
    with_empty = X.assign(**{name: np.full(len(X), np.nan)})
    criterion = None if structure == "kdb" else criterion
    one, other = (fitted(structure, "frequency", rows, y, criterion=criterion) for rows in (X, with_empty))
    assert not [edge for edge in other.network_.edges if edge[0] == name]
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(with_empty), rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_any_order_of_few_rows_gives_the_same_conditional_tables_bit_for_bit(seed):
    X, y = small_table(seed)
    order = np.random.default_rng(seed).permutation(len(y))
    one, other = (fitted("tan", "conditional", X.iloc[rows], y.iloc[rows]) for rows in (slice(None), order))
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
