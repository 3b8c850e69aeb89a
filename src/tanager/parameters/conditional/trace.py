"""What a discriminative fit tells of itself."""

from __future__ import annotations

from dataclasses import dataclass

from tanager.parameters.conditional.strengths import Strengths
from tanager.parameters.protocol import ParameterTrace


@dataclass(frozen=True)
class ConditionalTrace(ParameterTrace):
    """A choice of strengths on held-out folds, then a descent on all rows.

    strength             of each level of the prior
    held_out             mean held-out loss of all strengths tried, in the order in which they were
    objective            penalised loss at the start and after each iteration
    gradient_norm        of the scaled gradient, likewise
    passes               over all rows
    passes_on_folds      over the rows of folds
    end                  why the descent stopped
    optimum              "global within so many nats"; "global, how near is not known" where there is only one but no
                         bound; else "maybe local"
    bound                nats by which the objective can be above the global optimum at most; None if not known
    p_bound              how far P(class | row) of a training row can be from that at the optimum at most
    p_rms_bound          the same in the root mean square over the training rows
    by_iteration         mean held-out loss after 0, 1, ... iterations, for stopping="cross-tuning"
    marginal_difference  of the tables' class-free marginals from those of the rows, the largest; None where they are
                         not made to agree
    """

    strength: Strengths
    held_out: tuple[tuple[Strengths, float], ...]
    objective: tuple[float, ...]
    gradient_norm: tuple[float, ...]
    passes: int
    passes_on_folds: int
    end: str
    optimum: str
    bound: float | None = None
    p_bound: float | None = None
    p_rms_bound: float | None = None
    by_iteration: tuple[float, ...] = ()
    marginal_difference: float | None = None
