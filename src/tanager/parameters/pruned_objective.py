"""PrunedObjective: the conditional posterior of naive Bayes in its logistic form, some parameters left out."""

from __future__ import annotations

from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import expit

from tanager.arrays import Array, Flags
from tanager.counts.count_store import CountStore
from tanager.parameters import pruned_rows
from tanager.parameters.conditional.class_cells import ClassCells
from tanager.parameters.conditional.objectives import Objective
from tanager.structure.dag import Dag

Places = NDArray[np.int64]


class PrunedObjective:
    r"""CLL+ = sum_t w_t log P(c_t | x_t) + log prior (Roos et al. 2005, eq. 24 and 25).

    log P(c | x) = beta_c + sum_i beta_{c, x_i} - log sum_c' exp(...), over the attributes i present in the row.
    beta and the mask of kept parameters are (n_cells, n_classes): a row for each state of each attribute, then one for
    the class. A parameter left out is 0. In a table beta_{c, i, .} with all r of its parameters,
    sum_k P(x_i = k) beta_{c,i,k} = 0 (eq. 22), P being frequencies; with one left out, that one is the reference.

    Uniform prior (5.5), for each kept parameter by itself: theta (1 - theta), theta = exp(beta) / (1 + exp(beta)). A
    kept parameter costs -log P(beta) >= -log P(0) = log 4, and more the larger it is: there is one finite maximum.

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

    def log_prior(self, beta: Array, kept: Flags) -> tuple[float, Array]:
        """And its gradient."""
        return float(-self.costs(beta)[kept].sum()), kept * (1.0 - 2.0 * expit(beta))

    @staticmethod
    def costs(beta: Array) -> Array:
        """-log theta (1 - theta), what a parameter of each value costs."""
        costs: Array = 2.0 * np.logaddexp(0.0, beta) - beta
        return costs

    def __call__(self, beta: Array, kept: Flags) -> tuple[float, Array]:
        """CLL+ and its gradient by every entry of beta."""
        loss, slopes = self._loss(beta)
        prior, gradient = self.log_prior(beta, kept)
        return prior - loss, gradient - slopes

    def gains(self, beta: Array, kept: Flags) -> Array:
        """By how much CLL+ rises when one parameter alone is left out; -inf for one that is or cannot be."""
        result = self._rows.sum(partial(pruned_rows.removal_gains, cells=self.cells, beta=beta), "gains")
        return np.where(kept, result + self.costs(beta), -np.inf)

    def curvature(self, beta: Array, kept: Flags) -> Array:
        """-d2 CLL+ / d beta2, (n_cells, n_classes, n_cells, n_classes)."""
        result = self._rows.sum(partial(pruned_rows.curvature, cells=self.cells, beta=beta), "curvature")
        cells, classes = np.nonzero(kept)
        result[cells, classes, cells, classes] += self._prior_curvature(beta)[kept]
        return result

    def curvature_diagonal(self, beta: Array, kept: Flags) -> Array:
        """The diagonal of `curvature`, (n_cells, n_classes)."""
        result = self._rows.sum(partial(pruned_rows.curvature_diagonal, cells=self.cells, beta=beta), "curvature")
        return result + kept * self._prior_curvature(beta)

    @staticmethod
    def _prior_curvature(beta: Array) -> Array:
        theta = expit(beta)
        curvature: Array = 2.0 * theta * (1.0 - theta)
        return curvature

    def directions(self, kept: Flags) -> csr_array:
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

    def _table_sum(self, values: Array) -> Array:
        """The sum over the cells of the same attribute, at each of them."""
        total: Array = np.add.reduceat(values, self.firsts, axis=0)[self.attributes]
        return total
