"""Which rule a classifier holds, by its option `missing`; with "category" a gap is a state of its own in the schema.

So with "category" only an unseen category is a missing cell, or a gap in a column that had none in training; these
follow the rule that "auto" gives.
"""

from __future__ import annotations

from tanager.gaps.average import Averaged
from tanager.gaps.expected import Expected
from tanager.gaps.filling import Filling
from tanager.gaps.rule import GapRule
from tanager.gaps.skip import Skipped
from tanager.gaps.sum_out import SummedOut
from tanager.network.any_network import AnyNetwork

MISSING = ("auto", "average", "marginalize", "skip", "category")


def needs_filler(missing: str, describes_attributes: bool) -> bool:
    """Whether to average over gaps; by default not where the network's tables describe its attributes."""
    return missing == "average" or (missing in ("auto", "category") and not describes_attributes)


def choose_rule(network: AnyNetwork, filling: Filling | None = None, missing: str = "marginalize") -> GapRule:
    """The rule of a network learnt with this `missing`, averaging where there is a filling; or of a network alone."""
    if filling is not None:
        return Averaged(network, filling)
    if network.kind == "effects":
        return Expected(network)
    return Skipped(network) if missing == "skip" else SummedOut(network)
