"""P(class | complete row), and the draws of an imputation, cell by cell: the oracle of the rules."""

from __future__ import annotations

import math

import numpy as np

from additive.random_forests import walk
from random_networks import joint, random_network
from tanager.additive.model import AnyModel
from tanager.missing.average import TEMPER, Imputation
from tanager.network.network import Network
from tanager.structure.dag import Dag


def naive_bayes(seed: int, n_states: list[int]) -> Network:
    """Attributes that depend on the class alone."""
    generator, columns = np.random.default_rng(seed), random_network(0, n_states, density=0.0).columns
    dag = Dag.augmented_naive_bayes([[] for _ in n_states[:-1]])
    tables = tuple(
        generator.dirichlet(np.ones(n_states[family.child]), size=family.shape(n_states)[0]) for family in dag.families
    )
    return Network(columns, dag, tables, columns[-1].name)


def random_imputation(model: AnyModel, seed: int, n_components: int = 4, n_draws: int = 8) -> Imputation:
    """With corrections of standard deviation one."""
    generator, n_classes = np.random.default_rng(seed), model.n_states[-1]
    sizes = [column.coarse.n_states for column in model.columns[:-1]]
    tables = tuple(generator.dirichlet(np.ones(n), size=n_components) + 1e-6 for n in sizes)
    tables = tuple(table / table.sum(axis=1, keepdims=True) for table in tables)
    states = [generator.normal(size=(n + 1, n_classes)) for n in model.n_states[:-1]]
    for entries in states:
        entries[-1] = 0.0
    shares = generator.dirichlet(np.ones(n_components))
    return Imputation(n_draws, shares, tables, generator.normal(size=n_classes), tuple(states))


def averaged_by_hand(model: AnyModel, imputation: Imputation, row: tuple[int, ...]) -> np.ndarray:
    """P(class | known cells): the mean over the draws, times exp(correction)."""
    known = [code < n for code, n in zip(row, model.n_states[:-1], strict=True)]
    found = np.mean([posterior(model, each) for each in draws_by_hand(model, imputation, row)], axis=0)
    parts = [entries[code] for entries, code, own in zip(imputation.states, row, known, strict=True) if own]
    n_unknown = len(row) - len(parts)
    correction = n_unknown / (len(row) - 1) * np.mean(parts, axis=0) if parts else imputation.nothing
    shares = found * np.exp(correction)
    return shares / shares.sum()


def draws_by_hand(model: AnyModel, imputation: Imputation, row: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The completed rows; the draws go to the components, in their order, in proportion to their weights."""
    columns = model.columns[:-1]
    known = {
        node: int(column.coarse_codes[code])
        for node, (column, code) in enumerate(zip(columns, row, strict=True))
        if code < column.n_states
    }
    weights = [
        share * math.prod(imputation.tables[node][k, state] ** TEMPER for node, state in known.items())
        for k, share in enumerate(imputation.shares)
    ]
    reached = np.cumsum(weights) / sum(weights)
    numbers = numbers_by_hand(model, imputation.n_draws)
    rows = []
    for draw in range(imputation.n_draws):
        component = int((reached <= (draw + 0.5) / imputation.n_draws).sum())
        drawn = [
            row[node] if node in known else middle(model, node, state_at(numbers[draw, node], table[component]))
            for node, table in enumerate(imputation.tables)
        ]
        rows.append(tuple(drawn))
    return rows


def numbers_by_hand(model: AnyModel, n_draws: int) -> np.ndarray:
    """(n_draws, n_attributes) multiples of the roots of the primes, by the names of the columns."""
    primes = [n for n in range(2, 100) if all(n % k for k in range(2, n))]
    roots = {name: primes[k] ** 0.5 for k, name in enumerate(sorted(model.nodes[:-1]))}
    return np.array([[(d + 0.5) * roots[name] % 1.0 for name in model.nodes[:-1]] for d in range(n_draws)])


def state_at(number: float, shares: np.ndarray) -> int:
    return min(int((np.cumsum(shares) <= number).sum()), len(shares) - 1)


def middle(model: AnyModel, node: int, group: int) -> int:
    """The state by which half of the training rows of a group is reached."""
    if isinstance(model, Network):
        return group
    members = [state for state, own in enumerate(model.columns[node].coarse_codes[:-1]) if own == group]
    shares = model.densities[node][members]
    return members[int((shares.cumsum() >= shares.sum() / 2).argmax())]


def posterior(model: AnyModel, row: tuple[int, ...]) -> np.ndarray:
    """P(class | row) of a complete row, or in an additive model of any row."""
    n_classes = model.n_states[-1]
    if isinstance(model, Network):
        cells = joint(model)
        values = np.array([cells[(*row, c)] for c in range(n_classes)])
    else:
        trees = 0.0 if model.forest is None else walk(model.forest, row)
        values = np.exp(entries_of(model, row).sum(axis=0) + trees)
    return values / values.sum()


def entries_of(model: AnyModel, row: tuple[int, ...]) -> np.ndarray:
    """(terms + 1, classes) the entries that a row has in the effects, the intercept last."""
    coarse = [column.coarse_codes[code] for column, code in zip(model.columns[:-1], row, strict=True)]
    mains = [main[code] for main, code in zip(model.mains, row, strict=True)]
    pairs = [table[coarse[i], coarse[j]] for (i, j), table in zip(model.pairs, model.tables, strict=True)]
    return np.array([*mains, *pairs, model.intercept])
