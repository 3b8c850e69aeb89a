"""Canonical form and perfectness: when the conditional optimum is a Bayesian network (Roos et al. 2005)."""

from __future__ import annotations

from tanager.structure.dag import Dag


def canonical_form(dag: Dag, target: int) -> Dag:
    """The Markov blanket of `target` with its parents fully connected (definition 1); same P(target | the rest).

    Nodes keep their numbers; those outside the blanket lose their edges. Added edges follow the order of `dag`.
    """
    children = [node for node, parents in enumerate(dag.parents) if target in parents]
    kept = {target, *dag.parents[target], *children}.union(*(dag.parents[child] for child in children))
    parents = [kept.intersection(own) if node in kept else set[int]() for node, own in enumerate(dag.parents)]
    earlier: set[int] = set()
    for node in dag.order:
        if node in dag.parents[target]:
            parents[node] |= earlier
            earlier.add(node)
    return Dag(tuple(tuple(own) for own in parents))


def is_perfect(dag: Dag) -> bool:
    """Whether every two parents of a common child are joined (definition 2).

    It is enough that the last parent of each node, in topological order, has all the others as parents: the pairs
    among those are then judged as parents of that last one.
    """
    position = {node: place for place, node in enumerate(dag.order)}
    for parents in dag.parents:
        if parents:
            last = max(parents, key=position.__getitem__)
            if not set(parents) - {last} <= set(dag.parents[last]):
                return False
    return True


def is_perfect_for(dag: Dag, target: int) -> bool:
    """Whether the canonical form is perfect: then any P(target | the rest) of unnormalised tables has CPTs too.

    The conditional log likelihood has no local maxima then (theorem 3). Naive Bayes, TAN and networks whose class
    has no children pass.
    """
    return is_perfect(canonical_form(dag, target))
