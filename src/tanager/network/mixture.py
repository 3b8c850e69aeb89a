"""MixtureNetwork: a weighted mean of networks over the same columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Literal, overload

import numpy as np

from tanager.arrays import Array, Codes, Flags, Ints
from tanager.errors import DataError
from tanager.network.columns import HasColumns
from tanager.network.log_joint import WORK_WORTH_COMPILING, normalize_log
from tanager.network.network import Network
from tanager.runtime import PicklesFields
from tanager.runtime.resources import map_threads
from tanager.structure.averaged import Subsumption, superparents_of
from tanager.structure.dag import Dag
from tanager.table.schema import Category, ColumnSchema

TOLERANCE = 1e-9
BLOCK_ROWS = 8_192
SUPERPARENT_BLOCK_ROWS = 512
ROWS_OF_A_NETWORK = 100
"""To make a network of its own out of the array takes as long as to look up so many rows."""


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
        logs = packed.log_mixture(codes, self.weights)
        return normalize_log(logs) if normalized else logs

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
        if self.superparents is not None:
            return MixtureNetwork(self.superparents.reordered(order), self.weights, rules)
        return MixtureNetwork(tuple(member.reordered(order) for member in self.members), self.weights, rules)


@dataclass(frozen=True, eq=False)
class SuperparentNetworks(PicklesFields, Sequence[Network]):
    """Networks in which the class and a few attributes, the superparents, are parents of all other attributes.

    A sequence of `Network`, each made when it is asked for.

    columns       of every network, the class last
    superparents  (n_networks, n) of each network, a parent of those after it
    tables        of all, flat. That of an attribute is (states of each superparent, classes, states); of a superparent
                  only those before it count
    starts        (n_networks, n_nodes) where each begins
    """

    columns: tuple[ColumnSchema, ...]
    superparents: Ints
    tables: Array
    starts: Ints

    @classmethod
    def of(cls, networks: Sequence[Network]) -> SuperparentNetworks | None:
        """The same networks, or None if some are of another kind, or have more superparents than others."""
        if isinstance(networks, SuperparentNetworks):
            return networks
        chains = [superparents_of(network.dag) for network in networks]
        if None in chains or len(set(map(len, filter(None, chains)))) > 1 or networks[0].target is None:
            return None
        columns, superparents = networks[0].columns, np.array(chains, dtype=np.int64)
        starts = table_starts(superparents, networks[0].n_states)
        tables = [
            _arranged(network, node, chain)
            for network, chain in zip(networks, superparents.tolist(), strict=True)
            for node in range(len(columns))
        ]
        return cls(columns, superparents, np.concatenate(tables), starts)

    @overload
    def __getitem__(self, place: int) -> Network: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Network]: ...

    def __getitem__(self, place: int | slice) -> Network | Sequence[Network]:
        if isinstance(place, slice):
            return tuple(self[each] for each in range(len(self))[place])
        chain, n_states, target = self.superparents[place].tolist(), self.n_states, len(self.columns) - 1
        parents, tables = [], []
        for node, start in enumerate(self.starts[place].tolist()):
            before = chain[: chain.index(node)] if node in chain else chain
            shape = [n_states[parent] for parent in before]
            cells = self.tables[start : start + int(np.prod(shape)) * n_states[target] * n_states[node]]
            if node == target:
                before, cells = [], self.tables[start : start + n_states[target]]
            else:
                axes = np.argsort(before, kind="stable").tolist()
                cells = cells.reshape(*shape, n_states[target], -1).transpose(*axes, len(before), len(before) + 1)
            parents.append(sorted(before))
            tables.append(cells.reshape(-1, n_states[node]))
        return Network(self.columns, Dag.augmented_naive_bayes(parents[:-1]), tuple(tables), self.columns[-1].name)

    def __len__(self) -> int:
        return len(self.superparents)

    @cached_property
    def n_states(self) -> tuple[int, ...]:
        return tuple(column.n_states for column in self.columns)

    @property
    def have_common_superparent(self) -> bool:
        """Whether an attribute is a superparent in all networks."""
        return bool(set[int]().union(self.superparents[0].tolist()).intersection(*self.superparents.tolist()))

    def reordered(self, order: Sequence[int]) -> SuperparentNetworks:
        """The same networks with their nodes in another order: `Network.reordered`."""
        place = np.argsort(np.asarray(order, dtype=np.intp))
        columns = tuple(self.columns[node] for node in order)
        return SuperparentNetworks(columns, place[self.superparents], self.tables, self.starts[:, list(order)])

    @cached_property
    def _n_unchecked(self) -> int:
        """Probabilities whose product is surely above 2 ** -600, at least one."""
        bits = -np.log2(self.tables.min(where=self.tables > 0, initial=1.0))
        return max(1, int(600 / max(bits, 1.0)))

    def worth_compiling(self, n_rows: int) -> bool:
        """Whether so many rows are faster looked up here than network by network."""
        return (n_rows + ROWS_OF_A_NETWORK) * self.starts.size >= WORK_WORTH_COMPILING

    def log_mixture(self, codes: Codes, weights: Array, left_out: Flags | None = None) -> Array:
        """(n_rows, n_classes) log sum_m weight_m P_m(class, cells present), the missing cells summed out.

        `left_out` (n_networks, n_rows) says which networks a row is not judged by.
        """
        from tanager.network.look_up_kernels import mix_superparents

        n_states, out = np.array(self.n_states, dtype=np.int64), np.empty((len(codes), self.n_states[-1]))
        nobody = np.empty((0, 0), dtype=bool)

        def fill(first: int) -> None:
            rows = slice(first, first + SUPERPARENT_BLOCK_ROWS)
            columns = np.ascontiguousarray(codes[rows].T, dtype=np.int32)
            complete = np.asarray((columns < n_states[:-1, np.newaxis]).all(axis=1))
            without = nobody if left_out is None else np.ascontiguousarray(left_out[:, rows])
            mix_superparents(
                columns,
                complete,
                n_states,
                self.superparents,
                self.starts,
                self.tables,
                weights,
                without,
                self._n_unchecked,
                out[rows],
            )

        map_threads(fill, range(0, len(codes), SUPERPARENT_BLOCK_ROWS))
        return out


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


def table_starts(superparents: Ints, n_states: Sequence[int]) -> Ints:
    """(n_networks, n_nodes) where the table of each node begins, one after the other, and the networks too."""
    *attributes, n_classes = n_states
    states = np.array(attributes, dtype=np.int64)
    configurations = np.ones((len(superparents), len(states)), dtype=np.int64)
    before = np.ones(len(superparents), dtype=np.int64)
    for chosen in superparents.T:
        # Of a superparent only those before it count, which is what `before` is when its turn comes.
        configurations *= states[chosen][:, np.newaxis]
    networks = np.arange(len(superparents))
    for chosen in superparents.T:
        configurations[networks, chosen] = before
        before = before * states[chosen]
    sizes = np.column_stack([configurations * states * n_classes, np.full(len(superparents), n_classes)])
    starts: Ints = (sizes.cumsum() - sizes.reshape(-1)).reshape(sizes.shape)
    return starts


def _arranged(network: Network, node: int, chain: Sequence[int]) -> Array:
    """A table, flat, its superparents in the order of the chain."""
    table, target = network.tables[node], len(network.columns) - 1
    before = chain[: chain.index(node)] if node in chain else chain
    if node == target or len(before) < 2:
        return table.reshape(-1)
    ascending = sorted(before)
    cells = table.reshape(*(network.n_states[parent] for parent in ascending), network.n_states[target], -1)
    return cells.transpose(*map(ascending.index, before), len(before), len(before) + 1).reshape(-1)
