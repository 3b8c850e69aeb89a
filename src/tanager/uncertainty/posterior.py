"""The posteriors there are, and the standard deviations of effects by them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tanager.additive.model import AdditiveModel, AnyModel
from tanager.arrays import Array, Codes
from tanager.network.columns import Term
from tanager.uncertainty.dirichlet import DirichletPosterior
from tanager.uncertainty.reference import ReferencePosterior

AnyPosterior = ReferencePosterior | DirichletPosterior


def effect_deviations(network: AdditiveModel, posterior: AnyPosterior, term: Term) -> Array | None:
    """(states, classes) or (states, states, classes) of an attribute or pair, without those of missing cells."""
    deviations = posterior.effect_deviations(network, term)
    if deviations is None or len(term) == 1:
        return None if deviations is None else deviations[:-1]
    sizes = [network.columns[node].coarse.n_states + 1 for node in term]
    return deviations.reshape(*sizes, -1)[:-1, :-1]


def term_deviations(network: AnyModel, posterior: AnyPosterior, codes: Codes, classes: NDArray[np.intp]) -> Array:
    """(n_rows, n_terms): of what each term adds to the log odds of a class of the row against the others.

    NaN where the posterior does not say: a pair that the reference model lacks, a table with a missing cell.
    """
    by_term = np.full((len(codes), len(network.terms)), np.nan)
    for number, term in enumerate(network.terms):
        deviations = posterior.effect_deviations(network, term)
        if deviations is not None:
            cells = term_cells(network, term, codes, len(deviations))
            known = cells >= 0
            by_term[known, number] = deviations[cells[known], classes[known]]
    return by_term


def term_cells(network: AnyModel, term: Term, codes: Codes, n_cells: int) -> NDArray[np.int64]:
    """(n_rows,) the cell of a term of so many cells; -1 for a missing cell beside others of a table."""
    if len(term) == 2:
        coarse = [network.columns[node].coarse_codes[codes[:, node]].astype(np.int64) for node in term]
        return coarse[0] * (network.columns[term[1]].coarse.n_states + 1) + coarse[1]
    cells = codes[:, term[0]].astype(np.int64)
    if network.kind != "tables" or n_cells == network.n_states[term[0]] + 1:
        return cells
    look_up = network.log_joint
    nodes, strides = look_up.nodes[term[0]], look_up.strides[term[0]]
    missing = ((codes[:, nodes] == np.array(network.n_states)[nodes]) & (strides > 0)).any(axis=1)
    return np.where(missing, -1, codes[:, nodes].astype(np.int64) @ strides)


def with_bands(network: AdditiveModel, posterior: AnyPosterior) -> AdditiveModel:
    """The network with the posterior's deviations of main effects as its spreads, which page and plots draw."""
    n_classes = network.n_states[-1]
    deviations = [effect_deviations(network, posterior, (attribute,)) for attribute in range(len(network.mains))]
    # Effects of the classes sum to zero: an effect is its log odds against the others, less its share in them.
    spreads = [
        np.zeros((len(main) - 1, n_classes)) if deviation is None else deviation * ((n_classes - 1) / n_classes)
        for main, deviation in zip(network.mains, deviations, strict=True)
    ]
    return replace(network, spreads=tuple(spreads))
