"""NaiveBayesClusterer: rows in groups, by a class that no row tells."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import logsumexp, softmax
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from tanager.arrays import Array, Codes
from tanager.classifiers.coded_table import check_columns
from tanager.errors import OptionError
from tanager.network.network import Network
from tanager.structure.dag import Dag
from tanager.table.discretizer import choose_discretizer
from tanager.table.encoder import TableEncoder, learn_schema
from tanager.table.read_columns import read_columns
from tanager.table.schema import ColumnSchema
from tanager.table.training_table import read_rows

# How far, in logs, the tables of a start are from the attributes' own frequencies, where every step is zero.
SPREAD = 1.0


@dataclass(eq=False, repr=False)
class NaiveBayesClusterer(ClusterMixin, BaseEstimator):
    """A naive Bayes network whose class is missing in every row, by EM: latent class analysis (Lazarsfeld 1950).

    P(x) = sum_k P(k) prod_i P(x_i | k), the mixture of products of tables under which the rows are most probable, with
    `alpha` pseudo-rows in every cell. A missing cell is left out of its row, which in naive Bayes sums it out.

    Parameters
    ----------
    n_clusters : int
        States of the hidden class.
    n_init : int
        Starts, from the attributes' frequencies moved at random; the best end is kept, since EM finds local optima.
    max_iter, tol : int, float
        Most iterations of a start, and the rise of the log posterior, in nats per row, below which it stops.
    alpha : float
        Pseudo-rows in every cell of every table.
    categorical_features, discretizer : as in `BayesianNetworkClassifier`
        Numbers are cut at quantiles, as there is no class to cut by.
    random_state : int, RandomState or None
        Of the starts.

    Attributes
    ----------
    network_ : Network
        With the node "cluster"; clusters are numbered from the most probable one.
    labels_ : (n_rows,)
        The most probable cluster of each training row.
    log_likelihood_, n_iter_ : float, int
        Of the training rows, by weight, in nats; of the start that was kept.
    """

    n_clusters: int = 2
    _: KW_ONLY
    n_init: int = 10
    max_iter: int = 500
    tol: float = 1e-6
    alpha: float = 1.0
    categorical_features: ArrayLike | str | None = "from_dtype"
    discretizer: object = "quantile"
    random_state: int | np.random.RandomState | None = None

    def fit(self, X: object, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Find the clusters; `y` is not looked at."""
        for option in ("n_clusters", "n_init", "max_iter"):
            value = getattr(self, option)
            if not isinstance(value, int | np.integer) or value < 1:
                raise OptionError(f"{option}={value!r} of NaiveBayesClusterer must be a whole number from 1 on.")
        if not self.alpha > 0 or not self.tol > 0:
            raise OptionError(f"alpha={self.alpha!r} and tol={self.tol!r} must be numbers above zero.")
        table = read_columns(X)
        check_columns(self, X, table, reset=True)
        rows = read_rows(table, np.zeros(table.n_rows, dtype=int), sample_weight)
        cut = choose_discretizer(self.discretizer)
        schema = learn_schema(rows.table, rows.target, rows.class_codes, rows.weights, cut, self.categorical_features)
        self.encoder_ = TableEncoder(schema)
        # Random numbers go to columns by name, so that their order is no part of the table.
        names = [column.name for column in schema.attributes]
        order = sorted(range(len(names)), key=names.__getitem__) if schema.named else list(range(len(names)))
        columns = [schema.attributes[place] for place in order]
        problem = HiddenClass(self.encoder_.encode(rows.table)[:, order], columns, rows.weights, self.alpha)
        generator = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        found = max(
            (problem.climb(self.n_clusters, generator, self.max_iter, self.tol) for _ in range(self.n_init)),
            key=lambda end: end.log_posterior,
        )
        if not found.converged:
            warnings.warn(
                f"EM stopped after max_iter={self.max_iter} iterations, before the clusters had settled.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.network_ = found.network(columns).reordered([*np.argsort(order).tolist(), len(order)])
        self.log_likelihood_, self.n_iter_ = found.log_likelihood, found.n_iter
        self.labels_ = self.predict(X)
        return self

    def predict_proba(self, X: object) -> Array:
        """(n_rows, n_clusters) P(cluster | row)."""
        return np.asarray(softmax(self._log_joint(X), axis=1))

    def predict(self, X: object) -> NDArray[np.intp]:
        """The most probable cluster of each row."""
        return self._log_joint(X).argmax(axis=1)

    def score(self, X: object, y: object = None) -> float:
        """Mean log P(row), in nats: of clusters that say more of new rows it is higher."""
        return float(logsumexp(self._log_joint(X), axis=1).mean())

    def bic(self, X: object) -> float:
        """K log N - 2 log P(rows), K free parameters; of numbers of clusters the lowest is best (Schwarz 1978)."""
        logs = logsumexp(self._log_joint(X), axis=1)
        n_free = self.n_clusters - 1 + self.n_clusters * sum(n - 1 for n in self.network_.n_states[:-1])
        return float(n_free * np.log(len(logs)) - 2.0 * logs.sum())

    def _log_joint(self, X: object) -> Array:
        check_is_fitted(self, "network_")
        table = read_columns(X)
        check_columns(self, X, table, reset=False)
        return self.network_.log_joint(self.encoder_.encode(table), normalized=False)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def one_hot(codes: Codes, n_states: tuple[int, ...]) -> sparse.csr_array:
    """(n_rows, states of all attributes) ones; none for a missing cell."""
    first = np.concatenate([[0], np.cumsum(n_states)[:-1]])
    present = codes < np.array(n_states)
    starts = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
    places = (codes.astype(np.int64) + first)[present]
    return sparse.csr_array((np.ones(len(places)), places, starts), shape=(len(codes), int(sum(n_states))))


@dataclass(frozen=True)
class End:
    """Where a start led: P(cluster) (n_clusters,) and P(state | cluster) (states of all attributes, n_clusters)."""

    shares: Array
    tables: Array
    log_likelihood: float
    log_posterior: float
    n_iter: int
    converged: bool

    def network(self, columns: list[ColumnSchema]) -> Network:
        """The clusters as a network, the most probable one first."""
        order = np.argsort(-self.shares, kind="stable")
        name = "cluster"
        while name in {column.name for column in columns}:
            name += "_"
        target = ColumnSchema(name, "categorical", tuple(range(len(order))))
        ends = np.cumsum([column.n_states for column in columns])[:-1]
        tables = [each.T for each in np.split(self.tables[:, order], ends)]
        dag = Dag.augmented_naive_bayes([()] * len(columns))
        return Network((*columns, target), dag, (*tables, self.shares[np.newaxis, order]), name)


class HiddenClass:
    """The rows of one table, and EM from a random start."""

    def __init__(self, codes: Codes, columns: list[ColumnSchema], weights: Array | None, alpha: float) -> None:
        n_states = tuple(column.n_states for column in columns)
        kinds, kind = np.unique(codes, axis=0, return_inverse=True)
        self._weights = np.bincount(kind.reshape(-1), weights, minlength=len(kinds)).astype(np.float64)
        self._indicators = one_hot(kinds, n_states)
        self._attribute = np.repeat(np.arange(len(n_states)), n_states)
        self._alpha = alpha
        self._frequencies = self._normalize((self._indicators.T @ self._weights + alpha)[:, np.newaxis])

    def _normalize(self, cells: Array) -> Array:
        """Each attribute's cells, summing to one in each cluster."""
        totals = np.add.reduceat(cells, np.searchsorted(self._attribute, np.unique(self._attribute)))
        return np.asarray(cells / totals[self._attribute])

    def climb(self, n_clusters: int, generator: np.random.Generator, max_iter: int, tol: float) -> End:
        moved = np.exp(SPREAD * generator.normal(size=(len(self._attribute), n_clusters)))
        tables, shares = self._normalize(self._frequencies * moved), np.full(n_clusters, 1.0 / n_clusters)
        posteriors: list[float] = []
        rows = self._weights.sum()
        while True:
            logs = self._indicators @ np.log(tables) + np.log(shares)
            totals = logsumexp(logs, axis=1)
            likelihood = float(self._weights @ totals)
            posteriors.append(likelihood + self._alpha * float(np.log(tables).sum() + np.log(shares).sum()))
            converged = len(posteriors) > 1 and posteriors[-1] - posteriors[-2] < tol * rows
            if converged or len(posteriors) > max_iter:
                return End(shares, tables, likelihood, posteriors[-1], len(posteriors) - 1, converged)
            expected = np.exp(logs - totals[:, np.newaxis]) * self._weights[:, np.newaxis]
            tables = self._normalize(self._indicators.T @ expected + self._alpha)
            shares = expected.sum(axis=0) + self._alpha
            shares = shares / shares.sum()
