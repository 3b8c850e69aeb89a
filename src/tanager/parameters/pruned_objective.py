"""PrunedObjective: the conditional posterior of naive Bayes in its logistic form, some parameters left out."""

from __future__ import annotations

from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tanager.counts.count_store import CountStore
from tanager.network.log_joint import normalize_log
from tanager.parameters import pruned_rows
from tanager.parameters.conditional.class_cells import ClassCells
from tanager.parameters.conditional.objectives import Objective
from tanager.structure.dag import Dag

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Places = NDArray[np.int64]


class PrunedObjective:
    r"""CLL+ = sum_t w_t log P(c_t | x_t) + log prior (Roos et al. 2005, eq. 24 and 25).

    log P(c | x) = beta_c + sum_i beta_{c, x_i} - log sum_c' exp(...), over the attributes i present in the row.
    beta and the mask of kept parameters are (n_cells, n_classes): a row for each state of each attribute, then one for
    the class. A parameter left out is 0. In a table beta_{c, i, .} with all r of its parameters,
    sum_k P(x_i = k) beta_{c,i,k} = 0 (eq. 22), P being frequencies; with one left out, that one is the reference.

    Uniform prior (5.5): the product of the entries theta of every table after normalising over its states. A table
    with m of its r parameters kept has log prior (m / r) sum_k log theta_k: a kept parameter costs at least log r,
    least when the table is flat, and more the steeper it is, so that there is one finite maximum. (The sum over the
    kept entries alone would rise without end as they grow together.)

    n_states    (n_attributes,)
    attributes  (n_cells - 1,) whose state each cell is
    firsts      (n_attributes,) the first cell of each
    sizes       (n_cells - 1, 1) states of the cell's attribute
    shares      (n_cells - 1, 1) P(x_i = k) among the rows in which x_i is present
    """

    def __init__(self, counts: CountStore) -> None:
        """`counts` of the rows, and the rows."""
        dag = Dag.augmented_naive_bayes([()] * counts.n_attributes)
        self.cells = ClassCells.of(dag, counts.n_states)
        self.shape = (self.cells.n_cells, self.cells.n_classes)
        self.n_states: Places = np.array(counts.n_states[:-1], dtype=np.int64)
        self.attributes: Places = np.repeat(np.arange(len(self.n_states)), self.n_states)
        self.firsts: Places = np.cumsum(self.n_states) - self.n_states
        self.sizes = self.n_states[self.attributes].astype(np.float64)[:, np.newaxis]
        counted = self.cells.pack(counts.tables(dag.families)).sum(axis=1, keepdims=True)[:-1]
        self.shares = counted / np.maximum(self._table_sum(counted), np.finfo(float).tiny)
        self._rows = counts.rows.kept()
        self._loss = Objective(self.cells, self._rows, engine=counts.engine)

    @cached_property
    def table_pairs(self) -> tuple[Places, Places]:
        """All pairs of cells of the same attribute."""
        sizes = self.n_states[self.attributes]
        one = np.repeat(np.arange(len(sizes)), sizes)
        step = np.arange(len(one)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return one, self.firsts[self.attributes[one]] + step

    def log_prior(self, beta: Array, kept: Mask) -> tuple[float, Array]:
        """And its gradient."""
        share, log_sum, theta = self._tables(beta, kept)
        class_logs = normalize_log(beta[-1:].copy())
        value = (share * (beta[:-1] - log_sum)).sum() + class_logs.sum()
        class_gradient = 1.0 - self.shape[1] * np.exp(class_logs)
        return float(value), np.vstack([share * (1.0 - self.sizes * theta), class_gradient])

    def __call__(self, beta: Array, kept: Mask) -> tuple[float, Array]:
        """CLL+ and its gradient by every entry of beta."""
        loss, slopes = self._loss(beta)
        prior, gradient = self.log_prior(beta, kept)
        return prior - loss, gradient - slopes

    def gains(self, beta: Array, kept: Mask) -> Array:
        """By how much CLL+ rises when one parameter alone is left out; -inf for one that is or cannot be."""
        result = self._rows.sum(partial(pruned_rows.removal_gains, cells=self.cells, beta=beta), "gains")
        result[:-1] += self._prior_gains(beta, kept)
        result[~kept] = result[-1] = -np.inf
        return result

    def _prior_gains(self, beta: Array, kept: Mask) -> Array:
        share, log_sum, theta = self._tables(beta, kept)
        total = self._table_sum(beta[:-1])
        log_others = log_sum + np.log(np.maximum(1.0 - theta, np.finfo(float).tiny))
        after = (share - 1.0 / self.sizes) * (total - beta[:-1] - self.sizes * np.logaddexp(log_others, 0.0))
        gained: Array = after - share * (total - self.sizes * log_sum)
        return gained

    def curvature(self, beta: Array, kept: Mask) -> Array:
        """-d2 CLL+ / d beta2, (n_cells, n_classes, n_cells, n_classes)."""
        result = self._rows.sum(partial(pruned_rows.curvature, cells=self.cells, beta=beta), "curvature")
        self._add_prior_curvature(result, beta, kept)
        return result

    def _add_prior_curvature(self, result: Array, beta: Array, kept: Mask) -> None:
        share, _, theta = self._tables(beta, kept)
        weight, n_classes = share * self.sizes, self.shape[1]
        one, other = self.table_pairs
        for c in range(n_classes):
            result[one, c, other, c] += weight[one, c] * theta[one, c] * ((one == other) - theta[other, c])
        of_class = np.exp(normalize_log(beta[-1:].copy()))[0]
        result[-1, :, -1, :] += n_classes * (np.diag(of_class) - np.outer(of_class, of_class))

    def curvature_diagonal(self, beta: Array, kept: Mask) -> Array:
        """The diagonal of `curvature`, (n_cells, n_classes)."""
        share, _, theta = self._tables(beta, kept)
        of_class = np.exp(normalize_log(beta[-1:].copy()))
        result = self._rows.sum(partial(pruned_rows.curvature_diagonal, cells=self.cells, beta=beta), "curvature")
        result[:-1] += share * self.sizes * theta * (1.0 - theta)
        result[-1:] += self.shape[1] * of_class * (1.0 - of_class)
        return result

    def directions(self, kept: Mask) -> csr_array:
        """(n_cells n_classes, n_kept) how beta may move: a direction per kept parameter, centred in a whole table."""
        n_classes = self.shape[1]
        cells, classes = np.nonzero(kept)
        columns = np.zeros(kept.shape, dtype=np.int64)
        columns[cells, classes] = np.arange(len(cells))
        whole = self._table_sum(kept[:-1].astype(np.float64)) == self.sizes
        one, other = self.table_pairs
        pair, c = np.nonzero(whole[one])
        rows = np.append(cells * n_classes + classes, other[pair] * n_classes + c)
        entries = np.append(np.ones(len(cells)), -self.shares[one[pair], 0])
        places = rows, np.append(columns[cells, classes], columns[one[pair], c])
        return csr_array((entries, places), shape=(kept.size, len(cells)))

    def _tables(self, beta: Array, kept: Mask) -> tuple[Array, Array, Array]:
        """By cell: the share of the table's parameters kept, its log sum exp, and theta; (n_cells - 1, n_classes)."""
        highest = np.maximum.reduceat(beta[:-1], self.firsts, axis=0)[self.attributes]
        log_sum = highest + np.log(self._table_sum(np.exp(beta[:-1] - highest)))
        share = self._table_sum(kept[:-1].astype(np.float64)) / self.sizes
        return share, log_sum, np.exp(beta[:-1] - log_sum)

    def _table_sum(self, values: Array) -> Array:
        """The sum over the cells of the same attribute, at each of them."""
        total: Array = np.add.reduceat(values, self.firsts, axis=0)[self.attributes]
        return total
