"""Data checks: the issues of a table, found before a model learns from it, and the preprocessing that fixes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tanager.check.checkup import Checkup

__all__ = ["check"]


def check(X: Any, y: object = None) -> Checkup:
    """Check a table: what each column is, the issues found, and what fixes them.

    Parameters
    ----------
    X : table
        Any.
    y : array of shape (n_rows,), str or None
        The class of each row, if there is one, or the name of its column in X.

    Returns
    -------
    Checkup
        It prints and shows itself in a notebook; its `recipe` is the preprocessing that fixes issues.

    Examples
    --------
    >>> import pandas as pd
    >>> from tanager import check
    >>> ages = ["unknown", *map(str, range(20, 60))] * 5
    >>> table = pd.DataFrame({"age": ages, "patient": [f"P{k:05}" for k in range(205)]})
    >>> found = check(table, ["ill", "well", "ill", "ill", "well"] * 41)
    >>> for finding in found.findings:
    ...     print(finding.severity, finding.column, finding.option)
    high age --missing unknown
    high patient --drop patient leaves it out
    >>> found.recipe.apply(table).column_names
    ['age']
    """
    import narwhals as nw

    from tanager.check.examine import examine
    from tanager.registry import check_option
    from tanager.table.read_columns import read_mixed

    if isinstance(y, str):
        frame = nw.from_native(X, eager_only=True)
        check_option("y", y, frame.columns)
        return examine(read_mixed(frame.drop(y).to_native()), frame[y].to_native(), class_name=y)
    return examine(read_mixed(X), y)
