"""BFS-consistent k-graphs (BCkG): up to k attribute parents, along the breadth-first order of the best tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import comb

import numpy as np

from tanager.counts.count_store import BYTES_PER_CELL, CountStore
from tanager.counts.family import Family
from tanager.errors import MemoryLimitError
from tanager.structure.constraints import check_count
from tanager.structure.dag import Dag
from tanager.structure.family_terms import FamilyTerms, decomposable_score, level, smallest_gain
from tanager.structure.protocol import LearntStructure, Search, StructureLearner, StructureTask
from tanager.structure.tree import NO_PARENT, Parents, best_tree

# Families are counted and scored this many cells at a time: enough to spread the cost of a call, little beside a table.
CELLS_PER_BATCH = 1 << 16
# Tables pass through memory batch by batch; what would fill it more often than this takes hours.
MEMORIES_ALLOWED = 64


class BFSConsistent(StructureLearner):
    """Each attribute takes the best set of at most `max_parents` attributes that come before it.

    The order is breadth first through the best tree (`Tree`), by name within a level. The tree itself is one of the
    candidates, so the result never scores below it (Carvalho, Oliveira and Sagot 2007, algorithm 1). `max_parents=0` is
    naive Bayes. About n^(k+1) / (k+1)! families are counted. Of equal sets the smaller, then the first, is taken.

    Parameters
    ----------
    max_parents : int
        The most attribute parents of an attribute, k.
    """

    def __init__(self, max_parents: int = 2) -> None:
        self.max_parents = max_parents

    def learn(self, task: StructureTask) -> LearntStructure:
        score = decomposable_score(task, "bckg")
        n_attributes = task.counts.n_attributes
        most = min(check_count("max_parents", self.max_parents), n_attributes - 1)
        start = Dag.augmented_naive_bayes([()] * n_attributes)
        terms = FamilyTerms(task.counts, score)
        search = Search(task, terms.total(start))
        if most == 0:
            return search.learnt(start)
        search.step(_check_size(task, most), 0.0)
        gains = terms.edge_gains()
        smallest = smallest_gain(search.score)
        order = breadth_first(best_tree(level(gains, smallest), score.score_equivalent, terms.with_values()))
        best: dict[int, tuple[float, tuple[int, ...]]] = dict.fromkeys(range(n_attributes), (0.0, ()))

        def offer(child: int, parents: tuple[int, ...], gain: float) -> None:
            if gain > best[child][0] + smallest:
                best[child] = gain, parents

        for position, child in enumerate(order):
            for parent in sorted(order[:position]):
                offer(child, (parent,), float(gains[parent, child]))
        for families in _batches(task.counts, order, most):
            tables = task.counts.tables(families, keep=False)
            for family, gain in zip(families, terms.gains(families, tables).tolist(), strict=True):
                offer(family.child, family.parents[:-1], gain)
        for child in order:
            gain, parents = best[child]
            if parents:
                search.step(f"add {', '.join(task.names[parent] for parent in parents)} -> {task.names[child]}", gain)
        return search.learnt(Dag.augmented_naive_bayes([best[child][1] for child in range(n_attributes)]))


def breadth_first(parents: Parents) -> list[int]:
    """Nodes of a tree by their distance from the root, those of a level by number."""
    levels = [np.flatnonzero(parents == NO_PARENT)]
    while levels[-1].size:
        levels.append(np.flatnonzero(np.isin(parents, levels[-1])))
    return np.concatenate(levels).tolist()


def _batches(counts: CountStore, order: Sequence[int], most: int) -> Iterator[list[Family]]:
    """Every family of 2 to `most` attribute parents that keeps to the order, about CELLS_PER_BATCH cells at a time.

    A set of attributes is exactly one family, its child the last in the order. Sets come in lexicographic order, so
    that an engine can extend the joint codes of the nodes two neighbours share. One with an attribute of a single state
    that no row lacks is no better than the smaller set without it, which is taken first.
    """
    position = np.argsort(order).tolist()
    target = len(order)
    telling = [node for node in range(target) if counts.n_states[node] > 1 or counts.rows.incomplete[node]]
    room = min(CELLS_PER_BATCH, counts.memory_limit // BYTES_PER_CELL)
    batch: list[Family] = []
    cells = 0
    for size in range(3, most + 2):
        for nodes in combinations(telling, size):
            child = max(nodes, key=position.__getitem__)
            family = Family(child, (*(node for node in nodes if node != child), target))
            cells += family.size(counts.n_states)
            if batch and cells > room:
                yield batch
                batch, cells = [], family.size(counts.n_states)
            batch.append(family)
    if batch:
        yield batch


def _check_size(task: StructureTask, most: int) -> str:
    """Refuse before counting what would not fit, one table or far too many of them; say how much there is to do."""
    n_attributes, n_classes, limit = task.counts.n_attributes, task.counts.n_classes, task.counts.memory_limit
    states = np.asarray(task.counts.n_states[:-1], dtype=float)
    n_families = sum(comb(n_attributes, size) for size in range(1, most + 2))
    # The cells of all sets of each size are the elementary symmetric polynomials of the numbers of states.
    sums = np.zeros(most + 2)
    sums[0] = 1.0
    for number in states:
        sums[1:] += number * sums[:-1]
    n_bytes = BYTES_PER_CELL * n_classes * float(sums[1:].sum())
    largest = BYTES_PER_CELL * n_classes * float(np.prod(np.sort(states)[-(most + 1) :]))
    work = f"{n_families:,} families, {n_bytes / 2**30:.3g} GiB of tables"
    if largest > limit or n_bytes > MEMORIES_ALLOWED * limit:
        raise MemoryLimitError(
            f"max_parents={most} over {n_attributes} attributes means counting {work}, the largest "
            f"{largest / 2**30:.3g} GiB; the memory allowed is {limit / 2**30:.3g} GiB.",
            hint="lower max_parents, drop attributes, or group values of attributes that have many.",
        )
    return f"count {work}"
