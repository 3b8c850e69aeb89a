"""What each set of attributes adds to the log odds of a row."""

from __future__ import annotations

import numpy as np

from tanager.errors import OptionError
from tanager.explain.cells import ExplainedRows


def set_parts(
    cells: ExplainedRows, row: int, favoured: np.intp, against: np.intp, log_odds: np.float64
) -> dict[tuple[str, ...], float]:
    """Names -> nats, the largest first; see `Explanation.sets`. `log_odds` are what they add up to."""
    network, row = cells.network, range(len(cells.codes))[row]
    if network.kind != "effects":
        raise OptionError("only an additive model has parts of sets of attributes.", hint="use contributions.")
    parts = {
        tuple(network.nodes[node] for node in term): float(own[0, favoured] - own[0, against])
        for term, own in network.set_effects(cells.codes[row : row + 1]).items()
    }
    if not cells.present[row].all():
        parts[()] = float(log_odds) - sum(parts.values())
    return dict(sorted(parts.items(), key=lambda part: -abs(part[1])))
