"""BayesianNetworkClassifier: check, encode, count, structure, parameters; then one look-up per family."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from tanager.additive.any_model import AnyModel
from tanager.additive.importance import attribute_importance
from tanager.classifiers.hidden import add_hidden_codes
from tanager.classifiers.intervals import GivesIntervals
from tanager.classifiers.learning import Learning, Learnt
from tanager.classifiers.parts import Parts
from tanager.classifiers.reading import CodedTable
from tanager.counts.engine import CountEngine
from tanager.decide import Decision
from tanager.edits.revision import Revision
from tanager.errors import MemoryLimitError, MissingMethodError
from tanager.gaps.choose import choose_rule, needs_filler, with_rule
from tanager.gaps.rule import GapRule
from tanager.measures import Quality
from tanager.network.network import Network
from tanager.progress import working
from tanager.recipe.recipe import NOTHING_TO_DO, Recipe
from tanager.structure import StructureLearner
from tanager.table.categories import Codes
from tanager.table.columns import RawTable
from tanager.table.encoder import TableEncoder
from tanager.table.read_columns import read_columns
from tanager.table.stream.source import is_stream, open_stream
from tanager.threads import thread_limit


class BayesianNetworkClassifier(GivesIntervals, ClassifierMixin, BaseEstimator):
    """Classify by a Bayesian network learnt from a table.

    Parameters
    ----------
    structure : str or object of `tanager.structure`
        How the structure is chosen: "pairwise", "tan", "naive-bayes", ... or an object such as `Tree(forest=True)`.
    criterion : str, object of `tanager.scores` or None
        The score that makes a structure good, for a structure that asks for one: "tan", "bckg", "hill-climb"; None is
        "fcll" there. Other structures are chosen without one and refuse it.
    parameters : str or object of `tanager.parameters`
        How the tables are filled.
    categorical_features : "from_dtype", "all", list or mask
        Columns whose values are categories. By dtype these are text, categoricals and booleans; numbers are
        discretised. A list of names or positions, or a mask, adds to them.
    discretizer : None, "mdlp", "quantile" or scikit-learn transformer
        How numeric columns are cut into bins, on the training rows alone. None means "mdlp" for tables. For
        structure="pairwise" it means quantiles alone (`tanager.table.granularity`), to which any other adds its cuts.
    missing : "auto", "average", "marginalize", "skip" or "category"
        At prediction P(class | row) is averaged over what a missing cell may hold, given those present, by a second
        network of frequencies, so that a row of gaps has the class frequencies ("average"); or the cell is summed out
        of the network's own joint, exactly ("marginalize"); or its families' terms are left out of the log odds
        ("skip"). "auto" averages, but marginalizes tables that describe the attributes ("frequency", "em",
        "likelihood-gradient"). In training a gap
        is left to `parameters`: "em", "likelihood-gradient" and, but for "skip", "conditional" infer it, the others
        leave out the families it is in. Or, in a column that has some in training, a gap is a state of its own
        ("category"; else as "auto").
    handle_unknown : "marginalize" or "error"
        A category unseen in training is a missing cell, or an error, at prediction.
    class_weight : None, "balanced" or mapping
        What the weight of a row is multiplied by, by its class, {"ill": 10, "healthy": 1}; a class not named has 1.
        "balanced" makes all classes weigh the same. Probabilities are then those of a table with so many rows of each
        class; to decide by what mistakes cost, leave them as they are and use `FixedDecisionClassifier`.
    engine : "auto", "numpy", "numba" or "torch"
        What counts; the result is the same. "torch" also passes over the rows on its `device`.
    device : "cuda", "cuda:1", ..., "cpu" or None
        Where "torch" works; None is the current GPU if there is one, else the CPU.
    n_jobs : int or None
        Threads; None means all cores.
    random_state : int, RandomState or None
        For structure learners that draw at random.
    verbose : int
        1 prints what was chosen, in a few lines, with a bar on a terminal; 2 also every step of the search.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_
        As in every scikit-learn classifier.
    class_count_ : array of shape (n_classes,)
        How many training rows each class has, or their weights: the base rate of every explanation.
    network_ : Network, AdditiveModel or MixtureNetwork
        The distribution learnt; with structure "pairwise" the sum of effects, with "aode" and "tree-average"
        a mean of networks.
    gaps_ : GapRule
        What a missing cell means: `tanager.gaps`. Set by `fit`: another `missing` needs another fit.
    filler_ : Network or None
        What says what a missing cell may hold, where P(class | row) is averaged over it: frequencies, fitted so that
        its rows have the class frequencies of the training rows when `network_` classifies them.
    encoder_ : TableEncoder
        The columns' categories and cut points.
    structure_score_ : float or None
        The score of the structure by the criterion; None where the structure asks for none.
    trace_ : Trace
        Steps of the search and of the optimiser.
    quality_ : Quality or None
        How good the model is on rows new to it, where it was read from a file that says so.
    feature_importances_ : array of shape (n_features,)
        How strong each attribute is, in nats.
    decision_ : Decision or None
        How `predict` decides, where the model was read from a file that says so; None for the most probable class.
    posterior_ : posterior or None
        How sure the model is, once `prepare_intervals` was called or where it was read from a file that says so.
    recipe_ : Recipe
        What is done to a table before the model sees it, where it was read from a file that says so.
    edits_ : tuple of Revision
        What was corrected by hand, by whom, when and why (`apply_edits`); empty for a model as it was learnt.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import BayesianNetworkClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = BayesianNetworkClassifier(structure="naive-bayes").fit(X, y)
    >>> clf.predict(X.iloc[[0, 60, 149]]).tolist()
    [0, 1, 2]
    >>> clf.network_.parents["petal length (cm)"]
    ('target',)
    """

    network_: AnyModel
    gaps_: GapRule
    class_count_: NDArray[np.float64]
    quality_: Quality | None = None
    decision_: Decision | None = None
    recipe_: Recipe = NOTHING_TO_DO
    edits_: tuple[Revision, ...] = ()

    def fit(self, X: object, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from the rows of X with classes y; a row of weight w counts as w rows.

        Any cell may be missing, and so may the class of some rows: the parameter learners "em" and
        "likelihood-gradient" learn from these too, the others leave them out with a warning.

        X may also come batch by batch, with y the name of its class column and `sample_weight` that of its weights: a
        `pyarrow.dataset.Dataset`, a `polars.LazyFrame`, a `pyarrow.RecordBatchReader` or an iterator of record batches
        or frames. Memory then holds a batch and the counts; codes are in a temporary file if counts are not enough.
        """
        with self._replacing() as new:
            new._fit(X, y, sample_weight)
        return self

    def _fit(self, X: object, y: ArrayLike, sample_weight: ArrayLike | None) -> None:
        parts = self._parts()
        with thread_limit(self.n_jobs), working("Learning", shown=bool(self.verbose)):
            if is_stream(X):
                with self._read_stream(X, y, sample_weight, parts) as table:
                    self._learn(table, self._count_engine())
            else:
                self._learn(self._read(X, y, sample_weight, parts), self._count_engine())

    @contextmanager
    def _replacing(self) -> Iterator[Self]:
        """A copy to learn with, whose state becomes ours at once when the block ends, and never if it fails.

        So who predicts at the same time finds the old model or the new one (`_now`), and no part of each.
        """
        new = copy(self)
        try:
            yield new
        except MemoryError as error:  # what is small beside the tables is not estimated
            raise MemoryLimitError("the fit does not fit in the memory that is left.") from error
        self.__dict__ = new.__dict__

    def _now(self) -> Self:
        """This classifier as it is now, whatever is fitted meanwhile."""
        now = object.__new__(type(self))
        now.__dict__ = self.__dict__
        return now

    def _learn(self, table: CodedTable, engine: CountEngine) -> Learnt:
        """The second half of every fit, wherever the rows are."""
        self.classes_ = table.classes
        self.encoder_ = TableEncoder(table.schema, unseen_is_error=self.handle_unknown == "error")
        learnt = self._learning(engine).learn(table)
        self.class_count_ = table.class_counts(learnt.counts)
        self.gaps_ = choose_rule(learnt.network, learnt.filling, self.missing)
        self.network_ = with_rule(learnt.network, self.gaps_)
        self.structure_score_, self.trace_ = learnt.structure_score, learnt.trace
        self.quality_, self.decision_, self.recipe_ = None, None, NOTHING_TO_DO
        self.posterior_, self.edits_ = None, ()
        return learnt

    def _learning(self, engine: CountEngine) -> Learning:
        parts = self._parts()
        return Learning(
            parts,
            engine,
            self.missing,
            needs_filler(self.missing, parts.parameters.describes_attributes),
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
            verbose=int(self.verbose),
        )

    def predict(self, X: object) -> NDArray[np.generic]:
        """The most probable class of each row, the first of equally probable ones; or what `decision_` decides for."""
        now = self._now()
        if now.decision_ is not None:
            return now.decision_.labels(now.predict_proba(X), now.classes_)
        best = now._log_joint(X).argmax(axis=1)
        labels: NDArray[np.generic] = now.classes_[best]
        return labels

    def predict_log_proba(self, X: object) -> NDArray[np.float64]:
        """log P(class | row), (n_rows, n_classes), in the order of `classes_`."""
        return self._now()._log_joint(X, normalized=True)

    def predict_proba(self, X: object) -> NDArray[np.float64]:
        """P(class | row), (n_rows, n_classes), in the order of `classes_`."""
        logs = self.predict_log_proba(X)
        return np.exp(logs, out=logs)

    def _log_joint(self, X: object, normalized: bool = False) -> NDArray[np.float64]:
        check_is_fitted(self)
        if is_stream(X):
            names = [column.name for column in self.encoder_.schema.attributes]
            return np.concatenate([self._log_joint(rows, normalized) for rows in open_stream(X, names).select(names)])
        _, codes = self.encode(X)
        with thread_limit(self.n_jobs):
            network = self.network_
            if (
                self.engine == "torch"
                and network.kind != "mixtures"
                and network.kind != "trees"
                and network.is_looked_up
                and not self.gaps_.with_gap(codes).any()
            ):
                from tanager.torch.look_up import look_up_on_device

                return look_up_on_device(*network.look_ups(codes), self.device, normalized)
            return self.gaps_.log_posterior(codes, normalized)

    def encode(self, X: object) -> tuple[RawTable, Codes]:
        """A table to predict: as it was read, and as the codes of all attributes of the network."""
        with thread_limit(self.n_jobs):
            table = read_columns(X)
            self._check_columns(X, table, reset=False)
            return table, add_hidden_codes(self.encoder_.encode(table), self.network_.n_states)

    @property
    def filler_(self) -> Network | None:
        """The filler of a rule that has one."""
        return getattr(self.gaps_, "filler", None)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """(n_features,) how strong each attribute is, in nats; zero for one without effect. No rows are needed.

        With effects it is the root mean square of what the attribute adds to the log odds of a class against the
        others, over the training densities, the effect of a pair being shared by its two; with tables the information
        that attribute and class give of each other when the attribute's other parents are known, in the model's own
        distribution. `tanager.explain` tells more.
        """
        check_is_fitted(self)
        return attribute_importance(self.network_)[: self.n_features_in_]

    @property
    def partial_fit(self) -> Any:
        """Only naive Bayes has it; other structures are learnt from all rows, which may come batch by batch."""
        raise MissingMethodError(
            f"{type(self).__name__} has no partial_fit: its structure and effects depend on all rows together.",
            hint="fit takes rows batch by batch, fit(batches, 'class column'); NaiveBayesClassifier has partial_fit.",
        )

    def _parts(self) -> Parts:
        return Parts.of(self, self._structure())

    def _structure(self) -> str | StructureLearner:
        """The structure by name or as an object; a preset makes it of options of its own."""
        return self.structure

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags
