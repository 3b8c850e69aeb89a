r"""The Dirichlet posterior of a network of frequencies, with intervals in closed form.

Every line of a table is Dirichlet with parameters a, counted rows and pseudo-rows. The log of an entry has cumulants
psi_n(a_k) - psi_n(sum a), psi_n the polygamma functions, and different lines are independent. So the log joint S_c of a
complete row, for each class, has the sums of these as its cumulants, and the S_c of different classes are independent
(an entry of a table of the class itself has psi_n(a_c): the rest is the same for all classes). The log odds of c are
S_c - log sum_k exp S_k over the other classes: of two classes a difference, exactly, of several to first order at the
means, the mean itself to second. Their quantiles follow from four cumulants (Cornish and Fisher 1938).

A row whose missing cells have to be summed out is answered to first order in the logarithms of the tables, too: with
g_k = P(the entry is asked for | row, class), the gradient of a class's log joint, and h = g^(c) - sum_k P(k) g^(k) over
the other classes, the log odds of c have cumulants

    sum over lines of sum_k h_k^n psi_n(a_k) - (sum_k h_k)^n psi_n(sum a)

which are those above where g is one or zero. The mean of a class's log joint is that of the mean tables, moved by what
the curvature of the logarithm takes: `_shift`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, expit, logsumexp, polygamma, softmax
from scipy.stats import norm

from tanager.additive.model import AnyModel
from tanager.arrays import Array, Codes
from tanager.missing.rule import MissingRule
from tanager.network.columns import Term
from tanager.network.inference.elimination_plan import relevant_nodes
from tanager.network.inference.junction_tree import JunctionTree
from tanager.network.log_joint import LogJoint, class_cells
from tanager.network.network import Network
from tanager.runtime import PicklesFields
from tanager.uncertainty.interval import Interval

# Of a variance: of a row whose missing cells say all that it does not know, the first order may be nothing.
LEAST = 1e-12


@dataclass(frozen=True)
class DirichletPosterior(PicklesFields):
    """rows: for each node the parameters of its lines, (parent configurations, states): counted and pseudo-rows."""

    kind: ClassVar[str] = "dirichlet"

    network: Network
    rows: tuple[Array, ...]

    def interval(self, codes: Codes, logs: Array, level: float, rule: MissingRule, n_training: float) -> Interval:
        """Of P(class | row); `logs` are the classifier's own, whose log odds may be a little off the median."""
        ends = np.asarray(norm.ppf([0.5 - level / 2.0, 0.5, 0.5 + level / 2.0]))
        hard = self._has_linked_missing(codes)
        quantiles = np.empty((3, *logs.shape))
        if (~hard).any():
            quantiles[:, ~hard] = self._closed(codes[~hard], ends)
        if hard.any():
            quantiles[:, hard] = np.stack([self._summed_out(row, ends) for row in codes[hard]], axis=1)
        return Interval(*expit(np.sort(quantiles, axis=0)))

    def effect_deviations(self, network: AnyModel, term: Term) -> Array | None:
        """(cells, classes): of what an attribute adds to the log odds of each class against the mean of the others.

        The cells are those of the network's look-ups. Lines of different classes are independent.
        """
        (attribute,) = term
        look_up, n_classes = self._cumulants[1], network.n_states[-1]
        first, last = np.append(look_up.offsets, len(look_up.tables))[attribute : attribute + 2]
        variances = look_up.tables[first:last]
        others = (variances.sum(axis=1, keepdims=True) - variances) / (n_classes - 1) ** 2
        return np.sqrt(variances + others)

    def _has_linked_missing(self, codes: Codes) -> NDArray[np.bool_]:
        """(n_rows,) whether a missing cell is in a family with another attribute."""
        linked = np.zeros(codes.shape[1], dtype=bool)
        target = len(self.network.columns) - 1
        for family in self.network.dag.families:
            attributes = [node for node in family.nodes if node != target]
            if len(attributes) > 1 or (attributes and family.child == target):
                linked[attributes] = True
        missing = codes == np.array(self.network.n_states[:-1])
        hard: NDArray[np.bool_] = missing[:, linked].any(axis=1)
        return hard

    def _closed(self, codes: Codes, ends: Array) -> Array:
        """(3, n_rows, n_classes) log odds."""
        sums = np.stack([cumulants(codes) for cumulants in self._cumulants])
        n_classes = sums.shape[2]
        quantiles = np.empty((len(ends), len(codes), n_classes))
        for code in range(n_classes):
            others = np.delete(sums, code, axis=2)
            shares = softmax(others[0], axis=1)
            bend = 0.5 * (shares * (1.0 - shares) * others[1]).sum(axis=1)
            mean = sums[0, :, code] - logsumexp(others[0], axis=1) - bend
            higher = [sums[n - 1, :, code] + (-1.0) ** n * (shares**n * others[n - 1]).sum(axis=1) for n in (2, 3, 4)]
            quantiles[:, :, code] = cornish_fisher(ends, mean, *higher)
        return quantiles

    @cached_property
    def _cumulants(self) -> tuple[LogJoint, ...]:
        """Look-ups that add up the first four cumulants of the log joint of each class."""
        plain = self.network.log_joint
        return tuple(replace(plain, tables=np.concatenate(self._tables(n))) for n in range(4))

    def _tables(self, n: int) -> list[Array]:
        network, target = self.network, len(self.network.columns) - 1
        tables = []
        for family, rows in zip(network.dag.families, self.rows, strict=True):
            values = _psi(n, rows)
            if family.child != target:
                values = values - _psi(n, rows.sum(axis=1, keepdims=True))
            if target not in family.nodes:  # the same for every class
                values = np.zeros_like(values)
            tables.append(class_cells(family, values, network.n_states))
        return tables

    def _summed_out(self, codes: Codes, ends: Array) -> Array:
        """(3, n_classes) log odds of one row, (n_attributes,), whatever cells it lacks."""
        gradients, means = self._gradients(codes)
        quantiles = np.empty((len(ends), len(means)))
        for code in range(len(means)):
            others = np.delete(np.arange(len(means)), code)
            shares = softmax(means[others])
            rest = shares @ gradients[others]
            seconds = [self._cumulant(2, gradient) for gradient in gradients[others]]
            bend = 0.5 * (shares @ seconds - self._cumulant(2, rest))
            mean = means[code] - logsumexp(means[others]) - bend
            higher = [np.array(self._cumulant(n, gradients[code] - rest)) for n in (2, 3, 4)]
            quantiles[:, code] = cornish_fisher(ends, mean, *higher)
        return quantiles

    def _gradients(self, codes: Codes) -> tuple[Array, Array]:
        """(n_classes, all entries) of the log joint of a row by the logarithms of the tables, and its mean.

        A table that nothing present depends on says nothing, whatever its entries are.
        """
        network, n_classes = self.network, self.network.n_states[-1]
        row = np.append(codes, 0).astype(np.int64)[np.newaxis]
        present = [*np.flatnonzero(codes < np.array(network.n_states[:-1])).tolist(), len(codes)]
        asked = relevant_nodes(network.dag, present)
        gradients, means = [], np.empty(n_classes)
        for code in range(n_classes):
            row[0, -1] = code
            expected = self._tree.expected_counts(network.tables, row)
            parts = (
                table.ravel() if node in asked else np.zeros(table.size) for node, table in enumerate(expected.tables)
            )
            gradients.append(np.concatenate(list(parts)))
            means[code] = expected.log_evidence[0] + self._shift(gradients[-1])
        return np.array(gradients), means

    def _cumulant(self, n: int, weights: Array) -> float:
        """Of the sum of weights times the logarithms of all entries."""
        entries, lines = self._psi_of_all[n - 1]
        return float(weights**n @ entries - np.add.reduceat(weights, self._starts) ** n @ lines)

    def _shift(self, gradient: Array) -> float:
        """By how much the mean of a class's log joint differs from the log joint of the mean tables.

        To second order - 1/2 sum over lines of (sum g^2 / mean - (sum g)^2) / (sum a + 1); exact for a complete row.
        """
        entries, lines = self._psi_of_all[0]
        mean_logs = entries - np.repeat(lines, self._widths)
        moved = mean_logs - np.log(np.concatenate([table.ravel() for table in self.network.tables]))
        totals = np.add.reduceat(np.concatenate([table.ravel() for table in self.rows]), self._starts)
        squares = np.add.reduceat(gradient**2, self._starts) - np.add.reduceat(gradient, self._starts) ** 2
        return float(gradient**2 @ moved - 0.5 * (squares / (totals + 1.0)).sum())

    @cached_property
    def _tree(self) -> JunctionTree:
        return JunctionTree.of(self.network.dag, self.network.n_states, names=self.network.nodes)

    @cached_property
    def _widths(self) -> NDArray[np.int64]:
        """Entries of every line of every table."""
        return np.concatenate([np.full(len(rows), rows.shape[1], dtype=np.int64) for rows in self.rows])

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        """The first entry of every line."""
        return np.concatenate([[0], np.cumsum(self._widths)[:-1]])

    @cached_property
    def _psi_of_all(self) -> tuple[tuple[Array, Array], ...]:
        """psi_n of every entry, and of the total of every line, n from 0 to 3."""
        return tuple(
            (
                np.concatenate([_psi(n, rows).ravel() for rows in self.rows]),
                np.concatenate([_psi(n, rows.sum(axis=1)) for rows in self.rows]),
            )
            for n in range(4)
        )


def cornish_fisher(z: Array, mean: Array, second: Array, third: Array, fourth: Array) -> Array:
    """(n_quantiles, ...) quantiles from cumulants, at quantiles z of the normal."""
    z, second = z.reshape(-1, *[1] * second.ndim), np.maximum(second, LEAST)
    skewness, kurtosis = third / second**1.5, fourth / second**2
    standardised = (
        z
        + (z**2 - 1.0) * skewness / 6.0
        + (z**3 - 3.0 * z) * kurtosis / 24.0
        - (2.0 * z**3 - 5.0 * z) * skewness**2 / 36.0
    )
    return np.asarray(mean + np.sqrt(second) * standardised)


def _psi(n: int, values: Array) -> Array:
    """The n-th derivative of the digamma function."""
    derivative: Array = digamma(values) if n == 0 else polygamma(n, values)
    return derivative
