"""The hierarchical prior: a family backs off to naive Bayes, and naive Bayes to the class frequencies."""

from __future__ import annotations

from itertools import chain, combinations
from math import prod

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tanager.parameters.conditional.class_cells import ClassCells


def hierarchical_effects(cells: ClassCells) -> tuple[sparse.csr_array, NDArray[np.int64]]:
    r"""A family's log table as a sum of effects: beta = effects @ u, and the level of every effect.

    beta_{jck} = sum over subsets S of the attribute parents of u_{S, j restricted to S, c, k}, with a penalty
    strength_level / 2 u^2 of its own for each level. The level of an effect is the number of its attributes less
    one: 0 for main effects (the child alone, or one attribute parent of the class), 1 for pairs, and so on; -1 for
    the intercept of the class, which is free.

    Minimising over u at a given beta leaves 1/2 beta^T K^-1 beta, K = sum_S 1/strength_|S| kron_p (I if p in S else
    ones), so the fit over the effects is the fit over the merged table under that quadratic penalty; u is the better
    variable since an infinite strength is u = 0 and not a division by zero.

    effects  (n_cells, n_effects) ones, 2^parents of them in a row
    levels   (n_effects,)
    """
    rows, columns, levels = [], [], []
    n_effects = 0
    for f, family in enumerate(cells.families):
        attributes = cells.attributes[f]
        shape = [cells.n_states[node] for node in attributes]
        size = prod(shape)
        digits = np.unravel_index(np.arange(size), shape) if attributes else ()
        parents = [m for m, node in enumerate(attributes) if node != family.child]
        own = [m for m, node in enumerate(attributes) if node == family.child]
        for subset in chain.from_iterable(combinations(parents, n) for n in range(len(parents) + 1)):
            kept = [*subset, *own]
            kept_shape = [shape[m] for m in kept]
            position = np.ravel_multi_index([digits[m] for m in kept], kept_shape) if kept else np.zeros(size, int)
            rows.append(cells.offsets[f] + np.arange(size))
            columns.append(n_effects + position)
            levels.append(np.full(prod(kept_shape), len(kept) - 1))
            n_effects += prod(kept_shape)
    at = (np.concatenate(rows), np.concatenate(columns))
    effects = sparse.csr_array((np.ones(len(at[0])), at), shape=(cells.n_cells, n_effects))
    return effects, np.concatenate(levels)
