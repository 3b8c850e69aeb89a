"""BayesianNetworkClassifier: check, encode, count, structure, parameters; then one look-up per family."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from tanager.classifiers.additive import AdditiveLearner
from tanager.classifiers.batch_reader import SchemaOptions
from tanager.classifiers.criterion import choose_criterion
from tanager.classifiers.encodes_tables import EncodesTables
from tanager.classifiers.gap_average import learn_filler, log_posterior_averaging
from tanager.classifiers.gap_skip import log_joint_skipping
from tanager.classifiers.gaps import log_joint_with_gaps
from tanager.classifiers.hidden import add_hidden, add_hidden_codes, count_with_hidden, hidden_columns, learn_hidden
from tanager.classifiers.out_of_core import check_roles, check_streamable, running_counts, streamed_table
from tanager.classifiers.training import warn_left_out
from tanager.counts.count_store import CountStore
from tanager.counts.engine import choose_engine
from tanager.network.additive import AdditiveNetwork
from tanager.network.network import Network
from tanager.parameters import EM, PARAMETERS, Frequency, LikelihoodGradient, ParameterLearner, ParameterTask
from tanager.parameters.em import PartlyLabelledTask
from tanager.parameters.row_likelihood import RowLikelihood
from tanager.progress import working
from tanager.registry import resolve
from tanager.scores import CLL, FamilyScore
from tanager.structure import STRUCTURES, Pairwise, Selective, Step, StructureLearner, StructureTask
from tanager.table.batch import EncodedBatch
from tanager.table.discretizer import choose_discretizer
from tanager.table.encoder import TableEncoder
from tanager.table.read_columns import read_table
from tanager.table.stream_source import is_stream, open_stream
from tanager.threads import thread_limit

# Learners of the joint distribution: a class is one more cell that may be missing.
LEARN_WITHOUT_CLASS = (EM, LikelihoodGradient)
# Learners whose tables describe the attributes, so that a missing one can be summed out of their joint.
DESCRIBE_ATTRIBUTES = (EM, Frequency, LikelihoodGradient)


@dataclass(frozen=True)
class Trace:
    """What the search and the optimiser did."""

    structure: tuple[Step, ...]
    parameters: dict[str, object]


class BayesianNetworkClassifier(EncodesTables, ClassifierMixin, BaseEstimator):
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
    discretizer : "mdlp", "quantile" or scikit-learn transformer
        How numeric columns are cut into bins, on the training rows alone.
    missing : "auto", "average", "marginalize", "skip" or "category"
        At prediction P(class | row) is averaged over what a missing cell may hold, given those present, by a second
        network of frequencies ("average"); or the cell is summed out of the network's own joint, exactly
        ("marginalize"); or its families' terms are left out of the log odds ("skip"). "auto" averages, but
        marginalizes tables that describe the attributes ("frequency", "em", "likelihood-gradient"). In training a gap
        is left to `parameters`: "em", "likelihood-gradient" and, but for "skip", "conditional" infer it, the others
        leave out the families it is in. Or, in a column that has some in training, a gap is a state of its own
        ("category"; else as "auto").
    handle_unknown : "marginalize" or "error"
        A category unseen in training is a missing cell, or an error, at prediction.
    engine : "auto", "numpy", "numba" or "torch"
        What counts; the result is the same. "torch" also passes over the rows on its `device`.
    device : "cuda", "cuda:1", ..., "cpu" or None
        Where "torch" works; None is the current GPU if there is one, else the CPU.
    n_jobs : int or None
        Threads; None means all cores.
    random_state : int, RandomState or None
        For structure learners that draw at random.
    verbose : int
        1 prints the steps of the search and of the optimiser, with a bar on a terminal.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_
        As in every scikit-learn classifier.
    network_ : Network or AdditiveNetwork
        The distribution learnt; with structure "pairwise" the sum of effects.
    filler_ : Network or None
        What says what a missing cell may hold, where P(class | row) is averaged over it.
    encoder_ : TableEncoder
        The columns' categories and cut points.
    structure_score_ : float or None
        The score of the structure by the criterion; None where the structure asks for none.
    trace_ : Trace
        Steps of the search and of the optimiser.

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

    network_: Network | AdditiveNetwork
    filler_: Network | None = None

    def fit(self, X: object, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from the rows of X with classes y; a row of weight w counts as w rows.

        Any cell may be missing, and so may the class of some rows: the parameter learners "em" and
        "likelihood-gradient" learn from these too, the others leave them out with a warning.

        X may also come batch by batch, with y the name of its class column and `sample_weight` that of its weights: a
        `pyarrow.dataset.Dataset`, a `polars.LazyFrame`, a `pyarrow.RecordBatchReader` or an iterator of record batches
        or frames. Memory then holds a batch and the counts; codes are in a temporary file if counts are not enough.
        """
        if is_stream(X):
            return self._fit_stream(X, y, sample_weight)
        with thread_limit(self.n_jobs), working("Learning", shown=bool(self.verbose)):
            training = self._learn_encoder(X, y, sample_weight)
            unlabelled = None
            if isinstance(self._parameters(), LEARN_WITHOUT_CLASS):
                unlabelled = self._encode_unlabelled(training)
            else:
                warn_left_out(training)
            self._learn_network(self._count_store(self._encode(training)), unlabelled)
        return self

    def _fit_stream(self, X: object, y: ArrayLike, sample_weight: ArrayLike | None) -> Self:
        roles = check_roles(y, sample_weight)
        check_streamable(self._structure(), self._criterion(), self._parameters())
        self._check_gap_options()
        options = SchemaOptions(
            choose_discretizer(self.discretizer),
            self.categorical_features,
            gap_states=self.missing == "category",
            fine=isinstance(self._structure(), Pairwise),
        )
        engine = choose_engine(self.engine, self.device)
        counts = running_counts(self._structure(), self._parameters(), self.averages_gaps(), engine)
        with thread_limit(self.n_jobs), streamed_table(X, roles, options, counts) as rows:
            self.classes_ = rows.classes
            self.n_features_in_ = len(rows.schema.attributes)
            self.feature_names_in_ = np.array(rows.names[:-1], dtype=object)
            self.encoder_ = TableEncoder(rows.schema, unseen_is_error=self.handle_unknown == "error")
            self._learn_network(rows.count_store(engine))
        return self

    def _learn_network(self, counts: CountStore, unlabelled: EncodedBatch | None = None) -> None:
        self.filler_ = None
        learner = self._structure()
        if isinstance(learner, Pairwise):
            self._learn_effects(learner, counts.batch)
            return
        summed = "marginalize" if self.missing == "auto" else self.missing
        hidden = hidden_columns(self._structure(), counts.names, self._parameters(), summed)
        if hidden:
            counts = count_with_hidden(counts, hidden)
            unlabelled = None if unlabelled is None else add_hidden(unlabelled, hidden)
        structure = self._structure().learn(self._structure_task(counts))
        report = print if self.verbose else _ignore
        task = ParameterTask(structure.dag, counts, report=report, skip_gaps=self.missing == "skip")
        if unlabelled is not None:
            task = PartlyLabelledTask(structure.dag, counts, unlabelled)
        schema = self.encoder_.schema
        columns = (*schema.attributes, *hidden, schema.target)
        learnt = learn_hidden(self._parameters(), task, columns) if hidden else self._parameters().learn(task)
        self.network_ = Network(columns, structure.dag, learnt.tables, schema.target.name)
        if self.averages_gaps() and not hidden:
            self.filler_ = learn_filler(counts, columns)
        self.structure_score_ = structure.score
        self.trace_ = Trace(structure.steps, learnt.trace)

    def _learn_effects(self, structure: Pairwise, batch: EncodedBatch) -> None:
        report = print if self.verbose else _ignore
        learner = AdditiveLearner(structure, self._parameters(), self.missing, self._structure_task, report)
        learnt = learner.learn(batch, self.encoder_.schema, choose_engine(self.engine, self.device))
        self.network_, self.filler_ = learnt.network, learnt.filler
        self.structure_score_ = learnt.structure.score
        self.trace_ = Trace(learnt.structure.steps, learnt.effects.trace)

    def _structure_task(self, counts: CountStore) -> StructureTask:
        parameters = self._parameters()
        smoothing = parameters if isinstance(parameters, Frequency) else Frequency()
        wrapped = isinstance(self._structure(), Selective)  # judged on rows it has not learnt from
        return StructureTask(
            counts,
            self._criterion(),
            counts.names,
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
            report=print if self.verbose else _ignore,
            evaluate=RowLikelihood(counts.batch, counts, smoothing, leave_one_out=wrapped),
        )

    def predict(self, X: object) -> NDArray[np.generic]:
        """The most probable class of each row; the first of equally probable ones."""
        best = self._log_joint(X).argmax(axis=1)
        labels: NDArray[np.generic] = self.classes_[best]
        return labels

    def predict_log_proba(self, X: object) -> NDArray[np.float64]:
        """log P(class | row), (n_rows, n_classes), in the order of `classes_`."""
        return self._log_joint(X, normalized=True)

    def predict_proba(self, X: object) -> NDArray[np.float64]:
        """P(class | row), (n_rows, n_classes), in the order of `classes_`."""
        logs = self.predict_log_proba(X)
        return np.exp(logs, out=logs)

    def _log_joint(self, X: object, normalized: bool = False) -> NDArray[np.float64]:
        check_is_fitted(self)
        if is_stream(X):
            names = [column.name for column in self.encoder_.schema.attributes]
            return np.concatenate([self._log_joint(rows, normalized) for rows in open_stream(X, names).select(names)])
        table = read_table(X)
        self._check_columns(X, table, reset=False)
        with thread_limit(self.n_jobs):
            columns = self.encoder_.encode(table)
            if isinstance(self.network_, AdditiveNetwork):
                if self.averages_gaps():
                    return log_posterior_averaging(self.network_, self.filler_, columns)
                return self.network_.log_joint(columns, normalized)
            codes = add_hidden_codes(columns, self.network_.n_states)
            if self.engine == "torch" and not (codes == np.array(self.network_.n_states[:-1])).any():
                from tanager.network.torch_look_up import look_up_on_device

                return look_up_on_device(self.network_.log_joint, codes, self.device, normalized)
            if self.averages_gaps() and codes is columns:  # hidden nodes can only be summed out
                return log_posterior_averaging(self.network_, self.filler_, codes)
            summing = log_joint_skipping if self.missing == "skip" else log_joint_with_gaps
            return summing(self.network_, codes, normalized)

    def averages_gaps(self) -> bool:
        """Whether P(class | row) is averaged over what a missing cell may hold."""
        by_learner = self.missing in ("auto", "category") and not isinstance(self._parameters(), DESCRIBE_ATTRIBUTES)
        return by_learner or self.missing == "average"

    def _structure(self) -> StructureLearner:
        return resolve("structure", self.structure, STRUCTURES, "learn")

    def _criterion(self) -> FamilyScore | CLL | None:
        return choose_criterion(self.criterion, self._structure())

    def _parameters(self) -> ParameterLearner:
        return resolve("parameters", self.parameters, PARAMETERS, "learn")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags


def _ignore(progress: object) -> None:
    pass
