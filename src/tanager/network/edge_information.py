"""What the two ends of each edge tell of each other under the network's own distribution."""

from __future__ import annotations

import numpy as np

from tanager.arrays import Array
from tanager.network.family_joints import family_joints
from tanager.network.network import Network


def edge_information(network: Network) -> Array:
    """I(child; parent | other parents) of each edge of the DAG, in nats, when nothing is observed."""
    found = []
    for family, table in zip(network.dag.families, family_joints(network), strict=True):
        joint = table.reshape([network.n_states[node] for node in family.nodes])
        found += [conditional_information(joint, axis) for axis in range(len(family.parents))]
    return np.array(found, dtype=np.float64)


def conditional_information(joint: Array, axis: int) -> float:
    r"""I(A; B | rest) = sum p log(p p(rest) / (p(A, rest) p(B, rest))), A on `axis` and B on the last, in nats."""
    with_a = joint.sum(axis=-1, keepdims=True)
    with_b = joint.sum(axis=axis, keepdims=True)
    rest = with_a.sum(axis=axis, keepdims=True)
    seen = joint > 0
    top, bottom = (joint * rest)[seen], (with_a * with_b)[seen]
    return max(0.0, float((joint[seen] * np.log(top / bottom)).sum()))
