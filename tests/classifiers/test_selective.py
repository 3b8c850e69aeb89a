"""Selective naive Bayes judges an attribute by rows that the tables have not seen."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tanager import BayesianNetworkClassifier


def tables_without(codes: np.ndarray, y: np.ndarray, row: int | None, n_states: list[int]) -> list[np.ndarray]:
    """Laplace frequencies (classes, states) of each attribute and of the class, counted row by row, one left out."""
    counts = [np.ones((2, n)) for n in n_states] + [np.ones((1, 2))]
    for other in range(len(y)):
        if other != row:
            counts[-1][0, y[other]] += 1
            for attribute in range(len(n_states)):
                counts[attribute][y[other], codes[other, attribute]] += 1
    return [table / table.sum(axis=1, keepdims=True) for table in counts]


def select(codes: np.ndarray, y: np.ndarray, leave_one_out: bool) -> set[int]:
    """Greedy forward selection by sum_t log P(c_t | x_t), each row judged by tables learnt without it, or with it."""
    n_states = (codes.max(axis=0) + 1).tolist()
    tables = [tables_without(codes, y, row if leave_one_out else None, n_states) for row in range(len(y))]

    def value(attributes: set[int]) -> float:
        total = 0.0
        for row in range(len(y)):
            joint = np.log(tables[row][-1][0])
            for attribute in attributes:
                joint = joint + np.log(tables[row][attribute][:, codes[row, attribute]])
            total += joint[y[row]] - np.log(np.exp(joint).sum())
        return total

    chosen: set[int] = set()
    while others := set(range(codes.shape[1])) - chosen:
        best = max(sorted(others), key=lambda attribute: value(chosen | {attribute}))
        if not value(chosen | {best}) > value(chosen):
            break
        chosen.add(best)
    return chosen


def test_it_takes_in_what_refits_without_each_row_in_turn_choose():
    """A column of nearly as many values as rows tells the rows it was counted from apart, and no other."""
    rng = np.random.default_rng(0)
    y = np.tile([0, 1], 20)
    sign = np.where(rng.random(40) < 0.8, y, 1 - y)
    number = np.concatenate([rng.permutation(20), rng.permutation(20)])
    codes = np.column_stack([number, sign, rng.integers(0, 2, 40)])
    assert select(codes, y, leave_one_out=False) != select(codes, y, leave_one_out=True) == {1}
    X = pd.DataFrame(codes, columns=["number", "sign", "noise"]).astype(str)
    network = BayesianNetworkClassifier("selective", parameters="frequency").fit(X, y).network_
    assert {child for parent, child in network.dag.edges} == {1}
