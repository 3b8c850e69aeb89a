"""Entries: the classifiers of a study, under the names they have in tables."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sklearn import config_context
from sklearn.base import BaseEstimator, clone

from experiments.studies.on_table import OnTable
from tanager.classifiers import AdditiveClassifier, BayesianNetworkClassifier
from tanager.evaluate import specs
from tanager.evaluate.compare import split_name

# What libraries call the number of threads, and the seed.
THREADS, SEEDS = ("n_jobs", "thread_count", "n_threads"), ("random_state", "random_seed")


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
    name, rest = split_name(spec)
    return Entry(name, parse_estimator(rest))


def make_entries(specs: Mapping[str, str]) -> list[Entry]:
    """A classifier under each name."""
    return [Entry(name, parse_estimator(spec)) for name, spec in specs.items()]


def parse_estimator(spec: str) -> BaseEstimator:
    """As `tanager.evaluate.specs` has it, others behind a preparation that can be chosen."""
    return specs.parse_estimator(spec, OnTable)
