"""Of all networks that classify alike, the one that makes given counts most likely."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tanager.arrays import Array
from tanager.counts.family import CountTable
from tanager.network.class_free_marginals import ClassFreeMarginals
from tanager.network.normalize import normalize_tables
from tanager.runtime.resources import one_blas_thread
from tanager.structure.canonical import is_perfect_for
from tanager.structure.dag import Dag

FITTED = 1e-8
MAX_ITERATIONS = 1_000
MEMORY = 10
# An entry of 1e-300 beside one of 1 needs steps of hundreds where the curvature says one.
MAX_HALVINGS = 40
SUFFICIENT = 1e-4
ROUNDING = 1e-13


@dataclass(frozen=True)
class MostLikely:
    """The tables, and the largest difference of a family's class-free marginal from that of the counts."""

    tables: tuple[Array, ...]
    difference: float


def most_likely_tables(
    dag: Dag, log_tables: Sequence[Array], n_states: Sequence[int], counts: Sequence[CountTable]
) -> MostLikely:
    """CPTs with the P(class | attributes) of `log_tables` under which `counts` are most likely.

    dag         a class-last structure whose canonical form is perfect
    log_tables  for each node (configurations of all parents, states): free, finite numbers phi, normalised or not,
                log P(c | x) = sum_f phi_f(x_f, c) - log sum_c' exp(...)
    counts      for each node as many numbers, of any shape, all above zero

    To the log table of each family f of the class or one of its children a number g_f(x_f) may be added for every
    state x_f of its attributes: P(c | x) stays, and all networks of the same P(c | x) are reached so. The likelihood
    is concave in g. Where it is greatest, the marginal of x_f is that of the counts (docs/methods/most_likely.md). A
    family without the class takes the frequencies; its marginal is that of the counts if the whole structure is
    perfect.

    Families may have counted different rows (gaps). Therefore the marginals aimed at are made from frequencies: of
    the parents of the class, then of each child under its attribute parents. They belong to one distribution whatever
    the counts, and are the counts themselves if all families count the same rows. Pseudo-rows too should come from
    one distribution, as a fixed number spread evenly over the cells of every family does.

    As in `normalize_tables` an entry below 1e-300 becomes 1e-300.
    """
    target, families = dag.n_nodes - 1, dag.families
    assert is_perfect_for(dag, target), "the caller sends structures of perfect canonical form only"
    model = ClassFreeMarginals(dag, log_tables, n_states, counts)
    with one_blas_thread():
        g, difference = _fit(model)
    logs = [np.array(table, dtype=np.float64) for table in log_tables]
    for level in model.levels:
        ends = np.cumsum([families[child].size(n_states) // n_states[target] for child in level.children])
        for child, child_gradient in zip(level.children, np.split(g[level.cells], ends[:-1]), strict=True):
            by_class = logs[child].reshape(families[child].class_shape(n_states))
            by_class += child_gradient.reshape(-1, 1, n_states[child])
    for node, parents in enumerate(dag.parents):
        if node != target and target not in parents:
            logs[node] = np.log(counts[node].reshape(logs[node].shape))
    return MostLikely(normalize_tables(dag, logs, n_states), difference)


def _fit(model: ClassFreeMarginals) -> tuple[Array, float]:
    """g at the optimum, and the largest difference of a marginal from the wanted one, by L-BFGS (Nocedal 1980).

    Of one class the model is decomposable: its Fisher information maps g to the change of the marginals, and
    `conditional` undoes that. It is the metric here, at the mean of the marginals wanted and those of the network. It
    bounds the first step, 2 (P - Q) / (P + Q) for log P / Q, and of several classes it leaves only what the class ties
    together to the memory.
    """
    g = np.zeros(len(model.wanted))
    value, marginals = model.evaluate(g)
    pairs: list[tuple[Array, Array]] = []
    for _ in range(MAX_ITERATIONS):
        gradient = marginals - model.wanted
        if np.abs(gradient).max(initial=0.0) <= FITTED:
            break
        direction = -_times_inverse(model, pairs, gradient, (marginals + model.wanted) / 2.0)
        found = _search(model, g, direction, value, float(gradient @ direction))
        if found is None and not pairs:
            break
        if found is None:
            pairs.clear()
            continue
        step, value, marginals = found
        change = marginals - model.wanted - gradient
        if step @ change > 0.0:
            pairs = [*pairs, (step, change)][-MEMORY:]
        g += step
    return g, float(np.abs(marginals - model.wanted).max(initial=0.0))


def _times_inverse(
    model: ClassFreeMarginals, pairs: Sequence[tuple[Array, Array]], gradient: Array, weights: Array
) -> Array:
    """The inverse Hessian as the last steps have it, times the gradient: the two loops of L-BFGS."""
    left = gradient.copy()
    shares = []
    for step, change in reversed(pairs):
        shares.append((step @ left) / (step @ change))
        left -= shares[-1] * change
    result = model.conditional(left, weights)
    if pairs:
        step, change = pairs[-1]
        result *= (step @ change) / (change @ model.conditional(change, weights))
    for (step, change), share in zip(pairs, reversed(shares), strict=True):
        result += (share - (change @ result) / (step @ change)) * step
    return result


def _search(
    model: ClassFreeMarginals, g: Array, direction: Array, value: float, slope: float
) -> tuple[Array, float, Array] | None:
    """The step taken, halved until it lowers the value, with the value and marginals there; None if none does."""
    step = direction
    for _ in range(MAX_HALVINGS):
        at, marginals = model.evaluate(g + step)
        if at <= value + SUFFICIENT * slope + ROUNDING * abs(value):
            return step, at, marginals
        step, slope = step / 2.0, slope / 2.0
    return None
