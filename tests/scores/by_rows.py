"""Scores straight from the rows of a table, in plain Python: slow, and knowing nothing of count tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import lgamma, log, pi, prod

import numpy as np
from scipy import stats

from tanager.counts.count_store import CountStore
from tanager.counts.engine import NumpyEngine
from tanager.counts.family import Family
from tanager.table.columns import code_dtype
from tanager.table.rows import EncodedBatch


@dataclass(frozen=True)
class Rows:
    """Rows of codes, the class last, with a weight each."""

    cells: tuple[tuple[int, ...], ...]
    weights: tuple[float, ...]
    n_states: tuple[int, ...]

    @property
    def target(self) -> int:
        return len(self.n_states) - 1

    @property
    def total(self) -> float:
        return sum(self.weights)

    def count(self, values: Mapping[int, int]) -> float:
        """Weight of the rows in which every node has the value given."""
        matching = (all(row[node] == value for node, value in values.items()) for row in self.cells)
        return sum(weight for weight, matches in zip(self.weights, matching, strict=True) if matches)

    def assignments(self, nodes: Sequence[int]) -> Iterator[dict[int, int]]:
        for values in product(*(range(self.n_states[node]) for node in nodes)):
            yield dict(zip(nodes, values, strict=True))

    def store(self) -> CountStore:
        codes = np.array(self.cells, dtype=code_dtype(max(self.n_states)))
        weights = None if set(self.weights) == {1} else np.array(self.weights)
        incomplete = np.zeros(self.target, dtype=bool)
        batch = EncodedBatch(np.asfortranarray(codes[:, :-1]), codes[:, -1].copy(), self.n_states, incomplete, weights)
        return CountStore(batch, NumpyEngine(), [f"x{node}" for node in range(self.target)] + ["class"])


def random_rows(seed: int, n_states: Sequence[int], n_rows: int = 14, weighted: float = False) -> Rows:
    """Rows that lean on each other, too few to fill every configuration; the last attribute lacks a state.

    Their weights are `weighted` times a random number about two, or one.
    """
    random = np.random.default_rng(seed)
    latent = random.integers(4, size=n_rows)
    columns = []
    for node, states in enumerate(n_states):
        present = max(1, states - 1) if node == len(n_states) - 2 else states
        own = random.integers(present, size=n_rows)
        columns.append(np.where(random.random(n_rows) < 0.6, latent % present, own))
    weights = weighted * random.gamma(2.0, size=n_rows) if weighted else np.ones(n_rows)
    cells = tuple(tuple(int(column[row]) for column in columns) for row in range(n_rows))
    return Rows(cells, tuple(weights.tolist()), tuple(n_states))


def part(row: Sequence[int], nodes: Sequence[int]) -> dict[int, int]:
    return {node: row[node] for node in nodes}


def ll(rows: Rows, family: Family) -> float:
    """The log of a relative frequency for every row."""
    return sum(
        weight * log(rows.count(part(row, family.nodes)) / rows.count(part(row, family.parents)))
        for row, weight in zip(rows.cells, rows.weights, strict=True)
    )


def free_parameters(rows: Rows, family: Family) -> int:
    return prod(rows.n_states[parent] for parent in family.parents) * (rows.n_states[family.child] - 1)


def aic(rows: Rows, family: Family) -> float:
    return ll(rows, family) - free_parameters(rows, family)


def bic(rows: Rows, family: Family) -> float:
    return ll(rows, family) - free_parameters(rows, family) / 2 * log(rows.total)


Prior = Callable[[Rows, Family, Mapping[int, int]], float]


def marginal_likelihood(rows: Rows, family: Family, prior: Prior) -> float:
    """Heckerman et al. 1995, eq. 28, one configuration of the parents after the other."""
    result = 0.0
    for configuration in rows.assignments(family.parents):
        cells = [{**configuration, family.child: value} for value in range(rows.n_states[family.child])]
        alphas = [prior(rows, family, cell) for cell in cells]
        result += lgamma(sum(alphas)) - lgamma(sum(alphas) + rows.count(configuration))
        result += sum(
            lgamma(alpha + rows.count(cell)) - lgamma(alpha) for alpha, cell in zip(alphas, cells, strict=True)
        )
    return result


def sequential_prediction(rows: Rows, family: Family, prior: Prior) -> float:
    """Predict each row's value from the rows before it; no gamma function. For weights of one."""
    result = 0.0
    for place, row in enumerate(rows.cells):
        seen = Rows(rows.cells[:place], rows.weights[:place], rows.n_states)
        configuration = part(row, family.parents)
        values = range(rows.n_states[family.child])
        alphas = [prior(rows, family, {**configuration, family.child: value}) for value in values]
        numerator = alphas[row[family.child]] + seen.count(part(row, family.nodes))
        result += log(numerator / (sum(alphas) + seen.count(configuration)))
    return result


def one(rows: Rows, family: Family, cell: Mapping[int, int]) -> float:
    return 1.0


def spread_evenly(ess: float) -> Prior:
    return lambda rows, family, cell: ess / prod(rows.n_states[node] for node in family.nodes)


def mit(rows: Rows, family: Family, level: float = 0.99) -> float:
    if not family.parents:
        return 0.0
    information = sum(
        weight
        * log(
            rows.count(part(row, family.nodes))
            * rows.total
            / (rows.count(part(row, [family.child])) * rows.count(part(row, family.parents)))
        )
        for row, weight in zip(rows.cells, rows.weights, strict=True)
    )
    states = sorted((rows.n_states[parent] for parent in family.parents), reverse=True)
    freedom = [(rows.n_states[family.child] - 1) * (own - 1) * prod(states[:place]) for place, own in enumerate(states)]
    return 2 * information - sum(stats.chi2.ppf(level, degrees) for degrees in freedom if degrees)


FCLL_CONSTANTS = (pi**2 + 6) / 24, (pi**2 - 18) / 24, pi**2 / 6, pi**2 / 6


def fcll(rows: Rows, family: Family, first_term: bool = True, constants: Sequence[float] = FCLL_CONSTANTS) -> float:
    alpha, beta, lambda_, rho = constants
    result = (alpha + beta) * ll(rows, family) if first_term else 0.0
    if family.child == rows.target:
        return result - beta * lambda_ * ll(rows, family) - beta * rows.total * rho
    if rows.target in family.parents:
        others = [parent for parent in family.parents if parent != rows.target]
        for row, weight in zip(rows.cells, rows.weights, strict=True):
            with_value = rows.count(part(row, family.nodes)) / rows.count(part(row, [*others, family.child]))
            without = rows.count(part(row, family.parents)) / rows.count(part(row, others))
            result -= beta * lambda_ * weight * (log(with_value) - log(without))
    return result


def acll(
    rows: Rows,
    family: Family,
    beta: float,
    pseudo_count: float = 5.0,
    at: str = "optimum",
    alpha: float | None = None,
) -> float:
    """sum_t alpha log U_t,ct + beta sum_c log U_t,c of the other classes (aCLL 2013, eqs. 15 and 22).

    This family's part, at theorem 3.8's parameters. alpha is 1 + beta unless given.
    """
    classes = range(rows.n_states[rows.target])
    alpha = 1 + beta if alpha is None else alpha

    def with_class(row: Mapping[int, int], c: int) -> dict[int, int]:
        return {node: c if node == rows.target else value for node, value in row.items()}

    def unnormalised(cell: Mapping[int, int]) -> float:
        own = rows.count(cell)
        if at == "frequency":
            return own + pseudo_count
        if rows.target in cell:
            every_class = sum(rows.count(with_class(cell, c)) for c in classes)
        else:
            every_class = len(classes) * own
        return max(alpha * own + beta * (every_class - own), pseudo_count)

    def log_parameter(cell: Mapping[int, int]) -> float:
        values = range(rows.n_states[family.child])
        return log(unnormalised(cell) / sum(unnormalised({**cell, family.child: value}) for value in values))

    result = 0.0
    for row, weight in zip(rows.cells, rows.weights, strict=True):
        cell = part(row, family.nodes)
        result += weight * (alpha - beta) * log_parameter(cell)
        result += weight * beta * sum(log_parameter(with_class(cell, c)) for c in classes)
    return result


def pooled_acll(rows: Rows, family: Family, beta: float, pseudo_count: float = 0.5) -> float:
    """sum_t alpha log U_t + beta log V_t, V_t of a network of two classes: t's own, and all others as one."""
    own_class = rows.target

    def log_frequency(seen: Rows, row: Sequence[int]) -> float:
        states = rows.n_states[family.child]
        above = seen.count(part(row, family.nodes)) + pseudo_count
        return log(above / (seen.count(part(row, family.parents)) + states * pseudo_count))

    def others_as(c: int) -> Rows:
        """Every row of another class than c takes class c, and those of class c are gone."""
        kept = [place for place, row in enumerate(rows.cells) if row[own_class] != c]
        cells = tuple((*rows.cells[place][:-1], c) for place in kept)
        return Rows(cells, tuple(rows.weights[place] for place in kept), rows.n_states)

    result = 0.0
    for row, weight in zip(rows.cells, rows.weights, strict=True):
        if family.child == own_class:
            below = rows.count(part(row, family.parents)) + rows.n_states[own_class] * pseudo_count
            dual = log((others_as(row[own_class]).count(part(row, family.nodes)) + pseudo_count) / below)
        elif own_class in family.parents:
            dual = log_frequency(others_as(row[own_class]), row)
        else:
            dual = log_frequency(rows, row)
        result += weight * ((1 + beta) * log_frequency(rows, row) + beta * dual)
    return result
