"""Posteriors as the page needs them: what answers for any evidence, where it is not too large."""

from __future__ import annotations

import numpy as np

from tanager.arrays import Array
from tanager.report.effects import describe_numbers, describe_trees
from tanager.report.gaps import describe_gaps
from tanager.report.json_page import Json, pack
from tanager.uncertainty.bootstrap import BootstrapPosterior
from tanager.uncertainty.dirichlet import DirichletPosterior
from tanager.uncertainty.posterior import AnyPosterior
from tanager.uncertainty.reference import ReferencePosterior

STEPS = ((2, np.int16, 32_767), (1, np.int8, 127))
"""Bytes of a number, and steps from zero to the largest: deviations are off by 1e-4 of themselves, and by 2e-3."""


def describe_posterior(posterior: AnyPosterior, level: float, room: int) -> dict[str, Json] | None:
    """What the page answers for any evidence with, in intervals of a level; None for what does not fit in the room.

    room  characters that it may take
    """
    match posterior:
        case ReferencePosterior():
            found = _reference(posterior, room)
        case DirichletPosterior():
            found = {"rows": pack(np.concatenate([rows.ravel() for rows in posterior.rows]))}
        case BootstrapPosterior():
            found = _draws(posterior, level)
    return found if found is not None and _length(found) <= room else None


def _length(value: Json) -> int:
    """Characters of all texts."""
    if isinstance(value, str):
        return len(value)
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return sum(_length(part) for part in parts)


def _factor(factor: Array, room: int) -> dict[str, Json] | None:
    """Each line, (..., rank), in whole steps: of two bytes each, of one where that would be too much; else None."""
    largest = np.maximum(np.abs(factor).max(axis=-1), 1e-300)
    for n_bytes, kind, n_steps in STEPS:
        if factor.size * n_bytes * 4 / 3 > room:  # in base 64; they hardly deflate
            continue
        scales = largest / n_steps
        whole = np.round(factor / scales[..., np.newaxis]).astype(kind)
        return {"rank": factor.shape[-1], "bytes": n_bytes, "factor": pack(whole), "steps": pack(scales)}
    return None


def _reference(posterior: ReferencePosterior, room: int) -> dict[str, Json] | None:
    factor, features = _factor(posterior.factor, room), posterior.features
    if factor is None:
        return None
    terms = features.terms
    return {
        **factor,
        "attributes": list(terms.attributes),
        "pairs": [list(pair) for pair in terms.pairs],
        "widths": [[own.shape[1], other.shape[1]] for own, other in zip(features.mains, features.paired, strict=True)],
        "codes": terms.left.shape[2],
        "splits": terms.splits.tolist(),
        "left": pack(terms.left.astype(np.uint8)),
        "cells": pack(np.concatenate([table.ravel() for table in (*features.mains, *features.paired)])),
        "means": pack(features.means),
        "scales": pack(features.scales),
        "mean": pack(posterior.mean),
    }


def _draws(posterior: BootstrapPosterior, level: float) -> dict[str, Json]:
    """The network of each draw, and what a missing cell means to it."""
    found: list[Json] = []
    for rule in posterior.rules:
        network = rule.network
        own: dict[str, Json] = {"gaps": describe_gaps(rule)}
        if network.kind == "effects":
            own.update(describe_numbers(network))
            own["pairs"] = [[*pair, 0.0] for pair in network.pairs]
            own["trees"] = None if network.forest is None else describe_trees(network.forest)
        elif network.kind == "tables":
            own["parents"] = [list(parents) for parents in network.dag.parents]
            own["tables"] = pack(np.concatenate([table.ravel() for table in network.tables]))
        found.append(own)
    return {"draws": found, "reach": posterior.reach(level)}
