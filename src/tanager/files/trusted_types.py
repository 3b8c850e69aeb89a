"""The types of this package that a fitted estimator may hold: what a reader of pickles without code has to trust.

>>> from skops.io import dumps, loads  # doctest: +SKIP
>>> from tanager.files import TRUSTED_TYPES  # doctest: +SKIP
>>> clf = loads(dumps(clf), trusted=TRUSTED_TYPES)  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Iterator

from tanager.additive.forest import Forest
from tanager.additive.model import AdditiveTrace
from tanager.check import preprocessing
from tanager.classifiers.base import TableClassifier
from tanager.classifiers.clustering import NaiveBayesClusterer
from tanager.classifiers.learning import Trace
from tanager.decide import Decision, DecisionQuality, RuleCost
from tanager.decide.classifiers import FixedDecisionClassifier
from tanager.edits.edit import Edit, Edits, Revision
from tanager.metrics import Calibration, Measures, Predictions, Quality, ReliabilityCurve
from tanager.missing.average import Imputation
from tanager.missing.rule import MissingRule
from tanager.network.columns import HasColumns
from tanager.parameters import PARAMETERS
from tanager.parameters.protocol import ParameterTrace
from tanager.scores import SCORES
from tanager.structure import STRUCTURES, Dag, Fixed, Step
from tanager.table import MDLPDiscretizer
from tanager.table.binning import ColumnStatistics
from tanager.table.columns import DictionaryColumn, NumericColumn
from tanager.table.encoder import TableEncoder
from tanager.table.schema import ColumnSchema, TableSchema
from tanager.table.value_counts import ValueCounts
from tanager.uncertainty.dirichlet import DirichletPosterior
from tanager.uncertainty.reference import Features, ReferencePosterior, Terms

ESTIMATORS = (TableClassifier, FixedDecisionClassifier, MDLPDiscretizer, NaiveBayesClusterer)
PARTS = (
    *(type(make()) for parts in (STRUCTURES, SCORES, PARAMETERS) for make in parts.values()),
    Fixed,
    preprocessing.Step,
)
MODELS = (HasColumns, MissingRule, Decision, ParameterTrace, Dag, Forest)
VALUES = (ColumnSchema, TableSchema, TableEncoder, Imputation, preprocessing.Recipe, Edit, Edits, Revision)
MEASURED = (Quality, Measures, Predictions, Calibration, ReliabilityCurve, DecisionQuality, RuleCost)
COUNTED = (ColumnStatistics, ValueCounts, DictionaryColumn, NumericColumn)
LEARNT = (Trace, AdditiveTrace, Step, DirichletPosterior, ReferencePosterior, Features, Terms)


def with_subclasses(kind: type) -> Iterator[type]:
    """A class and all that are made of it."""
    yield kind
    derived: list[type] = kind.__subclasses__()
    for each in derived:
        yield from with_subclasses(each)


TRUSTED_TYPES = sorted(
    {
        f"{kind.__module__}.{kind.__qualname__}"
        for base in (*ESTIMATORS, *PARTS, *MODELS, *VALUES, *MEASURED, *COUNTED, *LEARNT)
        for kind in with_subclasses(base)
        if kind.__module__.startswith("tanager.")
    }
)
"""The names of these types, for `trusted` of `skops.io.load`."""
