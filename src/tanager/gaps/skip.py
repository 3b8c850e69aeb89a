"""Rows with missing cells, the terms of the families they are in left out of the log odds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tanager.counts.family import Family, strides
from tanager.network.inference.junction_tree import JunctionTree
from tanager.network.log_joint import normalize_log
from tanager.network.network import Network
from tanager.table.batch import Codes

SMALLEST = 1e-300  # what an average of logarithms takes a probability of zero for


def log_joint_skipping(network: Network, codes: Codes, normalized: bool = False) -> NDArray[np.float64]:
    """The log joint without the terms of families that have a missing cell (Roos et al. 2005, section 5.4).

    The terms are centred first, so that for each class their mean over the cells x of the family is zero (eq. 22):
    sum_x P(x) (log P(child | parents, c) - m_c) = 0. The sum of all m_c goes to the class, so a complete row keeps its
    log joint, and leaving out a centred term means putting m_c in its place. P(x) is the network's own.
    """
    n_states = network.n_states
    gappy = (codes == np.array(n_states[:-1])).any(axis=1)
    if not gappy.any():
        return network.log_joint(codes, normalized)
    result = np.empty((len(codes), n_states[-1]))
    result[~gappy] = network.log_joint(codes[~gappy], normalized)
    own, shares = codes[gappy], cell_probabilities(network)
    summed = np.zeros((len(own), n_states[-1]))
    for family in network.dag.families:
        summed += family_terms(network, family, shares[family.child], own)
    result[gappy] = normalize_log(summed) if normalized else summed
    return result


def cell_probabilities(network: Network) -> tuple[NDArray[np.float64], ...]:
    """P(parents, child) of each family, (parent configurations, states): the counts expected of one empty row."""
    nothing = np.array([network.n_states])
    tree = JunctionTree.of(network.dag, network.n_states, names=network.nodes)
    return tree.expected_counts(network.tables, nothing).tables


def family_terms(network: Network, family: Family, shares: NDArray[np.float64], codes: Codes) -> NDArray[np.float64]:
    """(n_rows, n_classes) what a family adds to the log joint of each class: its cell's term, or the mean."""
    n_states, target = network.n_states, len(network.nodes) - 1
    attributes = [node for node in family.nodes if node != target]
    probability, weight = (_by_class(values, family, n_states) for values in (network.tables[family.child], shares))
    with np.errstate(divide="ignore"):
        logs = np.log(probability)
    if target in family.nodes:
        weight = weight.sum(axis=1, keepdims=True)
    means = (weight * np.log(np.maximum(probability, SMALLEST))).sum(axis=0)
    cells = np.zeros(len(codes), dtype=np.int64)
    present = np.ones(len(codes), dtype=bool)
    for node, stride in zip(attributes, strides(attributes, n_states), strict=True):
        cells += codes[:, node].astype(np.int64) * stride
        present &= codes[:, node] < n_states[node]
    terms: NDArray[np.float64] = np.where(present[:, np.newaxis], logs[np.where(present, cells, 0)], means)
    return terms


def _by_class(values: NDArray[np.float64], family: Family, n_states: tuple[int, ...]) -> NDArray[np.float64]:
    """(cells of the family's attributes, classes, or 1 for a family without the class)."""
    if family.child == len(n_states) - 1:
        return values
    by_class = values.reshape(family.class_shape(n_states)).swapaxes(1, 2)
    return by_class.reshape(-1, by_class.shape[2])
