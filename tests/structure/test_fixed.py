"""What every structure learner declares about the criterion holds for what it learns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.base import clone

from structure.small_tasks import FAMILY_SCORES, STATES, make_task, random_rows, total
from tanager.errors import OptionError
from tanager.network.network import Network
from tanager.structure import (
    STRUCTURES,
    BFSConsistent,
    Dag,
    Fixed,
    HillClimb,
    KDependence,
    StructureLearner,
    Tree,
)
from tanager.structure.family_terms import total_score
from tanager.table.schema import ColumnSchema

# a -> b and a -> c, with the class above all five attributes
EXPECTED = Dag.augmented_naive_bayes([(), (0,), (0,), (), ()])


@dataclass
class SomeNetwork:
    nodes: tuple[str, ...]
    edges: tuple[tuple[str, str], ...]
    target: str | None = None


def learn(edges) -> Dag:
    return Fixed(edges).learn(make_task(random_rows(0), "ll", (*STATES, 3))).dag


@pytest.mark.parametrize(
    "edges",
    [
        [("a", "b"), ("a", "c")],
        (("a", 1), [0, "c"]),
        {"b": ["a"], "c": ("a",), "a": ()},
        {1: [0], 2: [0]},
        EXPECTED,
    ],
)
def test_edges_parents_and_structures_say_the_same(edges):
    assert learn(edges) == EXPECTED


def test_edges_that_name_the_class_are_the_whole_structure():
    assert learn([("class", "a"), ("a", "b")]).parents == ((5,), (0,), (), (), (), ())
    assert learn({"class": ["a"]}).parents == ((), (), (), (), (), (0,))


def test_a_network_is_taken_as_it_is_and_its_target_stands_for_the_class():
    network = SomeNetwork(("a", "b", "illness"), (("illness", "a"), ("a", "b")), "illness")
    assert learn(network).parents == ((5,), (0,), (), (), (), ())
    assert learn(SomeNetwork(("a", "class"), (("a", "class"),))).parents == ((), (), (), (), (), (0,))


def columns_of(*names: str) -> tuple[ColumnSchema, ...]:
    return tuple(ColumnSchema(name, "categorical", ("no", "yes")) for name in names)


def some_network(*names: str, target: str | None = None) -> Network:
    """Nodes without edges."""
    shares = np.full((1, 2), 0.5)
    return Network(columns_of(*names), Dag(((),) * len(names)), (shares,) * len(names), target)


def test_nodes_that_are_no_column_are_hidden_in_the_order_of_the_network():
    network = some_network("z", "a", "y", "illness", target="illness")
    assert Fixed(network).hidden(("a", "b", "class")) == columns_of("z", "y")
    assert Fixed(some_network("z", "class")).hidden(("a", "class")) == columns_of("z")
    for complete in (some_network("a", "b"), [("a", "b")], EXPECTED):
        assert Fixed(complete).hidden(("a", "b", "class")) == ()


def test_hidden_nodes_without_a_node_for_the_class_are_refused():
    with pytest.raises(OptionError, match="no node 'illness', the class; its nodes that are no column are 'ilness'"):
        Fixed(some_network("a", "ilness")).hidden(("a", "illness"))


@pytest.mark.parametrize("name", FAMILY_SCORES)
def test_the_score_is_that_of_the_structure(name):
    task = make_task(random_rows(1), name, (*STATES, 3))
    for edges in ([("a", "b"), ("d", "b")], {"class": ["a", "b"], "d": ["class"]}):
        dag = Fixed(edges).learn(task).dag
        assert total_score(task, dag) == pytest.approx(total(task, dag), rel=1e-9)


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([("a", "b"), ("b", "a")], "the edges given close a cycle: a -> b -> a"),
        ({"a": ["class"], "class": ["a"]}, "close a cycle: a -> class -> a"),
        ([("a", "bb")], "'bb', which is not a column of the table; nearest are 'b'"),
        ([("a", "b", "c")], r"expected \(parent, child\) pairs"),
        ([3], r"expected \(parent, child\) pairs"),
        ({"a": "b"}, "expected a list of them"),
        ([(0, 9)], "column 9; expected 0 to 5"),
        (Dag(((), (0,))), "2 nodes; the table has 6 columns"),
        (SomeNetwork(("a", "hidden"), ()), "'hidden', which is not a column"),
    ],
)
def test_a_structure_that_does_not_fit_the_table_is_refused(edges, message):
    with pytest.raises(OptionError, match=message):
        learn(edges)


def test_learners_are_parameter_objects_that_can_be_cloned_and_shown():
    for make in STRUCTURES.values():
        learner = make()
        assert isinstance(learner, StructureLearner)
        assert clone(learner).get_params() == learner.get_params()
    tree = clone(Tree(root="b", required_edges=[("a", "c")]))
    assert tree.root == "b"
    assert tree.required_edges == [("a", "c")]
    assert "'b'" in repr(tree)


def test_every_registered_structure_learns_from_a_table_with_a_constant_attribute_and_one_row():
    for name, make in STRUCTURES.items():
        task = make_task(random_rows(0, n_rows=1), "bdeu", (*STATES, 3), evaluate=lambda dag: 0.0)
        assert make().learn(task).dag.n_nodes == 6, name


@pytest.mark.parametrize("score", FAMILY_SCORES)
@pytest.mark.parametrize("learner", [Tree(), HillClimb(), KDependence(0), KDependence(3), BFSConsistent(2)], ids=repr)
def test_a_single_attribute_gives_naive_bayes(learner, score):
    assert learner.learn(make_task(random_rows(3, states=(3,)), score)).dag == Dag(((1,), ()))


LEARNERS = {**STRUCTURES, "fixed": lambda: Fixed({"b": ["a"]})}
ASKING = [name for name, make in LEARNERS.items() if make().asks_criterion]
NOT_ASKING = [name for name, make in LEARNERS.items() if not make().asks_criterion]


def task(criterion):
    return make_task(random_rows(4), criterion, evaluate=lambda dag: float(len(dag.edges)))


@pytest.mark.parametrize("name", NOT_ASKING)
def test_a_learner_that_asks_for_no_criterion_never_looks_at_one(name):
    without = LEARNERS[name]().learn(task(None))
    assert without.score is None
    assert without == LEARNERS[name]().learn(task("bic"))


@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner_evaluates_structures_if_and_only_if_it_says_so(name):
    evaluated = []
    asked = make_task(random_rows(4), "bic", evaluate=lambda dag: float(not evaluated.append(dag)))
    LEARNERS[name]().learn(asked)
    assert bool(evaluated) == LEARNERS[name]().evaluates


@pytest.mark.parametrize("name", [name for name in ASKING if LEARNERS[name]().learns != "trees"])
@pytest.mark.parametrize("criterion", ["ll", "bdeu"])
def test_the_score_of_a_structure_is_that_of_the_criterion_it_was_chosen_by(name, criterion):
    asked = task(criterion)
    learnt = LEARNERS[name]().learn(asked)
    assert learnt.score == pytest.approx(total(asked, learnt.dag), rel=1e-9)
