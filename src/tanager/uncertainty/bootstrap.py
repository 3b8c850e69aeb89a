"""The Bayesian bootstrap: the model is learnt again from rows of random weights, and varies as it is uncertain.

Weights are n times Dirichlet(1, ..., 1), which is the posterior of the distribution of the rows that takes nothing for
granted (Rubin 1981). Structure, pairs and strengths are chosen again in every draw: their choice is in the intervals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np
from scipy.stats import t

from tanager.additive.model import AdditiveModel, AnyModel
from tanager.arrays import Array, Codes
from tanager.missing.rule import MissingRule
from tanager.network.columns import Term
from tanager.table.rows import EncodedBatch
from tanager.uncertainty.interval import Interval, around, log_odds_of_each


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
