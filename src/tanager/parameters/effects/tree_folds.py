"""Trees judged on rows held out: how many rounds, which kind, and which share of the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tanager.parameters.conditional.strengths import excess_errors
from tanager.parameters.effects.completed import completed_codes
from tanager.parameters.effects.triples import JudgedFold
from tanager.table.batch import EncodedBatch
from tanager.table.granularity import n_codes
from tanager.table.schema import ColumnSchema
from tanager.threads import count_threads, map_threads, run_threads
from tanager.trees.boost import Boosting, TreeOptions, losses
from tanager.trees.held_out_rows import HeldOutRows

Array = NDArray[np.float64]

MAX_ROUNDS = 400
PATIENCE = 30  # rounds without a lower loss
ROUNDS_AT_ONCE = 10  # grown before their losses are looked at
ROUNDS_TO_LEAD = 20  # after which smaller trees must not be behind as many leaves of larger ones
# Rounds over which a loss is followed to say where it ends; hopeless is what ends so far above the loss of the effects.
STRETCH, HOPELESS_TIMES, HOPELESS_NATS = 50, 1.5, 0.1
SHARES = np.arange(1, 21) / 20
# On noise the loss is lowest after fewer rounds, by luck.
MIN_ROUNDS = 15
# By so many standard errors of the paired difference the mean must be better than the effects alone; or by fewer, if a
# mean of equal shares is so too: that share is not chosen on these rows, and loses where there is nothing to find. Of
# 108 tables of noise, main effects and pairs none was given trees.
CLEAR_ERRORS = 2.25
FEWER_ERRORS = 1.0
# Forests of different draws are averaged: convexity makes the mean no worse than they are. So many trees in all.
MAX_FORESTS, MAX_TREES = 4, 800
# Folds see one forest, so a kind that is not averaged must be ahead by so many standard errors of one that will be.
ERRORS_FOR_ONE = 1.0
# Forests of the mean that are grown on all rows, in place of those of the folds, which are there already.
N_WHOLE = 2


@dataclass(frozen=True)
class TreeChoice:
    """So many rounds, the share of the trees in the mean, how they are grown, and how many forests are averaged."""

    rounds: int = 0
    share: float = 0.0
    options: TreeOptions = field(default_factory=TreeOptions)
    n_forests: int = 0


@dataclass(frozen=True)
class Gain:
    """By how many standard errors of the paired difference a mean is better than the effects alone on rows held out.

    best    the best mean of effects and trees, whose share is chosen on these rows
    halves  the mean with equal shares
    """

    best: float
    halves: float

    @property
    def is_clear(self) -> bool:
        return self.best > CLEAR_ERRORS or min(self.best, self.halves) > FEWER_ERRORS


class TreeFolds:
    """Networks on folds beside which trees are judged, and the trees grown on the folds so far, by kind."""

    def __init__(self, folds: Sequence[JudgedFold], columns: Sequence[ColumnSchema]) -> None:
        self._folds, self._columns = folds, columns
        self._trees: dict[TreeOptions, list[_TreeFold]] = {}

    def with_more(self, folds: Sequence[JudgedFold], kind: TreeOptions) -> TreeFolds:
        """On further folds too; what has grown is not grown again.

        Their networks are fitted beside their trees of a kind, which grow as far as those of the first fold have.
        """
        more = TreeFolds([*self._folds, *folds], self._columns)
        more._trees = self._trees
        first, *others = more._tree_folds(kind)
        networks = [partial(getattr, fold, "network") for fold in folds]
        run_threads([*networks, *(partial(fold.grow, first.boosting.n_rounds) for fold in others)])
        return more

    def choose(self, kinds: Sequence[TreeOptions]) -> tuple[TreeChoice, Gain]:
        """By the lowest loss of the rows held out; and what it gains."""
        rests = [fold.split.rest for fold in self._folds]
        weights = np.concatenate([rest.row_weights for rest in rests])
        classes = np.concatenate([rest.class_codes for rest in rests]).astype(np.intp)
        pairs = ((fold.network, completed_codes(fold.split.rest, self._columns)) for fold in self._folds)
        effects = np.concatenate([network.log_joint(codes, normalized=True).T for network, codes in pairs], axis=1)
        alone = losses(effects, classes)
        choice, best, halves = TreeChoice(), alone, alone
        alone_loss, rival, larger = float(np.average(alone, weights=weights)), list[float](), kinds[0]
        if len(self._folds) == 1:
            self._grow_ahead(kinds, alone_loss)
        for kind in kinds:
            folds, pace = self._tree_folds(kind), _pace(kind, larger)
            rounds, rival = _grow_on_folds(folds, alone_loss, rival, pace, [])
            larger = kind
            if rounds < MIN_ROUNDS:
                continue
            trees = np.concatenate([fold.rest.scores_after(rounds) for fold in folds], axis=1)
            n_trees = rounds * (1 if len(effects) == 2 else len(effects))
            n_forests = 1 if kind.asked == 1.0 else min(max(MAX_TREES // n_trees, 1), MAX_FORESTS)
            means = [losses((1.0 - share) * effects + share * trees, classes) for share in SHARES]
            lowest = int(np.argmin([np.average(mean, weights=weights) for mean in means]))
            if excess_errors(best, means[lowest], weights) > (ERRORS_FOR_ONE if choice.n_forests > n_forests else 0.0):
                choice, best = TreeChoice(rounds, float(SHARES[lowest]), kind, n_forests), means[lowest]
                halves = losses(0.5 * (effects + trees), classes)
        return choice, Gain(excess_errors(alone, best, weights), excess_errors(alone, halves, weights))

    def _grow_ahead(self, kinds: Sequence[TreeOptions], alone: float) -> None:
        """Kinds side by side, where a fold leaves threads idle: each finds its trees grown when its turn comes.

        What is chosen does not depend on it: a kind may only have grown further than it would have in its turn.
        """
        if count_threads() == 1 or self._tree_folds(kinds[0])[0].boosting.has_threads:
            return
        seen: list[list[float]] = [[] for _ in kinds]

        def grow(number: int) -> None:
            larger = max(number - 1, 0)
            rival = seen[larger] if number else []
            pace = _pace(kinds[number], kinds[larger])
            _grow_on_folds(self._tree_folds(kinds[number]), alone, rival, pace, seen[number])

        map_threads(grow, range(len(kinds)))

    def _tree_folds(self, kind: TreeOptions) -> list[_TreeFold]:
        known = self._trees.setdefault(kind, [])
        for number in range(len(known), len(self._folds)):
            known.append(_TreeFold(self._folds[number], self._columns, replace(kind, seed=number)))
        return known

    def forests(self, choice: TreeChoice) -> list[Boosting]:
        """Those of the folds, so many that there is room for N_WHOLE of all rows; one fold alone has too few rows."""
        folds = self._trees[choice.options] if len(self._folds) > 1 else []
        return [fold.boosting for fold in folds[: max(choice.n_forests - N_WHOLE, 0)]]


def _pace(kind: TreeOptions, larger: TreeOptions) -> int:
    """How many trees have as many leaves as a larger one."""
    return larger.max_leaves // kind.max_leaves


def _grow_on_folds(
    folds: Sequence[_TreeFold], alone: float, rival: Sequence[float], pace: int, found: list[float]
) -> tuple[int, list[float]]:
    """The number of rounds of the lowest loss, and the losses; they are put into `found` as they come.

    `alone` is the loss of the effects, `rival` are the losses of larger trees, one of which has as many leaves as
    `pace` of these. They learn more in a round; smaller ones that are behind with as many leaves end.
    """
    best, rounds = 0, 0
    found[:] = _mean_losses(folds, 0)
    while True:
        if rounds == len(found):
            found[:] = _mean_losses(folds, rounds + ROUNDS_AT_ONCE - 1)
        if found[rounds] <= found[best]:
            best = rounds
        behind = bool(rival) and ROUNDS_TO_LEAD <= rounds // pace < len(rival) and found[rounds] > rival[rounds // pace]
        hopeless = where_it_ends(found[: rounds + 1]) > HOPELESS_TIMES * alone + HOPELESS_NATS
        if behind or hopeless or rounds == min(best + PATIENCE, MAX_ROUNDS):
            return best, found[: rounds + 1]
        rounds += 1


def _mean_losses(folds: Sequence[_TreeFold], n_rounds: int) -> list[float]:
    """Of all rows held out, before the first round and after each; so many rounds are grown if there are fewer."""
    map_threads(lambda fold: fold.grow(n_rounds), folds)
    n_known = min(len(fold.rest.losses) for fold in folds)
    by_fold = [fold.rest.losses[:n_known] for fold in folds]
    found: list[float] = np.average(by_fold, axis=0, weights=[fold.weight for fold in folds]).tolist()
    return found


def where_it_ends(losses_by_round: Sequence[float]) -> float:
    """What a loss falls to if each stretch of rounds goes on lowering it by the same share of the one before.

    Minus infinity where it falls ever faster, or there are not two stretches yet.
    """
    if len(losses_by_round) <= 2 * STRETCH:
        return -np.inf
    first, middle, last = (losses_by_round[-1 - n * STRETCH] for n in (2, 1, 0))
    fall, next_fall = first - middle, middle - last
    return last - next_fall**2 / (fall - next_fall) if 0.0 < next_fall < fall else -np.inf


class _TreeFold:
    """Trees on the rows kept, and what they make of the rest."""

    def __init__(self, fold: JudgedFold, columns: Sequence[ColumnSchema], options: TreeOptions) -> None:
        rest = fold.split.rest
        self.boosting: Boosting = begin_trees(fold.split.kept, columns, options)
        self.weight = float(rest.row_weights.sum())
        rows = (completed_codes(rest, columns), rest.class_codes, rest.row_weights)
        self.rest = HeldOutRows(self.boosting, *rows, n_codes(columns))

    def grow(self, n_rounds: int) -> None:
        """Until there are so many."""
        if n_rounds > self.boosting.n_rounds:
            self.boosting.grow(n_rounds - self.boosting.n_rounds)
            self.rest.follow()


def begin_trees(rows: EncodedBatch, columns: Sequence[ColumnSchema], options: TreeOptions) -> Boosting:
    """Trees on these rows, before the first round."""
    weights = rows.row_weights
    classes = np.bincount(rows.class_codes, weights, minlength=rows.n_classes)
    start = np.log(np.maximum(classes, 0.5) / classes.sum())  # a class without rows counts as half a row
    ordered = np.array([column.n_states - column.gap_state if column.has_order else 0 for column in columns])
    return Boosting(
        completed_codes(rows, columns), rows.class_codes, weights, start, n_codes(columns), ordered, options
    )
