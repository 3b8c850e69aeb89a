"""A fitted classifier, and rows to judge it by, as one HTML page."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from tanager.classifiers import BayesianNetworkClassifier
from tanager.errors import DataError, DataWarning
from tanager.files.atomic import atomic_write, check_writable
from tanager.files.output_path import OutputKind, begins_with
from tanager.report.collect import collect
from tanager.report.render import render

PAGE = OutputKind(
    "a page of `tanager report`", begins_with(rb'<!doctype html>.*<meta name="generator" content="Tanager">')
)
LARGE_PAGE = 3_000_000
"""Bytes."""


def write_page(
    clf: BayesianNetworkClassifier, X: object, y: ArrayLike | None, path: str | os.PathLike[str] | None
) -> str | Path:
    """See `tanager.report.report`."""
    check_is_fitted(clf)
    if X is None and y is not None:
        raise DataError("the report was given classes y without the rows X they belong to.", hint="pass X too.")
    if path is not None:
        check_writable(path)
    page = render(collect(clf, X, y))
    content = page.encode("utf-8", "xmlcharrefreplace")
    if len(content) > LARGE_PAGE:
        n_cells = sum(table.size for table in clf.network_.tables)
        warnings.warn(
            f"the page has {len(content) / 1e6:.1f} MB, as the tables of the model have {n_cells:,} cells; "
            "it may open slowly.",
            DataWarning,
            stacklevel=3,
        )
    if path is None:
        return page
    with atomic_write(path) as stream:
        stream.write(content)
    return Path(path)
