"""How strong the effects of a network of sums are, and the edges of any network."""

from __future__ import annotations

from itertools import islice

import numpy as np

from tanager.network.additive import AdditiveNetwork
from tanager.network.any_network import AnyNetwork
from tanager.network.edge_information import Floats, edge_information
from tanager.table.categories import Codes, code_dtype

N_DRAWS = 2_048


def effect_strength(network: AdditiveNetwork) -> Floats:
    r"""(n_terms,) the strength of each main effect, then of each pair effect, in nats.

    It is the root mean square of what the effect adds to the log odds o_c of a class against the others (`class_odds`),
    over the classes and over the training densities of its attributes, independent ones for a pair:

    s^2 = sum_x p(x) 1/K sum_c o_c(x)^2

    What trees add to a main effect depends on other attributes too: there the sum is over rows drawn from the
    densities.
    """
    coarse = [coarse_density(network, attribute) for attribute in range(len(network.mains))]
    squares = [
        density @ _mean_square(main[:-1]) for main, density in zip(network.mains, network.densities, strict=True)
    ]
    if network.forest is not None:
        drawn = islice(network.effects(_draw_rows(network)), len(network.mains))
        squares = [_mean_square(effect).mean() for effect in drawn]
    for (parent, child), table in zip(network.pairs, network.tables, strict=True):
        squares.append(coarse[parent] @ _mean_square(table[:-1, :-1]) @ coarse[child])
    return np.sqrt(np.array(squares, dtype=np.float64))


def _draw_rows(network: AdditiveNetwork) -> Codes:
    """(N_DRAWS, n_attributes) codes, independent of each other: the same rows every time."""
    random = np.random.default_rng(0)
    rows = np.empty((N_DRAWS, len(network.densities)), dtype=code_dtype(max(network.n_states)))
    for attribute in sorted(range(rows.shape[1]), key=network.nodes.__getitem__):  # whatever the order of columns is
        density = network.densities[attribute]
        rows[:, attribute] = random.choice(len(density), N_DRAWS, p=density)
    return rows


def class_odds(effect: Floats) -> Floats:
    r"""(..., classes) log odds of each class against the geometric mean of the others.

    o_c = e_c - 1/(K - 1) sum_{d != c} e_d; for two classes those of one against the other.
    """
    n_classes = effect.shape[-1]
    return (n_classes * effect - effect.sum(axis=-1, keepdims=True)) / max(1, n_classes - 1)


def coarse_density(network: AdditiveNetwork, attribute: int) -> Floats:
    """(coarse states,) the share of the training rows in each."""
    column = network.columns[attribute]
    shares = np.bincount(column.coarse_codes[:-1], network.densities[attribute], minlength=column.coarse.n_states)
    return shares.astype(np.float64)


def _mean_square(effect: Floats) -> Floats:
    return (class_odds(effect) ** 2).mean(axis=-1)


def term_strength(network: AnyNetwork) -> Floats:
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


def attribute_importance(network: AnyNetwork) -> Floats:
    """(n_attributes,) the strength of each attribute's terms; that of a pair is shared by its two."""
    found = np.zeros(len(network.nodes) - 1)
    for term, strength in zip(network.terms, term_strength(network), strict=True):
        found[list(term)] += strength / len(term)
    return found


def edge_strength(network: AnyNetwork) -> Floats:
    """The strength of each edge of the DAG: of a network of effects that of its effect, else `edge_information`.

    In a mixture it is the mean of the members', in a mean of all trees that of the trees'.

    The edge from the class to an attribute is its main effect, the edge between two attributes their pair effect.
    """
    if network.kind == "tables":
        return edge_information(network)
    if network.kind == "mixtures":
        strengths = [dict(zip(one.dag.edges, edge_information(one), strict=True)) for one in network.members]
        return network.weights @ np.array([[found[edge] for edge in network.dag.edges] for found in strengths])
    if network.kind == "trees":
        return network.edge_information
    target = len(network.mains)
    ends = ((target, *term) if len(term) == 1 else term for term in network.terms)
    of_edge = dict(zip(ends, effect_strength(network).tolist(), strict=True))
    return np.array([of_edge[edge] for edge in network.dag.edges], dtype=np.float64)
