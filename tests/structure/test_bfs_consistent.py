from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structure.small_tasks import FAMILY_SCORES, STATES, make_task, random_rows, term, total
from tanager.errors import MemoryLimitError, OptionError
from tanager.structure import BFSConsistent, Dag, Tree

SEEDS = st.integers(0, 2**32 - 1)


def levels(dag: Dag) -> list[int]:
    """Attributes of a tree by their distance from the root, then by number."""
    target = dag.n_nodes - 1

    def depth(node: int) -> int:
        parents = [parent for parent in dag.parents[node] if parent != target]
        return 1 + depth(parents[0]) if parents else 0

    return sorted(range(target), key=lambda node: (depth(node), node))


@pytest.mark.parametrize("name", FAMILY_SCORES)
@pytest.mark.parametrize("most", [1, 2, 3])
@given(seed=SEEDS, n_classes=st.sampled_from([2, 3, 5]))
@settings(max_examples=3, deadline=None)
def test_each_attribute_has_the_best_parents_among_those_before_it_and_the_tree_is_never_better(
    name, most, seed, n_classes
):
    rows = random_rows(seed, n_classes=n_classes, n_rows=60)
    task = make_task(rows, name, (*STATES, n_classes))
    learnt = BFSConsistent(most).learn(task)
    tree = Tree().learn(task)
    order = levels(tree.dag)
    target = len(order)
    for place, child in enumerate(order):
        sets = [parents for size in range(most + 1) for parents in combinations(order[:place], size)]
        best = max(term(task, child, (*parents, target)) for parents in sets)
        assert set(learnt.dag.parents[child]) - {target} in map(set, sets)
        assert term(task, child, learnt.dag.parents[child]) == pytest.approx(best, rel=1e-9, abs=1e-9)
    assert learnt.score == pytest.approx(total(task, learnt.dag), rel=1e-9)
    assert learnt.score >= tree.score - 1e-9 * abs(tree.score)


def test_of_equal_parent_sets_the_smallest_and_first_is_taken():
    # b, c and d repeat a: one of them tells all
    a = np.tile([0, 1, 2], 20)
    task = make_task(np.column_stack([a, a, a, a, np.repeat([0, 1], 30)]), "ll")
    assert BFSConsistent(3).learn(task).dag == Dag.augmented_naive_bayes([(), (0,), (0,), (0,)])


@pytest.mark.parametrize("n_attributes", [1, 2])
def test_more_parents_than_there_are_attributes_is_as_many_as_there_are(n_attributes):
    task = make_task(random_rows(1, states=(3,) * n_attributes), "ll")
    assert BFSConsistent(9).learn(task).dag == Tree().learn(task).dag
    assert BFSConsistent(9).learn(task).steps == BFSConsistent(n_attributes - 1).learn(task).steps


def test_the_number_of_families_and_their_size_are_said_before_counting():
    seen = []
    task = make_task(random_rows(2), "ll", (*STATES, 3), report=seen.append)
    learnt = BFSConsistent(2).learn(task)
    n_families = sum(comb(5, size) for size in (1, 2, 3))
    sizes = [
        8 * 3 * np.prod([STATES[node] for node in nodes]) for m in (1, 2, 3) for nodes in combinations(range(5), m)
    ]
    assert seen[0].action == f"count {n_families:,} families, {sum(sizes) / 2**30:.3g} GiB of tables"
    assert tuple(seen) == learnt.steps
    assert learnt.steps[-1].score == learnt.score


def test_a_table_that_does_not_fit_is_refused_before_anything_is_counted():
    rows = random_rows(0, states=(8,) * 6)
    largest = 8 * 3 * 8**4
    task = make_task(rows, "ll", memory_limit=largest - 1)
    with pytest.raises(MemoryLimitError, match=rf"{comb(6, 4) + comb(6, 3) + comb(6, 2) + 6} families"):
        BFSConsistent(3).learn(task)
    assert BFSConsistent(3).learn(make_task(rows, "ll", memory_limit=2 * largest)).dag.n_nodes == 7


def test_more_families_than_anyone_would_wait_for_are_refused():
    rows = random_rows(0, states=(4,) * 24)
    with pytest.raises(MemoryLimitError, match="lower max_parents"):
        BFSConsistent(10).learn(make_task(rows, "ll", memory_limit=2**30))


@pytest.mark.parametrize("most", [-1, 1.5, "2", True, None])
def test_a_number_of_parents_that_is_no_number_is_refused(most):
    with pytest.raises(OptionError, match=f"max_parents={most!r}"):
        BFSConsistent(most).learn(make_task(random_rows(0)))
