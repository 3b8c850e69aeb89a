"""Posteriors of any method: which there are, and the standard deviations of effects by them.

The Bayesian bootstrap is here: the model is learnt again from rows of random weights, and varies as it is uncertain.
Weights are n times Dirichlet(1, ..., 1), which is the posterior of the distribution of the rows that takes nothing for
granted (Rubin 1981). Structure, pairs and strengths are chosen again in every draw: their choice is in the intervals.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t

from tanager.additive.model import AdditiveModel, AnyModel
from tanager.arrays import Array, Codes
from tanager.missing.rule import MissingRule
from tanager.network.columns import Term
from tanager.registry import check_option
from tanager.table.rows import EncodedBatch
from tanager.uncertainty.dirichlet import DirichletPosterior
from tanager.uncertainty.interval import Interval, around, log_odds_of_each
from tanager.uncertainty.reference import ReferencePosterior


@dataclass(frozen=True)
class BootstrapPosterior:
    """rules: what each draw says of a row, whatever cells are missing."""

    kind: ClassVar[str] = "bootstrap"

    rules: tuple[MissingRule, ...]

    def interval(self, codes: Codes, logs: Array, level: float, rule: MissingRule, n_training: float) -> Interval:
        """Of P(class | row), around the classifier's own; of few draws by quantiles of Student's t."""
        return around(log_odds_of_each(logs), self.deviations(codes, logs), self.reach(level))

    def reach(self, level: float) -> float:
        """How many standard deviations of so many draws an interval reaches to either side."""
        return float(t.ppf(0.5 + level / 2.0, len(self.rules) - 1))

    def deviations(self, codes: Codes, logs: Array) -> Array:
        """(n_rows, n_classes): the standard deviation of the log odds of each class against the others."""
        drawn = [log_odds_of_each(rule.log_posterior(codes)) for rule in self.rules]
        deviations: Array = np.std(drawn, axis=0, ddof=1)
        return deviations

    def effect_deviations(self, network: AnyModel, term: Term) -> Array | None:
        """(cells, classes): of what a main or pair effect adds to the log odds of each class against the others.

        A missing cell is a state, the last; a pair that a draw has not is zero in it. None for tables.
        """
        if network.kind != "effects":
            return None
        drawn = [cast(AdditiveModel, rule.network) for rule in self.rules]
        if len(term) == 1:
            tables = [model.mains[term[0]] for model in drawn]
        else:
            nothing = np.zeros_like(network.tables[network.pairs.index((term[0], term[1]))])
            tables = [_pair_table(model, (term[0], term[1]), nothing) for model in drawn]
        deviations = np.std(tables, axis=0, ddof=1).reshape(-1, network.n_states[-1])
        # Effects of the classes sum to zero, so that of the others follows.
        return np.asarray(deviations * (deviations.shape[1] / (deviations.shape[1] - 1)))


def _pair_table(model: AdditiveModel, pair: tuple[int, int], otherwise: Array) -> Array:
    """The table of a pair, whichever of the two is named first."""
    if pair in model.pairs:
        return model.tables[model.pairs.index(pair)]
    turned = (pair[1], pair[0])
    return model.tables[model.pairs.index(turned)].swapaxes(0, 1) if turned in model.pairs else otherwise


def draw_weights(rows: EncodedBatch, rng: np.random.Generator) -> EncodedBatch:
    """The rows with the weights of a draw; which row has which does not depend on their order."""
    order = np.lexsort((rows.row_weights, rows.class_codes, *rows.codes.T))
    drawn = rng.standard_exponential(rows.n_rows)
    weights = np.empty(rows.n_rows)
    weights[order] = drawn * (rows.n_rows / drawn.sum())
    return EncodedBatch(rows.codes, rows.class_codes, rows.n_states, rows.incomplete, weights * rows.row_weights)


AnyPosterior = ReferencePosterior | DirichletPosterior | BootstrapPosterior
METHODS = ("auto", "reference", "dirichlet", "bootstrap")


def check_method(method: str) -> None:
    """Refuse a method of `prepare_intervals` that is not known."""
    check_option("method", method, METHODS)


def effect_deviations(network: AdditiveModel, posterior: AnyPosterior, term: Term) -> Array | None:
    """(states, classes) or (states, states, classes) of an attribute or pair, without those of missing cells."""
    turned = len(term) == 2 and term not in network.pairs
    deviations = posterior.effect_deviations(network, term[::-1] if turned else term)
    if deviations is None or len(term) == 1:
        return None if deviations is None else deviations[:-1]
    sizes = [network.columns[node].coarse.n_states + 1 for node in (term[::-1] if turned else term)]
    table = deviations.reshape(*sizes, -1)[:-1, :-1]
    return table.swapaxes(0, 1) if turned else table


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
