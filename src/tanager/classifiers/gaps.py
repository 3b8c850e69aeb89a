"""Rows with missing cells: the class posterior with the missing attributes summed out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tanager.network.elimination import eliminate
from tanager.network.network import Network
from tanager.table.batch import Codes


def log_joint_with_gaps(network: Network, codes: Codes, n_jobs: int | None = None) -> NDArray[np.float64]:
    """log P(class, cells present), (n_rows, n_classes).

    A look-up per family is exact for a row whose gaps lie only in attributes that are no parent and have none but the
    class (`LogJoint`); the other rows go through elimination, equal ones once.
    """
    gaps = codes == np.array(network.n_states[:-1], dtype=codes.dtype)
    linked = np.zeros(len(network.nodes), dtype=bool)
    target = len(network.nodes) - 1
    for parent, child in network.dag.edges:
        if parent != target:
            linked[[parent, child]] = True
    hard = (gaps & linked[:-1]).any(axis=1)
    if not hard.any():
        return network.log_joint(codes, n_jobs)
    result = np.empty((len(codes), network.n_states[target]))
    result[~hard] = network.log_joint(codes[~hard], n_jobs)
    rows, position = np.unique(codes[hard], axis=0, return_inverse=True)
    result[hard] = np.array([_eliminated(network, row) for row in rows])[position]
    return result


def _eliminated(network: Network, row: Codes) -> NDArray[np.float64]:
    target = len(network.nodes) - 1
    known = {node: int(code) for node, code in enumerate(row) if code < network.n_states[node]}
    found = eliminate(network.dag, network.tables, network.n_states, [target], known)
    with np.errstate(divide="ignore"):
        logs: NDArray[np.float64] = np.log(found.values) + found.log_scale
    return logs
