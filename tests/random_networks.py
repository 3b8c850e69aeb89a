"""Random networks, and their joint distribution cell by cell: the oracle of everything inference does."""

from itertools import product

import numpy as np
from hypothesis import strategies as st

from tanager.network.network import Network
from tanager.structure.dag import Dag
from tanager.table.schema import ColumnSchema


def random_network(seed: int, n_states: list[int], density: float = 0.5, zeros: bool = False) -> Network:
    """Each node takes earlier nodes of a random order as parents with probability `density`; the class is last."""
    generator = np.random.default_rng(seed)
    order = generator.permutation(len(n_states))
    parents = [()] * len(n_states)
    for position, node in enumerate(order):
        parents[node] = tuple(int(p) for p in order[:position] if generator.random() < density)
    dag = Dag(tuple(parents))
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
