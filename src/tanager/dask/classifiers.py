"""The classifiers of `tanager` for Dask data frames: fitted on the workers, they predict partition by partition."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Self, cast

import numpy as np
import pandas as pd
from distributed import Client
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import validate_data

from tanager import classifiers
from tanager.classifiers.base import TableClassifier
from tanager.classifiers.coded_table import CodedTable
from tanager.dask.cluster import Cluster, ClusterRows
from tanager.dask.partitions import (
    Partitions,
    PartitionStatistics,
    encode_partition,
    find_partitions,
    learn_packed,
    merge_packed,
    read_source,
    summarize_partition,
)
from tanager.errors import OptionError
from tanager.runtime.progress import working
from tanager.runtime.resources import thread_limit
from tanager.table.binning import ValueRows
from tanager.table.encoder import warn_of_useless_columns
from tanager.table.rows import EncodedBatch, Rows, gather, weigh
from tanager.table.schema import Category, ColumnSchema, TableSchema
from tanager.table.stream.reader import LearntColumns, ReadOptions
from tanager.table.training_table import check_two_classes, say_left_out, warn_of_weights


class DaskClassifier:
    """A classifier of `tanager` learnt from a Dask data frame; its subclasses name the `ordinary` classifier."""

    ordinary: ClassVar[type[TableClassifier]]

    def __init__(self, client: Client | None = None, **options: Any) -> None:
        self.client = client
        self.options = options
        self.ordinary(**options)  # refuses an option that it does not have
        self._fitted: TableClassifier | None = None
        self._weight: str | None = None

    def fit(self, X: object, y: str, sample_weight: str | None = None) -> Self:
        """Learn from X, a Dask data frame or the path of Parquet files; `y` names the column of the class.

        `sample_weight` names a column too: a row of weight w counts as w rows.

        X is computed twice, for what its columns hold and for the codes, which stay on the workers until fit returns.
        As in memory, the parameter learners "em" and "likelihood-gradient" learn from rows without a class too, the
        others leave them out with a warning.
        """
        local, cluster = self.ordinary(**self.options), Cluster(self.client)
        if getattr(local, "engine", "auto") == "torch":
            raise OptionError("engine='torch' does not count on the workers of a cluster.", hint="use engine='auto'.")
        local._check_place("cluster")
        partitions = find_partitions(X, y, sample_weight)
        validate_data(local, partitions.like, reset=True, skip_check_array=True)
        with thread_limit(local.n_jobs), working("Learning", shown=bool(local.verbose)):
            table = _code_table(local._read_options(local._row_needs()), cluster, partitions)
            local._learn(table, local._count_engine())
        self._fitted, self._weight = local, sample_weight
        return self

    def predict(self, X: object) -> Any:
        """The most probable class of each row, a lazy Dask series with the index of X."""
        local, table = self.to_local(), self._attributes(X)
        like = pd.Series(local.classes_[:0], name=local.encoder_.schema.target.name, index=table._meta.index)
        return table.map_partitions(_predict, local, like, meta=like)

    def predict_proba(self, X: object) -> Any:
        """P(class | row), a lazy Dask array (n_rows, n_classes), in the order of `classes_`."""
        local, table = self.to_local(), self._attributes(X)
        like = pd.DataFrame(np.empty((0, len(local.classes_))), index=table._meta.index)
        return table.map_partitions(_predict_proba, local, like, meta=like).to_dask_array()

    def _attributes(self, X: object) -> Any:
        """The table without the columns of class and weights, which the one in `fit` may have had."""
        table = read_source(X)
        apart = (self.to_local().encoder_.schema.target.name, self._weight)
        return table.drop(columns=[name for name in apart if name in table.columns])

    def to_local(self) -> TableClassifier:
        """The ordinary classifier with what was learnt; it needs no cluster, and can be saved."""
        if self._fitted is None:
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit first.")
        return self._fitted

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The client, and the options of the ordinary classifier."""
        return {"client": self.client, **self.ordinary(**self.options).get_params(deep)}

    def set_params(self, **params: Any) -> Self:
        """Change options by name."""
        self.client = params.pop("client", self.client)
        self.options = self.ordinary(**self.options).set_params(**params).get_params(deep=False)
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not name.endswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.to_local(), name)

    def __repr__(self) -> str:
        return f"tanager.dask.{self.ordinary(**self.options)!r}"


class AdditiveClassifier(DaskClassifier):
    """`tanager.AdditiveClassifier` learnt from a Dask data frame; see `tanager.dask.BayesianNetworkClassifier`."""

    ordinary = classifiers.AdditiveClassifier

    def query(self, evidence: dict[str, Category] | None = None) -> dict[object, float]:
        """P(class | evidence), as the ordinary classifier gives it."""
        return cast(classifiers.AdditiveClassifier, self.to_local()).query(evidence)


class BayesianNetworkClassifier(DaskClassifier):
    """`tanager.BayesianNetworkClassifier` learnt from a Dask data frame, whose rows stay on the workers.

    The model is that of all rows in memory: counts are the same integers, whatever the partitions. Fitted attributes
    (`network_`, `classes_`, `encoder_`, `trace_`, ...) are those of the ordinary classifier, which `to_local` gives.

    Parameters
    ----------
    client : distributed.Client or None
        Where to work; None means the client made last.
    **options
        Those of the ordinary classifier. `engine`, any but "torch", counts inside a worker, on one thread for each
        task.
    """

    ordinary: ClassVar[type[TableClassifier]] = classifiers.BayesianNetworkClassifier


class TANClassifier(BayesianNetworkClassifier):
    """`tanager.TANClassifier` learnt from a Dask data frame; see `tanager.dask.BayesianNetworkClassifier`."""

    ordinary = classifiers.TANClassifier


class NaiveBayesClassifier(BayesianNetworkClassifier):
    """`tanager.NaiveBayesClassifier` learnt from a Dask data frame; see `tanager.dask.BayesianNetworkClassifier`."""

    ordinary = classifiers.NaiveBayesClassifier


def _predict(frame: Any, model: TableClassifier, like: Any) -> Any:
    labels = model.predict(frame) if len(frame) else model.classes_[:0]
    return pd.Series(labels, index=frame.index, name=like.name)


def _predict_proba(frame: Any, model: TableClassifier, like: Any) -> Any:
    shares = model.predict_proba(frame) if len(frame) else np.empty((0, like.shape[1]))
    return pd.DataFrame(shares, index=frame.index)


def _code_table(options: ReadOptions, cluster: Cluster, partitions: Partitions) -> CodedTable:
    features = options.categorical_features
    summarize = partial(summarize_partition, reader=partitions.reader, categorical_features=features)
    packed = cluster.map_partitions("statistics", summarize, partitions.frames)
    merged = cluster.merge("merge", merge_packed, packed)
    learnt: LearntColumns
    table: PartitionStatistics
    ((learnt, table),) = cluster.gather(cluster.map("schema", partial(learn_packed, options=options), merged))
    check_two_classes(table.classes, table.n_rows)
    warn_of_weights(float(table.class_rows.sum()), table.n_rows, stacklevel=5)
    if not options.unlabelled:
        say_left_out(table.n_unlabelled, table.n_rows + table.n_unlabelled, stacklevel=5)
    warn_of_useless_columns(learnt.empty, learnt.attributes, table.n_rows)
    target = ColumnSchema(partitions.reader.roles.target, "categorical", tuple(table.classes.tolist()))
    schema = TableSchema(learnt.attributes, target)
    order = schema.learning_order
    encode = partial(encode_partition, reader=partitions.reader, order=order, classes=table.classes)
    coded = partial(encode, schema=schema.select(order), keep_unlabelled=options.unlabelled)
    rows: Rows = ClusterRows(cluster, cluster.map_partitions("encode", coded, partitions.frames))
    unlabelled = None
    if options.unlabelled and table.n_unlabelled:
        unlabelled = rows.map(partial(_take_rows, labelled=False), "unlabelled")
        rows = rows.map(partial(_take_rows, labelled=True), "labelled")
    rows, values = weigh(rows, learnt.factors), None
    if learnt.uncut:
        uncut = TableSchema(learnt.uncut, target).select(order)
        coded = partial(encode, schema=uncut, keep_unlabelled=False)
        few = ClusterRows(cluster, cluster.map_partitions("values", coded, partitions.frames))
        values = ValueRows(gather(weigh(few, learnt.factors)), uncut.attributes, options.discretizer)
    return CodedTable(schema, order, table.classes, rows, unlabelled, values, factors=learnt.factors)


def _take_rows(batch: EncodedBatch, labelled: bool) -> EncodedBatch:
    return batch.take((batch.class_codes < batch.n_classes) == labelled)
