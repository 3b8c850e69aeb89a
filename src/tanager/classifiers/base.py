"""TableClassifier: what every classifier of a table has in common: fit, predict, intervals, importances."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from tanager.additive.importance import effect_strength
from tanager.additive.model import AdditiveTrace, AnyModel
from tanager.arrays import Array, Codes
from tanager.check.preprocessing import NOTHING_TO_DO, Recipe
from tanager.classifiers.coded_table import (
    CodedTable,
    RowNeeds,
    add_hidden_codes,
    check_columns,
    code_stream,
    code_table,
)
from tanager.classifiers.intervals import learn_posterior
from tanager.classifiers.learning import Learnt, Trace
from tanager.counts.engine import CountEngine, choose_engine
from tanager.errors import MemoryLimitError, MissingMethodError
from tanager.metrics import Quality
from tanager.missing.average import choose_rule
from tanager.missing.rule import MissingRule
from tanager.runtime.progress import working
from tanager.runtime.resources import check_whole, thread_limit
from tanager.table.columns import RawTable
from tanager.table.discretizer import choose_discretizer
from tanager.table.encoder import TableEncoder, learn_schema
from tanager.table.read_columns import is_stream, read_columns
from tanager.table.rows import Place, exceeds
from tanager.table.schema import TableSchema
from tanager.table.stream.reader import ReadOptions, StreamReader, check_roles
from tanager.table.stream.source import open_stream
from tanager.table.training_table import (
    TrainingTable,
    check_class_weight,
    read_training,
    warn_left_out,
    weigh_classes,
)
from tanager.uncertainty.interval import Interval, check_level
from tanager.uncertainty.posterior import AnyPosterior, with_bands

if TYPE_CHECKING:
    from tanager.decide import Decision
    from tanager.edits.edit import Revision


class TableClassifier(ClassifierMixin, BaseEstimator, ABC):
    """A classifier learnt from a table; a subclass learns the model, and declares the options in its own order.

    model_  what was learnt: an `AdditiveModel` or a network
    missing_rule_   what a missing cell means
    """

    missing: str
    handle_unknown: str
    discretizer: object
    categorical_features: ArrayLike | str | None
    class_weight: Mapping[Any, float] | str | None
    n_jobs: int | None
    random_state: int | np.random.RandomState | None
    verbose: int

    classes_: NDArray[np.generic]
    encoder_: TableEncoder
    model_: AnyModel
    missing_rule_: MissingRule
    class_count_: NDArray[np.float64]
    trace_: Trace | AdditiveTrace
    quality_: Quality | None = None
    posterior_: AnyPosterior | None = None
    decision_: Decision | None = None
    recipe_: Recipe = NOTHING_TO_DO
    issues_: tuple[str, ...] = ()
    edits_: tuple[Revision, ...] = ()

    @abstractmethod
    def _row_needs(self) -> RowNeeds:
        """What the learner needs of the rows; options that cannot be used are refused."""

    @abstractmethod
    def _check_place(self, place: Place) -> None:
        """Refuse what needs more of the rows than they can give where they are."""

    @abstractmethod
    def _learn_model(self, table: CodedTable, engine: CountEngine) -> Learnt:
        """The model of these rows, wherever they are, its attributes in the order of the table."""

    def _count_engine(self) -> CountEngine:
        """What counts rows."""
        return choose_engine("auto", None)

    def _own_posterior(self) -> str | None:
        """The posterior that the parameters have besides those for every model: "dirichlet" or None."""
        return None

    @property
    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def fit(self, X: object, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from the rows of X with classes y; a row of weight w counts as w rows.

        Any cell may be missing, and so may the class of some rows: the parameter learners "em" and
        "likelihood-gradient" learn from these too, the others leave them out with a warning.

        X may also come batch by batch, with y the name of its class column and `sample_weight` that of its weights: a
        `pyarrow.dataset.Dataset`, a `polars.LazyFrame`, a `pyarrow.RecordBatchReader` or an iterator of record batches
        or frames. Memory then holds a batch and the counts; codes are in a temporary file.
        """
        with self._replacing() as new:
            new._fit(X, y, sample_weight)
        return self

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

    def prepare_intervals(
        self,
        X: object,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        method: str = "auto",
    ) -> Self:
        """Learn from the training rows how uncertain the classifier is, so that `predict_interval` works for any row.

        Parameters
        ----------
        X, y, sample_weight
            The rows the classifier was fitted to.
        method : "auto", "reference" or "dirichlet"
            "reference" compares the classifier with a reference model that leaves no attribute, pair or combination
            out, averaged over its regularisation strengths; it is for every classifier. "dirichlet" is the posterior
            of tables of frequencies, the structure being fixed. "auto" is "dirichlet" for parameters="frequency", else
            "reference".

        Returns
        -------
        self
        """
        check_is_fitted(self)
        with self._replacing() as new, thread_limit(self.n_jobs):
            new.posterior_ = learn_posterior(new, X, y, sample_weight, method)
            if new.model_.kind == "effects":
                new.model_ = with_bands(new.model_, new.posterior_)
        return self

    def predict_interval(self, X: object, level: float = 0.9) -> Interval:
        """Intervals of P(class | row) that hold the truth with probability `level`, one for each class of each row.

        `prepare_intervals` must have been called; it chooses the posterior. `lower`, `median` and `upper` are each
        (n_rows, n_classes), in the order of `classes_`; but for "dirichlet" the median is `predict_proba`.
        """
        now = self._now()
        share, posterior = check_intervals(now, level)
        _, codes = encode_table(now, X)
        logs = now.predict_log_proba(X)
        with thread_limit(now.n_jobs):
            return posterior.interval(codes, logs, share, now.missing_rule_, float(now.class_count_.sum()))

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """(n_features,) how strong each attribute is, in nats; zero for one without effect. No rows are needed.

        In an additive model it is how far the attribute moves the log odds of a class against the others: the root mean
        square over the training rows. Half of the effect of a pair counts for each of its two attributes. In a network
        it is the conditional mutual information of attribute and class given the attribute's other parents.
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

    def _fit(self, X: object, y: ArrayLike, sample_weight: ArrayLike | None) -> None:
        check_whole("verbose", self.verbose)
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
        self.missing_rule_ = choose_rule(learnt.model, learnt.imputation, self.missing)
        self.model_, self.trace_ = learnt.model, learnt.trace
        self.quality_, self.decision_, self.recipe_ = None, None, NOTHING_TO_DO
        self.posterior_, self.edits_, self.issues_ = None, (), ()
        return learnt

    def _log_joint(self, X: object, normalized: bool = False) -> NDArray[np.float64]:
        check_is_fitted(self)
        if is_stream(X):
            names = [column.name for column in self.encoder_.schema.attributes]
            return np.concatenate([self._log_joint(rows, normalized) for rows in open_stream(X, names).select(names)])
        _, codes = encode_table(self, X)
        with thread_limit(self.n_jobs):
            return self.missing_rule_.log_posterior(codes, normalized)

    def _read(self, X: object, y: ArrayLike, sample_weight: ArrayLike | None, needs: RowNeeds) -> CodedTable:
        """A table in memory."""
        training, schema = self._learn_schema(X, y, sample_weight, needs)
        again = choose_discretizer(self.discretizer) if needs.cuts_again else None
        return code_table(training, schema, schema.learning_order, needs.unlabelled, again)

    def _learn_schema(
        self, X: object, y: ArrayLike, sample_weight: ArrayLike | None, needs: RowNeeds
    ) -> tuple[TrainingTable, TableSchema]:
        """A table in memory, checked, and what its columns hold."""
        training = weigh_classes(read_training(X, y, sample_weight, unlabelled=True), self.class_weight)
        check_columns(self, X, training.table, reset=True)
        if not needs.unlabelled:
            warn_left_out(training)
        schema = learn_schema(
            training.table,
            training.target,
            training.class_codes,
            training.weights,
            choose_discretizer(self.discretizer, needs.fine),
            self.categorical_features,
            missing_states=needs.missing_states,
            fine=needs.fine,
        )
        return training, schema

    def _read_options(self, needs: RowNeeds) -> ReadOptions:
        """How a table is read that is not in memory."""
        return ReadOptions(
            choose_discretizer(self.discretizer, needs.fine),
            self.categorical_features,
            missing_states=needs.missing_states,
            fine=needs.fine,
            unlabelled=needs.unlabelled,
            values=needs.cuts_again,
            class_weight=check_class_weight(self.class_weight),
        )

    @contextmanager
    def _read_stream(
        self, X: object, y: ArrayLike, sample_weight: ArrayLike | None, needs: RowNeeds
    ) -> Iterator[CodedTable]:
        """A table that comes batch by batch, read once. Its rows are gone when the block ends, however it does."""
        self._check_place("disk")
        roles = check_roles(y, sample_weight)
        reader = StreamReader(roles, self._read_options(needs))
        try:
            table = code_stream(reader.read(open_stream(X)))
            if exceeds(needs.needs, "counts"):
                unlabelled = None if table.unlabelled is None else table.unlabelled.kept()
                table = replace(table, rows=table.rows.kept(), unlabelled=unlabelled)
                reader.close()
            names = table.schema.names[:-1]
            self.n_features_in_, self.feature_names_in_ = len(names), np.array(names, dtype=object)
            yield table
        finally:
            reader.close()


def encode_table(clf: TableClassifier, X: object) -> tuple[RawTable, Codes]:
    """A table to predict: as it was read, and as the codes of all attributes of the model."""
    with thread_limit(clf.n_jobs):
        table = read_columns(X)
        check_columns(clf, X, table, reset=False)
        return table, add_hidden_codes(clf.encoder_.encode(table), clf.model_.n_states)


def code_labelled(clf: TableClassifier, X: object, y: ArrayLike, sample_weight: ArrayLike | None = None) -> CodedTable:
    """The codes of rows that have a class, columns in the table's order, as a fit of the classifier would have them."""
    rows, schema = clone(clf)._learn_schema(X, y, sample_weight, clf._row_needs())
    return code_table(rows, schema, tuple(range(len(schema.attributes))))


def check_intervals(clf: TableClassifier, level: float) -> tuple[float, AnyPosterior]:
    """The level and the posterior of a fitted classifier, or an error that says what to do."""
    check_is_fitted(clf)
    share = check_level(level)
    if clf.posterior_ is None:
        raise MissingMethodError(
            f"this {type(clf).__name__} has no intervals: they are prepared from its training rows once.",
            hint="call prepare_intervals(X, y) with them; `tanager fit --intervals` keeps that in the model file.",
        )
    return share, clf.posterior_


def term_strength(network: AnyModel) -> Array:
    """(n_terms,) of effects `effect_strength`; of tables what each attribute and the class tell of each other.

    That is the strength of its edge from or to the class: I(attribute; class | attribute parents) for a child of the
    class, 0 for an attribute without such an edge, which speaks through others alone.
    """
    if network.kind == "effects":
        return effect_strength(network)
    target = len(network.nodes) - 1
    strength = np.zeros(target)
    for edge, nats in zip(network.dag.edges, edge_strength(network), strict=True):
        if target in edge:
            strength[min(edge)] = nats  # the class has the largest number
    return strength


def attribute_importance(network: AnyModel) -> Array:
    """(n_attributes,) the strength of each attribute's terms; that of a pair is shared by its two."""
    found = np.zeros(len(network.nodes) - 1)
    for term, strength in zip(network.terms, term_strength(network), strict=True):
        found[list(term)] += strength / len(term)
    return found


def edge_strength(network: AnyModel) -> Array:
    """The strength of each edge of the DAG: of an additive model that of its effect, else `edge_information`.

    In a mixture it is the mean of the members', in a mean of all trees that of the trees'.

    The edge from the class to an attribute is its main effect, the edge between two attributes their pair effect.
    """
    if network.kind != "effects":
        return network.edge_information
    target = len(network.mains)
    ends = ((target, *term) if len(term) == 1 else term for term in network.terms)
    of_edge = dict(zip(ends, effect_strength(network).tolist(), strict=True))
    return np.array([of_edge[edge] for edge in network.dag.edges], dtype=np.float64)
