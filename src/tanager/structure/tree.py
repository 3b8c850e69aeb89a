"""Tree augmented naive Bayes (TAN): the best tree over the attributes, for any decomposable score."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tanager.errors import OptionError
from tanager.runtime.resources import no_collection
from tanager.structure.constraints import (
    Edges,
    IndexEdges,
    Node,
    check_constraints,
    node_index,
    refuse_class_edges,
)
from tanager.structure.dag import Dag
from tanager.structure.family_terms import FamilyTerms, decomposable_score
from tanager.structure.protocol import LearntStructure, Search, StructureLearner, StructureTask
from tanager.structure.spanning import NO_PARENT, Parents, maximum_arborescence, maximum_spanning_tree
from tanager.structure.ties import level, smallest_gain

CLASS_EDGE_HINT = "leave the class out, or use HillClimb(class_edges='free')."


class Tree(StructureLearner):
    """Every attribute has the class and, but for one, another attribute as parents; no other tree scores higher.

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

    def learn(self, task: StructureTask) -> LearntStructure:
        score = decomposable_score(task, "tan")
        names = task.names
        root = None if self.root is None else node_index("root", self.root, names[:-1], task.columns)
        required = task.edges("required_edges", self.required_edges)
        forbidden = task.edges("forbidden_edges", self.forbidden_edges)
        _check_tree_edges(required, forbidden, root, names)
        if task.counts.on_device and not (required or forbidden):
            from tanager.torch.tree import tree_on_device

            found = tree_on_device(task.counts, score, root or 0, self.forest)
            if found is not None:  # too many attributes for the host
                return _grow(Search(task, found.naive_score), found.parents, found.gains, names)
        terms = FamilyTerms(task.counts, score)
        gains = terms.edge_gains()
        search = Search(task, terms.total(Dag.augmented_naive_bayes([()] * len(gains))))
        weights = level(gains, smallest_gain(search.score))
        if required or forbidden:
            parents = _constrained_tree(weights, root, self.forest, required, forbidden)
        else:
            parents = best_tree(weights, score.score_equivalent, root, self.forest)
        if not self.forest and np.count_nonzero(parents == NO_PARENT) > 1:
            raise OptionError(
                "no tree over all attributes keeps to required_edges and forbidden_edges.",
                hint="allow more edges, or several trees with forest=True.",
            )
        return _grow(search, parents, gains[parents, np.arange(len(parents))], names)


def best_tree(
    gains: NDArray[np.float64], score_equivalent: bool, root: int | None = None, forest: bool = False
) -> Parents:
    """The best tree for (n, n) gains at [parent, child]: the parent of each attribute, -1 for a root."""
    if score_equivalent:
        return maximum_spanning_tree(gains, 0 if root is None else root, forest)
    return maximum_arborescence(gains, root, forest)


def _constrained_tree(
    gains: NDArray[np.float64], root: int | None, forest: bool, required: IndexEdges, forbidden: IndexEdges
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
    check_constraints(required, forbidden, names)
    refuse_class_edges("required_edges", required, names, CLASS_EDGE_HINT)
    refuse_class_edges("forbidden_edges", forbidden, names, CLASS_EDGE_HINT)
    parent_of: dict[int, int] = {}
    for parent, child in sorted(required):
        if child == root:
            raise OptionError(f"required_edges give the root {names[child]!r} the parent {names[parent]!r}.")
        if child in parent_of:
            both = f"{names[parent_of[child]]!r} and {names[parent]!r}"
            raise OptionError(f"required_edges give {names[child]!r} the parents {both}; a tree allows one.")
        parent_of[child] = parent


def _grow(search: Search, parents: Parents, gains: NDArray[np.float64], names: Sequence[str]) -> LearntStructure:
    """Add the edges, parents before their children; `gains` (n,) is what the parent of each attribute gains."""
    with no_collection():
        above = parents.tolist()
        dag = Dag.augmented_naive_bayes([() if parent == NO_PARENT else (parent,) for parent in above])
        children = [child for child in dag.order[1:] if above[child] != NO_PARENT]
        search.extend([f"add {names[above[child]]} -> {names[child]}" for child in children], gains[children].tolist())
        return search.learnt(dag)
