"""MixtureNetwork: a weighted mean of networks over the same columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Array, Codes
from tanager.errors import DataError
from tanager.network.columns import HasColumns
from tanager.network.log_joint import normalize_log
from tanager.network.network import Network
from tanager.network.superparents import SuperparentNetworks
from tanager.runtime.resources import map_threads
from tanager.structure.dag import Dag
from tanager.structure.subsumption import Subsumption
from tanager.table.schema import Category, ColumnSchema

TOLERANCE = 1e-9
BLOCK_ROWS = 8_192


@dataclass(frozen=True)
class MixtureNetwork(HasColumns):
    """P(class, attributes) = sum_m weight_m P_m(class, attributes).

    Its `dag` has the edges that all members have.

    Parameters
    ----------
    members : sequence of Network
        With the same columns and class. Where all are superparent networks their tables are kept in one array
        (`superparents`), and a member is made when it is asked for.
    weights : array (n_members,)
        Above zero, summing to one.
    subsumption : Subsumption or None
        Where given, P(class | row) is that of the row without the cells that follow from others of it, by the members
        whose superparents are left; it has no say in the joint distribution.

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
    superparents: SuperparentNetworks | None = field(init=False, repr=False, compare=False)
    columns: tuple[ColumnSchema, ...] = field(init=False, repr=False, compare=False)
    dag: Dag = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        first, packed = self.members[0], self.members if isinstance(self.members, SuperparentNetworks) else None
        if packed is None:
            if any(member.columns != first.columns or member.target != first.target for member in self.members):
                raise DataError("the members of a mixture must have the same columns and the same class.")
            packed = SuperparentNetworks.of(self.members)
        if self.weights.shape != (len(self.members),) or not (self.weights > 0).all():
            raise DataError(f"a mixture of {len(self.members)} networks needs as many weights above zero.")
        if abs(self.weights.sum() - 1.0) > TOLERANCE:
            raise DataError("the weights of a mixture must sum to one.")
        members: Sequence[Network] = tuple(self.members) if packed is None else packed
        object.__setattr__(self, "superparents", packed)
        object.__setattr__(self, "members", members)
        object.__setattr__(self, "columns", first.columns)
        naive = packed is not None and not packed.have_common_superparent
        nodes = len(first.columns)
        object.__setattr__(
            self, "dag", Dag.augmented_naive_bayes([()] * (nodes - 1)) if naive else _shared_edges(members)
        )

    def __repr__(self) -> str:
        return f"MixtureNetwork({len(self.members)} networks of {len(self.nodes)} nodes, target={self.target!r})"

    @property
    def target(self) -> str | None:
        return self.members[0].target

    def log_joint(self, codes: Codes, normalized: bool = False) -> Array:
        """(n_rows, n_classes) log P(class, attributes) of complete rows, or `normalized` log P(class | attributes)."""
        packed = self.superparents
        if packed is None or not packed.worth_compiling(len(codes)):
            return self.mix((member.log_joint(codes) for member in self.members), normalized)
        found = packed.log_mixture(codes, self.weights)
        return normalize_log(found) if normalized else found

    def mix(self, log_joints: Iterable[Array], normalized: bool = False) -> Array:
        """log sum_m weight_m exp(log joint of member m), each (n_rows, n_classes), of which one is held at a time."""
        total: Array | None = None
        for log_weight, added in zip(np.log(self.weights), log_joints, strict=True):
            added += log_weight
            if total is None:
                total = added
            else:
                _add_exp(total, added)
        assert total is not None  # a mixture has a member
        return normalize_log(total) if normalized else total

    def resolve(self, codes: Codes) -> tuple[Codes, NDArray[np.bool_]]:
        """The rows without the cells that follow from others, and (n_members, n_rows) which members leave a row out."""
        shape = len(self.members), len(codes)
        if self.subsumption is None:
            return codes, np.broadcast_to(np.False_, shape)
        left_out = np.zeros(shape, dtype=bool)
        follows = self.subsumption.follows(codes)
        for out, superparents in zip(left_out, self._superparents, strict=True):
            out |= follows[:, superparents].any(axis=1)
        nobody = left_out.all(axis=0)  # cells with gaps in training may follow from each other in a circle
        follows[nobody], left_out[:, nobody] = False, False
        return np.where(follows, np.array(self.n_states[:-1], codes.dtype), codes), left_out

    @cached_property
    def _superparents(self) -> tuple[list[int], ...]:
        """Of each member the attributes that are parents."""
        if self.superparents is not None:
            return tuple(self.superparents.superparents.tolist())
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

    def _resolve_evidence(self, evidence: Mapping[str, Category]) -> tuple[Mapping[str, Category], NDArray[np.bool_]]:
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

    def reordered(self, order: Sequence[int]) -> MixtureNetwork:
        """The same mixture with its nodes in another order: `Network.reordered`."""
        rules = None if self.subsumption is None else self.subsumption.reordered(order)
        if self.superparents is not None:
            return MixtureNetwork(self.superparents.reordered(order), self.weights, rules)
        return MixtureNetwork(tuple(member.reordered(order) for member in self.members), self.weights, rules)

    def coarsen(self, codes: Codes) -> Codes:
        """The codes of each attribute at its coarse granularity: tables have one granularity only."""
        return codes

    def given(self, attribute: int) -> tuple[int, ...]:
        """The attributes that the term of an attribute depends on in all members."""
        return tuple(parent for parent in self.dag.parents[attribute] if parent != len(self.nodes) - 1)


def _shared_edges(members: Sequence[Network]) -> Dag:
    """The edges that all members have."""
    shared = [set(parents) for parents in members[0].dag.parents]
    for member in members[1:]:
        for common, parents in zip(shared, member.dag.parents, strict=True):
            common.intersection_update(parents)
    return Dag(tuple(map(tuple, shared)))


def _add_exp(total: Array, added: Array) -> None:
    """total = log(exp(total) + exp(added)), in place."""

    def add(first: int) -> None:
        rows = slice(first, first + BLOCK_ROWS)
        np.logaddexp(total[rows], added[rows], out=total[rows])

    map_threads(add, range(0, len(total), BLOCK_ROWS))
