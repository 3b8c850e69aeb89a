"""Model files: a fitted classifier as one JSON file, checked when read; nothing in it is ever executed."""

from __future__ import annotations

import os

from sklearn.utils.validation import check_is_fitted

from tanager.check.preprocessing import Recipe
from tanager.classifiers.base import TableClassifier
from tanager.decide.classifiers import DecidingClassifier
from tanager.errors import FileError, OptionError
from tanager.files.document_file import document_kind, parse_json, read_document, write_json
from tanager.files.parse_model import from_document
from tanager.files.write_model import to_document
from tanager.metrics import Quality
from tanager.network.document import DocumentError, shorten

MODEL = document_kind("a model of Tanager", "classifier")


def save_model(
    clf: TableClassifier | DecidingClassifier,
    path: str | os.PathLike[str],
    *,
    quality: Quality | None = None,
    recipe: Recipe | None = None,
) -> None:
    """Write a fitted classifier to a JSON file, all at once: an error leaves an older file as it was.

    Parameters
    ----------
    clf : fitted classifier
        Of a classifier that decides, the one within is written with its decision, which `predict` then follows.
    path : str or path
        Of the file.
    quality : Quality or None
        As `cross_validate_model` gives it: `report` and `explain` show it for the rows learnt from. None keeps that of
        a classifier that was read from a file, `clf.quality_`.
    recipe : Recipe or None
        Of the table that the classifier was fitted to. None keeps `clf.recipe_`.

    Examples
    --------
    >>> import tempfile
    >>> from tanager import NaiveBayesClassifier, load_model, save_model
    >>> clf = NaiveBayesClassifier().fit([["a"], ["b"], ["b"]], ["yes", "no", "no"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(clf, f"{folder}/model.json")
    ...     same = load_model(f"{folder}/model.json")
    >>> same.predict([["a"], ["b"]]).tolist()
    ['yes', 'no']
    """
    check_is_fitted(clf)
    model = clf.to_model() if isinstance(clf, DecidingClassifier) else clf
    if quality is not None and quality.classes.tolist() != model.classes_.tolist():
        raise OptionError(
            f"the quality is of a model of the classes {shorten(quality.classes.tolist())}, and this one has "
            f"{shorten(model.classes_.tolist())}.",
            hint="measure it with cross_validate_model(clf, X, y).",
        )
    try:
        document = to_document(model, quality, model.recipe_ if recipe is None else recipe)
    except DocumentError as error:
        raise FileError(
            f"cannot save the model to {str(path)!r}: {error}.",
            hint="set that option to a name or a value with set_params; the fitted model keeps what it has learnt.",
        ) from error
    write_json(path, "model", document)


def load_model(path: str | os.PathLike[str]) -> TableClassifier:
    """Read a classifier that `save_model` wrote; it predicts bit by bit the same.

    Parameters
    ----------
    path : str or path
        Of a file that `save_model` or `tanager fit` wrote.

    Returns
    -------
    TableClassifier
        Its `recipe_` is what tables go through before it sees them (`recipe_.apply`), perhaps nothing.
    """
    return read_document(path, "model", lambda content: from_document(parse_json(content)))
