"""How strong terms, edges and attributes are, of an additive model and of any network."""

from __future__ import annotations

import numpy as np

from tanager.additive.importance import effect_strength
from tanager.additive.model import AnyModel
from tanager.arrays import Array


def term_strength(network: AnyModel) -> Array:
    """(n_terms,) of effects `effect_strength`; of tables what each attribute and the class tell of each other.

    That is the strength of its edge from or to the class: I(attribute; class | attribute parents) for a child of the
    class, 0 for an attribute without such an edge, which speaks through others alone.
    """
    if network.kind == "effects":
        return effect_strength(network)
    target = len(network.nodes) - 1
    strength = np.zeros(target)
    for edge, nats in zip(network.dag.edges, edge_strength(network), strict=True):
        if target in edge:
            strength[min(edge)] = nats  # the class has the largest number
    return strength


def attribute_importance(network: AnyModel) -> Array:
    """(n_attributes,) the strength of each attribute's terms; that of a pair is shared by its two."""
    found = np.zeros(len(network.nodes) - 1)
    for term, strength in zip(network.terms, term_strength(network), strict=True):
        found[list(term)] += strength / len(term)
    return found


def edge_strength(network: AnyModel) -> Array:
    """The strength of each edge of the DAG: of an additive model that of its effect, else `edge_information`.

    In a mixture it is the mean of the members', in a mean of all trees that of the trees'.

    The edge from the class to an attribute is its main effect, the edge between two attributes their pair effect.
    """
    if network.kind != "effects":
        return network.edge_information
    target = len(network.mains)
    ends = ((target, *term) if len(term) == 1 else term for term in network.terms)
    of_edge = dict(zip(ends, effect_strength(network).tolist(), strict=True))
    return np.array([of_edge[edge] for edge in network.dag.edges], dtype=np.float64)
