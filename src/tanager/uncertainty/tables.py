"""The Laplace posterior of a network of tables fitted for the class, from its training rows, its structure given."""

from __future__ import annotations

import numpy as np

from tanager.arrays import Array, Codes
from tanager.network.network import Network
from tanager.parameters.conditional.class_cells import ClassCells
from tanager.parameters.conditional.priors import FREE, Prior
from tanager.uncertainty.laplace import Design, laplace_factor
from tanager.uncertainty.looked_up import LookedUpPosterior


def tables_posterior(
    network: Network, prior: Prior, strengths: tuple[float, ...], codes: Codes, weights: Array, p: Array
) -> LookedUpPosterior:
    """prior of the network's own cells; codes (n_rows, n_attributes) and P(class | row) (n_rows, n_classes)."""
    cells = ClassCells.of(network.dag, network.n_states)
    precision = prior.precision(strengths)[:, 0] / (2.0 if p.shape[1] == 2 else 1.0)
    precision[prior.levels[:, 0] == FREE] = 0.0
    used = np.flatnonzero(np.isfinite(precision))
    whole = prior.factors[0].tocsc()[:, used] if prior.factors else None
    bases, held, own_cells = [], [], []
    for f in range(len(cells.families)):
        first, last = int(cells.offsets[f]), int(cells.offsets[f + 1])
        if whole is None:
            bases.append(np.eye(last - first))
            held.append(precision[first:last])
        else:
            part = whole[first:last]
            columns = np.flatnonzero(np.diff(part.indptr))
            bases.append(part[:, columns].toarray())
            held.append(precision[used][columns])
        attributes, strides = cells.attributes[f], cells.strides[f]
        cell = np.zeros(len(codes), dtype=np.int64)
        gap = np.zeros(len(codes), dtype=bool)
        for node, stride in zip(attributes, strides, strict=True):
            cell += codes[:, node].astype(np.int64) * stride
            gap |= codes[:, node] == network.n_states[node]
        own_cells.append(np.where(gap, -1, cell))
    design = Design(tuple(bases), np.column_stack(own_cells), tuple(held), tuple(range(len(bases))))
    factors = laplace_factor(design, weights, p)
    n_odds, rank = factors[0].shape[1:]
    look_up = network.log_joint
    found = np.zeros((len(look_up.tables), n_odds, rank))
    for f, family in enumerate(cells.families):
        lines = np.tensordot(bases[f], factors[f], axes=1)
        first = int(look_up.offsets[family.child])
        found[first : first + len(lines)] = lines
    return LookedUpPosterior(network, found)
