"""Effects of three attributes of few states: found in what main effects and pairs leave, kept where folds gain clearly.

Trees find such effects by luck: where the class is the exclusive or of three attributes, no first split gains anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import comb

import numpy as np
from numpy.typing import NDArray

from tanager.additive.forest import Forest
from tanager.additive.model import AdditiveModel
from tanager.parameters.conditional.strengths import excess_errors
from tanager.parameters.effects.completed import completed_codes
from tanager.parameters.effects.problems import RowSplit
from tanager.table.batch import EncodedBatch
from tanager.table.granularity import n_codes
from tanager.table.rows import Rows, evenly_spaced
from tanager.threads import map_threads
from tanager.trees.boost import losses
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


class JudgedFold:
    """A split of the rows, and a network of those kept, which is fitted when it is first asked for."""

    def __init__(self, split: RowSplit, fit: Callable[[], AdditiveModel]) -> None:
        self.split, self._fit = split, fit
        self._network: AdditiveModel | None = None

    @property
    def network(self) -> AdditiveModel:
        # `cached_property` of Python 3.11 would have one lock for all folds.
        if self._network is None:
            self._network = self._fit()
        return self._network


@dataclass(frozen=True)
class TripleChoice:
    """The triples that a network is to have, and the penalty on the squares of their effects."""

    triples: tuple[Triple, ...] = ()
    penalty: float = 0.0


def choose_triples(folds: Sequence[JudgedFold], rows: Rows) -> tuple[list[JudgedFold], TripleChoice]:
    """The folds with effects of three attributes, or as they are; and the choice made."""
    none = list(folds), TripleChoice()
    few = _few_states(folds[0].network)
    work = min(rows.n_rows, MAX_ROWS) * comb(len(few), 3) * rows.n_classes
    if len(few) < 3 or work > MAX_WORK:
        return none
    fits = [_TripleFit(folds[0].network, folds[0].split.kept)]
    if fits[0].triples:  # the other folds are asked where the first found some
        fits += map_threads(lambda fold: _TripleFit(fold.network, fold.split.kept), folds[1:])
    if not all(fit.triples for fit in fits):
        return none
    weights = np.concatenate([fold.split.rest.row_weights for fold in folds])
    alone = np.concatenate([_held_out_losses(fold) for fold in folds])
    best, best_penalty, with_triples = alone, 0.0, list(folds)
    for penalty in PENALTIES:
        networks = map_threads(partial(_TripleFit.fit, penalty=penalty, rough=True), fits)
        found = [_judged(network, fold.split) for network, fold in zip(networks, folds, strict=True)]
        own = np.concatenate([_held_out_losses(fold) for fold in found])
        if np.average(own - best, weights=weights) >= 0.0:
            break
        best, best_penalty, with_triples = own, penalty, found
    if excess_errors(alone, best, weights) <= CLEAR_ERRORS:
        return none
    return with_triples, TripleChoice(_found_most_often([fit.triples for fit in fits]), best_penalty)


def add_triples(network: AdditiveModel, choice: TripleChoice, rows: Rows) -> AdditiveModel:
    """A network of all rows with the effects chosen."""
    if not choice.triples:
        return network
    return _TripleFit(network, evenly_spaced(rows, MAX_ROWS), choice.triples).fit(choice.penalty)


def _judged(network: AdditiveModel, split: RowSplit) -> JudgedFold:
    return JudgedFold(split, lambda: network)


def _found_most_often(by_fold: Sequence[Sequence[Triple]]) -> tuple[Triple, ...]:
    """The triples that most folds found, of these the first ones: those that were judged.

    Triples of all rows would change with the last digits of the fit on them, where attributes say nearly the same.
    """
    places: dict[Triple, list[int]] = {}
    for found in by_fold:
        for place, triple in enumerate(found):
            places.setdefault(triple, []).append(place)
    best = sorted(places, key=lambda triple: (-len(places[triple]), sum(places[triple]), triple))
    return tuple(best[:MAX_TRIPLES])


def fold_with_triples(fold: JudgedFold, choice: TripleChoice) -> JudgedFold:
    """A further fold, with effects of three attributes where the choice has them."""
    if not choice.triples:
        return fold
    return JudgedFold(fold.split, lambda: _TripleFit(fold.network, fold.split.kept).fit(choice.penalty, rough=True))


def _few_states(network: AdditiveModel) -> NDArray[np.intp]:
    states = np.array([column.n_states for column in network.columns[:-1]])
    return np.flatnonzero((states > 1) & (states <= MAX_STATES))


class _TripleFit:
    """Triples beside a network, the best of some rows unless they are given, and the forest of their effects."""

    def __init__(self, network: AdditiveModel, rows: EncodedBatch, triples: Sequence[Triple] | None = None) -> None:
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

    def fit(self, penalty: float, rough: bool = False) -> AdditiveModel:
        """The network with the triples' effects; the fit starts at the one before it. `rough` is enough for a fold."""
        forest, means = self._refit.fit(penalty, rough)[0].centered()
        intercept = self._network.intercept + means
        return replace(self._network, intercept=intercept - intercept.mean(), forest=forest)


def _held_out_losses(fold: JudgedFold) -> Array:
    """- log P(class | row) of the rows held out."""
    rows = fold.split.rest
    codes = completed_codes(rows, fold.network.columns[:-1])
    return losses(fold.network.log_joint(codes, normalized=True).T, rows.class_codes.astype(np.intp))
