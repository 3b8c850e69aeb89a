"""Corrections of an additive model as values, and `apply_edits` and `undo_edits`: a classifier corrected, and back."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import compress
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from sklearn.isotonic import isotonic_regression
from sklearn.utils.validation import check_is_fitted

from tanager.additive.forest import Forest
from tanager.additive.importance import class_odds, tree_mains
from tanager.additive.model import AdditiveModel
from tanager.arrays import Array, Codes, Places
from tanager.classifiers.additive import AdditiveClassifier
from tanager.classifiers.base import encode_table
from tanager.errors import DataError, OptionError
from tanager.metrics import Quality
from tanager.missing.average import Imputation, choose_rule
from tanager.missing.rule import MissingRule
from tanager.network.log_joint import normalize_log
from tanager.registry import check_option, nearest_first
from tanager.table.schema import MOMENTS, Category, ColumnSchema
from tanager.table.training_table import read_rows
from tanager.uncertainty.posterior import AnyPosterior

What = Literal["flatten", "monotone", "remove"]
Direction = Literal["increasing", "decreasing"]
Bound = float | str | None
DIRECTIONS: tuple[Direction, ...] = ("increasing", "decreasing")
WHATS: tuple[What, ...] = ("flatten", "monotone", "remove")
LONGEST_TEXT = 2_000
LEAST_SHARE = 1e-12
"""What a state that no training row is in weighs in a mean."""
TOLERANCE = 1e-12


@dataclass(frozen=True)
class Edit:
    """One correction; `flatten`, `monotone` and `remove` make them.

    Parameters
    ----------
    what : "flatten", "monotone" or "remove"
        The kind of correction.
    attributes : tuple of str
        One, or the two of a pair to remove.
    reason : str
        Why: nobody may change a model without one.
    who : str
        By whom.
    when : str
        The time, as ISO 8601 has it; `apply_edits` fills in an empty one.
    start : float, str or None
        The stretch of a curve is start <= x < end: numbers, or the text of dates; None for no end.
    end : float, str or None
        See `start`.
    states : tuple
        The categories of a stretch.
    direction : "increasing", "decreasing" or None
        Of a monotone curve.
    of : class or None
        The class whose log odds are made monotone; None for the second of two.

    Examples
    --------
    >>> print(Edit("remove", ("race",), reason="must not matter"))
    remove race: must not matter
    >>> print(Edit.flatten("age", 70, reason="few rows", who="A. Nurse"))
    flatten age from 70: few rows (A. Nurse)
    """

    what: What
    attributes: tuple[str, ...]
    reason: str
    who: str = ""
    when: str = ""
    start: Bound = None
    end: Bound = None
    states: tuple[Category, ...] = ()
    direction: Direction | None = None
    of: Category | None = None

    def __post_init__(self) -> None:
        if not self.reason.strip():
            raise OptionError(f"the edit {self.where!r} has no reason.", hint="say why: reason='...'.")
        if max(map(len, (self.reason, self.who, self.when))) > LONGEST_TEXT:
            raise OptionError(f"reason, name and time of an edit have at most {LONGEST_TEXT:,} characters each.")

    @classmethod
    def flatten(
        cls,
        attribute: str,
        start: Bound = None,
        end: Bound = None,
        *,
        reason: str,
        states: tuple[Category, ...] | list[Category] = (),
        who: str = "",
    ) -> Edit:
        """One value on a stretch of a curve, start <= x < end, or for some categories: the mean over their rows."""
        return cls("flatten", (attribute,), reason, who, start=start, end=end, states=tuple(states))

    @classmethod
    def monotone(
        cls,
        attribute: str,
        direction: Direction,
        *,
        reason: str,
        of: Category | None = None,
        start: Bound = None,
        end: Bound = None,
        who: str = "",
    ) -> Edit:
        """A curve, or a stretch of it, that only rises or only falls in the log odds of a class, changed least."""
        return cls("monotone", (attribute,), reason, who, start=start, end=end, direction=direction, of=of)

    @classmethod
    def remove(cls, attribute: str, partner: str | None = None, *, reason: str, who: str = "") -> Edit:
        """No effect of an attribute, nor of any pair or tree with it; with a partner, no effect of that pair."""
        return cls("remove", (attribute,) if partner is None else (attribute, partner), reason, who)

    @property
    def where(self) -> str:
        """ "flatten age from 30 to 50", "make age increasing", "remove age & sex"."""
        name = " & ".join(self.attributes)
        if self.what == "remove":
            return f"remove {name}"
        ends = [f"{word} {bound}" for word, bound in (("from", self.start), ("to", self.end)) if bound is not None]
        stretch = f" for {', '.join(map(str, self.states))}" if self.states else f" {' '.join(ends)}" if ends else ""
        if self.what == "flatten":
            return f"flatten {name}{stretch}"
        of = "" if self.of is None else f" for {self.of}"
        return f"make {name} {self.direction}{of}{stretch}"

    def __str__(self) -> str:
        signature = ", ".join(filter(None, (self.who, self.when)))
        return f"{self.where}: {self.reason}" + (f" ({signature})" if signature else "")


@dataclass(frozen=True)
class Edits:
    """Corrections in their order, and the model they were made for.

    Parameters
    ----------
    edits : tuple of Edit
        At least one.
    model : str
        The digest of the model (`model_digest`), which a page of `report` fills in; empty for any model.
    """

    edits: tuple[Edit, ...]
    model: str = ""

    def __post_init__(self) -> None:
        if not self.edits:
            raise OptionError("there is no edit to apply.")

    def __iter__(self) -> Iterator[Edit]:
        return iter(self.edits)

    def __len__(self) -> int:
        return len(self.edits)

    def signed(self, who: str = "") -> Edits:
        """Each with a name, where it has none, and a time: now."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        return replace(
            self, edits=tuple(replace(edit, who=edit.who or who, when=edit.when or now) for edit in self.edits)
        )

    def __str__(self) -> str:
        return "\n".join(map(str, self.edits))


@dataclass(frozen=True)
class Revision:
    """Edits, and what the classifier was before them: model, rule about missing cells, quality, posterior.

    `refitted`: the intercept was fitted again too.
    """

    edits: Edits
    model: AdditiveModel
    missing_rule: MissingRule
    quality: Quality | None
    posterior: AnyPosterior | None = None
    refitted: bool = False

    def __str__(self) -> str:
        return f"{self.edits}\nThe intercept was fitted again." if self.refitted else str(self.edits)


def model_digest(model: AdditiveModel) -> str:
    """SHA-256 of the columns and effects of an additive model, by which edits know their model."""
    digest = hashlib.sha256(repr([(column.name, column.states) for column in model.columns]).encode())
    digest.update(repr(model.pairs).encode())
    for array in (model.intercept, *model.mains, *model.tables):
        digest.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
    if (forest := model.forest) is not None:
        for tree_array in (forest.roots, forest.of_class, forest.attributes, forest.ends, forest.left, forest.values):
            digest.update(np.ascontiguousarray(tree_array, dtype="<f8").tobytes())
    return digest.hexdigest()


def apply_edits(
    clf: AdditiveClassifier, edits: Edits | Edit | list[Edit], X: object = None, y: ArrayLike | None = None
) -> AdditiveClassifier:
    """A classifier corrected by hand; the one given stays as it is.

    The model must be an additive one (`AdditiveClassifier`). The new one keeps the edits, with who, when and why, in
    `edits_` and in its file, and `undo_edits` takes them back. Measures of the old model are not those of the new one:
    `quality_` is None, and intervals are to be prepared again.

    A removed attribute contributes nothing: its effect, its pairs and every tree that splits on it go, and it takes no
    part in the imputation of missing cells. A flattened or monotone curve is the attribute's main effect; its pairs and
    trees stay.

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
    >>> from tanager import AdditiveClassifier, apply_edits
    >>> from tanager.edits import Edit
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
    model = clf.model_
    if model.kind != "effects":
        raise OptionError(
            "edits change the terms of an additive model; this one is made of tables.",
            hint="AdditiveClassifier learns an additive model.",
        )
    listed = edits if isinstance(edits, Edits) else Edits((edits,) if isinstance(edits, Edit) else tuple(edits))
    digest = model_digest(model)
    if listed.model not in ("", digest):
        raise OptionError(
            f"the edits were made for another model (digest {listed.model[:12]}…); this one has {digest[:12]}….",
            hint="apply them to the model of the page they come from, before any other edits.",
        )
    before = model
    for edit in listed:
        model = edit_model(model, edit)
    if (X is None) != (y is None):
        raise OptionError("to fit the intercept again takes rows X and their classes y, both.")
    if X is not None:
        table, codes = encode_table(clf, X)
        class_codes = read_rows(table, y, None, clf.classes_).class_codes
        model = refit_intercept(model, codes, class_codes.astype(np.intp))
    imputation: Imputation | None = getattr(clf.missing_rule_, "imputation", None)
    for edit in listed:
        if imputation is not None and edit.what == "remove" and len(edit.attributes) == 1:
            imputation = imputation.without_attribute(model.number(edit.attributes[0]))
    edited = copy(clf)
    edited.missing_rule_ = choose_rule(model, imputation, clf.missing)
    edited.model_ = model
    signed = replace(listed.signed(), model=digest)
    revision = Revision(signed, before, clf.missing_rule_, clf.quality_, clf.posterior_, X is not None)
    edited.edits_ = (*clf.edits_, revision)
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
    undone.missing_rule_, undone.model_ = last.missing_rule, last.model
    undone.edits_, undone.quality_, undone.posterior_ = tuple(earlier), last.quality, last.posterior
    return undone


def edit_model(model: AdditiveModel, edit: Edit) -> AdditiveModel:
    """The model after one edit."""
    attributes = [_attribute(model, name) for name in edit.attributes]
    if edit.what == "remove":
        return _remove(model, attributes, edit)
    change = _flatten if edit.what == "flatten" else _make_monotone
    return change(model, attributes[0], edit)


def _flatten(model: AdditiveModel, attribute: int, edit: Edit) -> AdditiveModel:
    """m[s] = sum_s w_s m[s] / sum_s w_s for the states s of the stretch; w are the shares of the training rows.

    m is the curve: the main effect, and the part of the trees that depends on the attribute alone. The main effect
    makes up for both.
    """
    states = stretch(model.columns[attribute], edit)
    main, trees = model.mains[attribute].copy(), tree_mains(model)[attribute][states]
    curve = main[states] + trees
    main[states] = np.average(curve, axis=0, weights=_weights(model, attribute, states)) - trees
    return _with_main(model, attribute, main)


def _make_monotone(model: AdditiveModel, attribute: int, edit: Edit) -> AdditiveModel:
    """The isotonic regression of the log odds o_c of a class (`class_odds`), weighted by the training rows.

    They are those of the curve, as in `_flatten`. What it adds, d, is shared so that odds between other classes stay:
    (K - 1)/K d to the class, -d/K to each other.
    """
    column = model.columns[attribute]
    if not column.has_order:
        raise OptionError(
            f"{edit.where!r}: the categories of {column.name!r} have no order, so no curve to be monotone.",
            hint="flatten some of its states, or remove it.",
        )
    rising = check_option("direction", edit.direction, DIRECTIONS) == "increasing"
    states = stretch(column, edit)
    label = _class(model, edit)
    main, n_classes = model.mains[attribute].copy(), len(model.intercept)
    odds = class_odds(main[states] + tree_mains(model)[attribute][states])[:, label]
    weights = _weights(model, attribute, states)
    added = isotonic_regression(odds, sample_weight=weights, increasing=rising) - odds
    main[states] -= added[:, np.newaxis] / n_classes
    main[states, label] += added
    return _with_main(model, attribute, main)


def _remove(model: AdditiveModel, attributes: list[int], edit: Edit) -> AdditiveModel:
    """No effect of a pair; or none of an attribute, its pairs and the trees that ask for it."""
    if len(attributes) == 2:
        keep = [set(pair) != set(attributes) for pair in model.pairs]
        if all(keep):
            raise OptionError(f"{edit.where!r}: the model has no such pair.", hint="`clf.model_.edges` lists them.")
    else:
        keep = [attributes[0] not in pair for pair in model.pairs]
        model = _with_main(model, attributes[0], np.zeros_like(model.mains[attributes[0]]))
        if model.forest is not None:
            forest = without_trees_of(model.forest, attributes[0])
            model = replace(model, forest=forest, tree_share=0.0 if forest is None else model.tree_share)
    return replace(
        model,
        pairs=tuple(compress(model.pairs, keep)),
        tables=tuple(compress(model.tables, keep)),
        pair_densities=tuple(compress(model.pair_densities, keep)),
    )


def _with_main(model: AdditiveModel, attribute: int, main: Array) -> AdditiveModel:
    """With another main effect. What was drawn by hand has no spread between fits."""
    mains, spreads = list(model.mains), list(model.spreads)
    if spreads:
        changed = (main != mains[attribute]).any(axis=1)[:-1]
        spreads[attribute] = np.where(changed[:, np.newaxis], 0.0, spreads[attribute])
    mains[attribute] = main
    return replace(model, mains=tuple(mains), spreads=tuple(spreads))


def _weights(model: AdditiveModel, attribute: int, states: Places) -> Array:
    return np.maximum(model.densities[attribute][states], LEAST_SHARE)


def stretch(column: ColumnSchema, edit: Edit) -> Places:
    """The states of an edit: those it names, else the bins with a number in start <= x < end; at least two."""
    if edit.states:
        return np.array([_find(column.states, state, f"{column.name!r} has no state") for state in edit.states])
    n_values = column.n_states - column.missing_state
    if column.kind != "numeric":
        if (edit.start, edit.end) != (None, None):
            raise OptionError(
                f"{edit.where!r}: {column.name!r} holds categories, not numbers.", hint="name its states: states=[...]."
            )
        return np.arange(n_values)
    start, end = (read_bound(bound, column) for bound in (edit.start, edit.end))
    low = -np.inf if start is None else start
    high = np.inf if end is None else end
    if not low < high:
        raise OptionError(f"{edit.where!r}: the stretch ends at {edit.end} and begins at {edit.start}.")
    # Bin k is [cuts[k - 1], cuts[k]): the bin of the start, to the last that begins before the end.
    first = int(np.searchsorted(column.cuts, low, side="right"))
    last = int(np.searchsorted(column.cuts, high, side="left"))
    if first == last:
        raise OptionError(
            f"{edit.where!r}: the stretch lies in one bin, {column.states[first]}, where the curve is flat already.",
            hint=f"the curve of {column.name!r} has steps from {column.states[0]} to {column.states[n_values - 1]}."
            if column.cuts
            else f"{column.name!r} was not cut, so it has no curve.",
        )
    return np.arange(first, last + 1)


def read_bound(bound: Bound, column: ColumnSchema) -> float | None:
    """An end of a stretch as a number of the column; a date as the microseconds since 1970 that the column holds."""
    if bound is None or (isinstance(bound, int | float) and np.isfinite(bound)):
        return bound
    if isinstance(bound, str) and column.unit in MOMENTS:
        with contextlib.suppress(ValueError, OverflowError):
            date = np.datetime64(bound)
            moment = date.astype("M8[us]")
            if moment.astype(date.dtype) == date:  # not where it is no time, or too far for 64 bits
                return float(moment.astype(np.int64))
    expected = "a number" if column.unit in ("number", "duration") else "a date such as 2024-02-29"
    raise OptionError(f"{bound!r} is no end for a stretch of {column.name!r}; expected {expected}.")


def _class(model: AdditiveModel, edit: Edit) -> int:
    classes = model.columns[-1].states
    if edit.of is not None:
        return _find(classes, edit.of, f"{edit.where!r}: there is no class")
    if len(classes) > 2:
        raise OptionError(f"{edit.where!r}: of which class?", hint=f"of= one of {', '.join(map(repr, classes))}.")
    return len(classes) - 1


def _find(states: tuple[Category, ...], wanted: Category, problem: str) -> int:
    """The place of a state, given as itself or in words."""
    for place, state in enumerate(states):
        if type(state) is type(wanted) and state == wanted:
            return place
    words = list(map(str, states))
    if str(wanted) in words:
        return words.index(str(wanted))
    nearest = ", ".join(map(repr, nearest_first(str(wanted), words)[:5]))
    raise OptionError(f"{problem} {wanted!r}; the nearest are {nearest}.")


def _attribute(model: AdditiveModel, name: str) -> int:
    node = model.number(name)
    if node == len(model.columns) - 1:
        raise OptionError(f"{name!r} is the class: only attributes and pairs of them can be edited.")
    return node


def refit_intercept(model: AdditiveModel, codes: Codes, class_codes: NDArray[np.intp]) -> AdditiveModel:
    r"""The b of greatest likelihood, sum_r log P(c_r | x_r): at it the mean of P(c | x) is the share of class c.

    A missing cell counts with its expected effect.
    """
    n_classes = len(model.intercept)
    shares = np.bincount(class_codes, minlength=n_classes) / max(1, len(class_codes))
    if not shares.all():
        absent = model.columns[-1].states[int(np.argmin(shares))]
        raise DataError(f"no row has the class {absent!r}: the intercept cannot be fitted to these rows.")
    sums = model.log_joint(codes)
    rows = np.arange(len(codes))

    def loss(shift: Array) -> tuple[float, Array]:
        logs = normalize_log(sums + shift)
        return -float(logs[rows, class_codes].mean()), np.exp(logs).mean(axis=0) - shares

    shift: Array = minimize(loss, np.zeros(n_classes), jac=True, method="BFGS", options={"gtol": TOLERANCE}).x
    return replace(model, intercept=model.intercept + shift - shift.mean())


def without_trees_of(forest: Forest, attribute: int) -> Forest | None:
    """The forest without the trees that ask for an attribute anywhere; None if no tree is left.

    A tree cannot lose one attribute alone: which leaf a row ends in depends on all of them together. A tree has a mean
    of zero over the training rows, so the others' sum keeps its mean.
    """
    n_splits = len(forest.attributes)
    tree = np.empty(n_splits + len(forest.values), np.int64)  # of each split, then of each leaf
    tree[forest.place(forest.roots)] = np.arange(len(forest.roots))
    for level in forest.levels:
        tree[forest.place(forest.ends[level])] = tree[level][:, np.newaxis]
    kept = ~np.isin(np.arange(len(forest.roots)), tree[:n_splits][forest.attributes == attribute])
    if not kept.any():
        return None
    splits, leaves = np.split(kept[tree], [n_splits])
    numbers = np.concatenate([np.cumsum(splits) - 1, ~(np.cumsum(leaves) - 1)])
    sizes = np.diff(forest.offsets)
    return replace(
        forest,
        roots=numbers[forest.place(forest.roots[kept])],
        of_class=forest.of_class[kept],
        attributes=forest.attributes[splits],
        ends=numbers[forest.place(forest.ends[splits])],
        offsets=np.cumsum([0, *sizes[splits]]),
        left=forest.left[np.repeat(splits, sizes)],
        values=forest.values[leaves],
        weights=forest.weights[leaves],
    )
