"""Means of networks over the same columns: MixtureNetwork, of a few with weights; TreeAverageNetwork, of all trees."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import ClassVar, Literal

import numpy as np

from tanager.arrays import Array, Codes, Flags, Ints
from tanager.errors import DataError
from tanager.network.columns import HasColumns, check_evidence
from tanager.network.inference.row_elimination import log_sum
from tanager.network.log_joint import normalize_log
from tanager.network.network import Network
from tanager.runtime.resources import map_threads
from tanager.structure.all_trees import AllTrees
from tanager.structure.averaged import superparent_dag
from tanager.structure.dag import Dag
from tanager.table.columns import code_dtype
from tanager.table.schema import Category, ColumnSchema

TOLERANCE = 1e-9
BLOCK_ROWS = 512
BLOCK_CELLS = 1 << 20
"""Weights of edges that are held at a time."""


class MeanOfNetworks(HasColumns):
    """What means of networks over the same columns have in common: their probabilities from those of codes."""

    members: Sequence[Network]

    @property
    def target(self) -> str | None:
        return self.members[0].target

    @abstractmethod
    def log_probability(self, codes: Ints) -> Array:
        """(n_rows,) log probability of the cells present in (n_rows, n_nodes) codes, the class last."""

    def query(
        self, variables: str | Sequence[str], evidence: Mapping[str, Category] | None = None
    ) -> dict[object, float]:
        """P(variables | evidence), as `Network.query` gives it."""
        check_evidence(evidence)
        numbers = [self.number(node) for node in ([variables] if isinstance(variables, str) else variables)]
        known = {self.number(node): self.code(node, value) for node, value in (evidence or {}).items()}
        states = list(product(*(range(self.n_states[node]) for node in numbers)))
        codes = np.tile(np.array(self.n_states), (len(states), 1))
        codes[:, list(known)] = list(known.values())
        codes[:, numbers] = states
        logs = self.log_probability(codes)
        for node, code in known.items():
            logs[codes[:, node] != code] = -np.inf
        if logs.max() == -np.inf:
            raise DataError(f"the evidence has probability zero under the network: {dict(evidence or {})}.")
        weights = np.exp(logs - logs.max())
        labels = [tuple(self.columns[n].states[k] for n, k in zip(numbers, state, strict=True)) for state in states]
        answer = zip(labels, (weights / weights.sum()).tolist(), strict=True)
        return {label[0] if isinstance(variables, str) else label: p for label, p in answer}

    def log_likelihood(self, X: object) -> Array:
        """Log probability of the cells present in each row (natural logarithm), the others averaged over."""
        return self.log_probability(self.members[0].encode(X))


@dataclass(frozen=True)
class MixtureNetwork(MeanOfNetworks):
    """P(class, attributes) = sum_m weight_m P_m(class, attributes).

    Its `dag` has the edges that all members have.

    Parameters
    ----------
    members : sequence of Network
        With the same columns and class.
    weights : array (n_members,)
        Above zero, summing to one.

    Examples
    --------
    >>> from tanager.structure.dag import Dag
    >>> from tanager.table.schema import ColumnSchema
    >>> wet, rain = (ColumnSchema(name, "categorical", (False, True)) for name in ("wet", "rain"))
    >>> certain = Network((wet, rain), Dag(((1,), ())), (np.eye(2), np.array([[0.5, 0.5]])), "rain")
    >>> blind = Network((wet, rain), Dag(((), ())), (np.array([[0.5, 0.5]]), np.array([[0.5, 0.5]])), "rain")
    >>> found = MixtureNetwork((certain, blind), np.array([0.5, 0.5])).query("rain", {"wet": True})
    >>> round(found[True], 6)
    0.75
    """

    kind: ClassVar[Literal["mixtures"]] = "mixtures"

    members: Sequence[Network]
    weights: Array
    columns: tuple[ColumnSchema, ...] = field(init=False, repr=False, compare=False)
    dag: Dag = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        first = self.members[0]
        if any(member.columns != first.columns or member.target != first.target for member in self.members):
            raise DataError("the members of a mixture must have the same columns and the same class.")
        if self.weights.shape != (len(self.members),) or not (self.weights > 0).all():
            raise DataError(f"a mixture of {len(self.members)} networks needs as many weights above zero.")
        if abs(self.weights.sum() - 1.0) > TOLERANCE:
            raise DataError("the weights of a mixture must sum to one.")
        object.__setattr__(self, "members", tuple(self.members))
        object.__setattr__(self, "columns", first.columns)
        object.__setattr__(self, "dag", _shared_edges(self.members))

    def __repr__(self) -> str:
        return f"MixtureNetwork({len(self.members)} networks of {len(self.nodes)} nodes, target={self.target!r})"

    def log_joint(self, codes: Codes, normalized: bool = False) -> Array:
        """(n_rows, n_classes) log P(class, attributes) of complete rows, or `normalized` log P(class | attributes)."""
        result = np.empty((len(codes), self.n_states[-1]))
        look_ups = [member.log_joint for member in self.members]
        compiled = look_ups[0].worth_compiling(len(codes) * len(look_ups))

        def fill(first: int) -> None:
            rows = slice(first, first + BLOCK_ROWS)
            logs = np.empty((len(look_ups), *result[rows].shape))
            logs[:] = np.log(self.weights)[:, np.newaxis, np.newaxis]
            for log_joint, out in zip(look_ups, logs, strict=True):
                log_joint.add(codes[rows], out, compiled)
            result[rows] = log_sum(logs, axis=0)

        map_threads(fill, range(0, len(codes), BLOCK_ROWS))
        return normalize_log(result) if normalized else result

    def mix(self, log_joints: Iterable[Array]) -> Array:
        """log sum_m weight_m exp(log joint of member m), each (n_rows, n_classes), of which one is held at a time."""
        total: Array | None = None
        for log_weight, added in zip(np.log(self.weights), log_joints, strict=True):
            added += log_weight
            if total is None:
                total = added
            else:
                np.logaddexp(total, added, out=total)
        assert total is not None  # a mixture has a member
        return total

    def log_probability(self, codes: Ints) -> Array:
        """See `MeanOfNetworks.log_probability`."""
        return self.mix(member.log_probability(codes)[:, np.newaxis] for member in self.members)[:, 0]

    @property
    def edge_information(self) -> Array:
        """The information along each edge that all members have: the mean of the members'."""
        strengths = [dict(zip(member.dag.edges, member.edge_information, strict=True)) for member in self.members]
        mean: Array = self.weights @ np.array([[each[edge] for edge in self.dag.edges] for each in strengths])
        return mean

    def reordered(self, order: Sequence[int]) -> MixtureNetwork:
        """The same mixture with its nodes in another order: `Network.reordered`."""
        return MixtureNetwork(tuple(member.reordered(order) for member in self.members), self.weights)


def _shared_edges(members: Sequence[Network]) -> Dag:
    """The edges that all members have."""
    shared = [set(parents) for parents in members[0].dag.parents]
    for member in members[1:]:
        for common, parents in zip(shared, member.dag.parents, strict=True):
            common.intersection_update(parents)
    return Dag(tuple(map(tuple, shared)))


@dataclass(frozen=True)
class TreeAverageNetwork(MeanOfNetworks):
    r"""P(class, attributes) = sum_F P(F) P(class) prod_c P(x_c | parent of c in F, class), over all forests F.

    P(F) is proportional to the product of the weights of its edges. With the weights of every edge p -> c multiplied by
    P(x_c | x_p, class) / P(x_c | class), the sum over forests is one over weighted forests again (`AllTrees`); so the
    mean is exact and costs O(n^3) a row and class (Meila and Jaakkola 2006).

    A missing cell is left out: the mean is that over the forests of the attributes present, with the same weights.

    The `dag` has the edges that all forests have: from the class to every attribute.

    Parameters
    ----------
    members : tuple of Network
        One for each attribute: it and the class are the parents of every other attribute, whose tables are those of an
        edge from it; its own table is that of having no parent.
    log_weights : array (n + 1, n)
        Of the edges at [1 + parent, child], of no parent at [0, child]: see `AllTrees`.

    Examples
    --------
    >>> from tanager import BayesianNetworkClassifier
    >>> X, y = [["a", "u"], ["a", "u"], ["b", "v"], ["b", "v"], ["b", "v"]], [0, 1, 1, 0, 1]
    >>> forests = BayesianNetworkClassifier("tree-average", parameters="frequency").fit(X, y).network_
    >>> {pair: round(p, 3) for pair, p in forests.edge_probability.items()}
    {('x0', 'x1'): 0.857}
    """

    kind: ClassVar[Literal["trees"]] = "trees"

    members: tuple[Network, ...]
    log_weights: Array
    columns: tuple[ColumnSchema, ...] = field(init=False, repr=False, compare=False)
    dag: Dag = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        n_attributes = len(self.members[0].columns) - 1
        for number, member in enumerate(self.members):
            if member.columns != self.members[0].columns or member.dag != superparent_dag(n_attributes, (number,)):
                raise DataError(f"member {number} of a mean of trees must have attribute {number} as parent of all.")
        if len(self.members) != n_attributes or self.log_weights.shape != (n_attributes + 1, n_attributes):
            raise DataError(f"a mean of trees over {n_attributes} attributes needs a member and weights for each.")
        if np.isnan(self.log_weights).any() or np.isinf(self.log_weights[0]).any() or self.log_weights.max() == np.inf:
            raise DataError(
                "the weights of edges must be logarithms of numbers, those of no parent of numbers above 0."
            )
        object.__setattr__(self, "columns", self.members[0].columns)
        object.__setattr__(self, "dag", Dag.augmented_naive_bayes([()] * n_attributes))

    def __repr__(self) -> str:
        return f"TreeAverageNetwork(all forests of {len(self.nodes)} nodes, target={self.target!r})"

    @cached_property
    def parent_probability(self) -> Array:
        """(n + 1, n) the probability of every edge at [1 + parent, child], of no parent at [0, child]."""
        return AllTrees(self.log_weights).probability

    @cached_property
    def edge_probability(self) -> dict[tuple[str, str], float]:
        """The probability that two attributes are joined, in either direction, the most probable first."""
        directed = self.parent_probability[1:]
        either = np.minimum(directed + directed.T, 1.0)
        first, second = np.triu_indices(len(either), k=1)
        order = np.argsort(-either[first, second], kind="stable")
        return {
            (self.nodes[a], self.nodes[b]): float(either[a, b])
            for a, b in zip(first[order].tolist(), second[order].tolist(), strict=True)
        }

    def log_joint(self, codes: Codes, normalized: bool = False) -> Array:
        """(n_rows, n_classes) log P(class, cells present), or `normalized` log P(class | cells present)."""
        n_attributes = len(self.members)
        missing = codes == np.array(self.n_states[:-1])
        patterns, pattern = np.unique(missing, axis=0, return_inverse=True)
        totals = np.array([AllTrees(self._present(absent)).log_total for absent in patterns]).reshape(-1)
        result = np.empty((len(codes), self.n_states[-1]))
        size = max(1, BLOCK_CELLS // (n_attributes * (n_attributes + 1)))

        def fill(first: int) -> None:
            rows = slice(first, first + size)
            for label in range(self.n_states[-1]):
                alone, weights = self.row_weights(codes[rows], label)
                result[rows, label] = alone.sum(axis=1) + AllTrees(weights).log_total

        map_threads(fill, range(0, len(codes), size))
        with np.errstate(divide="ignore"):
            result += np.log(self.members[0].tables[-1][0]) - totals[pattern.reshape(-1), np.newaxis]
        return normalize_log(result) if normalized else result

    def row_weights(self, codes: Codes, label: int) -> tuple[Array, Array]:
        """Of rows under a class: (n_rows, n) log P(x_c | class), and (n_rows, n + 1, n) log weights of their edges.

        A missing cell adds nothing, and its node is absent.
        """
        *attributes, n_classes = self.n_states
        logs, starts = self._pair_logs
        states, missing = np.array(attributes), codes == np.array(attributes)
        cells = np.where(codes < states, codes, 0).astype(np.int64)
        alone = logs[starts.diagonal() + label * states + cells]
        # A child is no parent of itself: its table has one row for each class, the first of which is looked up.
        rows = (cells * n_classes + label)[:, :, np.newaxis] * ~np.eye(len(states), dtype=bool)
        ratios = logs[starts + rows * states + cells[:, np.newaxis, :]] - alone[:, np.newaxis, :]
        weights = np.concatenate([np.zeros((len(codes), 1, len(states))), ratios], axis=1) + self.log_weights
        if missing.any():
            alone[missing] = 0.0
            weights[:, 1:][missing] = -np.inf
            weights.swapaxes(1, 2)[missing] = -np.inf
        return alone, weights

    @cached_property
    def _pair_logs(self) -> tuple[Array, Ints]:
        """The logs of the members' tables of attributes, flat, and (n, n) where that of [parent, child] begins.

        log P(x_c | x_p, class) is at [x_p, class, x_c]; of a child with itself log P(x_c | class) at [class, x_c].
        """
        tables = [table.reshape(-1) for member in self.members for table in member.tables[:-1]]
        sizes = np.array([len(table) for table in tables], dtype=np.int64)
        with np.errstate(divide="ignore"):
            return np.log(np.concatenate(tables)), (np.cumsum(sizes) - sizes).reshape(2 * (len(self.members),))

    def _present(self, missing: Flags) -> Array:
        """The weights between attributes that are present."""
        weights = self.log_weights.copy()
        weights[1:][missing] = -np.inf
        weights[:, missing] = -np.inf
        return weights

    def log_probability(self, codes: Ints) -> Array:
        """See `MeanOfNetworks.log_probability`; missing cells are left out."""
        logs = self.log_joint(codes[:, :-1].astype(code_dtype(max(self.n_states))))
        known = np.flatnonzero(codes[:, -1] < self.n_states[-1])
        total: Array = np.logaddexp.reduce(logs, axis=1)
        total[known] = logs[known, codes[known, -1]]
        return total

    @property
    def edge_information(self) -> Array:
        """The strength of the edge from the class to each attribute: the mean over all forests of what it is in one."""
        strengths = np.array([_from_class(member) for member in self.members])
        weights = self.parent_probability[1:] + np.diag(self.parent_probability[0])
        mean: Array = (weights * strengths).sum(axis=0)
        return mean

    def reordered(self, order: Sequence[int]) -> TreeAverageNetwork:
        """The same mean with its nodes in another order: `Network.reordered`."""
        attributes = list(order[:-1])
        weights = self.log_weights[np.ix_([0, *(parent + 1 for parent in attributes)], attributes)]
        return TreeAverageNetwork(tuple(self.members[node].reordered(order) for node in attributes), weights)


def _from_class(member: Network) -> list[float]:
    """The strength of the edges from the class to each attribute."""
    target = len(member.nodes) - 1
    strength = dict(zip(member.dag.edges, member.edge_information.tolist(), strict=True))
    return [strength[target, child] for child in range(target)]
