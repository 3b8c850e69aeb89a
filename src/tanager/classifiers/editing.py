"""apply_edits and undo_edits: a classifier corrected by hand, and back."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from tanager.additive.model import AdditiveModel
from tanager.classifiers.additive import AdditiveClassifier
from tanager.classifiers.base import TableClassifier
from tanager.edits.change import edit_network
from tanager.edits.edit import Edit, Edits
from tanager.edits.filling import without_attribute
from tanager.edits.intercept import refit_intercept
from tanager.edits.revision import Revision, model_digest
from tanager.errors import OptionError
from tanager.missing.choose import choose_rule
from tanager.missing.filling import Filling
from tanager.table.training_table import read_rows


def apply_edits(
    clf: AdditiveClassifier, edits: Edits | Edit | list[Edit], X: object = None, y: ArrayLike | None = None
) -> AdditiveClassifier:
    """A classifier corrected by hand; the one given stays as it is.

    The model must be an additive one (`AdditiveClassifier`). The new one keeps the edits, with who, when and why, in
    `edits_` and in its file, and `undo_edits` takes them back. What was measured of the old model is not said of the
    new one: its `quality_` is None, and intervals are to be prepared again.

    A removed attribute has no say whatever: its effect, its pairs and every tree that asks for it go, and what it holds
    says nothing of cells that are missing. A flattened or monotone curve is the attribute's own; what its pairs and
    trees say stays.

    Parameters
    ----------
    clf : AdditiveClassifier
        Fitted, or read from a file.
    edits : Edits, Edit or list of Edit
        In their order. An `Edits` that names another model is refused.
    X : table, optional
        With rows the intercept is fitted to them again, so that the mean probability of each class is its share.
    y : array of shape (n_rows,), optional
        The classes of these rows.

    Returns
    -------
    AdditiveClassifier
        The corrected one.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tanager import AdditiveClassifier, Edit, apply_edits
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> clf = AdditiveClassifier().fit(X, y)
    >>> edited = apply_edits(clf, Edit.remove("worst texture", reason="not measured in our hospital"))
    >>> X["worst texture"] = 0.0
    >>> bool((clf.predict_proba(X) == edited.predict_proba(X)).all())
    False
    >>> print(edited.edits_[0].edits.edits[0].where)
    remove worst texture
    """
    check_is_fitted(clf)
    clf = getattr(clf, "to_model", lambda: clf)()  # one that decides has the model within
    network = editable_network(clf)
    listed = edits if isinstance(edits, Edits) else Edits((edits,) if isinstance(edits, Edit) else tuple(edits))
    digest = model_digest(network)
    if listed.model not in ("", digest):
        raise OptionError(
            f"the edits were made for another model (digest {listed.model[:12]}…); this one has {digest[:12]}….",
            hint="apply them to the model of the page they come from, before any other edits.",
        )
    before = network = replace(network, gap_rule=None)
    for edit in listed:
        network = edit_network(network, edit)
    if (X is None) != (y is None):
        raise OptionError("to fit the intercept again takes rows X and their classes y, both.")
    if X is not None:
        table, codes = clf.encode(X)
        class_codes = read_rows(table, y, None, clf.classes_).class_codes
        network = refit_intercept(network, codes, class_codes.astype(np.intp))
    filling: Filling | None = getattr(clf.gaps_, "filling", None)
    for edit in listed:
        if filling is not None and edit.what == "remove" and len(edit.attributes) == 1:
            filling = without_attribute(filling, network.number(edit.attributes[0]))
    edited = copy(clf)
    edited.gaps_ = choose_rule(network, filling, clf.missing)
    edited.model_ = replace(network, gap_rule=edited.gaps_)
    signed = replace(listed.signed(), model=digest)
    edited.edits_ = (*clf.edits_, Revision(signed, before, clf.gaps_, clf.quality_, clf.posterior_, X is not None))
    edited.quality_ = edited.posterior_ = None
    return edited


def undo_edits(clf: AdditiveClassifier) -> AdditiveClassifier:
    """The classifier from before the last edits, bit by bit, with the quality that was measured of it.

    Intervals are to be prepared again.

    Parameters
    ----------
    clf : AdditiveClassifier
        One that `apply_edits` gave, or read from a file that keeps edits.

    Returns
    -------
    AdditiveClassifier
        What `apply_edits` was given.
    """
    check_is_fitted(clf)
    if not clf.edits_:
        raise OptionError("the model has no edits to undo.")
    *earlier, last = clf.edits_
    undone = copy(clf)
    undone.gaps_, undone.model_ = last.gaps, replace(last.network, gap_rule=last.gaps)
    undone.edits_, undone.quality_, undone.posterior_ = tuple(earlier), last.quality, last.posterior
    return undone


def editable_network(clf: TableClassifier) -> AdditiveModel:
    """The model of a classifier that can be edited: an additive one."""
    if clf.model_.kind != "effects":
        raise OptionError(
            "edits change the terms of an additive model; this one is made of tables.",
            hint="AdditiveClassifier learns an additive model.",
        )
    return clf.model_
