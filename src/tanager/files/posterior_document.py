"""The posterior of a model as JSON: what `prepare_intervals` learnt from the training rows.

{"kind": "dirichlet", "rows": [...]} has the parameters of every table. {"kind": "reference", ...} has the features of
the reference model (`tanager.uncertainty.reference_features`) with the mean and a factor of the covariance of their
weights, whose lines are whole numbers of steps. The draws of a bootstrap are not kept: they are as large as many
models, and are prepared again from the rows. Files of version 0.2 call the reference posterior "broad".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from tanager.additive.model import AnyModel
from tanager.network.document import DocumentError, Json, array, arrays, mapping, sequence, text
from tanager.table.schema import ColumnSchema
from tanager.uncertainty.dirichlet import DirichletPosterior
from tanager.uncertainty.posterior import AnyPosterior
from tanager.uncertainty.reference import ReferencePosterior, line_steps, whole_steps
from tanager.uncertainty.reference_features import DEPTH, Features, Terms

LARGEST = 1e60


def write_posterior(posterior: AnyPosterior | None) -> dict[str, Json]:
    """{"posterior": ...}, or nothing for one that is not kept in files."""
    if isinstance(posterior, DirichletPosterior):
        return {"posterior": {"kind": posterior.kind, "rows": [rows.tolist() for rows in posterior.rows]}}
    if not isinstance(posterior, ReferencePosterior):
        return {}
    features = posterior.features
    document: dict[str, Json] = {
        "kind": posterior.kind,
        "attributes": list(features.terms.attributes),
        "pairs": [list(pair) for pair in features.terms.pairs],
        "splits": features.terms.splits.tolist(),
        "left": features.terms.left.astype(int).tolist(),
        "mains": [own.tolist() for own in features.mains],
        "paired": [own.tolist() for own in features.paired],
        "means": features.means.tolist(),
        "scales": features.scales.tolist(),
        "mean": posterior.mean.tolist(),
        "steps": line_steps(posterior.factor)[..., 0].tolist(),
        "factor": whole_steps(posterior.factor).astype(int).tolist(),
    }
    return {"posterior": document}


def read_posterior(document: Json, network: AnyModel, attributes: Sequence[ColumnSchema]) -> AnyPosterior | None:
    """What `write_posterior` wrote for a network, and a table of these attributes."""
    if document is None:
        return None
    found = mapping(document, "posterior")
    readers: dict[str, Callable[[], AnyPosterior]] = {
        "dirichlet": lambda: _dirichlet(found, network),
        "reference": lambda: _reference(found, network, attributes),
        "broad": lambda: _reference(found, network, attributes),
    }
    return readers[text(found.get("kind"), "posterior.kind", tuple(readers))]()


def _dirichlet(found: dict[str, Json], network: AnyModel) -> DirichletPosterior:
    if network.kind != "tables":
        raise DocumentError("posterior.kind is dirichlet, which is for a network of tables")
    rows = arrays(found.get("rows"), len(network.tables), 2, "posterior.rows")
    for table, own in zip(network.tables, rows, strict=True):
        if own.shape != table.shape or not (own > 0).all():
            raise DocumentError(f"posterior.rows must hold a positive number for each of {table.shape} entries")
    return DirichletPosterior(network, tuple(rows))


def _reference(found: dict[str, Json], network: AnyModel, columns: Sequence[ColumnSchema]) -> ReferencePosterior:
    look_ups = tuple(column.coarse_codes.astype(np.int64) for column in columns)
    states = np.array([column.coarse.n_states + 1 for column in columns])
    attributes = _places(array(found.get("attributes"), 1, "posterior.attributes"), len(columns))
    listed = sequence(found.get("pairs"), "posterior.pairs")
    pairs = _places(array(listed, 2, "posterior.pairs"), len(columns)).reshape(-1, 2) if listed else np.zeros((0, 2))
    splits = _places(array(found.get("splits"), 2, "posterior.splits"), len(columns))
    left = array(found.get("left"), 3, "posterior.left")
    if (
        splits.shape != (len(splits), 2**DEPTH - 1)
        or left.shape[:2] != splits.shape
        or left.shape[2] < states.max()
        or not np.isin(left, (0, 1)).all()
    ):
        raise DocumentError("posterior.left must say of every split and every code whether it goes to the left")
    terms = Terms(tuple(attributes.tolist()), tuple(map(tuple, pairs.astype(int).tolist())), splits, left > 0)
    mains, paired = (
        tuple(arrays(found.get(key), len(attributes), 2, f"posterior.{key}")) for key in ("mains", "paired")
    )
    if any(len(own) != states[a] for each in (mains, paired) for a, own in zip(attributes, each, strict=True)):
        raise DocumentError("posterior.mains and posterior.paired must have a line for each state and a missing cell")
    means, scales = (array(found.get(key), 1, f"posterior.{key}") for key in ("means", "scales"))
    features = Features(terms, mains, paired, means, scales)
    mean, steps = (array(found.get(key), 2, f"posterior.{key}") for key in ("mean", "steps"))
    factor = array(found.get("factor"), 3, "posterior.factor")
    if factor.shape[:2] != steps.shape:
        raise DocumentError("posterior.steps must have a number for each line of posterior.factor")
    given = (*mains, *paired, means, scales, mean, factor, steps)
    if max(np.abs(each).max(initial=0.0) for each in given) > LARGEST:
        raise DocumentError(f"posterior holds a number above {LARGEST:g}: squares of it could not be added")
    n_steps, factor = factor, factor * steps[..., np.newaxis]
    if not (steps > 0).all() or not np.array_equal(whole_steps(factor), n_steps):
        raise DocumentError("posterior.factor must hold whole numbers of positive steps, a thousand at most in a line")
    n_classes = network.columns[-1].n_states
    size = len(features.kinds)
    shape = (1 if n_classes == 2 else n_classes, size + 1)
    if means.shape != (size,) or scales.shape != (size,) or mean.shape != shape or factor.shape[:2] != shape:
        raise DocumentError(f"posterior must have {size} features, and weights of them for each class")
    return ReferencePosterior(look_ups, features, mean, factor)


def _places(numbers: NDArray[np.float64], n_attributes: int) -> NDArray[np.int64]:
    """Numbers of attributes."""
    if not np.isin(numbers, np.arange(n_attributes)).all():
        raise DocumentError(f"posterior must speak of attributes 0 to {n_attributes - 1}")
    return numbers.astype(np.int64)
