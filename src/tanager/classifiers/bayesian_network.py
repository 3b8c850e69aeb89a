"""BayesianNetworkClassifier: check, encode, count, structure, parameters; then one look-up per family."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike

from tanager.classifiers.base import TableClassifier
from tanager.classifiers.coded_table import CodedTable, RowNeeds
from tanager.classifiers.learning import Learnt, NetworkLearner
from tanager.counts.engine import CountEngine, choose_engine
from tanager.network import AnyNetwork
from tanager.parameters import PARAMETERS, ParameterLearner
from tanager.registry import resolve
from tanager.scores import CLL, SCORES, FamilyScore
from tanager.structure import STRUCTURES, StructureLearner
from tanager.table.discretizer import sees_class
from tanager.table.rows import Place, most_needed

REGISTRIES: Mapping[str, Mapping[str, Callable[[], Any]]] = {
    "structure": STRUCTURES,
    "criterion": SCORES,
    "parameters": PARAMETERS,
}


@dataclass(eq=False, repr=False)
class ClassifierOptions:
    """Options of `BayesianNetworkClassifier`, which describes them."""

    structure: str | StructureLearner = "tan"
    criterion: str | FamilyScore | CLL | None = None
    parameters: str | ParameterLearner = "conditional"
    _: KW_ONLY
    discretizer: object = None
    missing: str = "auto"
    categorical_features: ArrayLike | str | None = "from_dtype"
    handle_unknown: str = "average"
    class_weight: Mapping[Any, float] | str | None = None
    engine: str = "auto"
    device: str | None = None
    n_jobs: int | None = None
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0


class BayesianNetworkClassifier(ClassifierOptions, TableClassifier):
    """Classify by a Bayesian network: P(class | row) is proportional to P(class) prod_i P(attribute_i | parents_i).

    `structure` maximises the criterion over graphs of its kind; `parameters` then estimate the tables, by default those
    of the highest conditional likelihood of the classes. The pages on structures, scores and parameters have formulas.

    Parameters
    ----------
    structure : str or object of `tanager.structure`, default="tan"
        How the graph is chosen: "tan", "naive-bayes", "bckg", ... or an object such as `Tree(forest=True)`.
    criterion : str, object of `tanager.scores` or None, default=None
        The score of a structure that asks for one, "fcll" by default; other structures refuse it.
    parameters : str or object of `tanager.parameters`, default="conditional"
        How the tables are estimated.
    discretizer : None, "mdlp", "quantile", scikit-learn transformer or dict, default=None
        How numeric columns are cut into bins, on the training rows alone; None means "mdlp", and a dict of column names
        to cut points cuts these columns there.
    missing : "auto", "average", "marginalize", "skip" or "category", default="auto"
        What a missing cell means at prediction; "category" makes it a state in columns with missing cells in training.
    categorical_features : "from_dtype", "all", list or mask, default="from_dtype"
        Columns of categories: text, categoricals and booleans by dtype, and those that a list or mask adds.
    handle_unknown : "average" or "error", default="average"
        Whether a category unseen in training is an unknown cell, which is averaged over as `missing` says, or is an
        error at prediction.
    class_weight : None, "balanced" or mapping, default=None
        Factor of the weight of a row by its class; for costs of mistakes use `FixedDecisionClassifier`.
    engine : "auto", "numpy", "numba" or "torch", default="auto"
        What counts, with the same result; "torch" also passes over the rows on its `device`.
    device : "cuda", "cuda:1", ..., "cpu" or None, default=None
        Where "torch" works; None is the current GPU if there is one, else the CPU.
    n_jobs : int or None, default=None
        Threads; None means all cores.
    random_state : int, RandomState or None, default=None
        Seed of structure learners that draw at random.
    verbose : int, default=0
        1 prints what was chosen, with a bar on a terminal; 2 also every step of the search.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_
        As in every scikit-learn classifier.
    class_count_ : array of shape (n_classes,)
        Training rows of each class, by weight.
    network_ : Network, MixtureNetwork or TreeAverageNetwork
        The distribution learnt; with structure "aode" and "tree-average" a mean of networks.
    structure_score_ : float or None
        The score of the structure by the criterion; None where the structure asks for none.
    trace_ : Trace
        Steps of the search and of the optimiser.
    feature_importances_ : array of shape (n_features,)
        Strength of each attribute, in nats.
    encoder_ : TableEncoder
        Categories and cut points of the columns.
    missing_rule_ : MissingRule
        What a missing cell means; set by `fit`.
    posterior_ : posterior or None
        Uncertainty of the model, once `prepare_intervals` was called.
    quality_, decision_, recipe_
        Quality on new rows, decision rule and preprocessing, where the model file has them.
    issues_ : tuple of str
        Issues of high severity that `tanager fit` found in the training table.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import BayesianNetworkClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = BayesianNetworkClassifier(structure="naive-bayes").fit(X, y)
    >>> clf.predict(X.iloc[[0, 60, 149]]).tolist()
    [0, 1, 2]
    >>> clf.network_.parents["petal length (cm)"]
    ('target',)
    """

    structure_score_: float | None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The options by name; with `deep` also those of its parts, such as `structure__max_parents`."""
        options: dict[str, Any] = super().get_params(deep)
        if deep:
            for option, registry in REGISTRIES.items():
                name = options.get(option)
                if isinstance(name, str) and name in registry:
                    options |= {f"{option}__{key}": value for key, value in registry[name]().get_params().items()}
        return options

    def set_params(self, **params: Any) -> Self:
        """Set options; `structure__max_parents` sets one of a part, and puts an object in the place of its name."""
        super().set_params(**{option: value for option, value in params.items() if "__" not in option})
        nested = {option: value for option, value in params.items() if "__" in option}
        for option in {name.partition("__")[0] for name in nested} & REGISTRIES.keys() & self.get_params(False).keys():
            setattr(self, option, resolve(option, getattr(self, option), REGISTRIES[option], "get_params"))
        super().set_params(**nested)
        return self

    @property
    def network_(self) -> AnyNetwork:
        """The distribution learnt."""
        return cast(AnyNetwork, self.model_)

    def _learn(self, table: CodedTable, engine: CountEngine) -> Learnt:
        learnt = super()._learn(table, engine)
        self.structure_score_ = learnt.structure_score
        return learnt

    def _learn_model(self, table: CodedTable, engine: CountEngine) -> Learnt:
        return replace(self._learner(), engine=engine, seed=self._seed).learn(table)

    def _count_engine(self) -> CountEngine:
        """What counts rows, by the options."""
        return choose_engine(self.engine, self.device)

    def _row_needs(self) -> RowNeeds:
        learner = self._learner()
        parameters = learner.parameters
        return RowNeeds(
            most_needed(learner.needs, "passes") if learner.averages else learner.needs,  # imputation reads rows
            missing_states=self.missing == "category",
            unlabelled=parameters.learns_without_class,
            cuts_again=parameters.holds_out and sees_class(self.discretizer),
        )

    def _check_place(self, place: Place) -> None:
        self._learner().check(place)

    def _own_posterior(self) -> str | None:
        return self._learner().parameters.posterior

    def _learner(self) -> NetworkLearner:
        return NetworkLearner.of(self, self._structure())

    def _structure(self) -> str | StructureLearner:
        """The structure by name or as an object; a preset makes it of options of its own."""
        return self.structure
