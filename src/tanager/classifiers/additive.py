"""AdditiveClassifier: log odds as a sum of curves, pairs and boosted trees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from math import prod
from time import perf_counter
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from tanager.additive.fit import AdditiveOptions, fit_additive
from tanager.additive.importance import class_odds, effect_columns, tree_share
from tanager.additive.model import AdditiveModel, AdditiveTrace
from tanager.additive.options import MonotonicConstraints, Pairs, check_options, read_options
from tanager.classifiers.base import TableClassifier, check_intervals
from tanager.classifiers.coded_table import CodedTable, RowNeeds, refuse_many_classes, refuse_too_large
from tanager.classifiers.learning import Learnt
from tanager.counts.count_store import CountStore
from tanager.counts.engine import CountEngine
from tanager.counts.family import Family
from tanager.missing.average import learn_imputation
from tanager.structure.constraints import Edges
from tanager.table.read_columns import any_frame
from tanager.table.rows import Needs, Place, check_needs
from tanager.table.schema import Category
from tanager.uncertainty.interval import Interval, reach
from tanager.uncertainty.posterior import effect_deviations

NEEDS: Needs = "passes"
# Of effects, measured: gradients, folds and choices.
BYTES_PER_CELL = 900
# Each has a curve of every attribute: 2,000 classes of 6,000 rows would take minutes.
MOST_CLASSES = 1_000


@dataclass(eq=False, repr=False)
class AdditiveClassifierOptions:
    """Options of `AdditiveClassifier`, which describes them."""

    _: KW_ONLY
    pairs: Pairs = "auto"
    forbidden_pairs: Edges | None = None
    trees: bool = True
    monotonic_cst: MonotonicConstraints | None = None
    missing: str = "auto"
    handle_unknown: str = "average"
    discretizer: object = None
    categorical_features: ArrayLike | str | None = "from_dtype"
    class_weight: Mapping[Any, float] | str | None = None
    n_jobs: int | None = None
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0


class AdditiveClassifier(AdditiveClassifierOptions, TableClassifier):
    """Classify by an additive model: log odds = intercept + effects of attributes + effects of pairs + boosted trees.

    The effect of an attribute is a curve, or a value for each category; the effect of a pair is a table. All effects
    minimise one convex objective, the log-loss plus a penalty. Cross-validation chooses the strength of the penalty,
    the pairs, and whether boosted trees are added. The page "The additive model" has the details.

    Parameters
    ----------
    pairs : "auto", int or list of pairs of attributes, default="auto"
        Pairs with an effect: chosen by cross-validation, a number of the best, or those given, without trees.
    forbidden_pairs : list of pairs of attributes or None, default=None
        Pairs that never have an effect; with any there are no trees.
    trees : bool, default=True
        Whether boosted trees are tried.
    monotonic_cst : mapping from attributes to 1, -1 or 0, list with a number for each attribute, or None, default=None
        Direction of the log odds of the second of two classes; such attributes have no pairs, and there are no trees.
    missing : "auto" or "average", default="auto"
        Missing is a state in columns with missing cells in training ("auto"), or is averaged over in all columns.
    handle_unknown : "average" or "error", default="average"
        Whether a category unseen in training is averaged over or is an error at prediction.
    discretizer : None, "mdlp", "quantile", scikit-learn transformer or dict, default=None
        Adds its cut points to the quantiles at which numeric columns are cut. A dict of column names to cut points cuts
        these columns there and nowhere else.
    categorical_features : "from_dtype", "all", list or mask, default="from_dtype"
        Columns of categories: text, categoricals and booleans by dtype, and those that a list or mask adds.
    class_weight : None, "balanced" or mapping, default=None
        Factor of the weight of a row by its class; for costs of mistakes use `FixedDecisionClassifier`.
    n_jobs : int or None, default=None
        Threads; None means all cores.
    random_state : int, RandomState or None, default=None
        Seed of the attributes that each tree may split on; None means 0.
    verbose : int, default=0
        1 prints what was chosen, with a bar on a terminal.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_
        As in every scikit-learn classifier.
    class_count_ : array of shape (n_classes,)
        Training rows of each class, by weight.
    model_ : AdditiveModel
        The finished model.
    intercept_ : array of shape (n_classes,)
        The log odds of the average row.
    effects_ : table
        A line for each term, state and class: the value added to the log odds, and the share of the training rows.
    tree_share_ : float
        Part of the log odds that comes from trees: sum of abs(tree part) / (abs(tree part) + abs(readable part)).
    trace_ : AdditiveTrace
        What cross-validation tried and chose.
    feature_importances_ : array of shape (n_features,)
        Strength of each attribute, in nats.
    encoder_ : TableEncoder
        Categories and cut points of the columns.
    missing_rule_ : MissingRule
        What a missing cell means; set by `fit`.
    posterior_ : posterior or None
        Uncertainty of the model, once `prepare_intervals` was called.
    quality_, decision_, recipe_
        Quality on new rows, decision rule and preprocessing, where the model file has them.
    issues_ : tuple of str
        Issues of high severity that `tanager fit` found in the training table.
    edits_ : tuple of Revision
        Corrections by hand (`apply_edits`).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import AdditiveClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = AdditiveClassifier(trees=False).fit(X, y)
    >>> clf.predict(X.iloc[[0, 60, 149]]).tolist()
    [0, 1, 2]
    >>> max(clf.query({"petal length (cm)": 1.4}).items(), key=lambda item: item[1])[0]
    0
    """

    model_: AdditiveModel
    trace_: AdditiveTrace

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """(n_classes,) the log odds of the average row."""
        check_is_fitted(self)
        return self.model_.intercept

    @property
    def effects_(self) -> object:
        """A table with the columns term, state, class, value and share."""
        check_is_fitted(self)
        return any_frame(effect_columns(self.model_))

    @property
    def tree_share_(self) -> float:
        """How much of the log odds comes from trees, from 0 to 1."""
        check_is_fitted(self)
        return self.model_.tree_share

    def query(self, evidence: Mapping[str, Category | None] | None = None) -> dict[object, float]:
        """P(class | evidence): class label -> probability.

        Parameters
        ----------
        evidence : mapping from attributes to values
            Values as in the table, or the labels of states; None is a missing cell, where the attribute has missing
            cells in training. Attributes not named are unknown.

        Returns
        -------
        dict
            The probability of each class.
        """
        check_is_fitted(self)
        if isinstance(evidence, Mapping):
            missing = {column.name: column.states[-1] for column in self.model_.columns if column.missing_state}
            evidence = {name: missing.get(name) if value is None else value for name, value in evidence.items()}
        codes = self.model_.evidence_codes(cast(Mapping[str, Category] | None, evidence))
        found = np.exp(self.missing_rule_.log_posterior(codes)[0])
        return dict(zip(self.classes_.tolist(), found.tolist(), strict=True))

    def effect_interval(self, *attributes: str, level: float = 0.9) -> Interval:
        """An interval of a main effect, or of the effect of a pair: what each state adds to the log odds of each class.

        attributes : one name, or the two of a pair of `model_.edges`

        Returns (states, n_classes) each, or (states of the first, of the second, n_classes) at the granularity of
        pairs, in the order of the columns' states. The middle is the effect in the model.
        """
        share, posterior = check_intervals(self, level)
        network = self.model_
        odds = class_odds(network.main(*attributes) if len(attributes) == 1 else network.pair(*attributes))
        term = tuple(network.number(name) for name in attributes)
        deviations = effect_deviations(network, posterior, term)
        half = np.full(odds.shape, np.nan) if deviations is None else reach(share) * deviations
        return Interval(odds - half, odds, odds + half)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """What a fitted model is made of comes first."""
        options: str = super().__repr__(N_CHAR_MAX)
        return f"{self.model_.summary}\n{options}" if hasattr(self, "model_") else options

    def _row_needs(self) -> RowNeeds:
        check_options(self.pairs, self.trees, self.missing, self.handle_unknown)
        return RowNeeds(NEEDS, fine=True, missing_states=self.missing == "auto")

    def _check_place(self, place: Place) -> None:
        check_needs(type(self).__name__, NEEDS, place)

    def _options(self, table: CodedTable) -> AdditiveOptions:
        return read_options(
            self.pairs, self.forbidden_pairs, self.trees, self.monotonic_cst, table.columns, table.table_order()
        )

    @property
    def _seed(self) -> int:
        """None is 0: the same rows give the same model."""
        return 0 if self.random_state is None else super()._seed

    def _learn_model(self, table: CodedTable, engine: CountEngine) -> Learnt:
        start, lines = perf_counter(), list[str]()
        refuse_many_classes(table.columns[-1], MOST_CLASSES, "an additive model learns")
        options, counts, order = self._options(table), table.counts(engine), table.table_order()
        refuse_too_large(_table_sizes(options, counts), BYTES_PER_CELL, counts)
        model, trace = fit_additive(
            table.rows, table.columns, options, random_state=self._seed, report=lines.append if self.verbose else None
        )
        model = replace(model, tree_share=tree_share(model, table.rows), pair_densities=_pair_densities(model, counts))
        if self.verbose:
            print("\n".join([model.summary, *lines]))
        imputation = learn_imputation(model, table.rows, table.class_counts(counts), table.state_counts(counts), order)
        trace = replace(trace, seconds=float(f"{perf_counter() - start:.3g}"))
        return Learnt(model.reordered(order), imputation, trace, counts)


def _table_sizes(options: AdditiveOptions, counts: CountStore) -> dict[tuple[int, ...], int]:
    """Cells, by nodes with the class last, of the terms known before the fit: attributes, and pairs that are given."""
    target = counts.n_attributes
    pairs = options.pairs if isinstance(options.pairs, tuple) else ()
    terms = [*((node, target) for node in range(target)), *((*pair, target) for pair in pairs)]
    return {nodes: prod(counts.n_states[node] for node in nodes) for nodes in terms}


def _pair_densities(model: AdditiveModel, counts: CountStore) -> tuple[NDArray[np.float64], ...]:
    """Of each pair the share of the rows in each cell, of those that have both attributes."""
    densities = []
    for table in counts.tables([Family(child, (parent,)) for parent, child in model.pairs], keep=False):
        rows = table.reshape(table.shape[0], -1, table.shape[-1]).sum(axis=1).astype(np.float64)
        densities.append(rows / max(rows.sum(), np.finfo(np.float64).tiny))
    return tuple(cast(list[NDArray[np.float64]], densities))
