"""Which rule a classifier holds, by its option `missing` and by its model.

With "auto" and "category" a missing cell may be a state of its own, which the schema decides. Cells that are still
unknown then follow the rule that is chosen here.
"""

from __future__ import annotations

from tanager.additive.model import AnyModel
from tanager.missing.average import Averaged
from tanager.missing.imputation import Imputation
from tanager.missing.marginalize import LeftOut, Mixed, SummedOut
from tanager.missing.rule import MissingRule
from tanager.missing.skip import Expected, Skipped

MISSING = ("auto", "average", "marginalize", "skip", "category")


def needs_imputation(missing: str, describes_attributes: bool) -> bool:
    """Whether unknown cells are averaged over by an imputation model.

    Tables that describe the attributes need none: to average over their own joint is to marginalise it.
    """
    return missing in ("auto", "average", "category") and not describes_attributes


def choose_rule(network: AnyModel, imputation: Imputation | None = None, missing: str = "marginalize") -> MissingRule:
    """The rule of a model learnt with this `missing`, averaging where there is an imputation; or of a model alone."""
    match network.kind:
        case "mixtures":
            return Mixed(network)
        case "trees":
            return LeftOut(network)
    if imputation is not None:
        return Averaged(network, imputation)
    if network.kind == "effects":
        return Expected(network)
    return Skipped(network) if missing == "skip" else SummedOut(network)
