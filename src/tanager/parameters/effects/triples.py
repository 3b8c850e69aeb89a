"""Effects of three attributes of few states: found in what main effects and pairs leave, kept where folds gain clearly.

Trees find such effects by luck: where the class is the exclusive or of three attributes, no first split gains anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import comb

import numpy as np
from numpy.typing import NDArray

from tanager.network.additive import AdditiveNetwork
from tanager.parameters.conditional.strengths import excess_errors
from tanager.parameters.effects.completed import completed_codes
from tanager.parameters.effects.problems import RowSplit
from tanager.table.batch import EncodedBatch
from tanager.table.granularity import n_codes
from tanager.table.rows import Rows
from tanager.trees.boost import losses
from tanager.trees.forest import Forest
from tanager.trees.refit import Refit
from tanager.trees.triples import Triple, find_triples, triple_forest

Array = NDArray[np.float64]

MAX_STATES = 8
MAX_TRIPLES = 32
# Rows times triples times classes: what a search may look at, and how many rows it does at most.
MAX_WORK, MAX_ROWS = 200_000_000, 20_000
PENALTIES = (16.0, 4.0, 1.0, 0.25)
# Of the paired difference of held-out losses.
CLEAR_ERRORS = 2.25


@dataclass(frozen=True)
class JudgedFold:
    """A network fitted on the rows kept of a split."""

    network: AdditiveNetwork
    split: RowSplit


@dataclass(frozen=True)
class TripleChoice:
    """How many triples the network has, and the penalty on the squares of their effects."""

    number: int = 0
    penalty: float = 0.0


def add_triples(
    network: AdditiveNetwork, folds: Sequence[JudgedFold], rows: Rows
) -> tuple[AdditiveNetwork, list[JudgedFold], TripleChoice]:
    """Network and folds with effects of three attributes, or as they are; and the choice made."""
    none = network, list(folds), TripleChoice()
    few = _few_states(network)
    work = min(rows.n_rows, MAX_ROWS) * comb(len(few), 3) * rows.n_classes
    if len(few) < 3 or work > MAX_WORK:
        return none
    fits = []
    for fold in folds:
        fits.append(_TripleFit(fold.network, fold.split.kept))
        if not fits[-1].triples:
            return none
    weights = np.concatenate([fold.split.rest.row_weights for fold in folds])
    alone = np.concatenate([_held_out_losses(fold) for fold in folds])
    best, best_penalty, with_triples = alone, 0.0, list(folds)
    for penalty in PENALTIES:
        found = [JudgedFold(fit.fit(penalty, rough=True), fold.split) for fit, fold in zip(fits, folds, strict=True)]
        own = np.concatenate([_held_out_losses(fold) for fold in found])
        if np.average(own - best, weights=weights) >= 0.0:
            break
        best, best_penalty, with_triples = own, penalty, found
    if excess_errors(alone, best, weights) <= CLEAR_ERRORS:
        return none
    taken = rows.take(np.linspace(0, rows.n_rows - 1, min(rows.n_rows, MAX_ROWS)).astype(np.intp))
    whole = _TripleFit(network, taken, _found_most_often([fit.triples for fit in fits]))
    return whole.fit(best_penalty), with_triples, TripleChoice(len(whole.triples), best_penalty)


def _found_most_often(by_fold: Sequence[Sequence[Triple]]) -> list[Triple]:
    """The triples that most folds found, of these the first ones: those that were judged.

    Triples of all rows would change with the last digits of the fit on them, where attributes say nearly the same.
    """
    places: dict[Triple, list[int]] = {}
    for found in by_fold:
        for place, triple in enumerate(found):
            places.setdefault(triple, []).append(place)
    best = sorted(places, key=lambda triple: (-len(places[triple]), sum(places[triple]), triple))
    return best[:MAX_TRIPLES]


def fold_with_triples(fold: JudgedFold, choice: TripleChoice) -> JudgedFold:
    """A further fold, with effects of three attributes where the choice has them."""
    return (
        replace(fold, network=_TripleFit(fold.network, fold.split.kept).fit(choice.penalty, rough=True))
        if choice.number
        else fold
    )


def _few_states(network: AdditiveNetwork) -> NDArray[np.intp]:
    states = np.array([column.n_states for column in network.columns[:-1]])
    return np.flatnonzero((states > 1) & (states <= MAX_STATES))


class _TripleFit:
    """Triples beside a network, the best of some rows unless they are given, and the forest of their effects."""

    def __init__(self, network: AdditiveNetwork, rows: EncodedBatch, triples: list[Triple] | None = None) -> None:
        columns, few = network.columns[:-1], _few_states(network)
        self._network = network
        codes, sizes = completed_codes(rows, columns), n_codes(columns)
        classes, weights = rows.class_codes.astype(np.intp), rows.row_weights
        offset = network.log_joint(codes, normalized=True).T
        if triples is None:
            found = find_triples(codes[:, few], classes, weights, offset, sizes[few])
            triples = [(int(few[i]), int(few[j]), int(few[k])) for i, j, k in found[:MAX_TRIPLES]]
        self.triples = triples
        forest: Forest = triple_forest(triples, codes, weights, sizes.tolist(), len(offset))
        self._refit = Refit(forest, codes, classes, weights, offset)

    def fit(self, penalty: float, rough: bool = False) -> AdditiveNetwork:
        """The network with the triples' effects; the fit starts at the one before it. `rough` is enough for a fold."""
        forest, means = self._refit.fit(penalty, rough)[0].centered()
        intercept = self._network.intercept + means
        return replace(self._network, intercept=intercept - intercept.mean(), forest=forest)


def _held_out_losses(fold: JudgedFold) -> Array:
    """- log P(class | row) of the rows held out."""
    rows = fold.split.rest
    codes = completed_codes(rows, fold.network.columns[:-1])
    return losses(fold.network.log_joint(codes, normalized=True).T, rows.class_codes.astype(np.intp))
