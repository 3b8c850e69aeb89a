"""How a model was learnt, in sentences: what was tried, what was chosen and why."""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import fields
from importlib.metadata import version
from typing import Any

import numpy as np

from tanager.additive.model import AnyModel
from tanager.additive.trace import AdditiveTrace
from tanager.classifiers.base import TableClassifier
from tanager.parameters.protocol import ParameterTrace
from tanager.report.json_page import Json, number
from tanager.version import __version__

MAX_STEPS_LISTED = 500
NAMES_LISTED = 12
LOOSE_BOUND = 0.05
"""Of a probability: a larger bound says nothing to a reader."""
LIBRARIES = ("numpy", "scipy", "scikit-learn")

Words = Callable[[Any], str]


def describe_learning(clf: TableClassifier) -> dict[str, Json]:
    """Sentences, options that are not the default, versions, the structure's score and the steps that led to it."""
    trace = clf.trace_
    steps = () if isinstance(trace, AdditiveTrace) else trace.structure if clf.model_.kind == "tables" else ()
    libraries = (f"{name} {version(name)}" for name in LIBRARIES)
    return {
        "classifier": type(clf).__name__,
        "sentences": [
            *network_sentences(clf.model_),
            *trace_sentences(trace if isinstance(trace, AdditiveTrace) else trace.parameters),
            *time_sentences(trace.seconds),
            clf.gaps_.sentence,
        ],
        "options": changed_options(clf),
        "versions": [f"Tanager {__version__}", f"Python {platform.python_version()}", *libraries],
        "score": number(getattr(clf, "structure_score_", None)),
        "n_steps": len(steps),
        "steps": [[step.action, number(step.gain, 8), number(step.score, 10)] for step in steps[:MAX_STEPS_LISTED]],
    }


def changed_options(clf: TableClassifier) -> list[Json]:
    """[option, value] of those that differ from the default."""
    default = type(clf)().get_params(deep=False)
    given = clf.get_params(deep=False)
    return [[name, _words(value)] for name, value in given.items() if repr(value) != repr(default[name])]


def network_sentences(network: AnyModel) -> list[str]:
    """What kind of model it is."""
    target = network.nodes[-1]
    if network.kind != "effects":
        n_edges = sum(1 for edge in network.edges if target not in edge)
        return [
            f"The model is a Bayesian network: P({target} | row) follows from a table of probabilities for each "
            f"attribute given its parents. Between the attributes there are {plural(n_edges, 'edge')}."
        ]
    n_mains, n_pairs = (sum(bool(np.any(table)) for table in tables) for tables in (network.mains, network.tables))
    parts = []
    if n_mains:
        parts.append(f"{plural(n_mains, 'effect')} of one attribute")
    if n_pairs:
        parts.append(f"{plural(n_pairs, 'effect')} of two attributes together")
    if network.forest is not None:
        parts.append(f"{plural(len(network.forest.roots), 'boosted tree')}")
    if not parts:
        return [
            f"{network.summary}.",
            f"The model gives every row the base rate of {target}: no attribute is informative.",
        ]
    return [f"{network.summary}.", f"The model adds up log odds of {target}: {_listed(parts)}."]


def trace_sentences(trace: ParameterTrace) -> list[str]:
    """What the learner noted, in words; nested traces too."""
    found = []
    for field in fields(trace):
        value = getattr(trace, field.name)
        if isinstance(value, ParameterTrace):
            found += trace_sentences(value)
        elif (words := SENTENCES.get(field.name)) is not None and (sentence := words(value)):
            found.append(sentence)
    return found


def time_sentences(seconds: float | None) -> list[str]:
    """How long learning took, where the model knows."""
    if seconds is None:
        return []
    minutes = f" ({seconds / 60:.0f} minutes)" if seconds >= 120 else ""
    return [f"Learning took {seconds:.3g} s{minutes}."]


def _validated(tried: tuple[tuple[str, float], ...]) -> str:
    if len(tried) < 2:
        return ""
    best, loss = min(tried, key=lambda each: each[1])
    return f"Cross-validation tried {len(tried)} settings; the best has a validation loss of {loss:.4g} ({best})."


def _held_out(tried: tuple[tuple[object, float], ...]) -> str:
    if len(tried) < 2:
        return ""
    losses = [loss for _, loss in tried]
    return (
        f"How strongly the effects shrink was chosen among {len(tried)} settings by the loss on rows held out: "
        f"{min(losses):.4g} with the best, {max(losses):.4g} with the worst."
    )


def _zero(names: tuple[str, ...]) -> str:
    if not names:
        return ""
    more = f" and {len(names) - NAMES_LISTED} more" if len(names) > NAMES_LISTED else ""
    return (
        f"The effects of {plural(len(names), 'attribute')} are exactly zero: {', '.join(names[:NAMES_LISTED])}{more}."
    )


def _change(change: float | None) -> str:
    if change is None or change > LOOSE_BOUND:
        return ""
    return f"If the fit went on, no probability of a training row would change by more than about {change:.2g}."


def _bound(bound: float | None) -> str:
    if bound is None or bound > LOOSE_BOUND:
        return ""
    return f"No probability of a training row is further than {bound:.2g} from the best fit's."


SENTENCES: dict[str, Words] = {
    "held_out": _held_out,
    "zero_attributes": _zero,
    "tree_share": lambda weight: (
        f"Boosted trees have a weight of {100 * weight:.0f} %: they improve the log-loss in cross-validation."
        if weight > 0
        else ""
    ),
    "validation_losses": _validated,
    "change_of_p": _change,
    "p_bound": _bound,
    "iterations": lambda n: f"The fit took {plural(int(n), 'iteration')}." if isinstance(n, int | np.integer) else "",
}
"""By the name of what a trace holds: a sentence, or nothing."""


def plural(n: int, word: str) -> str:
    return f"{n:,} {word}{'' if n == 1 else 's'}"


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _words(value: object) -> str:
    text = value if isinstance(value, str) else " ".join(repr(value).split())
    return text if len(text) <= 200 else text[:199] + "…"
