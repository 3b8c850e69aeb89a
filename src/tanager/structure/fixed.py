"""Structures without a search: naive Bayes, and a structure given by the user as edges, parents or a network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from tanager.errors import OptionError
from tanager.registry import nearest_first
from tanager.structure.constraints import Edges, IndexEdges, Node, edge_indices, node_index, refuse_cycle
from tanager.structure.dag import Dag
from tanager.structure.protocol import LearntStructure, StructureLearner, StructureTask
from tanager.table.schema import ColumnSchema


class NaiveBayes(StructureLearner):
    """No search: attributes are independent given the class."""

    needs = "families"
    asks_criterion = False

    def learn(self, task: StructureTask) -> LearntStructure:
        return LearntStructure(Dag.augmented_naive_bayes([()] * task.counts.n_attributes))


class Fixed(StructureLearner):
    """No search: the structure is the one given.

    edges  (parent, child) pairs, by name or number; or a mapping of each attribute to its parents; the class is then
           also a parent of every attribute, unless the edges name the class: then they are the whole structure.
           Or a network (anything with `nodes` and `edges`; its `target`, where it has one, stands for the class) or a
           `Dag`: taken as it is. A column the network does not have gets no edge; a node that is no column is hidden
           (`hidden`), which takes a classifier whose parameters can be learnt with missing values.
    """

    asks_criterion = False

    def __init__(self, edges: Edges | Mapping[Node, Iterable[Node]] | HasEdges | Dag) -> None:
        self.edges = edges

    def learn(self, task: StructureTask) -> LearntStructure:
        return LearntStructure(self._dag(task))

    def hidden(self, names: Sequence[str]) -> tuple[ColumnSchema, ...]:
        """The network's nodes that are not among the columns `names`, the class last; they keep their states."""
        columns: tuple[ColumnSchema, ...] = getattr(self.edges, "columns", ())
        target = getattr(self.edges, "target", None) or names[-1]
        hidden = tuple(column for column in columns if column.name not in (*names[:-1], target))
        if hidden and target not in (column.name for column in columns):
            nearest = ", ".join(map(repr, nearest_first(target, (column.name for column in hidden))[:5]))
            raise OptionError(
                f"the network has no node {target!r}, the class; its nodes that are no column are {nearest}.",
                hint="give the network a target, or y the name of its node (a Series has a name).",
            )
        return hidden

    def _dag(self, task: StructureTask) -> Dag:
        structure, names = self.edges, task.names
        if isinstance(structure, Dag):
            if structure.n_nodes != len(names):
                raise OptionError(f"the structure has {structure.n_nodes} nodes; the table has {len(names)} columns.")
            return structure.renumbered(task.columns) if task.columns else structure
        edges = _network_edges(structure, names) if isinstance(structure, HasEdges) else _all_edges(structure, task)
        refuse_cycle("the edges given", edges, names)
        parents: list[list[int]] = [[] for _ in names]
        for parent, child in edges:
            parents[child].append(parent)
        return Dag(tuple(map(tuple, parents)))


@runtime_checkable
class HasEdges(Protocol):
    """A graph made elsewhere, such as a network: its nodes by name, and (parent, child) pairs of them."""

    @property
    def nodes(self) -> Iterable[str]: ...

    @property
    def edges(self) -> Iterable[tuple[str, str]]: ...


def _network_edges(network: HasEdges, names: Sequence[str]) -> IndexEdges:
    known = (*names[:-1], getattr(network, "target", None) or names[-1])
    for node in network.nodes:
        node_index("the network", node, known)
    return edge_indices("the network", network.edges, known)


def _all_edges(edges_or_parents: Edges | Mapping[Node, Iterable[Node]], task: StructureTask) -> IndexEdges:
    edges = task.edges("edges", _pairs(edges_or_parents))
    target = len(task.names) - 1
    if any(target in edge for edge in edges):
        return edges
    return edges | {(target, attribute) for attribute in range(target)}


def _pairs(edges_or_parents: Edges | Mapping[Node, Iterable[Node]]) -> Edges:
    if not isinstance(edges_or_parents, Mapping):
        return edges_or_parents
    lone = [child for child, parents in edges_or_parents.items() if isinstance(parents, str)]
    if lone:
        raise OptionError(f"the parents of {lone[0]!r} are {edges_or_parents[lone[0]]!r}; expected a list of them.")
    return [(parent, child) for child, parents in edges_or_parents.items() for parent in parents]
