"""Whether rows are those that a model was learnt from: by one digest of the whole table, which tells nothing of it."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import ArrayLike

from tanager.classifiers.base import TableClassifier, encode_table
from tanager.errors import DataError
from tanager.metrics import Quality
from tanager.table.training_table import encode_labels, read_labels


def table_digest(clf: TableClassifier, X: object, y: ArrayLike) -> str:
    """SHA-256 of the rows and their classes in the codes of a fitted classifier, whatever kind of table they are in."""
    _, codes = encode_table(clf, X)
    _, class_codes = encode_labels(read_labels(y), clf.classes_)
    digest = hashlib.sha256(repr(codes.shape).encode())
    for part in (codes, class_codes):
        digest.update(np.ascontiguousarray(part, dtype="<u4").tobytes())
    return digest.hexdigest()


def quality_of_training_table(clf: TableClassifier, X: object, y: ArrayLike, quality: Quality | None) -> Quality | None:
    """The quality, if it is of just this table, whose rows all have a class."""
    if quality is None or not quality.digest:
        return None
    try:
        return quality if table_digest(clf, X, y) == quality.digest else None
    except DataError:  # no row, or a class that the model does not know: another table
        return None
