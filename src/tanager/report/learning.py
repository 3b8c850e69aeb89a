"""How a model was learnt: its options, the steps of the search, and what the optimiser did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

import numpy as np

from tanager.classifiers import BayesianNetworkClassifier
from tanager.parameters.protocol import ParameterTrace
from tanager.report.json_page import Json, number

MAX_STEPS_LISTED = 500
MAX_VALUES_DRAWN = 400


def describe_learning(clf: BayesianNetworkClassifier) -> dict[str, Json]:
    """Options in words, the structure's score, the steps that led to it, and the parameter learner's own trace."""
    options = clf.get_params(deep=False)
    steps = clf.trace_.structure
    return {
        "classifier": type(clf).__name__,
        "options": [[key, _words(value)] for key, value in options.items()],
        "score": number(clf.structure_score_),
        "n_steps": len(steps),
        "steps": [[step.action, number(step.gain, 8), number(step.score, 10)] for step in steps[:MAX_STEPS_LISTED]],
        "parameters": _entries(clf.trace_.parameters),
    }


def _words(value: object) -> str:
    text = value if isinstance(value, str) else " ".join(repr(value).split())
    return text if len(text) <= 200 else text[:199] + "…"


def _entries(trace: ParameterTrace, prefix: str = "") -> list[Json]:
    """Names with either a word or a series of numbers, whatever the parameter learner noted; nested ones flattened."""
    result: list[Json] = []
    for field in fields(trace):
        name, value = f"{prefix}{field.name}".replace("_", " "), getattr(trace, field.name)
        if isinstance(value, ParameterTrace):
            result += _entries(value, f"{name} ")
        elif (series := _series(value)) is not None:
            result.append({"name": name, "series": series})
        else:
            result.append({"name": name, "words": _words(_short(value))})
    return result


def _short(value: object) -> object:
    """The same with its floats rounded, also those within lists."""
    if isinstance(value, tuple | list):
        return type(value)(_short(each) for each in value)
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _series(value: object) -> list[Json] | None:
    """[step, value] pairs of a list of two or more numbers; of a long one, evenly spaced."""
    if not isinstance(value, Sequence | np.ndarray) or isinstance(value, str) or len(value) < 2:
        return None
    if not all(isinstance(each, int | float | np.number) and np.isfinite(each) for each in value):
        return None
    chosen = np.unique(np.linspace(0, len(value) - 1, min(len(value), MAX_VALUES_DRAWN)).astype(int))
    return [[int(step), number(float(value[step]), 10)] for step in chosen]
