"""A fitted classifier in other languages: SQL, JavaScript, C, Python, ONNX, a scorecard, a workbook."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tanager.classifiers.base import TableClassifier
    from tanager.decide.classifiers import FixedDecisionClassifier

__all__ = ["export"]


def export(
    clf: TableClassifier | FixedDecisionClassifier,
    to: str,
    path: str | os.PathLike[str] | None = None,
    *,
    rename: Mapping[str, str] | None = None,
    dialect: str | None = None,
    table: str | None = None,
    key: str | Sequence[str] | None = None,
    view: str | None = None,
    name: str | None = None,
    double: float | None = None,
    even: float | None = None,
    rows: int | None = None,
) -> str | bytes | Path:
    """Write a fitted classifier in another language; where it gives probabilities they are equal to `predict_proba`.

    Where a missing cell has a state of its own, it is looked up as any other. Python and JavaScript also average over
    unknown cells or sum them out, as the classifier does. The other languages give a row with one no probabilities
    (NULL, NaN).

    Parameters
    ----------
    clf : fitted classifier
    to : "sql", "python", "js", "c", "onnx", "scorecard" or "excel"
        One `SELECT`; one Python file that needs the standard library alone; an ES module; a C99 header; an ONNX model
        (extra `onnx`); whole points to add up, for two classes; a workbook whose formulas compute (extra `excel`).
    path : path, optional
        The file to write, all at once.
    rename : mapping, optional
        What a column of the model is called where the export is used.
    dialect : "sqlite", "duckdb" or "postgresql", for SQL
    table, key : str, for SQL
        The table to read, and its column, or columns, that tell rows apart.
    view : str, optional, for SQL
        The view to make of the `SELECT`.
    name : str, optional, for C
        What the names in the header begin with; by default "model".
    double, even : float, for a scorecard
        Points that double the odds (20), and points of even odds (500).
    rows : int, for Excel
        How many rows the workbook computes (100).

    Returns
    -------
    Path, str or bytes
        The path written, or the content itself where no path is given.

    Examples
    --------
    >>> from tanager import NaiveBayesClassifier, export
    >>> clf = NaiveBayesClassifier().fit([["a"], ["b"], ["b"]], ["yes", "no", "no"])
    >>> scope = {}
    >>> exec(export(clf, "python"), scope)
    >>> scope["predict"]({"x0": "a"})
    'yes'
    """
    # Imported here: `tanager` imports this function when it is itself imported, and must stay light.
    from tanager.export.targets import write_export

    options: dict[str, object] = {"dialect": dialect, "table": table, "key": key, "view": view, "name": name}
    options |= {"double": double, "even": even, "rows": rows}
    return write_export(clf, to, path, rename, options)
