"""Which classes of each row are compared; what each attribute adds to their log odds is said by the gap rule."""

from __future__ import annotations

import numpy as np

from tanager.errors import OptionError
from tanager.explain.cells import Cells, Model
from tanager.explain.explanation import Explanation
from tanager.table.schema import Category


def explain_rows(model: Model, X: object, against: Category | None = None) -> Explanation:
    """See `tanager.explain.explain`."""
    cells = Cells.read(model, X)
    rows = np.arange(len(cells.codes))
    logs = cells.log_posterior
    if logs.shape[1] < 2:
        raise OptionError(f"the class {cells.network.nodes[-1]!r} has one state, so there is no decision to explain.")
    if against is None:
        order = np.argsort(-logs, axis=1, kind="stable")  # the first of equally probable classes, as in `predict`
        favoured, other = order[:, 0], order[:, 1]
    else:
        other = np.full(len(rows), cells.network.code(cells.network.nodes[-1], against))
        rivals = logs.copy()
        rivals[:, other] = -np.inf
        favoured = rivals.argmax(axis=1)
    odds = logs[rows, favoured] - logs[rows, other]
    parts = cells.rule.contributions(cells.codes, favoured, other, odds)
    return Explanation(cells, favoured, other, parts.prior, parts.terms, parts.remainder, odds)
