"""EncodesTables: the first half of every fit, from a table to the counts of its codes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from tanager.classifiers.coded_table import CodedTable, code_stream, code_table
from tanager.classifiers.options import ClassifierOptions
from tanager.classifiers.parts import Parts
from tanager.counts.count_store import CountStore
from tanager.counts.engine import choose_engine
from tanager.counts.running_counts import RunningCounts
from tanager.gaps.choose import needs_filler
from tanager.table.discretizer import choose_discretizer
from tanager.table.encoder import TableEncoder, learn_schema
from tanager.table.needs import exceeds
from tanager.table.read_columns import RawTable
from tanager.table.stream.reader import ReadOptions, StreamReader
from tanager.table.stream.roles import check_roles
from tanager.table.stream.source import open_stream
from tanager.table.training_table import TrainingTable, read_rows, read_training, warn_left_out


class EncodesTables(ClassifierOptions, ABC):
    """What a classifier with these options does to a table before it learns from it."""

    classes_: NDArray[np.generic]
    encoder_: TableEncoder

    @abstractmethod
    def _parts(self) -> Parts: ...

    def learn_counts(self, X: object, y: ArrayLike, sample_weight: ArrayLike | None = None) -> CountStore:
        """The first half of `fit`: check the data, learn the encoder, and give the counts of the labelled rows."""
        table = self._read(X, y, sample_weight, self._parts())
        self.classes_ = table.classes
        self.encoder_ = TableEncoder(table.schema, unseen_is_error=self.handle_unknown == "error")
        return table.counts(choose_engine(self.engine, self.device))

    def count(self, X: object, y: ArrayLike, sample_weight: ArrayLike | None = None) -> CountStore:
        """The counts of other rows, by the categories and cut points of the training rows."""
        rows = self.read_labelled(X, y, sample_weight)
        table = code_table(rows, self.encoder_.schema, tuple(range(len(rows.table.names))))
        return table.counts(choose_engine(self.engine, self.device))

    def read_labelled(self, X: object, y: ArrayLike, sample_weight: ArrayLike | None = None) -> TrainingTable:
        """Other rows that have a class, checked against the columns and classes of the training rows."""
        check_is_fitted(self)
        rows = read_rows(X, y, sample_weight, self.classes_, unlabelled=True)
        self._check_columns(X, rows.table, reset=False)
        warn_left_out(rows)
        return rows

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

    @contextmanager
    def _read_stream(
        self, X: object, y: ArrayLike, sample_weight: ArrayLike | None, parts: Parts
    ) -> Iterator[CodedTable]:
        """A table that comes batch by batch, read once. Its rows are gone when the block ends, however it does."""
        parts.check("disk")
        roles = check_roles(y, sample_weight)
        options = ReadOptions(
            choose_discretizer(self.discretizer),
            self.categorical_features,
            gap_states=self.missing == "category",
            fine=parts.two_granularities,
            order=parts.order,
            unlabelled=parts.parameters.learns_without_class,
        )
        running = self._running_counts(parts)
        reader = StreamReader(roles, options, running)
        try:
            table = code_stream(reader.read(open_stream(X)), running)
            if exceeds(parts.needs, "counts"):
                unlabelled = None if table.unlabelled is None else table.unlabelled.kept()
                table = replace(table, rows=table.rows.kept(), unlabelled=unlabelled)
                reader.close()
            names = table.schema.names[:-1]
            self.n_features_in_, self.feature_names_in_ = len(names), np.array(names, dtype=object)
            yield table
        finally:
            reader.close()

    def _running_counts(self, parts: Parts) -> RunningCounts | None:
        """The counts that are all these parts need, taken as rows are read; None if they may need others, or rows.

        Effects are learnt at a fine granularity too, which no counts of pairs have.
        """
        if exceeds(parts.needs, "pairs") or parts.two_granularities:
            return None
        pairs = parts.needs == "pairs" or needs_filler(self.missing, parts.parameters.describes_attributes)
        return RunningCounts(choose_engine(self.engine, self.device), pairs)

    def _check_columns(self, X: object, table: RawTable, reset: bool) -> None:
        """scikit-learn's own messages for other columns than in training; a pyarrow table is named too."""
        validate_data(self, X, reset=reset, skip_check_array=True)
        if table.named and reset and not hasattr(self, "feature_names_in_"):
            self.feature_names_in_ = np.array(table.names, dtype=object)
