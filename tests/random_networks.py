"""Random networks, and their joint distribution cell by cell: the oracle of everything inference does."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import strategies as st
from scipy.special import logsumexp

from tanager.network.network import Network
from tanager.structure.dag import Dag
from tanager.table.schema import ColumnSchema


def random_dag(generator: np.random.Generator, n_nodes: int, density: float) -> Dag:
    """Parents among the earlier nodes of a random order."""
    order = generator.permutation(n_nodes).tolist()
    parents = [()] * n_nodes
    for position, node in enumerate(order):
        parents[node] = tuple(earlier for earlier in order[:position] if generator.random() < density)
    return Dag(tuple(parents))


@st.composite
def dags(draw: st.DrawFn, max_nodes: int = 7) -> Dag:
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return random_dag(generator, draw(st.integers(1, max_nodes)), draw(st.sampled_from([0.2, 0.5, 0.9])))


def random_network(seed: int, n_states: list[int], density: float = 0.5, zeros: bool = False) -> Network:
    """Each node takes earlier nodes of a random order as parents with probability `density`; the class is last."""
    generator = np.random.default_rng(seed)
    dag = random_dag(generator, len(n_states), density)
    tables = []
    for family in dag.families:
        table = generator.dirichlet(np.ones(n_states[family.child]), size=family.shape(n_states)[0])
        if zeros and table.shape[1] > 1:
            table[:, 0] = 0.0
            table /= table.sum(axis=1, keepdims=True)
        tables.append(table)
    columns = tuple(
        ColumnSchema(f"n{node}", "categorical", tuple(f"s{k}" for k in range(r))) for node, r in enumerate(n_states)
    )
    return Network(columns, dag, tuple(tables), columns[-1].name)


def networks(max_nodes: int = 5) -> st.SearchStrategy[Network]:
    return st.builds(
        random_network,
        st.integers(0, 2**32 - 1),
        st.lists(st.integers(1, 3), min_size=2, max_size=max_nodes),
        st.sampled_from([0.0, 0.3, 0.7, 1.0]),
    )


def joint(network: Network) -> dict[tuple[int, ...], float]:
    """P of every joint state."""
    return {state: p_of_state(network, state) for state in product(*(range(r) for r in network.n_states))}


def p_of_state(network: Network, state: tuple[int, ...]) -> float:
    """P of one joint state, as the product of one number per table."""
    p = 1.0
    for node, table in enumerate(network.tables):
        configuration = 0
        for parent in network.dag.parents[node]:
            configuration = configuration * network.n_states[parent] + state[parent]
        p *= table[configuration, state[node]]
    return p


@st.composite
def perfect_structures(draw):
    """Random structures whose canonical form is perfect: (dag, n_states), the class anywhere in the order."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, 5))
    before = draw(st.integers(0, n))
    order = rng.permutation(n).tolist()
    parents = [()] * (n + 1)
    for place, node in enumerate(order[:before]):
        parents[node] = tuple(p for p in order[:place] if rng.random() < 0.4)
    parents[n] = tuple(p for p in order[:before] if rng.random() < 0.6)
    cliques = [(*parents[n], n)]  # a child of the class takes the class and some of one such set
    for place, node in enumerate(order[before:], start=before):
        if rng.random() < 0.8:
            clique = cliques[rng.integers(len(cliques))]
            parents[node] = tuple(p for p in clique if p == n or rng.random() < 0.7)
            cliques.append((*parents[node], node))
        else:
            parents[node] = tuple(p for p in order[:place] if rng.random() < 0.5)
    return Dag(tuple(parents)), tuple(rng.integers(1, 4, n + 1).tolist()), rng


def log_posterior(dag, logs, n_states):
    """log P(c | x) of every x, an axis for each node: sum of the cells of the families that hold the class."""
    target = len(n_states) - 1
    joint = np.zeros(n_states)
    for states in product(*map(range, n_states)):
        for family in dag.families:
            if target in family.nodes:
                configuration = 0
                for parent in family.parents:
                    configuration = configuration * n_states[parent] + states[parent]
                joint[states] += logs[family.child][configuration, states[family.child]]
    return joint - logsumexp(joint, axis=-1, keepdims=True)


def free_tables(dag, n_states, rng, scale):
    return [scale * rng.normal(size=family.shape(n_states)) for family in dag.families]
