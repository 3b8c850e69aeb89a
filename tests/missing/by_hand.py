"""P(class | complete row), completions and the draws of a filler, cell by cell: the oracle of the gap rules."""

from __future__ import annotations

from itertools import product

import numpy as np

from additive.random_forests import walk
from random_networks import joint
from tanager.additive.model import AnyModel
from tanager.missing.filling import Filling
from tanager.network.network import Network
from tanager.structure.dag import Dag


def random_filler(network: AnyModel, seed: int) -> Network:
    """Every second attribute is a child of the one before it."""
    generator = np.random.default_rng(seed)
    columns = tuple(column.coarse for column in network.columns)
    n_states = [column.n_states for column in columns]
    dag = Dag.augmented_naive_bayes([[node - 1] if node % 2 else [] for node in range(len(columns) - 1)])
    tables = tuple(
        generator.dirichlet(np.ones(n_states[family.child]), size=family.shape(n_states)[0]) for family in dag.families
    )
    return Network(columns, dag, tables, columns[-1].name)


def random_filling(network: AnyModel, seed: int, scale: float = 2.0) -> Filling:
    """With corrections of this standard deviation."""
    return corrected(network, random_filler(network, seed), seed, scale)


def corrected(network: AnyModel, filler: Network, seed: int = 0, scale: float = 0.0) -> Filling:
    generator, n_classes = np.random.default_rng(seed), network.n_states[-1]
    states = [generator.normal(0, scale, (n + 1, n_classes)) for n in network.n_states[:-1]]
    for entries in states:
        entries[-1] = 0.0
    nothing, shift = generator.normal(0, scale, (2, n_classes))
    return Filling(filler, nothing, tuple(states), shift)


def averaged_by_hand(network: AnyModel, filling: Filling, row: tuple[int, ...]) -> np.ndarray:
    """exp(shift) sum_m q(m) P(c | o, m) / Z', q(m) = F(m | o) exp(lambda . P(. | o, m)) / Z, over every completion."""
    cells, total = joint(filling.filler), np.zeros(network.n_states[-1])
    known = [code < n for code, n in zip(row, network.n_states[:-1], strict=True)]
    coarse = [int(column.coarse_codes[code]) for column, code in zip(network.columns[:-1], row, strict=True)]
    bend = correction_by_hand(filling, row, known)
    for states in product(*(range(n) for n in filling.filler.n_states[:-1])):
        if any(is_known and k != state for is_known, k, state in zip(known, coarse, states, strict=True)):
            continue
        share = sum(cells[(*states, c)] for c in range(len(total)))
        p = posterior(network, completed(network, row, states))
        total += share * np.exp(bend @ p) * p
    total *= shift_by_hand(filling, known)
    return total / total.sum()


def shift_by_hand(filling: Filling, known: list[bool]) -> np.ndarray:
    """All of it with no cell known, the root with one."""
    return np.exp({0: 1.0, 1: 0.5}.get(sum(known), 0.0) * filling.shift)


def correction_by_hand(filling: Filling, row: tuple[int, ...], known: list[bool]) -> np.ndarray:
    parts = [filling.nothing]
    parts += [entries[code] for entries, code, is_known in zip(filling.states, row, known, strict=True) if is_known]
    return np.mean(parts, axis=0)


def completed(network: AnyModel, row: tuple[int, ...], states: tuple[int, ...]) -> tuple[int, ...]:
    """The row, with the middles of these coarse states where it has gaps."""
    return tuple(
        code if code < n else middle(network, node, states[node])
        for node, (code, n) in enumerate(zip(row, network.n_states, strict=False))
    )


def numbers_by_hand(network: AnyModel, n_draws: int) -> np.ndarray:
    """Of each attribute, and last of the class: multiples of the roots of the primes, by the names of the columns."""
    primes = [n for n in range(2, 100) if all(n % k for k in range(2, n))]
    by_name = {name: primes[1 + k] for k, name in enumerate(sorted(network.nodes[:-1]))}
    roots = [by_name[name] ** 0.5 for name in network.nodes[:-1]] + [2**0.5]
    return np.array([[(d + 0.5) * root - int((d + 0.5) * root) for root in roots] for d in range(n_draws)])


def posterior(network: AnyModel, row: tuple[int, ...]) -> np.ndarray:
    """P(class | row) of a complete row, or in a network of effects of any row."""
    n_classes = network.n_states[-1]
    if isinstance(network, Network):
        cells = joint(network)
        values = np.array([cells[(*row, c)] for c in range(n_classes)])
    else:
        trees = 0.0 if network.forest is None else walk(network.forest, row)
        values = np.exp(entries_of(network, row).sum(axis=0) + trees)
    return values / values.sum()


def entries_of(network, row) -> np.ndarray:
    """(terms + 1, classes) the entries that a row has in the effects, the intercept last."""
    coarse = [column.coarse_codes[code] for column, code in zip(network.columns[:-1], row, strict=True)]
    mains = [main[code] for main, code in zip(network.mains, row, strict=True)]
    pairs = [table[coarse[i], coarse[j]] for (i, j), table in zip(network.pairs, network.tables, strict=True)]
    return np.array([*mains, *pairs, network.intercept])


def draws(network: AnyModel, filler: Network, row: tuple[int, ...], numbers: np.ndarray) -> list[tuple[int, ...]]:
    """The row completed, once for each line of `numbers`: one number for each attribute, then one for the class.

    The class, then each missing attribute after its parents, takes the state at that share of its distribution given
    all that is known or drawn already; an attribute of two granularities then takes the middle of its group.
    """
    cells, target = joint(filler), len(row)
    known = {
        node: int(column.coarse_codes[code])
        for node, (column, code) in enumerate(zip(network.columns[:-1], row, strict=True))
        if code < column.n_states
    }
    found = []
    for line in numbers:
        fixed = dict(known)
        for node in (target, *(node for node in filler.dag.order if node != target)):
            if node not in fixed:
                fixed[node] = state_at(line[node], distribution(cells, fixed, node, filler.n_states[node]))
        found.append(
            tuple(row[node] if node in known else middle(network, node, fixed[node]) for node in range(target))
        )
    return found


def distribution(cells, fixed: dict[int, int], node: int, n_states: int) -> np.ndarray:
    shares = np.zeros(n_states)
    for state, p in cells.items():
        if all(state[other] == code for other, code in fixed.items()):
            shares[state[node]] += p
    return shares / shares.sum()


def state_at(number: float, shares: np.ndarray) -> int:
    reached = 0.0
    for state, share in enumerate(shares):
        reached += share
        if number < reached:
            return state
    return len(shares) - 1


def middle(network: AnyModel, node: int, group: int) -> int:
    """The state by which half of the training rows of a group is reached."""
    if isinstance(network, Network):
        return group
    members = [state for state, own in enumerate(network.columns[node].coarse_codes[:-1]) if own == group]
    shares = network.densities[node][members]
    return members[int((shares.cumsum() >= shares.sum() / 2).argmax())]
