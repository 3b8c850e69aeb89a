"""Which rule a classifier holds, by its option `missing`; with "category" a gap is a state of its own in the schema.

So with "category" only an unseen category is a missing cell, or a gap in a column that had none in training; these
follow the rule that "auto" gives.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from tanager.additive.model import AnyModel
from tanager.missing.average import Averaged
from tanager.missing.expected import Expected
from tanager.missing.filling import Filling, FillingTask
from tanager.missing.left_out import LeftOut
from tanager.missing.mixed import Mixed
from tanager.missing.rule import GapRule
from tanager.missing.skip import Skipped
from tanager.missing.sum_out import SummedOut

MISSING = ("auto", "average", "marginalize", "skip", "category")


def needs_filler(missing: str, describes_attributes: bool) -> bool:
    """Whether to average over gaps; by default not where the network's tables describe its attributes."""
    return missing == "average" or (missing in ("auto", "category") and not describes_attributes)


def choose_rule(
    network: AnyModel, filling: Filling | FillingTask | None = None, missing: str = "marginalize"
) -> GapRule:
    """The rule of a network learnt with this `missing`, averaging where there is a filling; or of a network alone."""
    if network.kind == "mixtures":
        return Mixed(network)
    if network.kind == "trees":
        return LeftOut(network)
    if filling is not None:
        return Averaged(network, filling)
    if network.kind == "effects":
        return Expected(network) if network.gap_rule is None else cast(GapRule, network.gap_rule)
    return Skipped(network) if missing == "skip" else SummedOut(network)


def with_rule(network: AnyModel, rule: GapRule) -> AnyModel:
    """The network that a classifier shows: one of effects, which has no joint to ask, queries the rule."""
    return replace(network, gap_rule=rule) if network.kind == "effects" else network
