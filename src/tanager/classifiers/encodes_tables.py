"""EncodesTables: the first half of every fit, from a table to the counts of its codes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from tanager.classifiers.gaps import MISSING
from tanager.classifiers.options import ClassifierOptions
from tanager.classifiers.training import TrainingTable, read_rows, read_training, warn_left_out
from tanager.counts.count_store import CountStore
from tanager.counts.engine import choose_engine
from tanager.counts.family import CountTable
from tanager.parameters.effect_layout import coarse_batch
from tanager.registry import check_option
from tanager.structure import Pairwise, StructureLearner
from tanager.table.batch import EncodedBatch, code_dtype
from tanager.table.discretizer import choose_discretizer
from tanager.table.encoder import TableEncoder, learn_schema
from tanager.table.read_columns import RawTable


class EncodesTables(ClassifierOptions, ABC):
    """What a classifier with these options does to a table before it learns from it."""

    classes_: NDArray[np.generic]
    encoder_: TableEncoder

    @abstractmethod
    def _structure(self) -> StructureLearner: ...

    def learn_counts(self, X: object, y: ArrayLike, sample_weight: ArrayLike | None = None) -> CountStore:
        """The first half of `fit`: check the data, learn the encoder, and give the counts of the labelled rows."""
        training = self._learn_encoder(X, y, sample_weight)
        warn_left_out(training)
        return self._count_store(self._coarse(self._encode(training)))

    def _learn_encoder(self, X: object, y: ArrayLike, sample_weight: ArrayLike | None) -> TrainingTable:
        self._check_gap_options()
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

    def _check_gap_options(self) -> None:
        check_option("missing", self.missing, MISSING)
        check_option("handle_unknown", self.handle_unknown, ["marginalize", "error"])

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
        return CountStore(batch, choose_engine(self.engine, self.device), names, known=known)

    def _check_columns(self, X: object, table: RawTable, reset: bool) -> None:
        """scikit-learn's own messages for other columns than in training; a pyarrow table is named too."""
        validate_data(self, X, reset=reset, skip_check_array=True)
        if table.named and reset and not hasattr(self, "feature_names_in_"):
            self.feature_names_in_ = np.array(table.names, dtype=object)
