"""Rows with missing cells: the class posterior with them summed out of the network's own joint; and what else to do."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tanager.network.log_joint import normalize_log
from tanager.network.network import Network
from tanager.table.batch import Codes, code_dtype
from tanager.threads import map_threads

MOST_ROWS = 0.5  # a larger share of rows with gaps, and taking them apart costs more than it saves
BLOCK_ROWS = 8_192

MISSING = ("auto", "average", "marginalize", "skip", "category")


def log_joint_with_gaps(network: Network, codes: Codes, normalized: bool = False) -> NDArray[np.float64]:
    """log P(class, cells present), or `normalized` log P(class | cells present); (n_rows, n_classes).

    A look-up per family is exact for a row whose gaps lie only in attributes that are no parent and have none but the
    class (`LogJoint`); the other rows go through the junction tree.
    """
    hard = np.zeros(len(codes), dtype=bool)
    for node in _linked(network):
        gaps = codes[:, node] == network.n_states[node]
        if gaps.any():
            hard |= gaps
    if not hard.any():
        return network.log_joint(codes, normalized)
    if hard.mean() > MOST_ROWS:
        return _sum_gaps(network, codes, normalized)
    result = np.empty((len(codes), network.n_states[-1]))
    result[~hard] = network.log_joint(codes[~hard], normalized)
    result[hard] = _sum_gaps(network, codes[hard], normalized)
    return result


def _sum_gaps(network: Network, codes: Codes, normalized: bool) -> NDArray[np.float64]:
    n_classes = network.n_states[-1]
    dtype = np.promote_types(codes.dtype, code_dtype(n_classes))
    unlabelled = np.empty((len(codes), codes.shape[1] + 1), dtype=dtype, order="F")
    unlabelled[:, :-1] = codes
    unlabelled[:, -1] = n_classes
    result = network.class_tree.log_joint(network.tables, unlabelled)
    if normalized:
        map_threads(lambda first: normalize_log(result[first : first + BLOCK_ROWS]), range(0, len(result), BLOCK_ROWS))
    return result


def _linked(network: Network) -> list[int]:
    """Attributes that are a parent, or have an attribute as parent."""
    target = len(network.nodes) - 1
    return sorted({node for edge in network.dag.edges if edge[0] != target for node in edge} - {target})
