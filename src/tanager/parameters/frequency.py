"""Tables in closed form from counts: smoothed frequencies, and those of the approximate conditional likelihood."""

from __future__ import annotations

import numpy as np

from tanager.arrays import Array
from tanager.counts.count_store import CountStore
from tanager.counts.family import Family
from tanager.errors import OptionError
from tanager.parameters.protocol import LearntNetwork, ParameterLearner, ParameterTask
from tanager.registry import unknown_option
from tanager.scores.acll import ACLL

DEFAULT_ALPHA = {"laplace": 1.0, "friedman": 5.0}


class Frequency(ParameterLearner):
    """Smoothed relative frequencies of every family, with alpha pseudo-rows.

    smoothing="laplace"   (N_jk + alpha) / (N_j + alpha r): alpha rows in every cell; alpha = 1 by default
    smoothing="friedman"  (N_jk + alpha P(k)) / (N_j + alpha): alpha rows spread as the node's marginal P;
                          alpha = 5 by default (Friedman, Geiger and Goldszmidt 1997)

    N_jk are rows with state k under parent configuration j, r the node's states. A class node without parents keeps
    its plain frequencies.

    A row counts for the families of which it has every cell. In naive Bayes this is the maximum likelihood estimate
    (Zhou 2002, theorem 4.1). In other structures it is biased unless cells are missing completely at random, whatever
    the row holds; the remedy is `EM`.
    """

    needs = "families"
    fits = ("tables", "mixtures", "trees")
    describes_attributes = True
    smooths_counts = True
    posterior = "dirichlet"

    def __init__(self, smoothing: str = "laplace", alpha: float | None = None) -> None:
        self.smoothing = smoothing
        self.alpha = alpha

    def learn(self, task: ParameterTask) -> LearntNetwork:
        return LearntNetwork(task.network(self.tables(task)))

    def tables(self, task: ParameterTask) -> tuple[Array, ...]:
        """The table of each node, (parent configurations, states)."""
        families, counts = task.dag.families, task.counts
        alike: dict[tuple[object, ...], list[Family]] = {}
        by_family = dict(zip(families, counts.tables(families), strict=True))
        for family, table in by_family.items():
            alike.setdefault((table.shape, family.child == counts.n_attributes), []).append(family)
        tables: dict[int, Array] = {}
        for group in alike.values():  # thousands of small tables are worth a step together
            rows = np.stack([by_family[family].reshape(-1, counts.n_states[family.child]) for family in group])
            smoothed = rows + np.stack([self.pseudo_rows(counts, family) for family in group])[:, np.newaxis]
            shares = smoothed / smoothed.sum(axis=2, keepdims=True)
            tables.update(zip((family.child for family in group), shares, strict=True))
        return tuple(tables[child] for child in range(len(families)))

    def pseudo_rows(
        self, counts: CountStore, family: Family, smooth_class: bool = False, more: Array | float = 0.0
    ) -> Array:
        """(states,) pseudo-rows that every parent configuration of a family gets.

        `smooth_class` gives them to a class without parents too. `more` are rows in each state beside those counted.
        """
        if str(self.smoothing) not in DEFAULT_ALPHA:
            raise unknown_option("smoothing", self.smoothing, DEFAULT_ALPHA)
        alpha = DEFAULT_ALPHA[self.smoothing] if self.alpha is None else self.alpha
        if not alpha > 0:
            raise OptionError(f"alpha={alpha!r} of Frequency must be a number above zero.")
        n_states = counts.n_states[family.child]
        if family.child == counts.n_attributes and not family.parents and not smooth_class:
            return np.zeros(n_states)
        if self.smoothing == "laplace":
            return np.full(n_states, alpha)
        # The marginal is that of the node alone: a state may be seen only beside missing parents.
        seen = counts.table(Family(family.child, ())).reshape(-1) + more
        # A node without any row has no marginal; its pseudo-rows are spread evenly.
        return alpha * (seen / seen.sum()) if seen.sum() > 0 else np.full(n_states, alpha / n_states)


class ACLLOptimal(ParameterLearner):
    """p / sum_k p with p = max(w, pseudo_count), w_jck = alpha N_jck + beta (N_j*k - N_jck) (aCLL 2013, theorem 3.8).

    Rows of other classes with the same attribute value count against a class. The options are those of the score
    `ACLL`, which gives the weights w.
    """

    needs = "families"

    def __init__(
        self,
        assumption: str = "uniform",
        *,
        a: float = 1.0,
        b: float | None = None,
        pseudo_count: float | None = None,
    ) -> None:
        self.assumption = assumption
        self.a = a
        self.b = b
        self.pseudo_count = pseudo_count

    def learn(self, task: ParameterTask) -> LearntNetwork:
        families, n_states = task.dag.families, task.counts.n_states
        score = ACLL(**self.get_params(), at="optimum")
        score.check_options()
        tables = []
        for family, counted in zip(families, task.counts.tables(families), strict=True):
            learnt = score.probabilities(counted, score.weights(counted, family, n_states))
            tables.append(learnt.reshape(family.shape(n_states)))
        return LearntNetwork(task.network(tables))
