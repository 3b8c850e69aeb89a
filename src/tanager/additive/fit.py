"""The additive model from rows: the choice on folds, then the fit of terms and trees on all rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tanager.additive.bases import Pairs, Terms, coarse_shares, pair_parts
from tanager.additive.choose import CLOSE, PAIRS_PER_ATTRIBUTE, Fitter, Mixture, Search
from tanager.additive.folds import MAX_FITTED, N_FOLDS, Folds, Sample
from tanager.additive.model import AdditiveModel, AdditiveTrace
from tanager.additive.objective import Objective, probabilities
from tanager.additive.pairs import MAX_PAIRED, rank_pairs
from tanager.additive.trees import choose_trees, grow_forest
from tanager.arrays import Array
from tanager.runtime.resources import one_blas_thread
from tanager.table.binning import fine_places
from tanager.table.rows import EncodedBatch, Rows
from tanager.table.schema import ColumnSchema

Columns = tuple[ColumnSchema, ...]
# Folds see two rows of three: on all rows lambda, and the rounds of trees, grow in proportion.
TO_ALL_ROWS = N_FOLDS / (N_FOLDS - 1)


@dataclass(frozen=True)
class AdditiveOptions:
    """What may be in the model.

    pairs      "auto" (folds decide), a number, or the pairs by attribute number
    forbidden  pairs that are never taken, by attribute number
    trees      whether boosted trees are tried
    monotone   for each attribute 1 or -1 where the log odds of the second class may only rise or fall along it, else
               0; () where nothing is constrained
    """

    pairs: str | int | Pairs = "auto"
    forbidden: Pairs = ()
    trees: bool = True
    monotone: tuple[int, ...] = ()


def fit_additive(
    rows: Rows,
    columns: Columns,
    options: AdditiveOptions,
    *,
    random_state: int = 0,
    report: Callable[[str], None] | None = None,
) -> tuple[AdditiveModel, AdditiveTrace]:
    """The model of these rows, and the trace of its choices.

    rows          at both granularities (`table.binning`)
    columns       the attributes in the order of the rows, and then the class
    random_state  seed of the attributes that trees may split on
    report        called with a line of text now and then, for progress; None for nobody
    """
    places = fine_places(columns[:-1])
    sample = Sample.of(rows, places)
    used = np.flatnonzero((sample.codes != sample.codes[:1]).any(axis=0)).tolist()
    if len(used) < len(places):  # columns without information change nothing, not even the order of rows
        sample = Sample.of(rows, places[used])
    with one_blas_thread():
        fit = _Fit(sample, (*(columns[a] for a in used), columns[-1]), _among(options, used), random_state, report)
        whole = _with_columns(fit.model() if used and fit.n_classes > 1 else fit.frequencies(), columns, used)
    nothing = {column.name for column, main in zip(columns, whole.mains, strict=False) if not main.any()}
    nothing -= {columns[a].name for pair in whole.pairs for a in pair}
    return whole, replace(fit.trace, zero_attributes=tuple(c.name for c in columns if c.name in nothing))


class _Fit:
    """The fit of attributes that have at least two states in the rows."""

    def __init__(
        self,
        sample: Sample,
        columns: Columns,
        options: AdditiveOptions,
        seed: int,
        report: Callable[[str], None] | None,
    ) -> None:
        self.sample, self.columns, self.options, self.seed, self.report = sample, columns, options, seed, report
        self.attributes, self.n_classes = columns[:-1], columns[-1].n_states
        self.trace = AdditiveTrace()

    def frequencies(self) -> AdditiveModel:
        """The class frequencies: no attribute has an effect."""
        logs = np.log(np.maximum(np.bincount(self.sample.classes, self.sample.totals, self.n_classes), 1 / 2))
        return AdditiveModel(self.columns[-1:], logs - logs.mean(), (), (), (), ())

    def model(self) -> AdditiveModel:
        sample, n_classes = self.sample, self.n_classes
        shares = [_shares(sample, a, column) for a, column in enumerate(self.attributes)]
        unknown = bool((sample.codes == [column.n_states for column in self.attributes]).any())
        terms = Terms.of(self.attributes, shares, sample.n_rows, unknown, self.options.monotone)
        folds = Folds.of(sample, n_classes)
        search = Search(folds, terms, n_classes, self._rank)
        mixture = search.choose(self._n_pairs, must=self.options.pairs != "auto")
        choice = None
        if self.options.trees:
            choice = choose_trees(folds, self.attributes, n_classes, mixture.scores, sample.n_rows, self.seed)
        weight = 0.0 if choice is None else choice.weight
        model, change = self._fit_terms(terms, mixture, shares, 1.0 - weight)
        forests = 0
        if choice is not None:
            choice = replace(choice, rounds=round(TO_ALL_ROWS * choice.rounds))
            forest, intercept, forests = grow_forest(choice, sample, self.attributes, n_classes, self.seed)
            intercept = model.intercept + intercept
            model = replace(model, forest=forest, intercept=intercept - intercept.mean())
        self.trace = AdditiveTrace(
            pairs=len(model.pairs),
            tree_share=weight,
            tree_rounds=0 if choice is None else choice.rounds,
            tree_forests=forests,
            monotone=tuple(self.attributes[a].name for a in np.flatnonzero(self.options.monotone)),
            validation_losses=tuple(search.tried),
            change_of_p=change,
        )
        if self.report is not None:
            self.report(mixture.describe())
            self.report("no trees" if choice is None else choice.describe())
        return model

    @property
    def _n_pairs(self) -> int:
        """How many pairs may be taken."""
        pairs, n = self.options.pairs, min(len(self.attributes), MAX_PAIRED)
        if isinstance(pairs, tuple):
            return len(pairs)
        wanted = PAIRS_PER_ATTRIBUTE * n if isinstance(pairs, str) else pairs
        effects = pair_parts(self.sample.n_rows) ** 2 * self.n_classes  # of a pair: no more effects than rows fitted
        return min(wanted, n * (n - 1) // 2, 2 * MAX_PAIRED, max(1, MAX_FITTED // effects))

    def _rank(self, sample: Sample, weights: Array, most: int) -> Pairs:
        """The best pairs by the rows with these weights; an attribute with a constraint has none."""
        if isinstance(self.options.pairs, tuple):
            return self.options.pairs
        allowed = np.ones((len(self.attributes), len(self.attributes)), dtype=bool)
        for i, j in self.options.forbidden:
            allowed[i, j] = allowed[j, i] = False
        constrained = np.flatnonzero(self.options.monotone)
        allowed[constrained] = allowed[:, constrained] = False
        return rank_pairs(self._coarse(sample, weights), self.attributes, most, allowed)

    def _coarse(self, sample: Sample, weights: Array) -> EncodedBatch:
        """Rows at the coarse granularity, as counting takes them."""
        used = weights > 0
        codes = np.empty((int(used.sum()), len(self.attributes)), sample.codes.dtype, order="F")
        for a, column in enumerate(self.attributes):
            codes[:, a] = column.coarse_codes.astype(codes.dtype)[sample.codes[used, a]]
        n_states = (*(column.coarse.n_states for column in self.attributes), self.n_classes)
        incomplete = (codes >= np.array(n_states[:-1])).max(axis=0, initial=False)
        return EncodedBatch(codes, sample.classes[used].astype(np.uint16), n_states, incomplete, weights[used])

    def _fit_terms(
        self, terms: Terms, mixture: Mixture, shares: Sequence[Array], factor: float
    ) -> tuple[AdditiveModel, float]:
        """The weighted mean of the variants on all rows, times a factor, and how far P would change in another step."""
        sample, n_pairs = self.sample.at_most(MAX_FITTED // 2), max(each.variant.n_pairs for each in mixture.candidates)
        pairs = self._rank(sample, sample.totals, n_pairs) if n_pairs else ()
        terms = terms.only([*((a,) for a in range(len(self.attributes))), *pairs])
        objective = Objective(terms, sample.codes, sample.classes, sample.totals[:, np.newaxis], self.n_classes)
        fitter = Fitter(objective, np.ones((len(terms.terms), 1), dtype=bool))
        effects, ahead = np.zeros(objective.shape), np.zeros(objective.shape)
        for candidate, weight in zip(mixture.candidates, mixture.weights, strict=True):
            start = fitter.take(candidate.fitter, candidate.effects.mean(axis=2, keepdims=True))
            fewer, minimum = fitter.replay(candidate.variant, start, CLOSE, TO_ALL_ROWS)
            effects += weight * fitter.take(fewer, minimum.points)
            ahead += weight * fitter.take(fewer, minimum.direction)
        before, after = (probabilities(objective.scores(each)) for each in (effects, effects + ahead))
        change = factor * float(np.abs(after - before).max())
        return _model_of(self.columns, terms, factor * effects, shares), change


def _shares(sample: Sample, attribute: int, column: ColumnSchema) -> Array:
    """(n_states,) of the rows that have a state."""
    counted = np.bincount(sample.codes[:, attribute], sample.totals, minlength=column.n_states + 1)[: column.n_states]
    return counted / max(counted.sum(), np.finfo(np.float64).tiny)


def _model_of(columns: Columns, terms: Terms, effects: Array, shares: Sequence[Array]) -> AdditiveModel:
    """Centred tables of the terms: a pair has the effect beyond the main effects of its attributes."""
    attributes, n_classes = columns[:-1], columns[-1].n_states
    whole = terms.with_unknown(True)
    tables, intercept = whole.expand(whole.take(terms, effects[:-1, :, 0])), effects[-1, :, 0]
    terms = whole
    if n_classes == 2:  # half of the log odds to each class
        tables, intercept = np.concatenate([-tables, tables], axis=1) / 2, np.concatenate([-intercept, intercept]) / 2
    mains: dict[int, Array] = {}
    pairs: dict[tuple[int, int], Array] = {}
    for k, term in enumerate(terms.terms):
        own = tables[terms.first_cell[k] : terms.first_cell[k + 1]]
        if len(term) == 1:
            mains[term[0]] = own
        elif own.any():
            i, j = term
            pairs[i, j] = own.reshape(terms.coarse[i].n_cells, terms.coarse[j].n_cells, n_classes)
    coarse = [coarse_shares(column, own) for column, own in zip(attributes, shares, strict=True)]
    for (i, j), table in pairs.items():
        by_left = np.einsum("ijc,j->ic", table[:, :-1], coarse[j])
        table -= by_left[:, np.newaxis]
        by_right = np.einsum("ijc,i->jc", table[:-1], coarse[i])
        table -= by_right
        mains[i] += by_left[attributes[i].coarse_codes]
        mains[j] += by_right[attributes[j].coarse_codes]
    for a, own in enumerate(shares):
        mean = own @ mains[a][:-1]
        mains[a] -= mean
        intercept = intercept + mean
    ordered = tuple(mains[a] for a in range(len(attributes)))
    return AdditiveModel(
        columns, intercept - intercept.mean(), ordered, tuple(pairs), tuple(pairs.values()), tuple(shares)
    )


def _among(options: AdditiveOptions, used: Sequence[int]) -> AdditiveOptions:
    """The options for some of the attributes, by their numbers there."""
    at = {a: k for k, a in enumerate(used)}

    def renumbered(pairs: Pairs) -> Pairs:
        return tuple((at[i], at[j]) for i, j in pairs if i in at and j in at)

    return AdditiveOptions(
        renumbered(options.pairs) if isinstance(options.pairs, tuple) else options.pairs,
        renumbered(options.forbidden),
        options.trees,
        tuple(options.monotone[a] for a in used) if options.monotone else (),
    )


def _with_columns(model: AdditiveModel, columns: Columns, used: Sequence[int]) -> AdditiveModel:
    """The model with all columns; columns that are not used have no effect."""
    mains = [np.zeros((column.n_states + 1, columns[-1].n_states)) for column in columns[:-1]]
    densities = [np.full(column.n_states, 1 / column.n_states) for column in columns[:-1]]
    for a, main, density in zip(used, model.mains, model.densities, strict=False):
        mains[a], densities[a] = main, density
    return replace(
        model,
        columns=columns,
        mains=tuple(mains),
        pairs=tuple((used[i], used[j]) for i, j in model.pairs),
        densities=tuple(densities),
        forest=None if model.forest is None else model.forest.with_attributes(np.array(used)),
    )
