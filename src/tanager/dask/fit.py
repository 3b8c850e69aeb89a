"""How an ordinary classifier is fitted to a table on a cluster: only its rows are elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from distributed import Client, Future
from sklearn.utils.validation import validate_data

from tanager.classifiers.base import TableClassifier
from tanager.classifiers.coded_table import CodedTable, RowNeeds
from tanager.counts.engine import CountEngine, choose_engine
from tanager.counts.family import CountTable, PairTables
from tanager.dask.cluster import Cluster
from tanager.dask.encode import PartitionEncoder
from tanager.dask.partition_summary import packed_statistics, summarize_partition
from tanager.dask.partitions import Partitions, find_partitions
from tanager.dask.rows import ClusterRows
from tanager.dask.statistics import LearntColumns, learn_columns, merge_packed
from tanager.runtime.progress import working
from tanager.runtime.resources import thread_limit
from tanager.table.batch import EncodedBatch
from tanager.table.class_weights import check_classes, given_weighting
from tanager.table.discretizer import choose_discretizer
from tanager.table.encoder import warn_of_useless_columns
from tanager.table.rows import gather
from tanager.table.schema import ColumnSchema, TableSchema
from tanager.table.training_table import check_two_classes, say_left_out
from tanager.table.value_rows import ValueRows


def fit_partitions(
    model: TableClassifier, X: object, y: object, sample_weight: str | None, client: Client | None
) -> None:
    """Learn from the rows of all partitions."""
    cluster, needs = Cluster(client), model._row_needs()
    model._check_place("cluster")
    engine = choose_worker_engine(getattr(model, "engine", "auto"), getattr(model, "device", None))
    partitions = find_partitions(X, y, sample_weight, given_weighting(model.class_weight, "a table on a cluster"))
    validate_data(model, partitions.like, reset=True, skip_check_array=True)
    with thread_limit(model.n_jobs), working("Learning", shown=bool(model.verbose)):
        model._learn(_code_table(model, needs, cluster, partitions), engine)


def _code_table(model: TableClassifier, needs: RowNeeds, cluster: Cluster, partitions: Partitions) -> CodedTable:
    keep_unlabelled = needs.unlabelled
    summarize = partial(
        summarize_partition,
        reader=partitions.reader,
        categorical_features=model.categorical_features,
        keep_unlabelled=keep_unlabelled,
    )
    summaries = cluster.map_partitions("summarize", summarize, partitions.frames, partitions.labels)
    learnt = _learn_columns(model, needs, cluster, summaries)
    attributes, table = learnt.attributes, learnt.statistics
    check_two_classes(table.classes, table.n_rows)
    check_classes(partitions.reader.class_weight, table.classes)
    if not keep_unlabelled:
        say_left_out(table.n_unlabelled, table.n_rows + table.n_unlabelled, stacklevel=5)
    empty = [column.name for column, seen_in in zip(attributes, table.seen_in, strict=True) if seen_in < 0]
    warn_of_useless_columns(empty, attributes, table.n_rows)
    target = ColumnSchema(partitions.target, "categorical", tuple(table.classes.tolist()))
    schema = TableSchema(attributes, target)
    order = schema.learning_order
    encoder = PartitionEncoder(schema.select(order), order, table.classes)
    if table.coded:
        encoded = cluster.map_partitions("encode", encoder.encode_summary, summaries)
    else:
        encode = partial(encoder.encode_frame, reader=partitions.reader, keep_unlabelled=keep_unlabelled)
        encoded = cluster.map_partitions("encode", encode, partitions.frames, partitions.labels)
    del summaries  # a worker lets go of each as soon as it is encoded
    rows, unlabelled = ClusterRows(cluster, encoded), None
    if keep_unlabelled and table.n_unlabelled:
        unlabelled = rows.map(partial(_take_rows, labelled=False), "unlabelled")
        rows = rows.map(partial(_take_rows, labelled=True), "labelled")
    values = None
    if learnt.uncut:
        uncut = replace(encoder, schema=TableSchema(learnt.uncut, target).select(order))
        encode = partial(uncut.encode_frame, reader=partitions.reader, keep_unlabelled=False)
        few = cluster.map_partitions("values", encode, partitions.frames, partitions.labels)
        discretizer = choose_discretizer(model.discretizer)
        values = ValueRows(gather(ClusterRows(cluster, few)), uncut.schema.attributes, discretizer)
    return CodedTable(schema, order, table.classes, rows, unlabelled, values)


def _learn_columns(model: TableClassifier, needs: RowNeeds, cluster: Cluster, summaries: list[Future]) -> LearntColumns:
    merged = cluster.merge("merge", merge_packed, cluster.map("statistics", packed_statistics, summaries))
    learn = partial(
        learn_columns,
        discretizer=model.discretizer,
        gap_states=needs.gap_states,
        fine=needs.fine,
        uncut=needs.cuts_again,
    )
    learnt: LearntColumns
    (learnt,) = cluster.gather(cluster.map("schema", learn, merged))
    return learnt


def _take_rows(batch: EncodedBatch, labelled: bool) -> EncodedBatch:
    return batch.take((batch.class_codes < batch.n_classes) == labelled)


def choose_worker_engine(name: str, device: str | None) -> CountEngine:
    """The engine of that name, as it can be sent to workers."""
    return TorchOnWorkers(device) if name == "torch" else choose_engine(name, device)


@dataclass(frozen=True)
class TorchOnWorkers:
    """The torch engine, made where it counts: a device cannot be sent, and this machine need not have one."""

    device: str | None

    def count(self, batch: EncodedBatch, node_sets: Sequence[tuple[int, ...]]) -> list[CountTable]:
        return choose_engine("torch", self.device).count(batch, node_sets)

    def count_pairs(self, batch: EncodedBatch) -> PairTables:
        return choose_engine("torch", self.device).count_pairs(batch)
