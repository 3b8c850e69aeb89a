"""Pairwise: the pairs of largest interaction, oriented along what attributes say about the class."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from oracle import random_batch
from tanager.counts.count_store import CountStore
from tanager.counts.numpy_engine import NumpyEngine
from tanager.errors import OptionError
from tanager.scores.information import class_information, pair_information
from tanager.structure import Pairwise, StructureTask
from tanager.structure.dag import Dag
from tanager.table.batch import EncodedBatch
from tanager.table.granularity import MAX_PAIRED


def task(n_attributes: int = 5) -> StructureTask:
    return make_task(random_batch(3, 60, (*[2, 3, 2, 3, 2][:n_attributes], 2)))


def make_task(batch: EncodedBatch) -> StructureTask:
    names = tuple(f"n{node}" for node in range(len(batch.n_states)))
    return StructureTask(CountStore(batch, NumpyEngine(), names), None, names)


def test_the_pairs_are_those_of_largest_interaction_information():
    counts = task().counts
    interaction = pair_information(counts.pairs()).interaction
    pairs = Pairwise(1, "interaction").rank(counts)
    values = [interaction[pair] for pair in pairs]
    assert values == sorted(values, reverse=True)
    rest = [interaction[i, j] for i in range(5) for j in range(i) if (i, j) not in pairs and (j, i) not in pairs]
    assert min(values) >= max(rest)


def test_an_edge_leads_from_the_attribute_that_says_more_about_the_class():
    counts = task().counts
    alone = class_information(counts)
    assert all(alone[parent] >= alone[child] for parent, child in Pairwise(3).rank(counts))


def test_by_information_the_best_of_both_measures_take_turns():
    counts = task().counts
    found = pair_information(counts.pairs())
    undirected = [frozenset(pair) for pair in Pairwise(2).rank(counts)]
    pairs = [(i, j) for j in range(5) for i in range(j)]
    by_interaction = sorted(pairs, key=lambda pair: -found.interaction[pair])
    by_condition = sorted(pairs, key=lambda pair: -found.conditional[pair])
    expected: list[frozenset[int]] = []
    for turn in zip(by_interaction, by_condition, strict=True):
        expected += [pair for pair in map(frozenset, turn) if pair not in expected]
    assert undirected == list(dict.fromkeys(expected))[:10]


def undirected(pairs):
    return {frozenset(pair) for pair in pairs}


@pytest.mark.parametrize("rank_by", ["information", "interaction", "fcll"])
def test_pairs_given_are_those_taken(rank_by):
    given = [("n3", "n1"), (0, 4), (4, 2)]
    learnt = Pairwise(rank_by=rank_by, pairs=given).learn(task())
    assert undirected(learnt.pairs.pairs) == undirected([(3, 1), (0, 4), (4, 2)])
    assert undirected(learnt.pairs.rank(task().counts)) == undirected(learnt.pairs.pairs)
    assert learnt.pairs.numbers == (3,)
    assert learnt.pairs.order == 2
    alone = class_information(task().counts)
    assert all(alone[parent] >= alone[child] for parent, child in learnt.pairs.pairs)


def test_forbidden_pairs_are_left_out_of_the_order_and_nothing_else_is():
    free = Pairwise(10, "interaction").learn(task()).pairs.pairs
    kept = Pairwise(10, "interaction", forbidden_pairs=[("n0", "n1"), (4, "n2")]).learn(task()).pairs
    assert list(kept.pairs) == [pair for pair in free if frozenset(pair) not in undirected([(0, 1), (2, 4)])]
    assert kept.order == 2


def test_an_attribute_without_interactions_is_in_no_pair():
    found = Pairwise(10, interactions=["n0", 3, "n4"]).learn(task()).pairs
    assert undirected(found.pairs) == undirected([(0, 3), (0, 4), (3, 4)])
    assert Pairwise(10, interactions=[]).learn(task()).pairs.pairs == ()
    assert Pairwise(10, pairs=[]).learn(task()).pairs.pairs == ()


def test_of_very_many_attributes_the_pairs_given_are_taken_too():
    n_attributes = MAX_PAIRED + 5
    wide = make_task(random_batch(0, 20, (*[2] * n_attributes, 2)))
    given = [(k, k + 1) for k in range(0, n_attributes - 1, 60)]
    assert undirected(Pairwise(pairs=given).learn(wide).pairs.pairs) == undirected(given)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pairs": [("n1", "n1")]}, "pairs joins 'n1' to itself"),
        ({"pairs": [("n1", "m2")]}, "pairs names 'm2', which is not a column of the table"),
        ({"pairs": [("n1", "n5")]}, "the class is always a parent"),
        ({"pairs": ["n1"]}, "expected .parent, child. pairs"),
        ({"forbidden_pairs": [("n1", 9)]}, "forbidden_pairs names column 9"),
        ({"interactions": ["n9"]}, "interactions names 'n9'"),
        ({"pairs": [("n1", "n2")], "forbidden_pairs": [("n2", "n1")]}, "is to be taken, and forbidden_pairs"),
        ({"pairs": [("n1", "n2")], "interactions": ["n1"]}, "or interactions exclude it"),
        ({"pairs": [("n1", "n2")], "order": 3}, "order=3 does not go with a choice of pairs"),
        ({"pairs": [("n1", "n2")], "order": 1}, "order=1 does not go with a choice of pairs"),
    ],
)
def test_pairs_that_cannot_be_are_refused_in_words(options, message):
    with pytest.raises(OptionError, match=message):
        Pairwise(**options).learn(task())


@pytest.mark.parametrize("rank_by", ["information", "interaction", "fcll"])
def test_all_pairs_make_a_dag_in_which_every_attribute_has_the_class_as_parent(rank_by):
    learnt = Pairwise(10, rank_by).learn(task())
    pairs = learnt.pairs.pairs
    assert len(pairs) == 10
    assert learnt.pairs.numbers == (10 * 5,)
    assert [str(step) for step in learnt.steps] == [f"add n{parent} -> n{child}" for parent, child in pairs]
    assert all(5 in learnt.dag.parents[attribute] for attribute in range(5))
    assert learnt.dag == Dag.of_pairs(5, pairs)


@pytest.mark.parametrize("n_attributes", [1, 2, 6, 13, 40])
def test_the_numbers_to_choose_from_rise_to_six_for_each_attribute_and_never_beyond_all_pairs(n_attributes):
    everything = len(list(combinations(range(n_attributes), 2)))
    three, six = Pairwise().numbers(n_attributes)
    assert three == (3 * n_attributes if 3 * n_attributes < everything else everything)
    assert six == (6 * n_attributes if 6 * n_attributes < everything else everything)


def test_a_constant_attribute_is_in_no_pair():
    batch = random_batch(3, 60, (1, 3, 2, 2))
    pairs = Pairwise(3).rank(make_task(batch).counts)
    assert all(0 not in pair for pair in pairs)
    assert len(pairs) == 1


def test_a_column_that_names_rows_is_in_no_pair_unless_it_is_asked_for():
    others = random_batch(3, 600, (3, 6, 2))
    codes = np.asfortranarray(np.column_stack([np.arange(600), others.codes]).astype(np.uint16))
    batch = EncodedBatch(codes, others.class_codes, (600, *others.n_states), np.zeros(3, dtype=bool))
    assert Pairwise(3).rank(make_task(batch).counts) in {((1, 2),), ((2, 1),)}
    assert Pairwise(pairs=[("n0", "n1")]).learn(make_task(batch)).pairs.pairs == ((0, 1),)


def test_one_attribute_has_no_pair():
    assert Pairwise().learn(task(1)).pairs.pairs == ()


@pytest.mark.parametrize("number", [-1, "many", np.inf, np.nan])
def test_a_number_of_pairs_that_is_none_is_refused(number):
    with pytest.raises(OptionError, match="pairs_per_attribute"):
        Pairwise(number).learn(task())
