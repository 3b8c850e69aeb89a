"""P(parents, child) of each family of a network when nothing is observed."""

from __future__ import annotations

import numpy as np

from tanager.arrays import Array
from tanager.counts.family import strides
from tanager.errors import MemoryLimitError
from tanager.network.inference.junction_tree import JunctionTree
from tanager.network.network import Network
from tanager.network.sampling import sample_codes

# Bytes of the largest clique that is still summed exactly, and rows drawn where it is larger.
EXACT_BYTES = 1 << 25
ROWS_DRAWN = 100_000


def exact_joints(network: Network, memory_limit: int | None = None) -> tuple[Array, ...]:
    """(parent configurations, states) of each family: the counts expected of one empty row."""
    tree = JunctionTree.of(network.dag, network.n_states, names=network.nodes, memory_limit=memory_limit)
    return tree.expected_counts(network.tables, np.array([network.n_states])).tables


def family_joints(network: Network) -> tuple[Array, ...]:
    """As `exact_joints` where the cliques of the network are small, as in naive Bayes and trees.

    Where one would take more than 32 MiB the distribution of the parents is estimated from 100,000 rows drawn from the
    network, always the same ones; the tables themselves are never estimated.
    """
    try:
        return exact_joints(network, EXACT_BYTES)
    except MemoryLimitError:
        return _sampled_joints(network)


def _sampled_joints(network: Network) -> tuple[Array, ...]:
    """Drawn parents, the child by its table."""
    codes = sample_codes(network.dag, network.tables, ROWS_DRAWN, np.random.default_rng(0))
    found = []
    for family, table in zip(network.dag.families, network.tables, strict=True):
        configuration = codes[:, family.parents] @ np.array(strides(family.parents, network.n_states), dtype=np.int64)
        share = np.bincount(configuration, minlength=len(table)) / ROWS_DRAWN
        found.append(share[:, np.newaxis] * table)
    return tuple(found)
