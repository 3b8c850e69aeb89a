"""Tree augmented naive Bayes (TAN): the best tree over the attributes, for any decomposable score.

The best tree of a dense weight matrix is a maximum spanning tree (Prim) or a maximum arborescence (Edmonds), both
O(n^2) and both as `parents`, (n,): the parent of each node, -1 for a root. Weights may be negative; minus infinity
forbids an edge, and there are as many roots as the forbidden edges make necessary. Ties go to the lowest index.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from tanager.arrays import Array, Ints
from tanager.errors import OptionError
from tanager.structure.constraints import Edges, IndexEdges, Node, check_constraints, node_index
from tanager.structure.dag import Dag
from tanager.structure.family_terms import FamilyTerms, decomposable_score, level, smallest_gain
from tanager.structure.protocol import LearntStructure, Search, StructureLearner, StructureTask

Weights = Array
Parents = Ints
NO_PARENT = -1


class Tree(StructureLearner):
    """Every attribute has the class and, but for one, another attribute as parents; no other tree scores higher.

    An attribute without any value has the class alone, and no other tree changes because of it.

    An edge is worth phi_child({parent, C}) - phi_child({C}). Where both directions are worth the same (a score
    equivalent score, no constraints) this is a maximum spanning tree, otherwise a maximum arborescence (Edmonds).

    Parameters
    ----------
    root : str, int or None
        The attribute without an attribute parent, by name or number; by default the first by name for a spanning tree,
        the best for an arborescence.
    forest : bool
        Leave out the edges that gain nothing.
    required_edges : list of (parent, child)
        Edges between attributes, by name or number, that are always there.
    forbidden_edges : list of (parent, child)
        Edges between attributes, by name or number, that never are.
    """

    needs = "pairs"

    def __init__(
        self,
        root: Node | None = None,
        forest: bool = False,
        required_edges: Edges = (),
        forbidden_edges: Edges = (),
    ) -> None:
        self.root = root
        self.forest = forest
        self.required_edges = required_edges
        self.forbidden_edges = forbidden_edges

    @property
    def joins_all(self) -> bool:  # type: ignore[override]
        return not self.forest

    def learn(self, task: StructureTask) -> LearntStructure:
        score = decomposable_score(task, "tan")
        names = task.names
        root = None if self.root is None else node_index("root", self.root, names[:-1], task.columns)
        required = task.edges("required_edges", self.required_edges)
        forbidden = task.edges("forbidden_edges", self.forbidden_edges)
        _check_tree_edges(required, forbidden, root, names)
        terms = FamilyTerms(task.counts, score)
        gains = terms.edge_gains()
        search = Search(task, terms.total(Dag.augmented_naive_bayes([()] * len(gains))))
        weights = level(gains, smallest_gain(search.score))
        n_empty = 0
        if required or forbidden:
            parents = _constrained_tree(weights, root, self.forest, required, forbidden)
        else:
            used = terms.with_values()
            parents = best_tree(weights, score.score_equivalent, used, root, self.forest)
            n_empty = len(weights) - len(used)
        if not self.forest and np.count_nonzero(parents == NO_PARENT) > 1 + n_empty:
            raise OptionError(
                "no tree over all attributes keeps to required_edges and forbidden_edges.",
                hint="allow more edges, or several trees with forest=True.",
            )
        return _grow(search, parents, gains[parents, np.arange(len(parents))], names)


def best_tree(
    gains: Array, score_equivalent: bool, used: Ints, root: int | None = None, forest: bool = False
) -> Parents:
    """The best tree over the attributes `used`, for (n, n) gains at [parent, child]: parents, -1 for a root.

    An attribute that is not used has no parent and no child.
    """
    parents = np.full(len(gains), NO_PARENT)
    among, at = gains[np.ix_(used, used)], np.flatnonzero(used == root)
    first = int(at[0]) if len(at) else None
    if not len(used):
        return parents
    if score_equivalent:
        found = maximum_spanning_tree(among, first or 0, forest)
    else:
        found = maximum_arborescence(among, first, forest)
    parents[used] = np.where(found == NO_PARENT, NO_PARENT, used[found])
    return parents


def _constrained_tree(
    gains: Array, root: int | None, forest: bool, required: IndexEdges, forbidden: IndexEdges
) -> Parents:
    """Edges are directed here, whatever the score. A required edge leaves its child no other parent."""
    weights = gains.copy()
    for parent, child in forbidden:
        weights[parent, child] = -np.inf
    for parent, child in required:
        weights[:, child] = -np.inf
        weights[parent, child] = gains[parent, child]
    return maximum_arborescence(weights, root, forest, never_roots=[child for _, child in required])


def _check_tree_edges(required: IndexEdges, forbidden: IndexEdges, root: int | None, names: Sequence[str]) -> None:
    check_constraints(required, forbidden, names, "leave the class out, or use HillClimb(class_edges='free').")
    parent_of: dict[int, int] = {}
    for parent, child in sorted(required):
        if child == root:
            raise OptionError(f"required_edges give the root {names[child]!r} the parent {names[parent]!r}.")
        if child in parent_of:
            both = f"{names[parent_of[child]]!r} and {names[parent]!r}"
            raise OptionError(f"required_edges give {names[child]!r} the parents {both}; a tree allows one.")
        parent_of[child] = parent


def _grow(search: Search, parents: Parents, gains: Array, names: Sequence[str]) -> LearntStructure:
    """Add the edges, parents before their children; `gains` (n,) is what the parent of each attribute gains."""
    above = parents.tolist()
    dag = Dag.augmented_naive_bayes([() if parent == NO_PARENT else (parent,) for parent in above])
    children = [child for child in dag.order[1:] if above[child] != NO_PARENT]
    search.extend([f"add {names[above[child]]} -> {names[child]}" for child in children], gains[children].tolist())
    return search.learnt(dag)


def maximum_spanning_tree(weights: Weights, root: int = 0, forest: bool = False) -> Parents:
    """The best undirected tree of the symmetric (n, n) `weights`, its edges pointing away from `root` (Prim 1957).

    `forest` leaves out the edges with weight 0 or less. The diagonal is not read.
    """
    n_nodes = len(weights)
    parents = np.full(n_nodes, NO_PARENT, dtype=np.int64)
    outside = np.ones(n_nodes, dtype=bool)
    # The best edge from the tree to each node outside it; a node inside stays at minus infinity.
    best = np.full(n_nodes, -np.inf)
    node = root
    for _ in range(n_nodes - 1):
        outside[node] = False
        best[node] = -np.inf
        better = (weights[node] > best) & outside
        parents[better] = node
        best[better] = weights[node, better]
        node = int(best.argmax())
        if best[node] == -np.inf:
            node = int(outside.argmax())
    if forest:
        kept = parents != NO_PARENT
        kept[kept] = weights[parents[kept], np.flatnonzero(kept)] > 0
        parents[~kept] = NO_PARENT
    return parents


def maximum_arborescence(
    weights: Weights, root: int | None = None, forest: bool = False, never_roots: Collection[int] = ()
) -> Parents:
    """The best directed tree of the (n, n) `weights` at [parent, child], over all roots or with the `root` given.

    One run for all roots: a virtual root, which is a last resort for every node or, with `forest`, an ordinary parent
    with weight 0 (Edmonds 1967). `never_roots` are nodes that must have a parent. The diagonal is not read.
    """
    contraction = _Contraction(weights, root, forest, never_roots)
    for node in range(len(weights)):
        contraction.grow_from(node)
    return contraction.expand()


class _Contraction:
    """Edmonds' algorithm: follow best edges backwards, contract the cycles they close, until the virtual root.

    A contracted cycle is a new node (n, n + 1, ...) that takes over the place, a row of `into`, of its first member.
    `into[place, tail]` is the weight of the best edge into the node at `place` from the virtual root (tail 0) or from
    the node tail - 1 that we began with, less what the cycles it would break have earned; minus infinity where the
    tail is inside. `head[place, tail]` is the node that edge enters, of those we began with.
    """

    def __init__(self, weights: Weights, root: int | None, forest: bool, never_roots: Collection[int]) -> None:
        n_nodes = len(weights)
        self.forest = forest
        self.into = np.zeros((n_nodes, n_nodes + 1))
        self.into[:, 1:] = weights.T
        np.fill_diagonal(self.into[:, 1:], -np.inf)
        self.into[list(never_roots), 0] = -np.inf
        if root is not None:
            self.into[root] = -np.inf
            self.into[root, 0] = 0.0
        self.head = np.repeat(np.arange(n_nodes)[:, None], n_nodes + 1, axis=1)
        self.place = np.arange(n_nodes)  # where the node that now holds each node we began with is
        self.node_at = list(range(n_nodes))  # the node at each place
        self.reached = [False] * n_nodes  # whether the node at each place is joined to the virtual root
        self.above = [NO_PARENT] * n_nodes  # the contracted node that each node went into
        self.members: list[list[int]] = [[] for _ in range(n_nodes)]
        self.chosen: list[tuple[int, int] | None] = [None] * n_nodes  # (tail, head) of the edge chosen into each node

    def grow_from(self, start: int) -> None:
        """Follow best edges backwards from a node until the virtual root or a node that is joined to it."""
        if self.chosen[start] is not None:
            return
        path: list[int] = []
        earned: list[float] = []
        place = start
        while not self.reached[place]:
            tail = self._best_tail(place)
            path.append(place)
            earned.append(float(self.into[place, tail]))
            self.chosen[self.node_at[place]] = tail, int(self.head[place, tail])
            if tail == 0:
                break
            place = int(self.place[tail - 1])
            if place in path:
                first = path.index(place)
                place = self._contract(dict(zip(path[first:], earned[first:], strict=True)))
                del path[first:], earned[first:]
        for place in path:
            self.reached[place] = True

    def _best_tail(self, place: int) -> int:
        row = self.into[place]
        if self.forest:
            return int(row.argmax())
        tail = int(row[1:].argmax()) + 1
        return tail if row[tail] > -np.inf else 0

    def _contract(self, earned: dict[int, float]) -> int:
        """Make one node of a cycle, given what the edge chosen into each of its places has earned."""
        place, *others = sorted(earned)
        row = self.into[place]
        # An edge into a member replaces the one chosen for it, so it is worth only the difference.
        row -= earned[place]
        inside = self.place == place
        for other in others:
            entering = self.into[other] - earned[other]
            better = entering > row
            np.copyto(row, entering, where=better)
            np.copyto(self.head[place], self.head[other], where=better)
            inside |= self.place == other
        row[1:][inside] = -np.inf
        self.place[inside] = place
        members = [self.node_at[each] for each in (place, *others)]
        for member in members:
            self.above[member] = len(self.above)
        self.node_at[place] = len(self.above)
        self.members.append(members)
        self.above.append(NO_PARENT)
        self.chosen.append(None)
        return place

    def expand(self) -> Parents:
        """Undo the contractions: a cycle loses the edge into the member at which it is entered."""
        parents = np.full(len(self.place), NO_PARENT, dtype=np.int64)
        waiting = [node for node, above in enumerate(self.above) if above == NO_PARENT]
        while waiting:
            top = waiting.pop()
            edge = self.chosen[top]
            assert edge is not None
            tail, node = edge
            parents[node] = tail - 1
            while node != top:
                above = self.above[node]
                waiting.extend(member for member in self.members[above] if member != node)
                node = above
        return parents
