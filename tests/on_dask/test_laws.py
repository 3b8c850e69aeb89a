"""Every structure and every parameter learner, and those of a user: the model of a cluster is that of memory."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("distributed", reason="needs Dask: pip install 'tanager[dask]'")

import tanager
import tanager.dask
from tanager.errors import OptionError
from tanager.parameters import EM, PARAMETERS, Conditional, Hierarchical, LikelihoodGradient
from tanager.parameters.protocol import LearntNetwork, ParameterLearner, ParameterTrace
from tanager.scores import ACLL, CLL
from tanager.structure import STRUCTURES, AnDE, Fixed, Selective
from tanager.structure.dag import Dag
from tanager.table.schema import ColumnSchema

N_ROWS = 300
CUTS = (7, 7, 100, 290)
OF_COUNTS = {"frequency", "acll"}
# At a tight tolerance, and with a prior that holds, the order of summation is all that is left of a difference.
TIGHT = {
    "conditional": Conditional(strength=3.0, tol=1e-6),
    "em": EM(tol=1e-12),
    "likelihood-gradient": LikelihoodGradient(tol=1e-10),
}
COMBINATIONS = [
    (structure, parameters)
    for structure in STRUCTURES
    for parameters in PARAMETERS
    if STRUCTURES[structure].learns in PARAMETERS[parameters].fits
    and (structure == "naive-bayes" or not PARAMETERS[parameters].naive_bayes_only)
    and parameters != "dfe"  # which needs the rows in their order
]


def assert_equal(ours, theirs, exactly):
    """Two fitted networks; but for the order of summation where they are not `exactly` equal."""
    if isinstance(theirs, tanager.network.MixtureNetwork | tanager.network.TreeAverageNetwork):
        members = zip(ours.members, theirs.members, strict=True)
        assert all(own.parents == other.parents for own, other in members)
        arrays = [
            pair
            for own, other in zip(ours.members, theirs.members, strict=True)
            for pair in zip(own.tables, other.tables, strict=True)
        ]
        if isinstance(theirs, tanager.network.TreeAverageNetwork):
            arrays.append((ours.log_weights[1:], theirs.log_weights[1:]))
        else:
            arrays.append((ours.weights, theirs.weights))
            said = [() if own.subsumption is None else own.subsumption.implied for own in (ours, theirs)]
            arrays += zip(*said, strict=True)
    elif isinstance(theirs, tanager.Network):
        assert ours.parents == theirs.parents
        arrays = zip(ours.tables, theirs.tables, strict=True)
    else:
        assert ours.pairs == theirs.pairs
        arrays = zip((*ours.mains, *ours.tables), (*theirs.mains, *theirs.tables), strict=True)
    assert ours.columns == theirs.columns
    for own, other in arrays:
        np.testing.assert_allclose(own, other, rtol=0, atol=0.0 if exactly else 1e-9 * np.abs(other).max())


def fit_both(client, cut, table, weights=None, **options):
    """The fits on a cluster and in memory."""
    columns = ["outcome"] if weights is None else ["outcome", weights]
    ours = tanager.dask.BayesianNetworkClassifier(client, **options).fit(cut(table, *CUTS), "outcome", weights)
    theirs = tanager.BayesianNetworkClassifier(**options).fit(
        table.drop(columns=columns), table["outcome"], None if weights is None else table[weights]
    )
    return ours, theirs


@pytest.mark.parametrize(("structure", "parameters"), COMBINATIONS)
def test_the_model_is_that_of_memory(client, structure, parameters, cut, make_table):
    options = {"structure": structure, "parameters": TIGHT.get(parameters, parameters)}
    ours, theirs = fit_both(client, cut, make_table(2, N_ROWS, gaps=0.05), **options)
    assert_equal(ours.network_, theirs.network_, exactly=parameters in OF_COUNTS)
    if theirs.structure_score_ is None:
        assert ours.structure_score_ is None
    else:
        assert ours.structure_score_ == pytest.approx(theirs.structure_score_, rel=1e-12)
    assert (ours.filler_ is None) == (theirs.filler_ is None)
    if theirs.filler_ is not None:
        assert_equal(ours.filler_, theirs.filler_, exactly=parameters in OF_COUNTS)


@pytest.mark.parametrize(
    ("structure", "criterion", "parameters", "exactly"),
    [
        (AnDE(n=2, weights="information", subsumption=20), None, "frequency", True),
        (AnDE(weights="conditional"), None, "frequency", False),
        (Selective(by="accuracy"), None, "frequency", True),
        ("kdb", None, Hierarchical(8.0), False),
        ("tan", ACLL(at="pooled"), "frequency", True),
        ("hill-climb", CLL(penalty="mdl"), "frequency", True),
    ],
)
def test_the_classics_with_their_options_are_those_of_memory(
    client, structure, criterion, parameters, exactly, cut, make_table
):
    options = {"structure": structure, "criterion": criterion, "parameters": parameters}
    ours, theirs = fit_both(client, cut, make_table(2, N_ROWS, gaps=0.05), **options)
    assert_equal(ours.network_, theirs.network_, exactly)


@pytest.mark.parametrize("criterion", ["cll", "bic", "acll"])
def test_a_structure_is_judged_as_in_memory(client, criterion, cut, make_table):
    options = {"structure": "hill-climb", "criterion": criterion, "parameters": "frequency"}
    ours, theirs = fit_both(client, cut, make_table(4, N_ROWS, gaps=0.05), **options)
    assert_equal(ours.network_, theirs.network_, exactly=True)
    assert ours.structure_score_ == pytest.approx(theirs.structure_score_, rel=1e-12)


@pytest.mark.parametrize("structure", ["naive-bayes", "tan"])
def test_strengths_are_chosen_as_in_memory(client, structure, cut, make_table):
    options = {"structure": structure, "parameters": Conditional()}
    ours, theirs = fit_both(client, cut, make_table(2, N_ROWS, gaps=0.05), **options)
    traces = ours.trace_.parameters, theirs.trace_.parameters
    assert traces[0].strength == traces[1].strength
    assert dict(traces[0].held_out) == pytest.approx(dict(traces[1].held_out), abs=1e-9)


def test_a_monotone_model_is_that_of_memory(client, cut, make_table):
    table = make_table(2, N_ROWS, gaps=0.05)
    table = table[table["outcome"].isin(sorted(table["outcome"].unique())[:2])].reset_index(drop=True)
    X, y = table.drop(columns="outcome"), table["outcome"]
    options = {"monotonic_cst": {"size": 1, "weight": -1}}
    theirs = tanager.AdditiveClassifier(**options).fit(X, y)
    ours = tanager.dask.AdditiveClassifier(client, **options).fit(cut(table, *CUTS), "outcome")
    assert set(ours.trace_.monotone) == set(theirs.trace_.monotone)
    np.testing.assert_allclose(ours.predict_proba(cut(X, *CUTS)), theirs.predict_proba(X), atol=1e-3)  # tol


@pytest.mark.filterwarnings("ignore:the class is missing")
@pytest.mark.parametrize("numbers", [False, True], ids=["categories", "numbers"])
@pytest.mark.parametrize("parameters", sorted({parameters for _, parameters in COMBINATIONS}))
def test_weights_and_rows_without_a_class_mean_what_they_mean_in_memory(client, parameters, numbers, cut, make_table):
    table = make_table(5, N_ROWS, gaps=0.05)
    rng = np.random.default_rng(0)
    # No row of the second partition has a class; one colour is only in rows without.
    rows = np.arange(len(table))
    without = (rng.random(len(table)) < 0.2) | ((rows >= 7) & (rows < 100))
    table.loc[np.flatnonzero(without)[:5], "colour"] = "violet"
    table = table.assign(outcome=table["outcome"].mask(without), times=rng.choice([0.0, 0.5, 1.0, 2.7], len(table)))
    options = {"structure": "naive-bayes" if PARAMETERS[parameters].naive_bayes_only else "tan"}
    options["categorical_features"] = "from_dtype" if numbers else "all"
    table = table if numbers else table.drop(columns=["size", "weight"])
    options["parameters"] = TIGHT.get(parameters, parameters)
    assert_equal(*(each.network_ for each in fit_both(client, cut, table, "times", **options)), exactly=False)


def test_rows_without_a_class_change_what_is_learnt_from_them(client, cut, table):
    some = table.assign(outcome=table["outcome"].where(np.arange(len(table)) % 3 == 0))
    labelled = some[some["outcome"].notna()]
    learnt = [
        tanager.dask.BayesianNetworkClassifier(client, structure="tan", parameters="em").fit(cut(rows, 50), "outcome")
        for rows in (some, labelled)
    ]
    assert np.abs(learnt[0].network_.tables[-1] - learnt[1].network_.tables[-1]).max() > 1e-3


def test_a_learner_that_needs_the_rows_in_their_order_is_refused_before_any_work(client, cut, table):
    def refuse(frame):
        raise AssertionError("computed")

    rows = cut(table, 300).map_partitions(refuse, meta=table.iloc[:0])
    with pytest.raises(OptionError, match=r"DFE\(\) goes through the rows one after the other.*workers of a cluster"):
        tanager.dask.NaiveBayesClassifier(client, parameters="dfe").fit(rows, "outcome")


def test_hidden_nodes_are_learnt_as_in_memory(client, cut, table):
    names = ("colour", "shape", "cause", "outcome")
    states = [sorted(table[name].unique()) if name in table else ["no", "yes"] for name in names]
    columns = tuple(ColumnSchema(*own[:1], "categorical", tuple(own[1])) for own in zip(names, states, strict=True))
    dag = Dag(((2,), (2,), (3,), ()))
    tables = tuple(
        np.full((columns[dag.parents[node][0]].n_states if dag.parents[node] else 1, column.n_states), 1.0)
        / column.n_states
        for node, column in enumerate(columns)
    )
    network = tanager.Network(columns, dag, tables, "outcome")
    own = table[["colour", "shape", "outcome"]]
    for parameters in (EM(tol=1e-8, max_iter=2_000), Conditional(strength=1.0)):
        ours, theirs = fit_both(client, cut, own, structure=Fixed(network), parameters=parameters)
        assert_equal(ours.network_, theirs.network_, exactly=False)


class Softened(ParameterLearner):
    """Frequencies of the counts, one added to each, as a user may write them."""

    def learn(self, task):
        counted = [own.reshape(-1, own.shape[-1]) + 1.0 for own in task.counts.tables(task.dag.families)]
        return LearntNetwork(task.network([own / own.sum(axis=1, keepdims=True) for own in counted]))


@dataclass(frozen=True)
class RowTrace(ParameterTrace):
    n_rows: int


class ByRows(ParameterLearner):
    """The same frequencies, by passes over the rows."""

    needs = "passes"

    def learn(self, task):
        rows, families = task.counts.rows, task.dag.families
        tables = rows.sum(partial(_count_one_by_one, families=families), "user")
        n_rows = rows.prepare(_all_rows, "user").sum(len)
        smoothed = [own + 1.0 for own in tables]
        network = task.network([own / own.sum(axis=1, keepdims=True) for own in smoothed])
        return LearntNetwork(network, RowTrace(n_rows))


@pytest.mark.parametrize("parameters", [Softened(), ByRows()])
def test_a_learner_of_the_users_own_works_by_itself(client, parameters, cut, make_table):
    table = make_table(6, N_ROWS, gaps=0.05)
    ours, theirs = fit_both(client, cut, table, structure="tan", parameters=parameters)
    assert_equal(ours.network_, theirs.network_, exactly=True)
    frequencies = tanager.TANClassifier(parameters="frequency").fit(table.drop(columns="outcome"), table["outcome"])
    for own, other in zip(ours.network_.tables[:-1], frequencies.network_.tables, strict=False):
        np.testing.assert_allclose(own, other, rtol=1e-12)
    assert ours.trace_.parameters == (RowTrace(len(table)) if parameters.needs == "passes" else ParameterTrace())


def _all_rows(blocks):
    return pd.concat([pd.DataFrame(block.codes) for block in blocks])


def _count_one_by_one(block, families):
    tables = [np.zeros(family.shape(block.n_states)) for family in families]
    for row in np.column_stack([block.codes, block.class_codes]):
        for family, table in zip(families, tables, strict=True):
            if all(row[node] < block.n_states[node] for node in family.nodes):
                states = tuple(block.n_states[parent] for parent in family.parents)
                parents = tuple(int(row[parent]) for parent in family.parents)
                table[np.ravel_multi_index(parents, states) if parents else 0, row[family.child]] += 1.0
    return tables
