"""P(parents, child) of each family of a network without evidence, and the information along its edges."""

from __future__ import annotations

import numpy as np

from tanager.arrays import Array
from tanager.counts.family import strides
from tanager.errors import MemoryLimitError
from tanager.network.inference.junction_tree import JunctionTree
from tanager.network.network import Network, sample_codes

# Bytes of the largest clique that is still summed exactly, and rows drawn where it is larger.
EXACT_BYTES = 1 << 25
ROWS_DRAWN = 100_000


def family_joints(network: Network) -> tuple[Array, ...]:
    """As `exact_joints` where the cliques of the network are small, as in naive Bayes and trees.

    Where one would take more than 32 MiB the distribution of the parents is estimated from 100,000 rows drawn from the
    network, always the same ones; the tables themselves are never estimated.
    """
    try:
        return exact_joints(network, EXACT_BYTES)
    except MemoryLimitError:
        return _sampled_joints(network)


def exact_joints(network: Network, memory_limit: int | None = None) -> tuple[Array, ...]:
    """(parent configurations, states) of each family: the counts expected of one empty row."""
    tree = JunctionTree.of(network.dag, network.n_states, names=network.nodes, memory_limit=memory_limit)
    return tree.expected_counts(network.tables, np.array([network.n_states])).tables


def _sampled_joints(network: Network) -> tuple[Array, ...]:
    """Drawn parents, the child by its table."""
    codes = sample_codes(network.dag, network.tables, ROWS_DRAWN, np.random.default_rng(0))
    joints = []
    for family, table in zip(network.dag.families, network.tables, strict=True):
        configuration = codes[:, family.parents] @ np.array(strides(family.parents, network.n_states), dtype=np.int64)
        share = np.bincount(configuration, minlength=len(table)) / ROWS_DRAWN
        joints.append(share[:, np.newaxis] * table)
    return tuple(joints)


def edge_information(network: Network) -> Array:
    """I(child; parent | other parents) of each edge of the DAG, in nats, when nothing is observed."""
    information = []
    for family, table in zip(network.dag.families, family_joints(network), strict=True):
        joint = table.reshape([network.n_states[node] for node in family.nodes])
        information += [conditional_information(joint, axis) for axis in range(len(family.parents))]
    return np.array(information, dtype=np.float64)


def conditional_information(joint: Array, axis: int) -> float:
    r"""I(A; B | rest) = sum p log(p p(rest) / (p(A, rest) p(B, rest))), A on `axis` and B on the last, in nats."""
    with_a = joint.sum(axis=-1, keepdims=True)
    with_b = joint.sum(axis=axis, keepdims=True)
    rest = with_a.sum(axis=axis, keepdims=True)
    seen = joint > 0
    top, bottom = (joint * rest)[seen], (with_a * with_b)[seen]
    return max(0.0, float((joint[seen] * np.log(top / bottom)).sum()))
