"""Rows with missing cells: the class posterior with the missing attributes summed out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tanager.network.elimination import eliminate
from tanager.network.log_joint import normalize_log
from tanager.network.network import Network
from tanager.table.batch import Codes


def log_joint_with_gaps(network: Network, codes: Codes, normalized: bool = False) -> NDArray[np.float64]:
    """log P(class, cells present), or `normalized` log P(class | cells present); (n_rows, n_classes).

    A look-up per family is exact for a row whose gaps lie only in attributes that are no parent and have none but the
    class (`LogJoint`); the other rows go through elimination, equal ones once.
    """
    hard = np.zeros(len(codes), dtype=bool)
    for node in _linked(network):
        gaps = codes[:, node] == network.n_states[node]
        if gaps.any():
            hard |= gaps
    if not hard.any():
        return network.log_joint(codes, normalized)
    result = np.empty((len(codes), network.n_states[-1]))
    result[~hard] = network.log_joint(codes[~hard], normalized)
    rows, position = np.unique(codes[hard], axis=0, return_inverse=True)
    eliminated = np.array([_eliminated(network, row) for row in rows])
    result[hard] = (normalize_log(eliminated) if normalized else eliminated)[position]
    return result


def _linked(network: Network) -> list[int]:
    """Attributes that have an attribute as parent or child."""
    target = len(network.nodes) - 1
    return sorted({node for edge in network.dag.edges if target not in edge for node in edge})


def _eliminated(network: Network, row: Codes) -> NDArray[np.float64]:
    target = len(network.nodes) - 1
    known = {node: int(code) for node, code in enumerate(row) if code < network.n_states[node]}
    found = eliminate(network.dag, network.tables, network.n_states, [target], known)
    with np.errstate(divide="ignore"):
        logs: NDArray[np.float64] = np.log(found.values) + found.log_scale
    return logs
