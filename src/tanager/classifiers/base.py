"""TableClassifier: what every classifier of a table has in common: fit, predict, intervals, importances."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from tanager.additive.importance import attribute_importance
from tanager.additive.model import AnyModel
from tanager.additive.trace import AdditiveTrace
from tanager.arrays import Codes
from tanager.classifiers.hidden import add_hidden_codes
from tanager.classifiers.intervals import GivesIntervals
from tanager.classifiers.learning import Learnt, Trace
from tanager.classifiers.reading import CodedTable
from tanager.counts.engine import CountEngine
from tanager.decide import Decision
from tanager.edits.revision import Revision
from tanager.errors import MemoryLimitError, MissingMethodError
from tanager.metrics import Quality
from tanager.missing.choose import choose_rule, with_rule
from tanager.missing.rule import GapRule
from tanager.network.network import Network
from tanager.recipe.recipe import NOTHING_TO_DO, Recipe
from tanager.runtime.progress import working
from tanager.runtime.threads import thread_limit
from tanager.table.columns import RawTable
from tanager.table.encoder import TableEncoder
from tanager.table.read_columns import read_columns
from tanager.table.stream.source import is_stream, open_stream


class TableClassifier(GivesIntervals, ClassifierMixin, BaseEstimator):
    """A classifier learnt from a table: what its model is, a subclass says.

    model_      what was learnt: an `AdditiveModel` or a network
    gaps_       what a missing cell means
    """

    model_: AnyModel
    gaps_: GapRule
    class_count_: NDArray[np.float64]
    trace_: Trace | AdditiveTrace
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
        needs = self._row_needs()
        with thread_limit(self.n_jobs), working("Learning", shown=bool(self.verbose)):
            if is_stream(X):
                with self._read_stream(X, y, sample_weight, needs) as table:
                    self._learn(table, self._count_engine())
            else:
                self._learn(self._read(X, y, sample_weight, needs), self._count_engine())

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
        learnt = self._learn_model(table, engine)
        self.class_count_ = table.class_counts(learnt.counts)
        self.gaps_ = choose_rule(learnt.model, learnt.filling, self.missing)
        self.model_, self.trace_ = with_rule(learnt.model, self.gaps_), learnt.trace
        self.quality_, self.decision_, self.recipe_ = None, None, NOTHING_TO_DO
        self.posterior_, self.edits_ = None, ()
        return learnt

    @abstractmethod
    def _learn_model(self, table: CodedTable, engine: CountEngine) -> Learnt:
        """The model of these rows, wherever they are, its attributes in the order of the table."""

    @property
    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    @abstractmethod
    def _needed_memory(self, table: CodedTable) -> int:
        """Bytes, about, that the fit holds besides the rows."""

    def _own_posterior(self) -> str | None:
        """The posterior that the parameters have besides those for every model: "dirichlet", "laplace" or None."""
        return None

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
            return self._log_posterior(codes, normalized)

    def _log_posterior(self, codes: Codes, normalized: bool) -> NDArray[np.float64]:
        return self.gaps_.log_posterior(codes, normalized)

    def encode(self, X: object) -> tuple[RawTable, Codes]:
        """A table to predict: as it was read, and as the codes of all attributes of the model."""
        with thread_limit(self.n_jobs):
            table = read_columns(X)
            self._check_columns(X, table, reset=False)
            return table, add_hidden_codes(self.encoder_.encode(table), self.model_.n_states)

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
        return attribute_importance(self.model_)[: self.n_features_in_]

    @property
    def partial_fit(self) -> Any:
        """Only naive Bayes has it; other models are learnt from all rows, which may come batch by batch."""
        raise MissingMethodError(
            f"{type(self).__name__} has no partial_fit: its model depends on all rows together.",
            hint="fit takes rows batch by batch, fit(batches, 'class column'); NaiveBayesClassifier has partial_fit.",
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags
