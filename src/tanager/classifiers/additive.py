"""AdditiveClassifier: log odds as a sum of curves, pairs and boosted trees."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tanager.additive.choose import PAIRS_PER_ATTRIBUTE
from tanager.additive.fit import AdditiveOptions, fit_additive
from tanager.additive.importance import effect_columns, tree_share
from tanager.additive.model import AdditiveModel
from tanager.additive.options import check_options, read_options
from tanager.additive.pairs import FEW_CELLS
from tanager.additive.trace import AdditiveTrace
from tanager.classifiers.base import TableClassifier
from tanager.classifiers.coded_table import CodedTable, RowNeeds
from tanager.classifiers.learning import Learnt, refuse_too_large, table_sizes
from tanager.classifiers.options import AdditiveClassifierOptions
from tanager.counts.count_store import CountStore
from tanager.counts.engine import CountEngine
from tanager.counts.family import Family
from tanager.missing.filling import FillingTask
from tanager.table.read_columns import any_frame
from tanager.table.rows import Needs, Place, check_needs
from tanager.table.schema import Category

NEEDS: Needs = "passes"
BYTES_PER_CELL = 600
"""Of effects, measured: gradients, folds and choices."""


class AdditiveClassifier(AdditiveClassifierOptions, TableClassifier):
    """Classify by an additive model: log odds = intercept + effects of attributes + effects of pairs + boosted trees.

    The effect of an attribute is a curve, or a bar for each category; that of a pair is a table. They are fitted
    together as one convex problem. Cross-validation chooses how many pairs there are and whether boosted trees are
    added. How much of the log odds comes from terms that can be read, and how much from trees, is `tree_share_`.

    Parameters
    ----------
    pairs : "auto", int or list of pairs of attributes
        Which pairs have an effect: as many as cross-validation takes ("auto"), none (0), the best so many, or those
        given by name or number, and no others; cross-validation chooses how strongly they are shrunk. With pairs given
        there are no trees, which would join any attributes.
    forbidden_pairs : list of pairs of attributes or None
        Never taken. With pairs forbidden there are no trees.
    trees : bool
        Whether boosted trees are tried; cross-validation decides whether they are taken.
    monotonic_cst : mapping from attributes to 1, -1 or 0, list with a number for each attribute, or None
        Along an attribute of 1 the log odds of the second class never fall, along one of -1 they never rise, whatever
        the other attributes hold. Such an attribute has no pairs. A missing cell is not constrained. For two classes
        and ordered attributes, as in scikit-learn's HistGradientBoostingClassifier. With a constraint there are no
        trees.
    missing : "auto" or "average"
        With "auto", in a column that has missing cells in training, missing is a state of its own; in any other column
        a cell that is missing at prediction is averaged over: P(class | row) is the mean over what the cell may hold,
        given the cells observed. With "average" missing cells are averaged over in all columns.
    handle_unknown : "average" or "error"
        A category unseen in training is averaged over as a missing cell is, or is an error, at prediction.
    discretizer : None, "mdlp", "quantile" or scikit-learn transformer
        Adds its cut points to the quantiles at which numeric columns are cut.
    categorical_features : "from_dtype", "all", list or mask
        Columns whose values are categories. By dtype these are text, categoricals and booleans; numbers are
        discretised. A list of names or positions, or a mask, adds to them.
    class_weight : None, "balanced" or mapping
        What the weight of a row is multiplied by, by its class, {"ill": 10, "healthy": 1}; a class not named has 1.
        "balanced" makes all classes weigh the same. Probabilities are then those of a table with so many rows of each
        class; to decide by what mistakes cost, leave them as they are and use `FixedDecisionClassifier`.
    n_jobs : int or None
        Threads; None means all cores.
    random_state : int, RandomState or None
        Seed of the attributes that each tree may split on. None means 0: the same rows give the same model.
    verbose : int
        1 prints what was chosen, in a few lines, with a bar on a terminal.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_
        As in every scikit-learn classifier.
    class_count_ : array of shape (n_classes,)
        How many training rows each class has, or their weights: the base rate of every explanation.
    intercept_ : array of shape (n_classes,)
        The log odds of the average row.
    effects_ : table
        A line for each term, state and class: the `value` that is added to the log odds of the class, and the `share`
        of the training rows in that state. A pandas frame, or else a polars frame, or else a dict of columns.
    tree_share_ : float
        How much of the log odds comes from trees, from 0 to 1: the sum over the training rows of |tree part| divided by
        the sum of |tree part| + |readable part|, both centred.
    model_ : AdditiveModel
        The finished model.
    gaps_ : GapRule
        What a missing cell means. Set by `fit`: another `missing` needs another fit.
    encoder_ : TableEncoder
        The columns' categories and cut points.
    trace_ : AdditiveTrace
        What was tried on the folds and what was chosen.
    feature_importances_ : array of shape (n_features,)
        How strong each attribute is, in nats.
    quality_ : Quality or None
        How good the model is on rows new to it, where it was read from a file that says so.
    decision_ : Decision or None
        How `predict` decides, where the model was read from a file that says so; None for the most probable class.
    posterior_ : posterior or None
        How uncertain the model is, once `prepare_intervals` was called or where it was read from a file that says so.
    recipe_ : Recipe
        What is done to a table before the model sees it, where it was read from a file that says so.
    edits_ : tuple of Revision
        What was corrected by hand, by whom, when and why (`apply_edits`); empty for a model as it was learnt.

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

    def query(self, evidence: dict[str, Category] | None = None) -> dict[object, float]:
        """P(class | evidence): class label -> probability.

        Parameters
        ----------
        evidence : mapping from attributes to values
            Values as in the table, or the labels of states. Attributes not named are unknown.

        Returns
        -------
        dict
            The probability of each class.
        """
        check_is_fitted(self)
        found = self.model_.query(self.model_.target, evidence)
        return dict(zip(self.classes_.tolist(), found.values(), strict=True))

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """What a fitted model is made of comes first."""
        options: str = super().__repr__(N_CHAR_MAX)
        return f"{self.model_.summary}\n{options}" if hasattr(self, "model_") else options

    def _row_needs(self) -> RowNeeds:
        check_options(self.pairs, self.trees, self.missing, self.handle_unknown)
        return RowNeeds(NEEDS, fine=True, gap_states=self.missing == "auto")

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

    def _needed_memory(self, table: CodedTable) -> int:
        """Of pairs to be found, as many as may be tried are taken to have the mean size of all pairs."""
        options, counts = self._options(table), table.counts(self._count_engine())
        cells = float(sum(table_sizes(_known_terms(options, counts), counts).values()))
        if not isinstance(options.pairs, tuple):
            states = np.array(counts.n_states[:-1], dtype=np.float64)
            sizes = np.outer(states, states)[np.triu_indices(len(states), k=1)]
            sizes = sizes[sizes <= max(FEW_CELLS, counts.n_rows)]
            most = PAIRS_PER_ATTRIBUTE * len(states) if options.pairs == "auto" else int(options.pairs)
            cells += min(most, len(sizes)) * counts.n_classes * (sizes.mean() if len(sizes) else 0.0)
        return round(BYTES_PER_CELL * cells)

    def _learn_model(self, table: CodedTable, engine: CountEngine) -> Learnt:
        start, lines = perf_counter(), list[str]()
        options, counts, order = self._options(table), table.counts(engine), table.table_order()
        refuse_too_large(table_sizes(_known_terms(options, counts), counts), counts, BYTES_PER_CELL)
        model, trace = fit_additive(
            table.rows, table.columns, options, random_state=self._seed, report=lines.append if self.verbose else None
        )
        model = replace(model, tree_share=tree_share(model, table.rows), pair_densities=_pair_densities(model, counts))
        if self.verbose:
            print("\n".join([model.summary, *lines]))
        filling = FillingTask.of(model, counts, table.class_counts(counts), table.state_counts(counts), order)
        trace = replace(trace, seconds=float(f"{perf_counter() - start:.3g}"))
        return Learnt(model.reordered(order), filling, trace, counts)


def _known_terms(options: AdditiveOptions, counts: CountStore) -> list[tuple[int, ...]]:
    """The nodes of the terms that are known before the fit, the class last: attributes, and pairs that are given."""
    target = counts.n_attributes
    pairs = options.pairs if isinstance(options.pairs, tuple) else ()
    return [*((node, target) for node in range(target)), *((*pair, target) for pair in pairs)]


def _pair_densities(model: AdditiveModel, counts: CountStore) -> tuple[NDArray[np.float64], ...]:
    """Of each pair the share of the rows in each cell, of those that have both attributes."""
    found = []
    for table in counts.tables([Family(child, (parent,)) for parent, child in model.pairs], keep=False):
        rows = table.reshape(table.shape[0], -1, table.shape[-1]).sum(axis=1).astype(np.float64)
        found.append(rows / max(rows.sum(), np.finfo(np.float64).tiny))
    return tuple(cast(list[NDArray[np.float64]], found))
