"""Random naive Bayes networks and trees, and what every completion of a row says: the oracle of sufficient reasons."""

from itertools import product

import numpy as np

from random_networks import p_of_state
from tanager.network.network import Network
from tanager.structure.dag import Dag
from tanager.table.schema import ColumnSchema


def random_forest(seed: int, n_states: list[int], linked: bool = True, zeros: bool = False) -> Network:
    """The class, last, is the parent of every attribute; `linked`: most attributes have one earlier attribute too."""
    generator = np.random.default_rng(seed)
    parents = [
        (int(generator.integers(node)),) if linked and node and generator.random() < 0.8 else ()
        for node in range(len(n_states) - 1)
    ]
    dag = Dag.augmented_naive_bayes(parents)
    tables = []
    for family in dag.families:
        table = generator.dirichlet(np.full(n_states[family.child], 0.7), size=family.shape(n_states)[0])
        if zeros and family.child < len(n_states) - 1:
            table[generator.random(table.shape) < 0.25] = 0.0
            table[table.sum(axis=1) == 0] = 1.0
            table /= table.sum(axis=1, keepdims=True)
        tables.append(table)
    columns = tuple(
        ColumnSchema(f"n{node}", "categorical", tuple(f"s{k}" for k in range(r))) for node, r in enumerate(n_states)
    )
    return Network(columns, dag, tuple(tables), columns[-1].name)


def frame(network: Network, rows: list[list[int | None]]) -> dict[str, list[str | None]]:
    """Rows of attribute codes as columns of labels."""
    return {
        column.name: [None if row[node] is None else column.states[row[node]] for row in rows]
        for node, column in enumerate(network.columns[:-1])
    }


def fixes_the_class(network: Network, row: list[int], chosen: set[int], predicted: int) -> bool:
    """Whether the class is `predicted` in every possible completion of the chosen cells, one by one."""
    n_classes = network.n_states[-1]
    free = [[row[node]] if node in chosen else range(r) for node, r in enumerate(network.n_states[:-1])]
    for cells in product(*free):
        joint = [p_of_state(network, (*cells, label)) for label in range(n_classes)]
        if max(joint) > 0 and joint.index(max(joint)) != predicted:
            return False
    return True
