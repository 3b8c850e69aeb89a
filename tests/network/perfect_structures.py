"""Random structures of perfect canonical form, and P(class | attributes) of free log tables, by enumeration."""

from itertools import product

import numpy as np
from hypothesis import strategies as st
from scipy.special import logsumexp

from tanager.structure.dag import Dag


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
