"""How sure a classifier is: intervals of P(class | row), after one preparation from the training rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from tanager.additive.importance import class_odds
from tanager.additive.model import AnyModel
from tanager.classifiers.reading import ReadsTables
from tanager.errors import MissingMethodError, OptionError
from tanager.missing.rule import GapRule
from tanager.registry import check_option
from tanager.runtime.threads import thread_limit
from tanager.uncertainty.any_posterior import METHODS, AnyPosterior
from tanager.uncertainty.bands import effect_deviations, with_bands
from tanager.uncertainty.interval import Interval, check_level, reach

if TYPE_CHECKING:
    from tanager.classifiers.base import TableClassifier

FEWEST_DRAWS = 2


class GivesIntervals(ReadsTables):
    """What a classifier does to say how sure it is."""

    gaps_: GapRule
    model_: AnyModel
    posterior_: AnyPosterior | None = None

    def prepare_intervals(
        self,
        X: object,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        method: str = "auto",
        n_draws: int = 30,
        random_state: int = 0,
    ) -> Self:
        """Learn from the training rows how sure the classifier is; then `predict_interval` says it of any row.

        Parameters
        ----------
        X, y, sample_weight
            The rows the classifier was fitted to.
        method : "auto", "broad", "dirichlet", "laplace" or "bootstrap"
            For every classifier: "broad" holds the classifier
            against a model that leaves no attribute, pair or combination out, averaged over its strengths: what the
            classifier has chosen is not taken for granted. "laplace" takes structure and strengths for granted and
            asks how far tables fitted by "conditional" could be off. "bootstrap" fits `n_draws` times
            to rows of random weights, everything chosen again but the cut points. "auto" is "dirichlet" for
            parameters="frequency", else "broad".
        n_draws : int
            Fits of the bootstrap.
        random_state : int
            Seed of the bootstrap; the other methods give the same numbers always.

        Returns
        -------
        self
        """
        from tanager.classifiers.posteriors import Preparation

        check_is_fitted(self)
        check_option("method", method, METHODS)
        if n_draws < FEWEST_DRAWS:
            raise OptionError(f"n_draws={n_draws!r} must be a number of fits, {FEWEST_DRAWS} at least.")
        with cast("TableClassifier", self)._replacing() as new, thread_limit(self.n_jobs):
            new.posterior_ = Preparation.of(new, X, y, sample_weight).learn(method, n_draws, random_state)
            if new.model_.kind == "effects":
                new.model_ = with_bands(new.model_, new.posterior_)
        return self

    def predict_interval(self, X: object, level: float = 0.9) -> Interval:
        """Intervals of P(class | row) that hold the truth with probability `level`, one for each class of each row.

        `prepare_intervals` says by what posterior, and must have been called. `lower`, `median` and `upper` are each
        (n_rows, n_classes), in the order of `classes_`; but for "dirichlet" the median is `predict_proba`.
        """
        now = cast("TableClassifier", self)._now()
        share, posterior = now.check_intervals(level)
        _, codes = now.encode(X)
        logs = now.predict_log_proba(X)
        with thread_limit(now.n_jobs):
            return posterior.interval(codes, logs, share, now.gaps_)

    def effect_interval(self, *attributes: str, level: float = 0.9) -> Interval:
        """An interval of a main effect, or of the effect of a pair: what each state adds to the log odds of each class.

        attributes : one name, or the two of a pair of `model_.edges`

        Returns (states, n_classes) each, or (states of the first, of the second, n_classes) at the granularity of
        pairs, in the order of the columns' states. The middle is the model's own.
        """
        share, posterior = self.check_intervals(level)
        if self.model_.kind != "effects":
            raise OptionError("only an additive model has intervals of effects.", hint="use AdditiveClassifier.")
        network = self.model_
        odds = class_odds(network.main(*attributes) if len(attributes) == 1 else network.pair(*attributes))
        term = tuple(network.number(name) for name in attributes)
        deviations = effect_deviations(network, posterior, term)
        half = np.full(odds.shape, np.nan) if deviations is None else reach(share) * deviations
        return Interval(odds - half, odds, odds + half)

    def check_intervals(self, level: float) -> tuple[float, AnyPosterior]:
        """The level and the posterior, or an error that says what to do."""
        check_is_fitted(self)
        share = check_level(level)
        if self.posterior_ is None:
            raise MissingMethodError(
                f"this {type(self).__name__} has nothing to say how sure it is: that needs its training rows once.",
                hint="call prepare_intervals(X, y) with them; `tanager fit --intervals` keeps that in the model file.",
            )
        return share, self.posterior_
