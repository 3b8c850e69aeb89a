"""How an ordinary classifier is fitted to partitions: its own code, but for where counts and passes come from."""

from __future__ import annotations

from typing import Any

from dask import delayed
from distributed import Client, Future
from sklearn.utils.validation import validate_data

from tanager.classifiers.bayesian_network import BayesianNetworkClassifier, Trace
from tanager.classifiers.out_of_core import check_streamable
from tanager.classifiers.training import check_two_classes, say_left_out
from tanager.counts.count_store import CountStore
from tanager.counts.family import CountTable
from tanager.dask.additive import ClusterAdditiveLearner
from tanager.dask.batch import ClusterBatch
from tanager.dask.cluster import Cluster, new_name
from tanager.dask.conditional import ClusterConditional
from tanager.dask.encode import encode_look, encode_part
from tanager.dask.engine import ClusterEngine
from tanager.dask.look import look_at_part, packed_statistics
from tanager.dask.partitions import Partitions, find_partitions
from tanager.dask.reader import Reader
from tanager.dask.statistics import LearntColumns, learn_columns, merge_packed
from tanager.parameters import Conditional, ParameterLearner
from tanager.structure import Pairwise
from tanager.table.batch import EncodedBatch
from tanager.table.encoder import TableEncoder, warn_of_useless_columns
from tanager.table.schema import ColumnSchema, TableSchema


class OnCluster(BayesianNetworkClassifier):
    """Goes before an ordinary classifier among the bases of a class: the same with its rows on workers."""

    def fit_partitions(self, X: object, y: object, sample_weight: str | None, client: Client | None) -> None:
        """Learn from the rows of all partitions."""
        cluster = Cluster(client)
        self._check_gap_options()
        check_streamable(self._structure(), self._criterion(), super()._parameters())
        partitions = find_partitions(X, y, sample_weight)
        validate_data(self, partitions.like, reset=True, skip_check_array=True)
        looks = _start(cluster, "look", look_at_part, partitions, self.categorical_features)
        learnt = self._learn_columns(cluster, looks)
        check_two_classes(learnt.classes, learnt.n_rows)
        say_left_out(learnt.unlabelled, learnt.n_rows + learnt.unlabelled, stacklevel=5)
        warn_of_useless_columns(learnt.empty, learnt.attributes, learnt.n_rows)
        self.classes_ = learnt.classes
        self._statistics = None  # as after `fit`: in `partial_fit` categories and cut points stay
        target = ColumnSchema(partitions.target, "categorical", tuple(learnt.classes.tolist()))
        schema = TableSchema(learnt.attributes, target)
        self.encoder_ = TableEncoder(schema, unseen_is_error=self.handle_unknown == "error")
        if learnt.coded:
            numbers, shared = range(len(looks)), {"schema": schema, "classes": learnt.classes}
            parts = cluster.map("encode", encode_look, looks, numbers, **shared)
        else:
            once = delayed(schema, name=new_name("schema"), traverse=False)  # in one task, not in each
            parts = _start(cluster, "encode", encode_part, partitions, once, learnt.classes)
        del looks  # a worker lets go of each as soon as it is encoded
        batch = ClusterBatch(cluster, parts, schema.n_states)
        names = [column.name for column in (*schema.attributes, target)]
        known: dict[tuple[int, ...], CountTable] = {(batch.n_attributes,): learnt.class_rows}
        self._learn_network(CountStore(batch, ClusterEngine(self.engine, self.device), names, known=known))

    def _learn_columns(self, cluster: Cluster, looks: list[Future]) -> LearntColumns:
        fine = isinstance(self._structure(), Pairwise)
        merged = cluster.merge("merge", merge_packed, cluster.map("statistics", packed_statistics, looks))
        options = {"discretizer": self.discretizer, "gap_states": self.missing == "category", "fine": fine}
        (learnt,) = cluster.gather(cluster.map("schema", learn_columns, merged, **options))
        assert isinstance(learnt, LearntColumns)
        return learnt

    def _learn_effects(self, structure: Pairwise, batch: EncodedBatch) -> None:
        engine = ClusterEngine(self.engine, self.device)
        report = print if self.verbose else lambda line: None
        learner = ClusterAdditiveLearner(structure, self._parameters(), self.missing, self._structure_task, report)
        learnt = learner.learn(batch, self.encoder_.schema, engine)
        self.network_, self.filler_ = learnt.network, learnt.filler
        self.structure_score_ = learnt.structure.score
        self.trace_ = Trace(learnt.structure.steps, learnt.effects.trace)

    def _parameters(self) -> ParameterLearner:
        learner = super()._parameters()
        return ClusterConditional(**learner.get_params(deep=False)) if isinstance(learner, Conditional) else learner


def _start(cluster: Cluster, name: str, function: Any, partitions: Partitions, *shared: object) -> list[Future]:
    """`function(frame, labels, reader, number, *shared)` of every partition."""
    prefix, task = new_name(name), delayed(function, pure=False, traverse=False)
    reader = Reader(partitions.names, partitions.column, partitions.weight)
    return cluster.compute(
        [
            task(frame, labels, reader, number, *shared, dask_key_name=f"{prefix}-{number}")
            for number, (frame, labels) in enumerate(zip(partitions.frames, partitions.labels, strict=True))
        ]
    )


def to_ordinary(
    fitted: BayesianNetworkClassifier, ordinary: type[BayesianNetworkClassifier]
) -> BayesianNetworkClassifier:
    """The fitted classifier as one of its ordinary class, which knows nothing of a cluster."""
    local = ordinary(**fitted.get_params(deep=False))
    local.__dict__.update(vars(fitted))
    return local
