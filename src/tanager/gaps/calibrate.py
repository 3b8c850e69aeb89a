"""Calibration: the filler whose rows, classified by the network, have the frequencies of the training rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tanager.gaps.filler import FillingTree
from tanager.network.any_network import LookedUpNetwork
from tanager.network.network import Network
from tanager.table.categories import code_dtype

Floats = NDArray[np.float64]

N_ROUNDS, N_DRAWS = 10, 2_048
STEP = 0.7
KEPT = 0.9  # of the change of the tables after each round: the pull back to the frequencies
RIDGE = 0.3  # of the confusion of the filler's classes with the network's, which may be near singular
PSEUDO_ROWS = 2.0


def calibrate(filler: Network, network: LookedUpNetwork, classes: Floats, by_state: Sequence[Floats]) -> Network:
    """The best of a few rounds, from the counts (classes,) and of each attribute (coarse states, classes).

    F(k | l, c) is multiplied by exp(g(c, k)) and normalised, the class table by exp(h(c)). A round draws rows from F,
    shares each among the classes by P(c | row) of the network, and compares the shares of classes, and of states by
    class, with the counts. The filler's class is not the network's: B(c, d) = P(class d of the filler | class c of the
    network) says how they mix, and its ridge inverse carries the logarithms of the ratios from one to the other.
    """
    n_states, n_classes = np.array(filler.n_states[:-1]), len(classes)
    frequencies, pseudo = classes / classes.sum(), PSEUDO_ROWS / classes.sum()
    targets = [_state_shares(counts) * frequencies for counts in by_state]
    changes, class_change = [np.zeros((n_classes, n)) for n in n_states], np.zeros(n_classes)
    unknown = n_states[np.newaxis].astype(code_dtype(int(n_states.max())))
    best, least, current = filler, np.inf, filler
    for _ in range(N_ROUNDS + 1):
        drawn = FillingTree.of(current).fill(unknown, N_DRAWS)[:, 0].T
        rows = network.refine(drawn).astype(code_dtype(max(network.n_states)))
        shares = np.exp(network.log_joint(rows, normalized=True)) / N_DRAWS
        found = [_sum_by_state(drawn[:, node], shares, n) for node, n in enumerate(n_states)]
        misfit = float(np.mean([np.abs(one - other).sum() for one, other in zip(found, targets, strict=True)]))
        if misfit < least:
            best, least = current, misfit
        totals = shares.sum(axis=0)
        own = np.exp(current.log_joint(drawn, normalized=True))
        confusion = shares.T @ own / np.maximum(totals, 1e-12)[:, np.newaxis]
        back = confusion @ np.linalg.inv(confusion.T @ confusion + RIDGE * np.eye(n_classes))
        ratio = np.log((frequencies + pseudo) / (totals + pseudo))
        class_change += STEP * (ratio @ back)
        for node, n in enumerate(n_states):
            by_class = np.log((targets[node] + pseudo / n) / (found[node] + pseudo / n)) - ratio
            changes[node] = KEPT * (changes[node] + STEP * (by_class @ back).T)
        current = _bend(filler, changes, class_change)
    return best


def _state_shares(counts: Floats) -> Floats:
    """(states, classes) P(state | class); a class whose rows all lack the cell has the states of the others."""
    total = counts.sum(axis=0)
    of_all = counts.sum(axis=1, keepdims=True) / max(total.sum(), 1e-300)
    return np.where(total > 0, counts / np.maximum(total, 1e-300), of_all)


def _sum_by_state(codes: NDArray[np.unsignedinteger], shares: Floats, n_states: int) -> Floats:
    """(n_states, n_classes) sums of the shares of the rows in each state."""
    return np.stack([np.bincount(codes, share, n_states) for share in shares.T], axis=1)


def _bend(filler: Network, changes: Sequence[Floats], class_change: Floats) -> Network:
    tables = []
    for table, change in zip(filler.tables, [*changes, class_change[np.newaxis]], strict=True):
        # The class is the last parent: it changes fastest.
        bent = table.reshape(-1, *change.shape) * np.exp(change)
        tables.append((bent / bent.sum(axis=2, keepdims=True)).reshape(table.shape))
    return replace(filler, tables=tuple(tables))
