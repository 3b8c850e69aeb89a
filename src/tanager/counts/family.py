"""Family: a node and its parents; the common currency of counts, scores, cache and tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

CountTable = NDArray[np.int64] | NDArray[np.float64]


@dataclass(frozen=True, slots=True, order=True)
class Family:
    """Node `child` with its `parents`, ascending. The class has the largest number, so it is the last parent.

    A table of the family is a flat array (n_configurations, n_states of the child): the configuration of the parents
    is a mixed-radix number whose last digit, the class where it is a parent, changes fastest. So reshaping to
    (attribute configurations, classes, child states) is free.
    """

    child: int
    parents: tuple[int, ...]

    @classmethod
    def of(cls, child: int, parents: Iterable[int]) -> Family:
        return cls(child, tuple(sorted(parents)))

    @property
    def nodes(self) -> tuple[int, ...]:
        """Parents, then child: the digits of a cell's position, slowest first."""
        return (*self.parents, self.child)

    def shape(self, n_states: Sequence[int]) -> tuple[int, int]:
        """(configurations of all parents, states of the child)."""
        return prod(n_states[node] for node in self.parents), n_states[self.child]

    def class_shape(self, n_states: Sequence[int]) -> tuple[int, int, int]:
        """(configurations of the attribute parents, classes or 1 without the class, states of the child)."""
        target = len(n_states) - 1
        attributes = prod(n_states[node] for node in self.parents if node != target)
        return attributes, n_states[target] if target in self.parents else 1, n_states[self.child]

    def size(self, n_states: Sequence[int]) -> int:
        """Cells of the table."""
        return prod(self.shape(n_states))


def strides(nodes: Sequence[int], n_states: Sequence[int]) -> tuple[int, ...]:
    """Weight of each node's code in the mixed-radix position of a cell, the last node changing fastest."""
    result = [1] * len(nodes)
    for position in range(len(nodes) - 2, -1, -1):
        result[position] = result[position + 1] * n_states[nodes[position + 1]]
    return tuple(result)
