"""The Laplace posterior of a network of effects, from its training rows.

The Hessian is taken at the network's own P(class | row), whatever it is a mean of: fits of several kinds, of folds, of
effects and trees. The effects vary as if they had to say alone what the trees beside them say too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tanager.additive.model import AdditiveModel
from tanager.parameters.effects.centered import Effects, center_effects
from tanager.parameters.effects.layout import main_effects, shares_of
from tanager.parameters.effects.prior import gap_shares
from tanager.parameters.effects.trace import EffectsTrace
from tanager.posterior.laplace import Design, by_evidence, laplace_factor
from tanager.posterior.looked_up import LookedUpPosterior
from tanager.table.categories import Codes
from tanager.table.schema import ColumnSchema

Array = NDArray[np.float64]

# Effects of a walk: of main effects as many as all together may have, of pairs the smoothest, as in the fit.
MAIN_EFFECTS, FEWEST_PARTS, MOST_PARTS = 1_500, 6, 63
PAIR_PARTS = 5


def effects_posterior(
    network: AdditiveModel, codes: Codes, weights: Array, p: Array, trace: EffectsTrace
) -> LookedUpPosterior:
    """codes (n_rows, n_attributes) and weights of the training rows, and P(class | row) of each."""
    mains = sorted((a for a, main in enumerate(network.mains) if main.any()), key=lambda a: network.nodes[a])
    pairs = sorted(range(len(network.pairs)), key=lambda k: [network.nodes[a] for a in network.pairs[k]])
    coarse = network.coarsen(codes)
    parts = int(np.clip(MAIN_EFFECTS // max(1, len(mains)), FEWEST_PARTS, MOST_PARTS))
    bases = [_main_basis(network.columns[a], codes[:, a], weights, parts) for a in mains]
    bases += [_pair_basis(network, network.pairs[k], coarse, weights) for k in pairs]
    cells = [codes[:, a].astype(np.int64) for a in mains]
    for parent, child in (network.pairs[k] for k in pairs):
        width = network.columns[child].coarse.n_states + 1
        cells.append(coarse[:, parent].astype(np.int64) * width + coarse[:, child])
    strengths = _strengths(trace, len(mains), len(pairs), 2 if p.shape[1] == 2 else 1)
    sizes = [*(basis.shape[1] for basis in bases), 1]
    design = Design(
        (*bases, np.ones((1, 1))),
        np.column_stack([*cells, np.zeros(len(codes), dtype=np.int64)]),
        tuple(np.full(size, strength) for size, strength in zip(sizes, strengths, strict=True)),
        (*[0] * len(mains), *range(1, len(pairs) + 1), 0),
    )
    # Of a mean of models the leader's strengths are known: blocks that it does not have, or has by their norm, have
    # the strength of their evidence.
    chosen = [k for k, strength in enumerate(strengths[:-1]) if trace.norm_share > 0.5 or np.isinf(strength)]
    if chosen:
        effects = [*(network.mains[a] for a in mains), *(network.tables[k] for k in pairs)]
        own = [_effects_of(basis, effect, p.shape[1]) for basis, effect in zip(bases, effects, strict=True)]
        design = by_evidence(design, weights, p, own, chosen)
    factors = laplace_factor(design, weights, p)
    return _in_cells(network, mains, pairs, design, factors)


def _strengths(trace: EffectsTrace, n_mains: int, n_pairs: int, halved: int) -> list[float]:
    """Of each block; the penalty on either of two classes is half of it on their log odds."""
    first, last = trace.strength[0], trace.strength[-1]
    return [*[first / halved] * n_mains, *[last / halved] * n_pairs, 0.0]


def _main_basis(column: ColumnSchema, codes: Codes, weights: Array, parts: int) -> Array:
    """(states + 1, effects), a missing cell last: the mean of the others by their shares."""
    rows = np.bincount(codes, weights, minlength=column.n_states + 1)[: column.n_states].astype(np.float64)
    basis = main_effects(column, rows, parts)
    basis = np.eye(column.n_states) if basis is None else basis
    return np.vstack([basis, shares_of(rows) @ basis])


def _pair_basis(network: AdditiveModel, pair: tuple[int, int], coarse: Codes, weights: Array) -> Array:
    """((parent's states + 1) (child's + 1), effects): products of the two bases, a missing cell being the mean."""
    columns = [network.columns[node].coarse for node in pair]
    sizes = [column.n_states for column in columns]
    flat = coarse[:, pair[0]].astype(np.int64) * (sizes[1] + 1) + coarse[:, pair[1]]
    counted = np.bincount(flat, weights, minlength=(sizes[0] + 1) * (sizes[1] + 1)).astype(np.float64)
    rows: Array = counted.reshape(sizes[0] + 1, sizes[1] + 1)[:-1, :-1]
    bases = []
    for column, margin in zip(columns, (rows.sum(axis=1), rows.sum(axis=0)), strict=True):
        basis = main_effects(column, margin, PAIR_PARTS)
        bases.append(np.eye(column.n_states) if basis is None else basis)
    products = np.einsum("ia,jb->ijab", *bases).reshape(*sizes, -1)
    by_child, by_parent, both = gap_shares(rows)
    cells = np.zeros((sizes[0] + 1, sizes[1] + 1, products.shape[2]))
    cells[:-1, :-1] = products
    cells[-1, :-1] = np.einsum("ij,ije->je", by_child, products)
    cells[:-1, -1] = np.einsum("ij,ije->ie", by_parent, products)
    cells[-1, -1] = np.einsum("ij,ije->e", both, products)
    return cells.reshape(-1, products.shape[2])


def _effects_of(basis: Array, effect: Array, n_classes: int) -> Array:
    """(effects, n_odds) whose sums over the basis are nearest to an effect (..., classes)."""
    flat = effect.reshape(-1, n_classes)
    odds = flat[:, 1:] - flat[:, :1] if n_classes == 2 else flat
    return np.asarray(np.linalg.lstsq(basis, odds, rcond=None)[0], dtype=np.float64)


def _in_cells(
    network: AdditiveModel, mains: Sequence[int], pairs: Sequence[int], design: Design, factors: Sequence[Array]
) -> LookedUpPosterior:
    """The factor of every cell, of effects centred as those of the network are."""
    n_odds, rank = factors[-1].shape[1:]
    flat = [basis @ factor.reshape(len(factor), -1) for basis, factor in zip(design.bases, factors, strict=True)]
    every = [np.zeros((len(main), n_odds * rank)) for main in network.mains]
    for attribute, cells in zip(mains, flat, strict=False):
        every[attribute] = cells
    tables = [np.empty(0)] * len(pairs)
    for pair, cells in zip(pairs, flat[len(mains) : -1], strict=True):
        tables[pair] = cells.reshape(*network.tables[pair].shape[:2], -1)
    moved = center_effects(
        Effects(np.zeros(n_odds * rank), tuple(every), tuple(tables), network.densities),
        network.columns[:-1],
        network.pairs,
    )
    intercept = moved.intercept + flat[-1][0]
    used = [main for own, main in zip(network.mains, moved.mains, strict=True) if own.any()]
    parts = [*used, *(table.reshape(-1, n_odds * rank) for table in moved.tables), intercept[np.newaxis]]
    return LookedUpPosterior(network, np.concatenate(parts).reshape(-1, n_odds, rank))
