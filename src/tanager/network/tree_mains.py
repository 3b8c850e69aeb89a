"""What the trees of a network of effects say of each attribute alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tanager.network.additive import AdditiveNetwork

Array = NDArray[np.float64]


def tree_mains(network: AdditiveNetwork) -> list[Array]:
    r"""For each attribute i (states, classes): m_i[s] = E[forest(x) | x_i = s] - E[forest(x)].

    The attributes are taken to be independent, each with the shares of its training rows (`densities`). A row reaches a
    leaf where each attribute a asked for on the way is in a set A_a of states, so the leaf's value v adds

    v ([s in A_i] - P(A_i)) prod_{a != i} P(A_a).

    A curve of the network is its main effect and this: what the attribute adds on average over the others.
    """
    densities, n_classes = network.densities, len(network.intercept)
    found = [np.zeros((len(density), n_classes)) for density in densities]
    forest = network.forest
    if forest is None:
        return found
    everywhere = [np.ones(len(density), dtype=bool) for density in densities]
    for root, of_class in zip(forest.roots.tolist(), forest.of_class.tolist(), strict=True):
        ways: list[tuple[int, dict[int, NDArray[np.bool_]]]] = [(root, {})]
        while ways:
            end, inside = ways.pop()
            if end < 0:
                shares = {a: float(densities[a] @ states) for a, states in inside.items()}
                for i, states in inside.items():
                    others = np.prod([share for a, share in shares.items() if a != i])
                    found[i][:, of_class] += forest.values[~end] * others * (states - shares[i])
                continue
            asked, first = int(forest.attributes[end]), int(forest.offsets[end])
            left = forest.left[first : first + len(densities[asked])]
            for side, goes in enumerate((~left, left)):
                now = inside.get(asked, everywhere[asked]) & goes
                ways.append((int(forest.ends[end, side]), {**inside, asked: now}))
    return found
