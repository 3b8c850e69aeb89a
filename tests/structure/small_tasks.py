"""Small tables with everything that goes wrong in them, as tasks for structure learners, and oracles by brute force."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import product
from math import log

import numpy as np

from tanager.counts.count_store import CountStore
from tanager.counts.engine import NumpyEngine
from tanager.counts.family import Family
from tanager.scores import SCORES, BDe, FamilyScore
from tanager.structure import Dag, Step, StructureTask
from tanager.table.rows import EncodedBatch

STATES = (2, 3, 1, 4, 2)


class UniformPrior:
    """Every cell as probable as every other."""

    def family_probabilities(self, family: Family, n_states: Sequence[int]) -> np.ndarray:
        return np.full(family.class_shape(n_states), 1.0 / family.size(n_states))


# One of each decomposable score, by its name.
FAMILY_SCORES: dict[str, Callable[[], FamilyScore]] = {
    **{name: make for name, make in SCORES.items() if getattr(make, "decomposable", False) and name != "bde"},
    "bde": lambda: BDe(UniformPrior(), ess=3.0),
}


def random_rows(seed: int, n_rows: int = 40, states: Sequence[int] = STATES, n_classes: int = 3) -> np.ndarray:
    """(n_rows, n + 1) codes, the class last; each attribute leans on the class and on the one before it."""
    random = np.random.default_rng(seed)
    target = random.integers(n_classes, size=n_rows)
    columns = []
    before = random.integers(4, size=n_rows)
    for number in states:
        copied = random.random(n_rows) < random.random()
        own = random.integers(number, size=n_rows)
        columns.append(np.where(copied, (before + target * random.integers(3)) % number, own))
        before = columns[-1]
    return np.column_stack([*columns, target])


def make_task(
    rows: np.ndarray,
    score: object = "ll",
    states: Sequence[int] | None = None,
    weights: np.ndarray | None = None,
    memory_limit: int | None = None,
    evaluate: Callable[[Dag], float] | None = None,
    seed: int = 0,
    report: Callable[[Step], None] = lambda step: None,
) -> StructureTask:
    """A task over rows of codes, the class last; a code of -1 is missing. Attributes are named a, b, c, ..."""
    n_states = tuple(states) if states is not None else tuple(int(column.max()) + 1 for column in rows.T)
    codes = np.where(rows < 0, n_states, rows).astype(np.uint8)
    batch = EncodedBatch(
        np.asfortranarray(codes[:, :-1]), codes[:, -1].copy(), n_states, (rows[:, :-1] < 0).any(axis=0), weights
    )
    names = (*"abcdefghijklmnopqrstuvwxyz"[: rows.shape[1] - 1], "class")
    counts = CountStore(batch, NumpyEngine(), names, memory_limit)
    chosen = {**SCORES, **FAMILY_SCORES}[score]() if isinstance(score, str) else score
    return StructureTask(counts, chosen, names, seed, report, evaluate)


def total(task: StructureTask, dag: Dag) -> float:
    """The score of a structure, family by family, each from its own count."""
    return sum(term(task, child, parents) for child, parents in enumerate(dag.parents))


def term(task: StructureTask, child: int, parents: Iterable[int]) -> float:
    family = Family.of(child, parents)
    return task.criterion.local(task.counts.table(family), family, task.counts.n_states)


def log_likelihood_by_rows(rows: np.ndarray, dag: Dag) -> float:
    """Sum over rows and nodes of the log of a relative frequency; knows no counts, no scores."""
    result = 0.0
    for child, parents in enumerate(dag.parents):
        families = Counter(tuple(row[[*parents, child]]) for row in rows)
        configurations = Counter(tuple(row[list(parents)]) for row in rows)
        result += sum(number * log(number / configurations[cell[:-1]]) for cell, number in families.items())
    return result


@cache
def forests(n_nodes: int, trees: bool = False) -> tuple[tuple[int, ...], ...]:
    """Every directed forest, or tree over all nodes, as the parent of each node or -1."""
    found = (parents for parents in product(range(-1, n_nodes), repeat=n_nodes) if _is_forest(parents))
    return tuple(parents for parents in found if not trees or parents.count(-1) == 1)


def trees(n_nodes: int) -> tuple[tuple[int, ...], ...]:
    """Every directed tree over all nodes."""
    return forests(n_nodes, trees=True)


def _is_forest(parents: Sequence[int]) -> bool:
    for start in range(len(parents)):
        node = start
        for _ in parents:
            node = parents[node] if node >= 0 else -1
        if node >= 0:
            return False
    return True
