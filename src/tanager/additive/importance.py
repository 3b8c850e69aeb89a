"""How strong the terms of an additive model are; the share of the trees; the readable terms as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from tanager.additive.bases import coarse_shares
from tanager.additive.forest import BLOCK_ROWS, Forest
from tanager.additive.model import AdditiveModel
from tanager.arrays import Array, Codes
from tanager.table.binning import fine_codes
from tanager.table.columns import code_dtype
from tanager.table.rows import EncodedBatch, Rows


def effect_strength(network: AdditiveModel) -> Array:
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


def _draw_rows(network: AdditiveModel) -> Codes:
    """(BLOCK_ROWS, n_attributes) codes, independent of each other: the same rows every time."""
    random = np.random.default_rng(0)
    rows = np.empty((BLOCK_ROWS, len(network.densities)), dtype=code_dtype(max(network.n_states)))
    for attribute in sorted(range(rows.shape[1]), key=network.nodes.__getitem__):  # whatever the order of columns is
        density = network.densities[attribute]
        rows[:, attribute] = random.choice(len(density), BLOCK_ROWS, p=density)
    return rows


def class_odds(effect: Array) -> Array:
    r"""(..., classes) log odds of each class against the geometric mean of the others.

    o_c = e_c - 1/(K - 1) sum_{d != c} e_d; for two classes those of one against the other.
    """
    n_classes = effect.shape[-1]
    return (n_classes * effect - effect.sum(axis=-1, keepdims=True)) / max(1, n_classes - 1)


def coarse_density(network: AdditiveModel, attribute: int) -> Array:
    """(coarse states,) the share of the training rows in each."""
    return coarse_shares(network.columns[attribute], network.densities[attribute])


def _mean_square(effect: Array) -> Array:
    return (class_odds(effect) ** 2).mean(axis=-1)


def tree_mains(network: AdditiveModel) -> list[Array]:
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


def tree_share(model: AdditiveModel, rows: Rows) -> float:
    r"""How much of the log odds comes from trees: sum |t| / (sum |t| + sum |r|), from 0 to 1.

    t and r are what the forest and the readable terms add to the log odds of a class against the others (`class_odds`),
    each less its mean over the rows; the sums go over rows, by their weights, and classes.

    rows  at both granularities, the attributes in the model's order
    """
    if model.forest is None:
        return 0.0
    readable = replace(model, forest=None, tree_share=0.0)
    weight, totals = rows.sum(partial(_sum_parts, model=readable, forest=model.forest), "tree share")
    means = totals / weight
    trees, terms = rows.sum(partial(_sum_parts, model=readable, forest=model.forest, means=means), "tree share")[1].sum(
        axis=1
    )
    return float(trees / (trees + terms)) if trees > 0.0 else 0.0


def _sum_parts(
    batch: EncodedBatch, model: AdditiveModel, forest: Forest, means: Array | None = None
) -> tuple[float, Array]:
    """The weight of the rows, and (2, classes) sums of the trees' and of the terms' log odds: |. - means| if given."""
    codes = fine_codes(batch, model.columns[:-1])
    parts = np.stack([class_odds(forest.scores(codes)), class_odds(model.log_joint(codes))])
    if means is not None:
        parts = np.abs(parts - means[:, np.newaxis])
    return float(batch.row_weights.sum()), np.einsum("r,prc->pc", batch.row_weights, parts)


def effect_columns(model: AdditiveModel) -> dict[str, list[object]]:
    """The readable terms as the columns of a table: term, state, class, value (in nats) and share of the training rows.

    A pair is the term "a x b", its states are "state of a, state of b".
    """
    found: dict[str, list[object]] = {name: [] for name in ("term", "state", "class", "value", "share")}
    classes = model.columns[-1].states

    def add(term: str, states: Sequence[object], effect: Array, shares: Array) -> None:
        found["term"] += [term] * effect.size
        found["state"] += [state for state in states for _ in classes]
        found["class"] += [*classes] * len(states)
        found["value"] += effect.reshape(-1).tolist()
        found["share"] += np.repeat(shares, len(classes)).tolist()

    for column, main, density in zip(model.columns, model.mains, model.densities, strict=False):
        add(column.name, [str(state) for state in column.states], main[:-1], density)
    for number, ((parent, child), table) in enumerate(zip(model.pairs, model.tables, strict=True)):
        ends = [model.columns[node] for node in (parent, child)]
        labels = [f"{first}, {second}" for first in ends[0].coarse.states for second in ends[1].coarse.states]
        if model.pair_densities:
            shares = model.pair_densities[number]
        else:
            shares = np.outer(coarse_density(model, parent), coarse_density(model, child))
        add(f"{ends[0].name} x {ends[1].name}", labels, table[:-1, :-1], shares.reshape(-1))
    return found
