"""EncodesTables: the first half of every fit, from a table to the counts of its codes."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from tanager.classifiers.coded_table import CodedTable, code_table
from tanager.classifiers.parts import Parts
from tanager.counts.count_store import CountStore
from tanager.counts.engine import choose_engine
from tanager.gaps.sum_out import MISSING
from tanager.registry import check_option
from tanager.table.discretizer import choose_discretizer
from tanager.table.encoder import TableEncoder, learn_schema
from tanager.table.read_columns import RawTable
from tanager.table.training_table import read_rows, read_training, warn_left_out


class EncodesTables(ABC):
    """What a classifier with these options does to a table before it learns from it."""

    categorical_features: ArrayLike | str | None
    discretizer: object
    missing: str
    handle_unknown: str
    engine: str
    device: str | None
    classes_: NDArray[np.generic]
    encoder_: TableEncoder

    @abstractmethod
    def _parts(self) -> Parts: ...

    def learn_counts(self, X: object, y: ArrayLike, sample_weight: ArrayLike | None = None) -> CountStore:
        """The first half of `fit`: check the data, learn the encoder, and give the counts of the labelled rows."""
        self._check_gap_options()
        table = self._read(X, y, sample_weight, self._parts())
        self.classes_ = table.classes
        self.encoder_ = TableEncoder(table.schema, unseen_is_error=self.handle_unknown == "error")
        return table.counts(choose_engine(self.engine, self.device))

    def count(self, X: object, y: ArrayLike, sample_weight: ArrayLike | None = None) -> CountStore:
        """The counts of other rows, by the categories and cut points of the training rows."""
        check_is_fitted(self)
        return self._code(X, y, sample_weight).counts(choose_engine(self.engine, self.device))

    def _code(self, X: object, y: ArrayLike, sample_weight: ArrayLike | None) -> CodedTable:
        """Other rows by the categories and cut points of the training rows, their columns in the table's order."""
        rows = read_rows(X, y, sample_weight, self.classes_, unlabelled=True)
        self._check_columns(X, rows.table, reset=False)
        warn_left_out(rows)
        return code_table(rows, self.encoder_.schema, tuple(range(len(rows.table.names))))

    def _read(self, X: object, y: ArrayLike, sample_weight: ArrayLike | None, parts: Parts) -> CodedTable:
        """A table in memory."""
        training = read_training(X, y, sample_weight, unlabelled=True)
        self._check_columns(X, training.table, reset=True)
        if not parts.parameters.learns_without_class:
            warn_left_out(training)
        schema = learn_schema(
            training.table,
            training.target,
            training.class_codes,
            training.weights,
            choose_discretizer(self.discretizer),
            self.categorical_features,
            gap_states=self.missing == "category",
            fine=parts.two_granularities,
        )
        return code_table(training, schema, parts.order(schema), unlabelled=parts.parameters.learns_without_class)

    def _check_gap_options(self) -> None:
        check_option("missing", self.missing, MISSING)
        check_option("handle_unknown", self.handle_unknown, ["marginalize", "error"])

    def _check_columns(self, X: object, table: RawTable, reset: bool) -> None:
        """scikit-learn's own messages for other columns than in training; a pyarrow table is named too."""
        validate_data(self, X, reset=reset, skip_check_array=True)
        if table.named and reset and not hasattr(self, "feature_names_in_"):
            self.feature_names_in_ = np.array(table.names, dtype=object)
