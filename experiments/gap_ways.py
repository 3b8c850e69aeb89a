"""Ways to answer P(class | cells present) with tables learnt for P(class | x): those compared in `experiments.gaps`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tanager import BayesianNetworkClassifier
from tanager.arrays import Codes
from tanager.classifiers.base import code_labelled
from tanager.counts.count_store import CountStore
from tanager.counts.engine import choose_engine
from tanager.missing.average import Averaged
from tanager.missing.filling import Filling, learn_filler
from tanager.missing.skip import Skipped
from tanager.missing.sum_out import SummedOut
from tanager.network.inference.junction_tree import JunctionTree
from tanager.network.log_joint import normalize_log
from tanager.network.network import Network
from tanager.parameters import Conditional, Frequency, ParameterLearner, ParameterTask
from tanager.scores import LL
from tanager.structure.fixed import NaiveBayes
from tanager.structure.protocol import StructureTask
from tanager.table.rows import EncodedBatch

Floats = NDArray[np.float64]
Labels = NDArray[np.str_]

N_FOLDS = 5
TRAINING_RATE = 0.25


@dataclass(frozen=True)
class Fitted:
    """A classifier fitted to the training rows of a fold, and what the other ways need besides."""

    clf: BayesianNetworkClassifier
    X: pa.Table
    y: Labels

    @classmethod
    def of(cls, structure: str, X: pa.Table, y: Labels) -> Fitted:
        return cls(BayesianNetworkClassifier(structure, missing="average", n_jobs=1).fit(X, y), X, y)

    @property
    def network(self) -> Network:
        return self.clf.network_

    @cached_property
    def counts(self) -> CountStore:
        return code_labelled(self.clf, self.X, self.y).counts()

    @cached_property
    def frequencies(self) -> Network:
        """The same structure with the frequencies of the training rows."""
        return self.learn(Frequency(), self.counts)

    @cached_property
    def tree(self) -> Network:
        """The filler: the likeliest tree of frequencies."""
        return learn_filler(self.counts, self.clf.class_count_, self.network.columns)

    @cached_property
    def naive_filler(self) -> Network:
        dag = NaiveBayes().learn(StructureTask(self.counts, LL(), self.counts.names)).dag
        tables = Frequency().learn(ParameterTask(dag, self.counts)).network.tables
        return Network(self.network.columns, dag, tables, self.network.target)

    @cached_property
    def with_gaps(self) -> Network:
        """The tables of the same structure learnt from the training rows with cells removed at random."""
        return self.learn(Conditional(), self._counts_of(self._drop(TRAINING_RATE)))

    @cached_property
    def with_copies(self) -> Network:
        """The same from the training rows, half a row each, and copies with gaps, up to half of a row's cells.

        The strengths are those of the complete rows: a copy in another fold would make weak ones look good.
        """
        batch = self.counts.rows
        rates = np.random.default_rng(1).random((batch.n_rows, 1)) / 2
        gappy = self._drop(rates)
        codes = np.asfortranarray(np.concatenate([batch.codes, gappy.codes]))
        classes = np.concatenate([batch.class_codes, batch.class_codes])
        both = EncodedBatch(codes, classes, batch.n_states, gappy.incomplete, np.full(len(codes), 0.5))
        strength = self.clf.trace_.parameters.strength
        return self.learn(Conditional(strength=strength), self._counts_of(both))

    def learn(self, learner: ParameterLearner, counts: CountStore) -> Network:
        tables = learner.learn(ParameterTask(self.network.dag, counts)).network.tables
        return Network(self.network.columns, self.network.dag, tables, self.network.target)

    def _counts_of(self, batch: EncodedBatch) -> CountStore:
        return CountStore(batch, choose_engine("auto"), self.counts.names)

    def _drop(self, rate: float | Floats) -> EncodedBatch:
        batch = self.counts.rows
        none = np.array(batch.n_states[:-1])
        dropped = np.random.default_rng(0).random(batch.codes.shape) < rate
        codes = np.asfortranarray(np.where(dropped, none, batch.codes).astype(batch.codes.dtype))
        return EncodedBatch(codes, batch.class_codes, batch.n_states, (codes == none).any(axis=0), batch.weights)


def uncorrected(network: Network, filler: Network, codes: Codes) -> Floats:
    """The average over completions as the filler has them."""
    n_classes = network.n_states[-1]
    states = tuple(np.zeros((n + 1, n_classes)) for n in network.n_states[:-1])
    return Averaged(network, Filling(filler, np.zeros(n_classes), states, np.zeros(n_classes))).log_posterior(codes)


def log_expected_terms(network: Network, filler: Network, codes: Codes) -> Floats:
    """Each family's term replaced by its mean over F(the family's cells | cells present), for each class."""
    n_states, target = network.n_states, len(network.nodes) - 1
    unlabelled = np.column_stack([codes, np.full(len(codes), n_states[-1])]).astype(np.int64)
    result = np.zeros((len(codes), n_states[-1]))
    for family in network.dag.families:
        attributes = [node for node in family.nodes if node != target]
        if target not in family.nodes:
            continue
        logs = np.log(network.tables[family.child])
        if family.child != target:
            logs = logs.reshape(family.class_shape(n_states)).swapaxes(1, 2).reshape(-1, n_states[-1])
        result += _family_shares(filler, attributes, unlabelled) @ logs
    return normalize_log(result)


def _family_shares(filler: Network, attributes: list[int], rows: NDArray[np.int64]) -> Floats:
    """(n_rows, cells of these attributes) their distribution given the cells present."""
    sizes = [filler.n_states[node] for node in attributes]
    present = (rows[:, attributes] < np.array(sizes, dtype=np.int64)).all(axis=1)
    shares = np.zeros((len(rows), int(np.prod(sizes))))
    if attributes:
        cells = np.ravel_multi_index(tuple(rows[present][:, attributes].T), sizes)
        shares[np.flatnonzero(present), cells] = 1.0
    else:
        shares[:] = 1.0
    if not present.all():
        tree = JunctionTree.of(filler.dag, filler.n_states, attributes)
        evidence = rows[~present].copy()
        found = tree.posterior(filler.tables, evidence)
        shares[~present] = found.reshape(len(evidence), -1)
    return shares


Way = Callable[[Fitted, Codes], Floats]
WAYS: dict[str, Way] = {
    "frequency tables, summed out": lambda fitted, codes: SummedOut(fitted.frequencies).log_posterior(codes),
    "`marginalize`: summed out of the network's own joint": lambda fitted, codes: SummedOut(
        fitted.network
    ).log_posterior(codes),
    "`skip`: centred terms left out": lambda fitted, codes: Skipped(fitted.network).log_posterior(codes),
    "expected terms, given the cells present": lambda fitted, codes: log_expected_terms(
        fitted.network, fitted.tree, codes
    ),
    "`average`: over completions, corrected": lambda fitted, codes: fitted.clf.gaps_.log_posterior(codes),
    "the same, not corrected": lambda fitted, codes: uncorrected(fitted.network, fitted.tree, codes),
    "the same, naive Bayes in its place": lambda fitted, codes: uncorrected(fitted.network, fitted.naive_filler, codes),
    "trained with 25 % gaps, summed out": lambda fitted, codes: SummedOut(fitted.with_gaps).log_posterior(codes),
    "trained with copies with gaps, summed out": lambda fitted, codes: SummedOut(fitted.with_copies).log_posterior(
        codes
    ),
    "the same tables, `skip`": lambda fitted, codes: Skipped(fitted.with_copies).log_posterior(codes),
}


def remove(X: pa.Table, rate: float, seed: int) -> pa.Table:
    """The table without a share of its cells, drawn at random."""
    drawn = np.random.default_rng([seed, round(100 * rate)]).random((X.num_rows, X.num_columns)) < rate
    columns = [pc.if_else(drawn[:, k], None, column) for k, column in enumerate(X.columns)]
    return pa.table(columns, names=X.column_names)
