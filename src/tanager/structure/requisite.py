"""Which tables a question depends on, and the part of a structure that holds them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from tanager.structure.dag import Dag


def requisite_nodes(dag: Dag, query: Collection[int], observed: Collection[int]) -> set[int]:
    """Nodes whose tables P(query | observed) depends on, whatever the numbers in them ("Bayes ball", Shachter 1998).

    A ball starts at the query as if it came from a child. From a child it passes an unobserved node to its parents
    and children; from a parent it passes an unobserved node to the children, and bounces off an observed one to the
    parents. The tables needed are those of the nodes from which it went to the parents.
    """
    children: list[list[int]] = [[] for _ in dag.parents]
    for parent, child in dag.edges:
        children[parent].append(child)
    given = set(observed).difference(query)
    sent_up: set[int] = set()
    sent_down: set[int] = set()
    balls = [(node, True) for node in query]
    while balls:
        node, from_child = balls.pop()
        if from_child != (node in given) and node not in sent_up:
            sent_up.add(node)
            balls.extend((parent, True) for parent in dag.parents[node])
        if node not in given and node not in sent_down:
            sent_down.add(node)
            balls.extend((child, False) for child in children[node])
    return sent_up


@dataclass(frozen=True)
class PartOfDag:
    """Some families of a structure, numbered anew.

    nodes  old number of each node, ascending: the children of the families and their parents
    own    old numbers of the children; a node that is only a parent has lost its own parents
    dag    over the new numbers; since the order is kept, so is the layout of the families' tables
    """

    nodes: tuple[int, ...]
    own: frozenset[int]
    dag: Dag

    @classmethod
    def of(cls, dag: Dag, families: Collection[int]) -> PartOfDag:
        """The families of these nodes."""
        own = set(families)
        nodes = sorted(own.union(*(dag.parents[node] for node in own)))
        number = {node: k for k, node in enumerate(nodes)}
        parents = [[number[p] for p in dag.parents[node]] if node in own else [] for node in nodes]
        return cls(tuple(nodes), frozenset(own), Dag(tuple(map(tuple, parents))))
