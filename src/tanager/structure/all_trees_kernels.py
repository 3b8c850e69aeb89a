"""The compiled way to eliminate nodes in logarithms, for one large graph (`tanager.structure.all_trees`)."""

from __future__ import annotations

import math

import numpy as np

from tanager.arrays import Array
from tanager.runtime.kernel import kernel

BESIDE = 40.0
"""A number that many nats below another changes no digit of their sum, and needs neither exp nor log."""


@kernel
def eliminate(weights: Array, sums: Array, nothing: float) -> None:
    """`AllTrees._factor` in place: shares in the columns of `weights`, weights onward in its rows, log S in `sums`."""
    n_nodes = weights.shape[1]
    for node in range(n_nodes - 1, -1, -1):
        largest = nothing
        for row in range(node + 1):
            largest = max(largest, weights[row, node])
        total = 0.0
        for row in range(node + 1):
            if weights[row, node] > largest - BESIDE - 710.0:
                total += math.exp(weights[row, node] - largest)
        sums[node] = largest + math.log(total)
        for row in range(node + 1):
            share = weights[row, node] - sums[node]
            weights[row, node] = share
            for child in range(node):
                if child + 1 == row:
                    continue
                path, there = share + weights[node + 1, child], weights[row, child]
                if path > there + BESIDE:
                    weights[row, child] = path
                elif path > there:
                    weights[row, child] = path + math.log(1.0 + math.exp(there - path))
                elif path > there - BESIDE:
                    weights[row, child] = there + math.log(1.0 + math.exp(path - there))


@kernel
def differentiate(weights: Array, sums: Array, derivative: Array, nothing: float) -> None:
    """`AllTrees.probability`: the logs of the derivatives from the factor, into `derivative`, full of `nothing`."""
    n_nodes = weights.shape[1]
    largest, total = np.empty(n_nodes), np.empty(n_nodes)
    for node in range(n_nodes):
        # D_vc = sum_p q_p D_pc, over rows of the array, as they lie in memory
        largest[:node] = nothing
        total[:node] = 0.0
        for row in range(node + 1):
            share = weights[row, node]
            for child in range(node):
                largest[child] = max(largest[child], share + derivative[row, child])
        for row in range(node + 1):
            share = weights[row, node]
            for child in range(node):
                below = share + derivative[row, child] - largest[child]
                if below > -BESIDE:
                    total[child] += math.exp(below)
        children = 0.0
        for child in range(node):
            derivative[node + 1, child] = max(nothing, largest[child] + math.log(total[child]))
            children += math.exp(min(0.0, weights[node + 1, child] + derivative[node + 1, child]))
        for row in range(node + 1):
            high = 0.0
            for child in range(node):
                high = max(high, weights[node + 1, child] + derivative[row, child])
            left = (1.0 - children) * math.exp(-high)
            for child in range(node):
                below = weights[node + 1, child] + derivative[row, child] - high
                if below > -BESIDE:
                    left += math.exp(below)
            derivative[row, node] = (math.log(left) + high if left > 0.0 else nothing) - sums[node]
