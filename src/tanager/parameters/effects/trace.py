"""What a fit of effects reports."""

from __future__ import annotations

from dataclasses import dataclass

from tanager.parameters.conditional.trace import ConditionalTrace


@dataclass(frozen=True)
class EffectsTrace(ConditionalTrace):
    """Of the model with the larger share where the network is a mean of two.

    pairs              how many there are in the network, not zero
    zero_attributes    names of those that are exactly zero, alone and in all pairs: they say nothing
    naive_bayes_share  of the model whose main effects shrink to those of naive Bayes
    norm_share         of the model whose penalty is the norm of each block of effects
    share_of_folds     of the folds' fits in the network
    triples            how many effects of three attributes there are
    tree_rounds        rounds of trees beside the effects
    tree_share         of the trees in the mean of effects and trees
    tree_forests       how many forests of so many rounds are averaged
    monotone           names of the attributes whose effects were constrained; none where they obeyed by themselves
    """

    pairs: int = 0
    zero_attributes: tuple[str, ...] = ()
    naive_bayes_share: float = 0.0
    norm_share: float = 0.0
    share_of_folds: float = 0.0
    triples: int = 0
    tree_rounds: int = 0
    tree_share: float = 0.0
    tree_forests: int = 0
    monotone: tuple[str, ...] = ()
