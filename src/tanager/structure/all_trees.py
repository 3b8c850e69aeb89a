r"""All directed forests over attributes at once: their sum and the probability of every edge.

Weights are logarithms, (..., n + 1, n): the first row is the weight of having no parent, row 1 + p that of the parent p
of each child. A forest gives every node one parent, or none, without a cycle; its weight is the product. A node without
any weight is absent. Leading axes hold several graphs. The entries of a node as its own parent are not read.

Nodes are eliminated one by one. Node v, whose parents weigh S_v = sum_p w_pv together, leaves the paths through it,

    w_pc + w_pv w_vc / S_v,        sum over all forests = prod_v S_v

(Tutte 1948, by Gaussian elimination). Cycles p -> v -> p are left out instead of subtracted (Grassmann, Taksar and
Heyman 1985), so that nothing cancels, and everything is in logarithms, so that weights may span e^1000 and more.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tanager.arrays import Array

LINEAR_SPAN = 500.0
"""Weights that span fewer nats are eliminated as numbers, if no edge is absent to which an underflow could be added."""
NOTHING = -1e300
"""The logarithm of zero; unlike minus infinity it can be subtracted from itself."""


@dataclass(frozen=True)
class AllTrees:
    """The distribution over forests, each as probable as the product of its weights says.

    log_weights  (..., n + 1, n) at [1 + parent, child], no parent at [0, child]
    """

    log_weights: Array

    @cached_property
    def log_total(self) -> Array:
        """(...) log of the sum over all forests."""
        weights = self._prepared
        largest = weights.max(axis=-2, keepdims=True)  # every forest has one weight of each child
        relative = weights - largest
        there = weights > NOTHING
        n_present = (self.log_weights[..., 0, :] > NOTHING).sum(axis=-1)
        whole = there.sum(axis=(-1, -2)) == n_present * (n_present - 1) + weights.shape[-1]
        if whole.all() and relative[there].min(initial=0.0) > -LINEAR_SPAN:
            return np.asarray(_eliminate_numbers(np.exp(relative)) + largest.sum(axis=(-1, -2)))
        return np.asarray(self._factor[1].sum(axis=-1))

    @cached_property
    def probability(self) -> Array:
        """(..., n + 1, n) the probability of every edge at [1 + parent, child]; of having no parent at [0, child].

        P(p -> c) = w_pc D_pc, where D is the derivative of the log of the sum. Elimination leaves D between the other
        nodes as it is. For the node v eliminated, with the shares q_p = w_pv / S_v,

            D_vc = sum_p q_p D_pc        D_pv = (1 - sum_c w_vc D_vc + sum_c w_vc D_pc) / S_v.

        The difference is a probability divided by q_p: what it loses to rounding is nothing beside one.
        """
        weights, sums = self._factor
        derivative = np.full(weights.shape, NOTHING)
        for node in range(weights.shape[-1]):
            share, onward = weights[..., : node + 1, node], weights[..., node + 1, :node]
            known = derivative[..., : node + 1, :node]
            down = log_sum(share[..., np.newaxis] + known, axis=-2)
            through = log_sum(onward[..., np.newaxis, :] + known, axis=-1)
            children = np.exp(np.minimum(onward + down, 0.0)).sum(axis=-1, keepdims=True)
            derivative[..., node + 1, :node] = down
            derivative[..., : node + 1, node] = _log_more(through, 1.0 - children) - sums[..., node, np.newaxis]
        return np.exp(np.clip(self._prepared + derivative, NOTHING, 0.0))

    @cached_property
    def _prepared(self) -> Array:
        """The weights with `NOTHING` where there is no edge, and a factor of one for a node that is absent."""
        weights = np.maximum(self.log_weights, NOTHING)
        n_nodes = weights.shape[-1]
        weights[..., np.arange(n_nodes) + 1, np.arange(n_nodes)] = NOTHING
        none = weights[..., 0, :]
        none[none == NOTHING] = 0.0
        return weights

    @cached_property
    def _factor(self) -> tuple[Array, Array]:
        """Eliminated in logarithms, the last node first: (..., n + 1, n) weights and (..., n) log S.

        The column of a node holds its shares q, its row its weights to the nodes left when it went.
        """
        weights = self._prepared.copy()
        n_nodes = weights.shape[-1]
        sums = np.zeros((*weights.shape[:-2], n_nodes))
        for node in reversed(range(n_nodes)):
            share = weights[..., : node + 1, node]
            sums[..., node] = log_sum(share, axis=-1)
            share -= sums[..., node, np.newaxis]
            left = weights[..., : node + 1, :node]
            _log_add(left, share[..., np.newaxis] + weights[..., node + 1, np.newaxis, :node])
            left[..., np.arange(1, node + 1), np.arange(node)] = NOTHING
        return weights, sums


def log_sum(values: Array, axis: int) -> Array:
    """log sum exp along an axis; `NOTHING` of nothing."""
    if values.shape[axis] == 0:
        return np.full(np.delete(values.shape, axis), NOTHING)
    largest = values.max(axis=axis, keepdims=True)
    total: Array = np.log(np.exp(values - largest).sum(axis=axis)) + largest.squeeze(axis)
    return np.maximum(total, NOTHING)


def _log_add(total: Array, added: Array) -> None:
    """total = log(exp(total) + exp(added)), in place. Three times as fast as `numpy.logaddexp`, to the same 1e-16."""
    apart = np.abs(total - added)
    np.maximum(total, added, out=total)
    np.negative(apart, out=apart)
    np.exp(apart, out=apart)
    apart += 1.0
    total += np.log(apart, out=apart)


def _log_more(logs: Array, added: Array) -> Array:
    """log(exp(logs) + added) where `added` is no logarithm and may be below zero; `NOTHING` of what is not above."""
    high = np.maximum(logs, 0.0)
    total = np.exp(logs - high) + added * np.exp(-high)
    return np.log(total, out=np.full_like(total, NOTHING), where=total > 0) + high


def _eliminate_numbers(weights: Array) -> Array:
    """log prod_v S_v of weights that are numbers; they are overwritten."""
    n_nodes = weights.shape[-1]
    total = np.zeros(weights.shape[:-2])
    for node in reversed(range(n_nodes)):
        share = weights[..., : node + 1, node]
        whole = share.sum(axis=-1, keepdims=True)
        total += np.log(whole[..., 0])
        left = weights[..., : node + 1, :node]
        left += (share / whole)[..., np.newaxis] * weights[..., node + 1, np.newaxis, :node]
        left[..., np.arange(1, node + 1), np.arange(node)] = 0.0
    return total
