"""ParameterLearner: the role of whatever fills the tables of a structure."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import ClassVar, Literal, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from tanager.counts.count_store import CountStore
from tanager.errors import OptionError
from tanager.network import AnyNetwork
from tanager.network.network import Network
from tanager.structure.dag import Dag
from tanager.structure.protocol import NetworkKind
from tanager.table.binning import ValueRows
from tanager.table.rows import Needs, Rows
from tanager.table.schema import ColumnSchema


@dataclass(frozen=True)
class ParameterTask:
    """What a learner may look at.

    dag         the structure
    counts      counts of the training table, by family; `counts.rows` are its rows
    schema      what each node holds, the class last; by default states are numbered
    unlabelled  rows whose class is missing, beside those counted
    values      the rows in codes that have not seen the class, where those of `counts` have
    relearn     the structure by the counts of other rows; None where it is always the same
    skip_gaps   a family with a missing cell will be left out of its row at prediction, so it should be in training
    report      called with a line of text now and then, for progress; None for nobody
    """

    dag: Dag
    counts: CountStore
    schema: tuple[ColumnSchema, ...] = field(default=(), kw_only=True)
    unlabelled: Rows | None = field(default=None, kw_only=True)
    values: ValueRows | None = field(default=None, kw_only=True)
    relearn: Callable[[CountStore], Dag] | None = field(default=None, kw_only=True, compare=False)
    skip_gaps: bool = field(default=False, kw_only=True)
    report: Callable[[str], None] | None = field(default=None, kw_only=True, compare=False)

    @cached_property
    def columns(self) -> tuple[ColumnSchema, ...]:
        """What each node holds, the class last."""
        if self.schema:
            return self.schema
        named = zip(self.counts.names, self.counts.n_states, strict=True)
        return tuple(ColumnSchema(name, "categorical", tuple(range(n_states))) for name, n_states in named)

    def network(self, tables: Sequence[NDArray[np.float64]]) -> Network:
        """The network of the structure and these tables: (parent configurations, states) for each node."""
        return Network(self.columns, self.dag, tuple(tables), self.columns[-1].name)


@dataclass(frozen=True)
class ParameterTrace:
    """What a learner did; each learner that has something to say has a trace of its own."""


@dataclass(frozen=True)
class LearntNetwork:
    """The finished network, and what the learner did."""

    network: AnyNetwork
    trace: ParameterTrace = field(default_factory=ParameterTrace)


class ParameterLearner(BaseEstimator, ABC):
    """A scikit-learn parameter object: its options are the arguments of `__init__`; it holds no data.

    What it can do is declared by class attributes, which callers ask:

    needs                 of the rows; what needs no more than counts or passes learns from a stream and on a cluster
    fits                  the kinds of network it can finish
    describes_attributes  its tables are probabilities of attributes, so that a missing cell can be summed out of them
    learns_without_class  rows without a class help too
    learns_hidden         it can fill tables of nodes that are missing in every row
    tunes_hidden          it does so by tuning the tables of EM for the class (`tanager.tuning`)
    holds_out             it chooses on rows held out, and learns structure and cut points again without them
    naive_bayes_only      it is defined for the structure of naive Bayes alone
    smooths_counts        its `pseudo_rows` are what counts are smoothed by, in searches that judge classifiers too
    posterior             of its parameters, where there is one: "dirichlet" of every line of a table, or None
    bytes_per_cell        memory for each cell of tables or mixed networks, about; a fit that needs too much is refused
    """

    needs: ClassVar[Needs] = "counts"
    fits: ClassVar[tuple[NetworkKind, ...]] = ("tables",)
    describes_attributes: ClassVar[bool] = False
    learns_without_class: ClassVar[bool] = False
    learns_hidden: ClassVar[bool] = False
    tunes_hidden: ClassVar[bool] = False
    holds_out: ClassVar[bool] = False
    naive_bayes_only: ClassVar[bool] = False
    smooths_counts: ClassVar[bool] = False
    posterior: ClassVar[Literal["dirichlet"] | None] = None
    bytes_per_cell: ClassVar[Mapping[NetworkKind, int]] = MappingProxyType({"tables": 100, "mixtures": 32})

    @abstractmethod
    def learn(self, task: ParameterTask) -> LearntNetwork:
        """Finish the network."""

    def learn_members(self, task: ParameterTask, members: Sequence[Dag]) -> Sequence[Network]:
        """Finish the networks of a mean of several, given the structure of each: here one by one."""
        return [cast(Network, self.learn(replace(task, dag=dag, relearn=None)).network) for dag in members]

    def check_structure(self, task: ParameterTask) -> None:
        """Refuse a structure that the learner is not defined for."""
        if self.naive_bayes_only and task.dag != Dag.augmented_naive_bayes([()] * task.counts.n_attributes):
            raise OptionError(
                f"parameters={self!r} are defined for naive Bayes, which this structure is not.",
                hint="use structure='naive-bayes', or parameters='conditional'.",
            )

    def check_iterations(self) -> None:
        """Refuse options `max_iter` and `tol`, of a learner that has them, that are not above zero."""
        max_iter, tol = self.get_params()["max_iter"], self.get_params()["tol"]
        if not max_iter > 0 or not tol > 0:
            raise OptionError(
                f"max_iter={max_iter!r} and tol={tol!r} of {type(self).__name__} must be numbers above zero."
            )
