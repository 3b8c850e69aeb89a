"""Entries: the classifiers of a comparison, from short specs such as `tan:fcll:conditional`, or by import path."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

from sklearn import config_context
from sklearn.base import BaseEstimator, clone

from tanager.classifiers import AdditiveClassifier, BayesianNetworkClassifier
from tanager.errors import OptionError
from tanager.evaluate.on_table import OnTable
from tanager.parameters import PARAMETERS
from tanager.registry import check_option
from tanager.scores import SCORES
from tanager.structure import STRUCTURES

DEFAULT, ADDITIVE = "default", "additive"
REGISTRIES: dict[str, Mapping[str, Callable[[], Any]]] = {
    "structure": STRUCTURES,
    "criterion": SCORES,
    "parameters": PARAMETERS,
}
# What libraries call the number of threads, and the seed.
THREADS, SEEDS = ("n_jobs", "thread_count", "n_threads"), ("random_state", "random_seed")
PART = re.compile(r"(?P<name>[\w.-]+)(?:\((?P<options>.*)\))?")
OPTION = re.compile(r"\s*+(?P<name>\w++)\s*+=\s*+(?P<value>[^=]++)")
SPEC_HINT = (
    "a spec is structure:criterion:parameters, such as tan:bdeu(ess=5):conditional, or structure:parameters where the "
    "structure asks for no criterion, such as kdb(k=1):conditional, or additive(trees=False), or the import path of a "
    "scikit-learn classifier."
)


@dataclass(frozen=True)
class Entry:
    """A classifier under the name it has in tables; an unfitted estimator that takes a pyarrow table.

    max_rows  data sets of more training rows than this are left out, as too slow
    """

    name: str
    estimator: BaseEstimator
    max_rows: int | None = None

    @cached_property
    def text(self) -> str:
        """The classifier in words and a digest of all its options: a record of another one is out of date."""
        with config_context(print_changed_only=False):
            options = self.estimator.__repr__(N_CHAR_MAX=1 << 20)
        return f"{' '.join(repr(self.estimator).split())} {hashlib.sha256(options.encode()).hexdigest()[:8]}"

    def configured(self, seed: int, missing: str) -> Any:
        """A clone for one process: one thread, seeded; ours with gaps as the protocol wants them."""
        estimator = clone(self.estimator)
        options: dict[str, object] = {}
        for name in estimator.get_params():
            last = name.rsplit("__", 1)[-1]
            if last in THREADS:
                options[name] = 1
            elif last in SEEDS:
                options[name] = seed
        if isinstance(estimator, BayesianNetworkClassifier):
            options["missing"] = "marginalize" if missing == "marginalize" else "category"
        elif isinstance(estimator, AdditiveClassifier):
            options["missing"] = "average" if missing == "marginalize" else "auto"
        return estimator.set_params(**options)


def parse_entry(spec: str) -> Entry:
    """The classifier a spec stands for; `NAME=SPEC` gives it another name."""
    label, _, rest = spec.partition("=") if re.match(r"[^(:]+=", spec) else (spec, "", spec)
    return Entry(label.strip(), parse_estimator(rest.strip()))


def make_entries(specs: Mapping[str, str]) -> list[Entry]:
    """A classifier under each name."""
    return [Entry(name, parse_estimator(spec)) for name, spec in specs.items()]


def parse_estimator(spec: str) -> BaseEstimator:
    """An unfitted estimator: ours by its parts, any other by its import path."""
    try:
        return _make_estimator(spec)
    except OptionError as error:
        raise OptionError(f"classifier {spec!r}: {error}", hint=SPEC_HINT) from error


def parse_part(kind: str, text: str) -> Any:
    """A structure, a criterion or a parameter learner by its registered name, with options as in kdb(k=3)."""
    name, options = read_part(text)
    part = REGISTRIES[kind][check_option(kind, name, REGISTRIES[kind])]()
    valid = part.get_params()
    for option in options:
        if option not in valid:
            raise OptionError(f"{name} has no option {option!r}; it has {', '.join(sorted(valid)) or 'none'}.")
    return part.set_params(**options)


def _make_estimator(spec: str) -> BaseEstimator:
    parts = _split(spec, ":")
    if len(parts) == 1 and "." in spec.partition("(")[0]:
        return _import_estimator(spec)
    if spec == DEFAULT:
        return AdditiveClassifier()
    if parts[0].partition("(")[0] == ADDITIVE:
        return _additive(spec)
    structure = parse_part("structure", parts[0])
    kinds = ["criterion", "parameters"] if structure.asks_criterion else ["parameters"]
    if len(parts) > 1 + len(kinds):
        raise OptionError(f"it has {len(parts)} parts; expected {':'.join(['structure', *kinds])}.")
    made = {kind: parse_part(kind, part) for kind, part in zip(kinds, parts[1:], strict=False)}
    return BayesianNetworkClassifier(structure, **made)


def _additive(spec: str) -> AdditiveClassifier:
    _, options = read_part(spec)
    found = AdditiveClassifier()
    for option in options:
        if option not in found.get_params():
            raise OptionError(f"additive has no option {option!r}; it has {', '.join(sorted(found.get_params()))}.")
    return found.set_params(**options)


def _import_estimator(spec: str) -> OnTable:
    path, options = read_part(spec)
    module, _, name = path.rpartition(".")
    try:
        estimator = getattr(import_module(module), name)(**options)
    except (ImportError, AttributeError, TypeError) as error:
        raise OptionError(f"it cannot be imported and made: {error}.") from error
    if not (hasattr(estimator, "fit") and hasattr(estimator, "predict") and hasattr(estimator, "get_params")):
        raise OptionError(f"{path!r} is no scikit-learn classifier.")
    return OnTable(estimator)


def read_part(text: str) -> tuple[str, dict[str, object]]:
    """`name(option=value, ...)` -> the name and its options; a bare word is text."""
    match = PART.fullmatch(text.strip())
    if match is None:
        raise OptionError(f"{text!r} cannot be read as a name with options.")
    options: dict[str, object] = {}
    for option in _split(match["options"] or "", ","):
        found = OPTION.fullmatch(option)
        if option.strip() and found is None:
            raise OptionError(f"{option.strip()!r} is not of the form option=value.")
        if found is not None:
            value = found["value"].strip()
            try:
                options[found["name"]] = ast.literal_eval(value)
            except (ValueError, SyntaxError, RecursionError, MemoryError):  # the last: nested too deeply
                options[found["name"]] = value
    return match["name"], options


def _split(text: str, separator: str) -> list[str]:
    """Split where no bracket is open."""
    parts, start, depth = [], 0, 0
    for place, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if letter == separator and depth == 0:
            parts.append(text[start:place])
            start = place + 1
    return [*parts, text[start:]]
