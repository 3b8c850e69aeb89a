"""AdditiveTrace: what the fit of an additive model chose, and how near the optimum it is."""

from __future__ import annotations

from dataclasses import dataclass, field

from tanager.parameters.protocol import ParameterTrace


@dataclass(frozen=True)
class AdditiveTrace(ParameterTrace):
    """What was chosen on the folds, and by what.

    pairs              how many pairs the model has
    tree_share         weight of the trees in the mean of effects and trees, from 0 to 1
    tree_rounds        boosting rounds of each forest
    tree_forests       how many forests are averaged
    zero_attributes    names of the attributes whose effects are all exactly zero
    monotone           names of the attributes whose effects were constrained
    validation_losses  what was tried on the folds, in words, and its mean validation loss, in the order of the trials
    change_of_p        estimate of the largest |change of P(class | row)| if the fit went on; None if not known
    seconds            that the fit took, by the clock on the wall; None where that is not known: files do not keep it
    """

    pairs: int = 0
    tree_share: float = 0.0
    tree_rounds: int = 0
    tree_forests: int = 0
    zero_attributes: tuple[str, ...] = ()
    monotone: tuple[str, ...] = ()
    validation_losses: tuple[tuple[str, float], ...] = ()
    change_of_p: float | None = None
    seconds: float | None = field(default=None, compare=False)
