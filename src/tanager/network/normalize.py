"""CPTs with the P(class | attributes) of unnormalised log tables; of all such, those that make counts most likely."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import prod

import numpy as np
from scipy import sparse

from tanager.arrays import Array, Places
from tanager.counts.family import CountTable, strides
from tanager.runtime.resources import one_blas_thread
from tanager.structure.dag import Dag, is_perfect_for

SMALLEST = 1e-300  # what an entry that would underflow is set to: no table holds a zero
FITTED = 1e-8
MAX_ITERATIONS = 1_000
MEMORY = 10
# An entry of 1e-300 beside one of 1 needs steps of hundreds where the curvature suggests one.
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

    Families may have counted different rows (missing values). Therefore the marginals aimed at are made from
    frequencies: of the parents of the class, then of each child under its attribute parents. They belong to one
    distribution whatever the counts, and are the counts themselves if all families count the same rows. Pseudo-rows
    too should come from one distribution, as a fixed number spread evenly over the cells of every family does.

    Everything is done in logs; an entry below 1e-300 becomes 1e-300.
    """
    target, families = dag.n_nodes - 1, dag.families
    assert is_perfect_for(dag, target), "the caller sends structures of perfect canonical form only"
    model = ClassFreeMarginals(dag, log_tables, n_states, counts)
    with one_blas_thread():
        g, difference = _fit(model)
    tables = model.tables(g)
    for family, counted in zip(families, counts, strict=True):
        if target not in family.nodes:
            cells = np.asarray(counted, dtype=np.float64).reshape(family.shape(n_states))
            tables[family.child] = cells / cells.sum(axis=1, keepdims=True)
    return MostLikely(tuple(np.maximum(tables[node], SMALLEST) for node in range(dag.n_nodes)), difference)


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
        stepped = _search(model, g, direction, value, float(gradient @ direction))
        if stepped is None and not pairs:
            break
        if stepped is None:
            pairs.clear()
            continue
        step, value, marginals = stepped
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


class ClassFreeMarginals:
    """P(x_f) of every family f of the class and its children, x_f being its attributes, as a function of g.

    The joint is P(x, c; g) = Q(s) exp(sum_f phi_f(x_f, c) + g_f(x_f)) / Z(s), with log tables phi and numbers g for
    each cell of the children's families; s are the parents of the class, and Q their frequencies. Every clique holds
    the class, so messages are (configurations, classes). They go from each child to the family of the last of its
    parents, which holds all of them because the canonical form is perfect (Roos et al. 2005).

    log_tables, counts  (parent configurations, states) of each node
    """

    def __init__(
        self, dag: Dag, log_tables: Sequence[Array], n_states: Sequence[int], counts: Sequence[CountTable]
    ) -> None:
        target, n_classes, families = dag.n_nodes - 1, n_states[-1], dag.families
        self.levels = _levels(dag, n_states)
        self._class_logs = log_tables[target]
        by_class = counts[target].reshape(-1, n_classes).sum(axis=1)
        self._class_parents = by_class / by_class.sum()
        children = [child for level in self.levels for child in level.children]
        self._target = target
        self._shapes = {child: families[child].class_shape(n_states) for child in children}
        tables = [log_tables[child].reshape(shape).swapaxes(1, 2) for child, shape in self._shapes.items()]
        self._logs = np.concatenate([np.empty((0, n_classes)), *(table.reshape(-1, n_classes) for table in tables)])
        counted = [counts[child].reshape(shape).sum(axis=1).reshape(-1) for child, shape in self._shapes.items()]
        firsts = [level.cells.start + level.firsts for level in self.levels]
        self._firsts = np.concatenate([np.empty(0, dtype=np.intp), *firsts])
        self._lengths = np.diff(self._firsts, append=len(self._logs))
        self.wanted = self._chain(np.concatenate([np.empty(0), *counted]))

    def _chain(self, counted: Array) -> Array:
        """Marginals that agree with each other: P(parents), from the level before, times the counted P(k | parents)."""
        wanted = np.empty_like(counted)
        before = self._class_parents
        for level in self.levels:
            cells = counted[level.cells]
            scale = (level.below @ before) / level.sum(cells)
            before = wanted[level.cells] = cells * scale[level.configurations]
        return wanted

    def evaluate(self, g: Array) -> tuple[float, Array]:
        """sum_s Q(s) log Z(s) - sum_f <wanted_f, g_f>, and the marginals: its gradient is marginals - wanted.

        It is minus the mean log likelihood of rows with these marginals, but for what does not depend on g.
        """
        shares, by_class, log_z = self._normalize(g)
        joint = self._class_parents[:, np.newaxis] * by_class
        marginals = np.empty_like(g)
        for level, share in zip(self.levels, shares, strict=True):
            joint = (level.below @ joint)[level.configurations] * share
            marginals[level.cells] = joint.sum(axis=1)
        return float(self._class_parents @ log_z - self.wanted @ g), marginals

    def tables(self, g: Array) -> dict[int, Array]:
        """The tables of the class and its children, (parent configurations, states) by node."""
        shares, by_class, _ = self._normalize(g)
        tables = {self._target: by_class}
        for level, share in zip(self.levels, shares, strict=True):
            first = 0
            for child in level.children:
                n_configurations, n_classes, n_child = self._shapes[child]
                cells = share[first : first + n_configurations * n_child]
                first += len(cells)
                tables[child] = cells.reshape(-1, n_child, n_classes).swapaxes(1, 2).reshape(-1, n_child)
        return tables

    def _normalize(self, g: Array) -> tuple[list[Array], Array, Array]:
        """P(child | parents) in the cells of each level, P(class | its parents), and log Z of these parents.

        From the last level to the first, what a child's states sum to is a factor of its receiver.
        """
        shares: list[Array] = []
        messages: Array | float = 0.0
        for level in reversed(self.levels):
            logs = self._logs[level.cells] + g[level.cells, np.newaxis] + messages
            highest = np.maximum.reduceat(logs, level.firsts, axis=0)
            weights = np.exp(logs - highest[level.configurations])
            totals = level.sum(weights)
            shares.append(weights / totals[level.configurations])
            messages = level.above @ (highest + np.log(totals))
        logs = self._class_logs + messages
        highest = logs.max(axis=1, keepdims=True)
        weights = np.exp(logs - highest)
        totals = weights.sum(axis=1, keepdims=True)
        return shares[::-1], weights / totals, (highest + np.log(totals))[:, 0]

    def conditional(self, by_cell: Array, weights: Array) -> Array:
        """by_cell / weights less the same ratio of their sums over the child's states."""
        ratios = np.add.reduceat(by_cell, self._firsts) / np.add.reduceat(weights, self._firsts)
        return by_cell / weights - np.repeat(ratios, self._lengths)


@dataclass(frozen=True)
class Level:
    """Families whose message goes to a family of the level before; the class's own family is before the first.

    A family lies in the level as its cells (attribute parents, child), the child's state changing fastest.

    children        the nodes whose families these are
    cells           where the cells of the level are among those of all levels
    firsts          the first cell of each configuration of attribute parents, counted within the level
    configurations  (cells,) the configuration each cell belongs to
    above           (cells of the level before, configurations): 1 where the cell holds the configuration
    below           its transpose
    """

    children: tuple[int, ...]
    cells: slice
    firsts: Places
    configurations: Places
    above: sparse.csr_array
    below: sparse.csr_array

    def sum(self, by_cell: Array) -> Array:
        """Sum over the states of the children: (cells, ...) to (configurations, ...)."""
        return np.add.reduceat(by_cell, self.firsts, axis=0)


def _levels(dag: Dag, n_states: Sequence[int]) -> tuple[Level, ...]:
    target = dag.n_nodes - 1
    position = {node: place for place, node in enumerate(dag.order)}
    receivers: dict[int, int] = {}
    depths = {target: 0}
    for child in dag.order:
        if target in dag.parents[child]:
            receivers[child] = max(dag.parents[child], key=position.__getitem__)
            depths[child] = depths[receivers[child]] + 1
    by_depth: list[dict[int, tuple[int, ...]]] = [{} for _ in range(max(depths.values()) + 1)]
    for node, depth in depths.items():
        attributes = tuple(member for member in (*dag.parents[node], node) if member != target)
        by_depth[depth][node] = attributes
    levels: list[Level] = []
    first = 0
    for before, families in pairwise(by_depth):
        levels.append(_level(families, before, receivers, n_states, first))
        first = levels[-1].cells.stop
    return tuple(levels)


def _level(
    families: Mapping[int, tuple[int, ...]],
    before: Mapping[int, tuple[int, ...]],
    receivers: Mapping[int, int],
    n_states: Sequence[int],
    first: int,
) -> Level:
    """The level of these families, each the attributes of a node, the node last; its cells begin at `first`."""
    sizes = [prod(n_states[member] for member in members) for members in before.values()]
    starts = dict(zip(before, accumulate(sizes, initial=0), strict=False))
    cells, configurations, lengths = [], [], []
    n_configurations = 0
    for child, (*parents, _) in families.items():
        receiver = receivers[child]
        members = _configurations(before[receiver], parents, n_states)
        cells.append(starts[receiver] + np.arange(len(members)))
        configurations.append(n_configurations + members)
        lengths.append(np.full(prod(n_states[parent] for parent in parents), n_states[child]))
        n_configurations += len(lengths[-1])
    rows, columns, repeats = np.concatenate(cells), np.concatenate(configurations), np.concatenate(lengths)
    above = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(sum(sizes), n_configurations))
    return Level(
        tuple(families),
        slice(first, first + int(repeats.sum())),
        np.cumsum(repeats) - repeats,
        np.repeat(np.arange(n_configurations), repeats),
        above,
        above.T.tocsr(),
    )


def _configurations(nodes: Sequence[int], members: Sequence[int], n_states: Sequence[int]) -> Places:
    """Of each cell over `nodes`, the last changing fastest, the mixed-radix number of the nodes it holds."""
    numbers = np.zeros([n_states[node] for node in nodes], dtype=np.intp)
    for node, stride in zip(members, strides(members, n_states), strict=True):
        shape = [n_states[node] if member == node else 1 for member in nodes]
        numbers += stride * np.arange(n_states[node]).reshape(shape)
    return numbers.reshape(-1)
