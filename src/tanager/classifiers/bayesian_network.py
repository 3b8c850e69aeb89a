"""BayesianNetworkClassifier: check, encode, count, structure, parameters; then one look-up per family."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from tanager.classifiers.additive import AdditiveLearner
from tanager.classifiers.gap_average import learn_filler, log_posterior_averaging
from tanager.classifiers.gap_skip import log_joint_skipping
from tanager.classifiers.gaps import MISSING, log_joint_with_gaps
from tanager.classifiers.hidden import (
    add_hidden,
    add_hidden_codes,
    count_with_hidden,
    hidden_columns,
    learn_hidden,
)
from tanager.classifiers.score_option import TwoScores
from tanager.classifiers.training import TrainingTable, read_rows, read_training, warn_left_out
from tanager.counts.count_store import CountStore
from tanager.counts.engine import choose_engine
from tanager.counts.family import CountTable
from tanager.network.additive import AdditiveNetwork
from tanager.network.network import Network
from tanager.parameters import EM, PARAMETERS, Frequency, LikelihoodGradient, ParameterLearner, ParameterTask
from tanager.parameters.effect_layout import coarse_batch
from tanager.parameters.em import PartlyLabelledTask
from tanager.parameters.row_likelihood import RowLikelihood
from tanager.progress import working
from tanager.registry import check_option, resolve
from tanager.scores import CLL, SCORES, FamilyScore
from tanager.structure import STRUCTURES, Pairwise, Selective, Step, StructureLearner, StructureTask
from tanager.table.batch import EncodedBatch, code_dtype
from tanager.table.discretizer import choose_discretizer
from tanager.table.encoder import TableEncoder, learn_schema
from tanager.table.read_columns import RawTable, read_table
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


class BayesianNetworkClassifier(TwoScores, ClassifierMixin, BaseEstimator):
    """Classify by a Bayesian network learnt from a table.

    Parameters
    ----------
    structure : str or object of `tanager.structure`
        How the structure is chosen: "pairwise", "tan", "naive-bayes", ... or an object such as `Tree(forest=True)`.
    score : str or object of `tanager.scores`
        What makes a structure good.
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
    engine : "auto", "numpy" or "numba"
        What counts; the result is the same.
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
    structure_score_ : float
        The score of the structure.
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

    def __init__(
        self,
        structure: str | StructureLearner = "pairwise",
        score: str | FamilyScore | CLL = "fcll",
        parameters: str | ParameterLearner = "conditional",
        *,
        categorical_features: ArrayLike | str | None = "from_dtype",
        discretizer: object = "mdlp",
        missing: str = "auto",
        handle_unknown: str = "marginalize",
        engine: str = "auto",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.structure = structure
        self.score = score
        self.parameters = parameters
        self.categorical_features = categorical_features
        self.discretizer = discretizer
        self.missing = missing
        self.handle_unknown = handle_unknown
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: object, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from the rows of X with classes y; a row of weight w counts as w rows.

        Any cell may be missing, and so may the class of some rows: the parameter learners "em" and
        "likelihood-gradient" learn from these too, the others leave them out with a warning.
        """
        with thread_limit(self.n_jobs), working("Learning", shown=bool(self.verbose)):
            training = self._learn_encoder(X, y, sample_weight)
            unlabelled = None
            if isinstance(self._parameters(), LEARN_WITHOUT_CLASS):
                unlabelled = self._encode_unlabelled(training)
            else:
                warn_left_out(training)
            self._learn_network(self._count_store(self._encode(training)), unlabelled)
        return self

    def learn_counts(self, X: object, y: ArrayLike, sample_weight: ArrayLike | None = None) -> CountStore:
        """The first half of `fit`: check the data, learn the encoder, and give the counts of the labelled rows."""
        training = self._learn_encoder(X, y, sample_weight)
        warn_left_out(training)
        return self._count_store(self._coarse(self._encode(training)))

    def _learn_encoder(self, X: object, y: ArrayLike, sample_weight: ArrayLike | None) -> TrainingTable:
        check_option("missing", self.missing, MISSING)
        check_option("handle_unknown", self.handle_unknown, ["marginalize", "error"])
        training = read_training(X, y, sample_weight, unlabelled=True)
        self._check_columns(X, training.table, reset=True)
        self.classes_ = training.classes
        schema = learn_schema(
            training.table,
            training.target,
            training.class_codes,
            training.weights,
            choose_discretizer(self.discretizer),
            self.categorical_features,
            gap_states=self.missing == "category",
            fine=isinstance(self._structure(), Pairwise),
        )
        self.encoder_ = TableEncoder(schema, unseen_is_error=self.handle_unknown == "error")
        return training

    def count(self, X: object, y: ArrayLike, sample_weight: ArrayLike | None = None) -> CountStore:
        """The counts of other rows, by the categories and cut points of the training rows."""
        check_is_fitted(self)
        rows = read_rows(X, y, sample_weight, self.classes_, unlabelled=True)
        self._check_columns(X, rows.table, reset=False)
        warn_left_out(rows)
        return self._count_store(self._coarse(self._encode(rows)))

    def _coarse(self, batch: EncodedBatch) -> EncodedBatch:
        return coarse_batch(batch, self.encoder_.schema.attributes)

    def _encode(self, training: TrainingTable) -> EncodedBatch:
        n_states = self.encoder_.schema.n_states
        codes = self.encoder_.encode(training.table)
        incomplete = np.array([(codes[:, j] == n_states[j]).any() for j in range(codes.shape[1])])
        return EncodedBatch(codes, training.class_codes, n_states, incomplete, training.weights)

    def _encode_unlabelled(self, training: TrainingTable) -> EncodedBatch | None:
        """The rows without a class; a category that no labelled row has is missing in them."""
        if training.unlabelled is None:
            return None
        schema, rows = self.encoder_.schema, training.unlabelled
        codes = TableEncoder(schema).encode(rows.table)
        unknown = np.full(len(codes), schema.target.n_states, dtype=code_dtype(schema.target.n_states))
        incomplete = (codes == np.array(schema.n_states[:-1])).any(axis=0)
        return EncodedBatch(codes, unknown, schema.n_states, incomplete, rows.weights)

    def _count_store(
        self, batch: EncodedBatch, known: Mapping[tuple[int, ...], CountTable] = MappingProxyType({})
    ) -> CountStore:
        schema = self.encoder_.schema
        names = [column.name for column in (*schema.attributes, schema.target)]
        return CountStore(batch, choose_engine(self.engine), names, known=known)

    def _learn_network(self, counts: CountStore, unlabelled: EncodedBatch | None = None) -> None:
        self.filler_ = None
        learner = self._structure()
        if isinstance(learner, Pairwise):
            self._learn_effects(learner, counts.batch)
            return
        summed = "marginalize" if self.missing == "auto" else self.missing
        hidden = hidden_columns(self._structure(), counts.names, self._parameters(), summed)
        if hidden:
            counts = count_with_hidden(counts, hidden, self.engine)
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
        if self._averages() and not hidden:
            self.filler_ = learn_filler(counts, columns)
        self.structure_score_ = structure.score
        self.trace_ = Trace(structure.steps, learnt.trace)

    def _learn_effects(self, structure: Pairwise, batch: EncodedBatch) -> None:
        report = print if self.verbose else _ignore
        learner = AdditiveLearner(structure, self._parameters(), self.missing, self._structure_task, report)
        learnt = learner.learn(batch, self.encoder_.schema, self.engine)
        self.network_, self.filler_ = learnt.network, learnt.filler
        self.structure_score_ = learnt.structure.score
        self.trace_ = Trace(learnt.structure.steps, learnt.effects.trace)

    def _structure_task(self, counts: CountStore) -> StructureTask:
        score = resolve("score", self.__dict__["score"], SCORES, "check_options")
        score.check_options()
        parameters = self._parameters()
        smoothing = parameters if isinstance(parameters, Frequency) else Frequency()
        wrapped = isinstance(self._structure(), Selective)  # judged on rows it has not learnt from
        return StructureTask(
            counts,
            score,
            counts.names,
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
            report=_print_step if self.verbose else _ignore,
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
        table = read_table(X)
        self._check_columns(X, table, reset=False)
        with thread_limit(self.n_jobs):
            columns = self.encoder_.encode(table)
            if isinstance(self.network_, AdditiveNetwork):
                if self._averages():
                    return log_posterior_averaging(self.network_, self.filler_, columns)
                return self.network_.log_joint(columns, normalized)
            codes = add_hidden_codes(columns, self.network_.n_states)
            if self._averages() and codes is columns:  # hidden nodes can only be summed out
                return log_posterior_averaging(self.network_, self.filler_, codes)
            summing = log_joint_skipping if self.missing == "skip" else log_joint_with_gaps
            return summing(self.network_, codes, normalized)

    def _averages(self) -> bool:
        """Whether P(class | row) is averaged over what a missing cell may hold."""
        by_learner = self.missing in ("auto", "category") and not isinstance(self._parameters(), DESCRIBE_ATTRIBUTES)
        return by_learner or self.missing == "average"

    def _structure(self) -> StructureLearner:
        return resolve("structure", self.structure, STRUCTURES, "learn")

    def _parameters(self) -> ParameterLearner:
        return resolve("parameters", self.parameters, PARAMETERS, "learn")

    def _check_columns(self, X: object, table: RawTable, reset: bool) -> None:
        """scikit-learn's own messages for other columns than in training; a pyarrow table is named too."""
        validate_data(self, X, reset=reset, skip_check_array=True)
        if table.named and reset and not hasattr(self, "feature_names_in_"):
            self.feature_names_in_ = np.array(table.names, dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags


def _print_step(step: Step) -> None:
    print(f"{step.action}  gain {step.gain:.6g}  score {step.score:.6g}", flush=True)


def _ignore(progress: object) -> None:
    pass
