"""Layer 11: one self-contained page about a fitted classifier: look at it, question it, judge it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from numpy.typing import ArrayLike

    from tanager.classifiers.base import TableClassifier
    from tanager.metrics import Quality
    from tanager.table.schema import Category

__all__ = ["report"]


def report(
    clf: TableClassifier,
    X: object = None,
    y: ArrayLike | None = None,
    path: str | os.PathLike[str] | None = None,
    *,
    quality: Quality | None = None,
    title: str | None = None,
    purpose: str | None = None,
    author: str | None = None,
    card: str | os.PathLike[str] | None = None,
    event: Category | None = None,
    keep_rows: bool = True,
) -> str | Path:
    """Write one self-contained HTML page about a fitted classifier; it needs a browser and no network.

    The page opens with what the model is worth on rows that it has not seen and with what drives it. It answers what-if
    questions as `predict_proba` does: set any attribute and see the class probabilities, and what contributes to them,
    move. With rows it can load any of them and shows how they are spread over the states; with their classes it shows
    how good the predictions are, what a threshold costs, and where the model fails.

    Parameters
    ----------
    clf : fitted classifier
    X : table, optional
        Rows to show and to judge by; best rows that the model has not seen.
    y : array of classes, optional
        The class of each row.
    path : path, optional
        The file to write, all at once.
    quality : Quality, optional
        As `cross_validate_model` gives it; by default that of a classifier that was read from a file. It is the
        headline where the rows are those that the model was learnt from, and where there are none. An additive model
        that is given the rows it was learnt from, and no quality, is cross-validated here.
    title : str, optional
        Of the page: the name of the table, say.
    purpose, author : str, optional
        For the model card: what the model is for, and who answers for it.
    card : path, optional
        A second file to write: the model card of the page, as Markdown (.md) or JSON (.json).
    event : class, optional
        The class that matters; by default that of the quality or of the decision, else the rarer of two.
    keep_rows : bool
        Whether the rows of X are inside the page, so that what-if can load them. Counts and curves are in any case.

    Returns
    -------
    Path or str
        The path written, or the page itself as text where no path is given, which a notebook shows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import TANClassifier, report
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> page = report(TANClassifier().fit(X, y), X, y)
    >>> page[:15]
    '<!doctype html>'
    """
    # Imported here: `tanager` imports this function when it is itself imported, and must stay light.
    from tanager.report.model_card import About
    from tanager.report.write_page import write_page

    return write_page(clf, X, y, path, quality, About(title, purpose, author), card, event, keep_rows)
