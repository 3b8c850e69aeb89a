"""The worst completion of a partly fixed row, for many choices of what is fixed at once: a minimum over a forest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Array
from tanager.errors import DataError, OptionError
from tanager.network.network import Network

Sets = NDArray[np.bool_]

# What a state impossible under the favoured class costs: finite, so that a state impossible under the other class,
# which costs +infinity and can never be the worst, outweighs it.
IMPOSSIBLE = -1e30


@dataclass(frozen=True)
class Forest:
    """Naive Bayes or a tree: the class is a root, an attribute has at most one attribute parent.

    order    the attributes present in the row or free, parents before children
    parent   attribute parent of each attribute, or None
    """

    network: Network
    order: tuple[int, ...]
    parent: dict[int, int | None]

    @classmethod
    def of(cls, network: Network, missing: Sequence[int]) -> Forest:
        """Without the missing attributes, which sum to one where nothing present depends on them."""
        target = len(network.nodes) - 1
        if network.dag.parents[target]:
            raise OptionError("a sufficient reason needs a class without parents; this class has some.")
        parent: dict[int, int | None] = {}
        for node in range(target):
            attribute_parents = [other for other in network.dag.parents[node] if other != target]
            if len(attribute_parents) > 1:
                raise OptionError(
                    f"a sufficient reason is found for naive Bayes and trees; {network.nodes[node]!r} has "
                    f"{len(attribute_parents)} attribute parents."
                )
            parent[node] = attribute_parents[0] if attribute_parents else None
        left = [node for node in network.dag.order if node != target]
        for node in reversed(left):
            if node in missing:
                children = [child for child in left if parent[child] == node]
                if children:
                    raise DataError(
                        f"{network.nodes[node]!r} is missing, and {network.nodes[children[0]]!r} depends on it: the "
                        "worst case over the other attributes is known only where missing cells can be left out.",
                        hint="fill the cell, or use naive Bayes.",
                    )
                left.remove(node)
        return cls(network, tuple(left), parent)

    @property
    def linked(self) -> bool:
        """Whether an attribute has an attribute as parent."""
        return any(self.parent[node] is not None for node in self.order)

    @property
    def exact(self) -> bool:
        """Whether `worst` is the least sum itself."""
        return True

    @property
    def log_prior(self) -> Array:
        """(n_classes,)"""
        with np.errstate(divide="ignore"):
            return np.log(self.network.tables[-1][0])

    def weights(self, favoured: int, against: int) -> dict[int, Array]:
        """log P(x_i | parent, favoured) - log P(x_i | parent, against): (states of the parent or 1, states)."""
        found = {}
        for node in self.order:
            family = self.network.dag.families[node]
            table = self.network.tables[node].reshape(family.class_shape(self.network.n_states))
            n_classes = table.shape[1]
            above, below = table[:, favoured % n_classes], table[:, against % n_classes]
            with np.errstate(divide="ignore", invalid="ignore"):
                odds = np.where(above > 0, np.log(above) - np.log(below), IMPOSSIBLE)
            found[node] = np.where(below > 0, odds, np.inf)
        return found

    def worst(self, weights: dict[int, Array], codes: Sequence[int], fixed: Sets) -> Array:
        """(n_sets,) the least sum of weights over all completions, with the attributes of each set fixed at `codes`.

        fixed  (n_sets, n_attributes)

        From the leaves to the roots, min over x_i of weight(x_i, x_parent) + what the children of i found, which is
        a function of x_parent; for a fixed attribute the only x_i is its code.
        """
        below: dict[int, Array] = {}
        total = np.zeros(len(fixed))
        for node in reversed(self.order):
            sums = weights[node][np.newaxis] + below.get(node, np.zeros((1, 1)))[:, np.newaxis]
            least = np.where(fixed[:, [node]], sums[:, :, codes[node]], sums.min(axis=2))
            parent = self.parent[node]
            if parent is None:
                total += least[:, 0]
            else:
                below[parent] = below.get(parent, 0.0) + least
        return total
