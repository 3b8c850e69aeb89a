"""TANClassifier and NaiveBayesClassifier: one structure each, whose options are the classifier's own."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.multiclass import _check_partial_fit_first_call

from tanager.classifiers.bayesian_network import BayesianNetworkClassifier, ClassifierOptions
from tanager.classifiers.coded_table import CodedTable, check_columns, code_table
from tanager.classifiers.learning import Learnt
from tanager.counts.engine import CountEngine
from tanager.counts.family import CountTable
from tanager.errors import DataError
from tanager.parameters import ParameterLearner
from tanager.runtime.resources import map_threads, thread_limit
from tanager.scores import CLL, FamilyScore
from tanager.structure import NaiveBayes, StructureLearner, Tree
from tanager.structure.constraints import Edges
from tanager.table.binning import ColumnStatistics
from tanager.table.discretizer import choose_discretizer
from tanager.table.encoder import TableEncoder, choose_categorical
from tanager.table.rows import EncodedBatch
from tanager.table.schema import ColumnSchema, TableSchema
from tanager.table.training_table import TrainingTable, class_factors, read_rows, warn_left_out

PARAMETERS = "Parameters\n----------\n"
EXAMPLES = "Examples\n--------\n"


@dataclass(eq=False, repr=False)
class TANOptions(ClassifierOptions):
    """Options of `TANClassifier`."""

    structure: str | StructureLearner = field(default="tan", init=False)
    _: KW_ONLY
    root: str | int | None = None
    forest: bool = False
    required_edges: Edges = ()
    forbidden_edges: Edges = ()


class TANClassifier(TANOptions, BayesianNetworkClassifier):
    """Tree-augmented naive Bayes: each attribute has the class and at most one other attribute as parents.

    The tree is the best of all trees by the criterion: a maximum spanning tree where it is the same for both
    directions of an edge, a maximum arborescence otherwise.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import TANClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = TANClassifier().fit(X, y)
    >>> len([edge for edge in clf.network_.edges if "target" not in edge])
    3
    """

    def _structure(self) -> StructureLearner:
        return Tree(self.root, self.forest, self.required_edges, self.forbidden_edges)


@dataclass(eq=False, repr=False)
class NaiveBayesOptions(ClassifierOptions):
    """Options of `NaiveBayesClassifier`."""

    structure: str | StructureLearner = field(default="naive-bayes", init=False)
    criterion: str | FamilyScore | CLL | None = field(default=None, init=False)
    parameters: str | ParameterLearner = "frequency"


class NaiveBayesClassifier(NaiveBayesOptions, BayesianNetworkClassifier):
    """Naive Bayes over any table: P(class) times P(attribute | class) for every attribute.

    A missing cell is left out, in training and in prediction, which is exact. `partial_fit` learns batch by batch and
    gives the very model that one `fit` on all rows gives: it keeps how often each class has each distinct value, and
    derives categories, cut points and tables from that. Its memory grows with the number of distinct values.

    Examples
    --------
    >>> from tanager import NaiveBayesClassifier
    >>> X = [["sunny", "hot"], ["rainy", "mild"], ["sunny", None], ["rainy", "hot"]]
    >>> clf = NaiveBayesClassifier().fit(X, ["out", "in", "out", "in"])
    >>> clf.predict([["sunny", "mild"], [None, "unheard of"]]).tolist()
    ['out', 'in']
    """

    _statistics: list[ColumnStatistics] | None = None  # of the rows that `partial_fit` has seen
    _counted: tuple[tuple[tuple[int, ...], CountTable], ...]  # ascending nodes, flat table; the class changes fastest

    def _fit(self, X: object, y: ArrayLike, sample_weight: ArrayLike | None) -> None:
        self._statistics = None
        super()._fit(X, y, sample_weight)

    def partial_fit(
        self, X: object, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from one more batch; the first call names all `classes`.

        After `fit`, whose categories and cut points then stay, it adds the rows to the counts. Rows without a class
        are left out with a warning.
        """
        with self._replacing() as new:
            new._partial_fit(X, y, classes, sample_weight)
        return self

    def _partial_fit(self, X: object, y: ArrayLike, classes: ArrayLike | None, sample_weight: ArrayLike | None) -> None:
        fitted = hasattr(self, "model_")
        if fitted and not hasattr(self, "_counted"):
            raise DataError(
                "this model was read from a file, which holds no counts to add a batch to.",
                hint="call partial_fit on a new estimator, or fit on all rows.",
            )
        first = _check_partial_fit_first_call(self, classes)
        with thread_limit(self.n_jobs):
            rows = read_rows(X, y, sample_weight, self.classes_, unlabelled=True)
        check_columns(self, X, rows.table, reset=first and not fitted)
        warn_left_out(rows)
        with thread_limit(self.n_jobs):
            if fitted and self._statistics is None:
                self._add_to_counts(rows)
            else:
                self._add_to_statistics(rows)

    def _add_to_counts(self, rows: TrainingTable) -> None:
        schema = self.encoder_.schema
        added = code_table(rows, schema, schema.learning_order).counts(self._count_engine())
        self._learn_counts({nodes: table + added.flat(nodes) for nodes, table in self._counted})

    def _add_to_statistics(self, rows: TrainingTable) -> None:
        n_classes = len(self.classes_)
        categorical = choose_categorical(rows.table, self.categorical_features)

        def count(position: int) -> ColumnStatistics:
            column = rows.table.columns[position]
            return ColumnStatistics.of(column, bool(categorical[position]), rows.class_codes, rows.weights, n_classes)

        batch = map_threads(count, range(len(rows.table.names)))
        class_counts: CountTable = np.bincount(rows.class_codes, rows.weights, minlength=n_classes)
        if hasattr(self, "model_") and self._statistics is not None:
            batch = [old.merge(new) for old, new in zip(self._statistics, batch, strict=True)]
            class_counts = dict(self._counted)[(len(batch),)] + class_counts
        self._statistics = batch
        discretizer = choose_discretizer(self.discretizer)
        missing_states = self.missing == "category"
        factors = class_factors(self.class_weight, self.classes_, class_counts)

        def learn(column: ColumnStatistics) -> ColumnSchema:
            return column.weighed(factors).schema(discretizer, n_classes, missing_states)

        attributes = tuple(map_threads(learn, batch))
        schema = TableSchema(attributes, rows.target, rows.table.named)
        self.encoder_ = TableEncoder(schema, unseen_is_error=self.handle_unknown == "error")
        known: dict[tuple[int, ...], CountTable] = {
            (node, len(batch)): batch[position].table(attributes[position], n_classes)
            for node, position in enumerate(schema.learning_order)
        }
        known[(len(batch),)] = class_counts
        self._learn_counts(known)

    def _learn_counts(self, known: Mapping[tuple[int, ...], CountTable]) -> None:
        schema = self.encoder_.schema
        order = schema.learning_order
        rows = EncodedBatch.empty(schema.select(order).n_states)
        factors = None
        if self.class_weight is not None:
            factors = class_factors(self.class_weight, self.classes_, known[(len(order),)])
            known = {nodes: table * np.resize(factors, len(table)) for nodes, table in known.items()}
        table = CodedTable(schema, order, self.classes_, rows, known=known, factors=factors)
        self._learn(table, self._count_engine())

    def _learn(self, table: CodedTable, engine: CountEngine) -> Learnt:
        learnt = super()._learn(table, engine)
        sets = (tuple(sorted(family.nodes)) for family in self.network_.dag.families)
        counted = [(nodes, learnt.counts.flat(nodes)) for nodes in sets]
        if table.factors is not None:  # the factors of all rows are known when `partial_fit` has seen the last
            counted = [(nodes, held / np.resize(table.factors, len(held))) for nodes, held in counted]
        self._counted = tuple(counted)
        return learnt

    def _structure(self) -> StructureLearner:
        return NaiveBayes()


def _describe(preset: type, structure: type) -> None:
    """Put the parameters into the docstring of a preset, before its examples, as both classes describe them."""
    known = _described(BayesianNetworkClassifier) | _described(structure)
    if preset.__doc__ is not None:  # as under python -OO
        entries = "\n".join(known[name] for name in inspect.signature(preset).parameters)
        text, _, examples = inspect.cleandoc(preset.__doc__).partition(EXAMPLES)
        preset.__doc__ = f"{text}{PARAMETERS}{entries}\n\n{EXAMPLES}{examples}\n"


def _described(of: type) -> dict[str, str]:
    """The entry of each parameter in a docstring, which ends at the first empty line."""
    section = (inspect.getdoc(of) or "").partition(PARAMETERS)[2].partition("\n\n")[0]
    return {entry.partition(" ")[0]: entry for entry in re.split(r"\n(?=\w)", section)}


_describe(NaiveBayesClassifier, NaiveBayes)
_describe(TANClassifier, Tree)
