"""Stability of edges, pairs, attributes and directions over fits to rows with random weights."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike
from scipy.stats import rankdata
from sklearn.base import clone

from tanager.additive.importance import class_odds
from tanager.additive.model import AnyModel
from tanager.arrays import Array
from tanager.classifiers.base import TableClassifier, attribute_importance
from tanager.classifiers.coded_table import code_table
from tanager.classifiers.intervals import read_training_rows
from tanager.errors import OptionError
from tanager.html_table import Bar, html_table
from tanager.metrics.quality import text_table
from tanager.runtime.resources import thread_limit
from tanager.table.read_columns import make_frame
from tanager.table.rows import EncodedBatch
from tanager.table.training_table import TrainingTable

LEVEL = 0.9
LINES_IN_TEXT = 20
FEWEST_DRAWS = 2
HEADINGS = ("attribute", "nats (90 %)", "rank (90 %)", "used in", "rising in")


@dataclass(frozen=True)
class Stability:
    """Fits to rows with random weights, n times Dirichlet(1, ..., 1): the Bayesian bootstrap (Rubin 1981).

    Structure, pairs and strengths are chosen again in every fit; cut points stay. Intervals contain 90 % of the fits.

    attributes  by name
    importance  (n_draws, n_attributes) the importance of each attribute in each fit, in nats
    links       (parent, child) edges between attributes, or pairs of effects in the order of their names; the most
                frequent first
    frequency   (n_links,) the proportion of the fits that have each link
    used        (n_attributes,) the proportion of the fits in which the attribute is informative
    rising      (n_attributes,) for numeric attributes of an additive model, the proportion of the fits in which the log
                odds of the last class rise from the low half of the rows to the high half; NaN for others
    directed    whether links have a direction
    """

    attributes: tuple[str, ...]
    importance: Array
    links: tuple[tuple[str, str], ...]
    frequency: Array
    used: Array
    rising: Array
    directed: bool

    @property
    def ranks(self) -> Array:
        """(n_draws, n_attributes) 1 for the strongest attribute of a fit; attributes of equal strength share a rank."""
        ranks: Array = rankdata(-self.importance, axis=1)
        return ranks

    @property
    def order(self) -> list[int]:
        """The attributes, the strongest in the mean first."""
        return np.argsort(-self.importance.mean(axis=0), kind="stable").tolist()

    def to_dict(self) -> dict[str, object]:
        """The result as values for JSON."""
        attributes = pa.table(self._attribute_columns()).to_pylist()
        shares = zip(self.links, self.frequency.tolist(), strict=True)
        links = [{"from": a, "to": b, "frequency": share} for (a, b), share in shares]
        return {"fits": len(self.importance), "attributes": attributes, "directed": self.directed, "links": links}

    def to_frame(self, library: str = "pandas") -> Any:
        """A line per attribute, the strongest first: importance and rank with intervals, how often used and rising."""
        return make_frame(self._attribute_columns(), library)

    def _attribute_columns(self) -> dict[str, list[Any]]:
        order, tail = self.order, (1.0 - LEVEL) / 2.0
        ranks = self.ranks[:, order]
        low, middle, high = np.quantile(self.importance[:, order], [tail, 0.5, 1.0 - tail], axis=0)
        first, last = np.quantile(ranks, [tail, 1.0 - tail], axis=0, method="inverted_cdf")
        rising = [None if np.isnan(share) else share for share in self.rising[order].tolist()]
        return {
            "attribute": [self.attributes[k] for k in order],
            "importance": middle.tolist(),
            "lower": low.tolist(),
            "upper": high.tolist(),
            "rank": np.median(ranks, axis=0).tolist(),
            "rank_lower": first.tolist(),
            "rank_upper": last.tolist(),
            "used": self.used[order].tolist(),
            "rising": rising,
        }

    def _lines(self) -> list[tuple[str, str, str, str, str]]:
        return [
            (
                name,
                f"{middle:.3f} ({low:.3f} to {high:.3f})",
                f"{rank:g} ({first:g} to {last:g})",
                f"{used:.0%}",
                "" if rising is None else f"{rising:.0%}",
            )
            for name, middle, low, high, rank, first, last, used, rising in zip(
                *self._attribute_columns().values(), strict=True
            )
        ]

    @property
    def _title(self) -> str:
        return f"{len(self.importance)} fits to rows of random weights"

    def _link_lines(self, sign: str) -> list[tuple[str, float]]:
        ends = (f"{one} {sign if self.directed else '&'} {other}" for one, other in self.links)
        return list(zip(ends, self.frequency.tolist(), strict=True))

    def __str__(self) -> str:
        text = [self._title, text_table(HEADINGS, self._lines()[:LINES_IN_TEXT])]
        if len(self.attributes) > LINES_IN_TEXT:
            text.append(f"... and {len(self.attributes) - LINES_IN_TEXT:,} more attributes")
        if self.links:
            text.append("\nlinks, and the share of the fits that have them")
            text += [f"{share:5.0%}  {link}" for link, share in self._link_lines("->")[:LINES_IN_TEXT]]
        if len(self.links) > LINES_IN_TEXT:
            text.append(f"... and {len(self.links) - LINES_IN_TEXT:,} more links")
        return "\n".join(text)

    def _repr_html_(self) -> str:
        attributes = html_table(self._title, HEADINGS, self._lines())
        rows = [(link, Bar(f"{share:.0%}", share)) for link, share in self._link_lines("→")]
        return attributes + (html_table("Links", ["link", "share of the fits", ""], rows) if rows else "")


def stability(
    clf: TableClassifier,
    X: object,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    n_draws: int = 30,
    random_state: int = 0,
) -> Stability:
    """Fit a classifier many times to rows of random weights, and count how often edges, pairs and directions occur.

    Parameters
    ----------
    clf : classifier
        The refits have its options, and its categories and cut points. If it is not fitted, a clone is fitted first.
        `clf` is not changed.
    X : table
        The training rows.
    y : array of classes
        Their classes.
    sample_weight : array, optional
        Their weights.
    n_draws : int
        The number of fits.
    random_state : int
        Seed of the weights.

    Returns
    -------
    Stability
        How often each edge or pair is chosen, and the importance of each attribute, over the fits.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import TANClassifier, stability
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> found = stability(TANClassifier(parameters="frequency"), X, y, n_draws=10)
    >>> found.importance.shape, bool(max(found.frequency) <= 1.0)
    ((10, 4), True)
    """
    if n_draws < FEWEST_DRAWS:
        raise OptionError(f"n_draws={n_draws!r} must be a number of fits, {FEWEST_DRAWS} at least.")
    model = clf if hasattr(clf, "model_") else clone(clf).fit(X, y, sample_weight)
    with thread_limit(model.n_jobs):
        networks = _refit(model, read_training_rows(model, X, y, sample_weight), n_draws, random_state)
    n_attributes = model.n_features_in_
    importance = np.array([attribute_importance(network)[:n_attributes] for network in networks])
    directed = networks[0].kind != "effects"
    counted = Counter(link for network in networks for link in _links(network, directed))
    links = sorted(counted, key=lambda link: (-counted[link], link))
    rising = np.array([_rising(network)[:n_attributes] for network in networks]).mean(axis=0)
    return Stability(
        tuple(model.model_.nodes[:n_attributes]),
        importance,
        tuple(links),
        np.array([counted[link] / n_draws for link in links]),
        (importance > 0.0).mean(axis=0),
        rising,
        directed,
    )


def _refit(clf: TableClassifier, training: TrainingTable, n_draws: int, seed: int) -> list[AnyModel]:
    """The model learnt again from rows of random weights, by the categories and cut points of the classifier."""
    schema, rng = clf.encoder_.schema, np.random.default_rng(seed)
    table = code_table(training, schema, schema.learning_order, clf._row_needs().unlabelled)
    rows = cast(EncodedBatch, table.rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as in the fit, which has given them
        drawn = (replace(table, rows=_draw_weights(rows, rng)) for _ in range(n_draws))
        return [clf._learn_model(each, clf._count_engine()).model for each in drawn]


def _draw_weights(rows: EncodedBatch, rng: np.random.Generator) -> EncodedBatch:
    """The rows with n times Dirichlet(1, ..., 1) weights; which row has which does not depend on their order."""
    order = np.lexsort((rows.row_weights, rows.class_codes, *rows.codes.T))
    drawn = rng.standard_exponential(rows.n_rows)
    weights = np.empty(rows.n_rows)
    weights[order] = drawn * (rows.n_rows / drawn.sum())
    return EncodedBatch(rows.codes, rows.class_codes, rows.n_states, rows.incomplete, weights * rows.row_weights)


def _links(network: AnyModel, directed: bool) -> set[tuple[str, str]]:
    """Between attributes."""
    target = network.nodes[-1]
    links = {edge for edge in network.edges if target not in edge}
    return links if directed else {(min(edge), max(edge)) for edge in links}


def _rising(network: AnyModel) -> Array:
    """(n_attributes,) 1 where the main effect on the last class is larger on the high half of the rows, else 0."""
    rising = np.full(len(network.nodes) - 1, np.nan)
    if network.kind != "effects":
        return rising
    for attribute, (column, density) in enumerate(zip(network.columns[:-1], network.densities, strict=True)):
        if column.has_order:
            ordered = column.n_states - column.missing_state
            share = density[:ordered] / max(density[:ordered].sum(), 1e-300)
            # How far below and above the middle of the rows each state lies.
            place = np.cumsum(share) - share / 2.0 - 0.5
            trend = float(share * place @ class_odds(network.mains[attribute][:ordered])[:, -1])
            rising[attribute] = 0.5 if trend == 0.0 else float(trend > 0.0)
    return rising
