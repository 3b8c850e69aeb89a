"""MixtureNetwork: a weighted mean of networks over the same columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from tanager.arrays import Array, Codes, Flags
from tanager.errors import DataError
from tanager.network.columns import HasColumns
from tanager.network.inference.row_elimination import log_sum
from tanager.network.log_joint import normalize_log
from tanager.network.network import Network
from tanager.runtime.resources import map_threads
from tanager.structure.averaged import Subsumption
from tanager.structure.dag import Dag
from tanager.table.schema import Category, ColumnSchema

TOLERANCE = 1e-9
BLOCK_ROWS = 512


@dataclass(frozen=True)
class MixtureNetwork(HasColumns):
    """P(class, attributes) = sum_m weight_m P_m(class, attributes).

    Its `dag` has the edges that all members have.

    Parameters
    ----------
    members : sequence of Network
        With the same columns and class.
    weights : array (n_members,)
        Above zero, summing to one.
    subsumption : Subsumption or None
        Where given, P(class | row) is that of the row without the cells that follow from others of it, by the members
        whose superparents are left; it does not change the joint distribution.

    Examples
    --------
    >>> from tanager.structure.dag import Dag
    >>> from tanager.table.schema import ColumnSchema
    >>> wet, rain = (ColumnSchema(name, "categorical", (False, True)) for name in ("wet", "rain"))
    >>> certain = Network((wet, rain), Dag(((1,), ())), (np.eye(2), np.array([[0.5, 0.5]])), "rain")
    >>> blind = Network((wet, rain), Dag(((), ())), (np.array([[0.5, 0.5]]), np.array([[0.5, 0.5]])), "rain")
    >>> MixtureNetwork((certain, blind), np.array([0.5, 0.5])).query("rain", {"wet": True})
    {False: 0.25, True: 0.75}
    """

    kind: ClassVar[Literal["mixtures"]] = "mixtures"

    members: Sequence[Network]
    weights: Array
    subsumption: Subsumption | None = None
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

    @property
    def target(self) -> str | None:
        return self.members[0].target

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

    def mix(self, log_joints: Iterable[Array], normalized: bool = False) -> Array:
        """log sum_m weight_m exp(log joint of member m), each (n_rows, n_classes), of which one is held at a time."""
        total: Array | None = None
        for log_weight, added in zip(np.log(self.weights), log_joints, strict=True):
            added += log_weight
            if total is None:
                total = added
            else:
                np.logaddexp(total, added, out=total)
        assert total is not None  # a mixture has a member
        return normalize_log(total) if normalized else total

    def resolve(self, codes: Codes) -> tuple[Codes, Flags]:
        """The rows without the cells that follow from others, and (n_members, n_rows) which members leave a row out."""
        shape = len(self.members), len(codes)
        if self.subsumption is None:
            return codes, np.broadcast_to(np.False_, shape)
        left_out = np.zeros(shape, dtype=bool)
        follows = self.subsumption.follows(codes)
        for out, superparents in zip(left_out, self._superparents, strict=True):
            out |= follows[:, superparents].any(axis=1)
        nobody = left_out.all(axis=0)  # cells missing in training rows may follow from each other in a circle
        follows[nobody], left_out[:, nobody] = False, False
        return np.where(follows, np.array(self.n_states[:-1], codes.dtype), codes), left_out

    @cached_property
    def _superparents(self) -> tuple[list[int], ...]:
        """Of each member the attributes that are parents."""
        target = len(self.columns) - 1
        return tuple(sorted({a for a, child in member.dag.edges if a != target}) for member in self.members)

    def query(
        self, variables: str | Sequence[str], evidence: Mapping[str, Category] | None = None
    ) -> dict[object, float]:
        """P(variables | evidence), as `Network.query` gives it."""
        evidence, left_out = self._resolve_evidence(evidence or {})
        logs = np.array([member.log_evidence(evidence) for member in self.members]) + np.log(self.weights)
        logs[left_out] = -np.inf
        total: dict[object, float] = {}
        if logs.max() == -np.inf:
            return self.members[0].query(variables, evidence)  # which says what is impossible
        for share, member in zip(np.exp(logs - logs.max()).tolist(), self.members, strict=True):
            if share == 0.0:
                continue
            for state, p in member.query(variables, evidence).items():
                total[state] = total.get(state, 0.0) + share * p
        return {state: p / sum(total.values()) for state, p in total.items()}

    def _resolve_evidence(self, evidence: Mapping[str, Category]) -> tuple[Mapping[str, Category], Flags]:
        attributes = self.nodes[:-1]
        codes = np.array([self.n_states[:-1]])
        for name in set(evidence).intersection(attributes):
            codes[0, self.number(name)] = self.code(name, evidence[name])
        known, left_out = self.resolve(codes)
        gone = {name for name, was, now in zip(attributes, codes[0], known[0], strict=True) if was != now}
        return {name: value for name, value in evidence.items() if name not in gone}, left_out[:, 0]

    def log_likelihood(self, X: object) -> Array:
        """Log probability of the cells present in each row (natural logarithm), the others summed out."""
        return self.mix(member.log_likelihood(X)[:, np.newaxis] for member in self.members)[:, 0]

    @property
    def edge_information(self) -> Array:
        """The information along each edge that all members have: the mean of the members'."""
        strengths = [dict(zip(member.dag.edges, member.edge_information, strict=True)) for member in self.members]
        mean: Array = self.weights @ np.array([[each[edge] for edge in self.dag.edges] for each in strengths])
        return mean

    def reordered(self, order: Sequence[int]) -> MixtureNetwork:
        """The same mixture with its nodes in another order: `Network.reordered`."""
        rules = None if self.subsumption is None else self.subsumption.reordered(order)
        return MixtureNetwork(tuple(member.reordered(order) for member in self.members), self.weights, rules)


def _shared_edges(members: Sequence[Network]) -> Dag:
    """The edges that all members have."""
    shared = [set(parents) for parents in members[0].dag.parents]
    for member in members[1:]:
        for common, parents in zip(shared, member.dag.parents, strict=True):
            common.intersection_update(parents)
    return Dag(tuple(map(tuple, shared)))
