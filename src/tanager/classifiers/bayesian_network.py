"""BayesianNetworkClassifier: check, encode, count, structure, parameters; then one look-up per family."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from tanager.arrays import Codes
from tanager.classifiers.base import TableClassifier
from tanager.classifiers.coded_table import CodedTable, RowNeeds
from tanager.classifiers.learning import Learning, Learnt, Parts, needed_memory
from tanager.classifiers.options import ClassifierOptions
from tanager.counts.engine import CountEngine, choose_engine
from tanager.missing.choose import needs_filler
from tanager.network import AnyNetwork
from tanager.parameters import PARAMETERS
from tanager.registry import resolve
from tanager.scores import SCORES
from tanager.structure import STRUCTURES, StructureLearner
from tanager.table.discretizer import sees_class
from tanager.table.rows import Place

REGISTRIES: Mapping[str, Mapping[str, Callable[[], Any]]] = {
    "structure": STRUCTURES,
    "criterion": SCORES,
    "parameters": PARAMETERS,
}


class BayesianNetworkClassifier(ClassifierOptions, TableClassifier):
    """Classify by a Bayesian network learnt from a table.

    Parameters
    ----------
    structure : str or object of `tanager.structure`
        How the structure is chosen: "tan", "naive-bayes", "bckg", ... or an object such as `Tree(forest=True)`.
    criterion : str, object of `tanager.scores` or None
        The score that makes a structure good, for a structure that asks for one: "tan", "bckg", "hill-climb"; None is
        "fcll" there. Other structures are chosen without one and refuse it.
    parameters : str or object of `tanager.parameters`
        How the tables are filled.
    discretizer : None, "mdlp", "quantile" or scikit-learn transformer
        How numeric columns are cut into bins, on the training rows alone. None means "mdlp".
    missing : "auto", "average", "marginalize", "skip" or "category"
        At prediction P(class | row) is averaged over what a missing cell may hold, given those present, by a second
        network of frequencies, so that a row of gaps has the class frequencies ("average"); or the cell is summed out
        of the network's own joint, exactly ("marginalize"); or its families' terms are left out of the log odds
        ("skip"). "auto" averages, but marginalizes tables that describe the attributes ("frequency", "em",
        "likelihood-gradient"). In training a gap
        is left to `parameters`: "em", "likelihood-gradient" and, but for "skip", "conditional" infer it, the others
        leave out the families it is in. Or, in a column that has some in training, a gap is a state of its own
        ("category"; else as "auto").
    categorical_features : "from_dtype", "all", list or mask
        Columns whose values are categories. By dtype these are text, categoricals and booleans; numbers are
        discretised. A list of names or positions, or a mask, adds to them.
    handle_unknown : "marginalize" or "error"
        A category unseen in training is a missing cell, or an error, at prediction.
    class_weight : None, "balanced" or mapping
        What the weight of a row is multiplied by, by its class, {"ill": 10, "healthy": 1}; a class not named has 1.
        "balanced" makes all classes weigh the same. Probabilities are then those of a table with so many rows of each
        class; to decide by what mistakes cost, leave them as they are and use `FixedDecisionClassifier`.
    engine : "auto", "numpy", "numba" or "torch"
        What counts; the result is the same. "torch" also passes over the rows on its `device`.
    device : "cuda", "cuda:1", ..., "cpu" or None
        Where "torch" works; None is the current GPU if there is one, else the CPU.
    n_jobs : int or None
        Threads; None means all cores.
    random_state : int, RandomState or None
        For structure learners that draw at random.
    verbose : int
        1 prints what was chosen, in a few lines, with a bar on a terminal; 2 also every step of the search.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_
        As in every scikit-learn classifier.
    class_count_ : array of shape (n_classes,)
        How many training rows each class has, or their weights: the base rate of every explanation.
    network_ : Network, MixtureNetwork or TreeAverageNetwork
        The distribution learnt; with structure "aode" and "tree-average" a mean of networks.
    gaps_ : GapRule
        What a missing cell means: `tanager.missing`. Set by `fit`: another `missing` needs another fit.
    filler_ : Network or None
        What says what a missing cell may hold, where P(class | row) is averaged over it: frequencies, fitted so that
        its rows have the class frequencies of the training rows when `network_` classifies them.
    encoder_ : TableEncoder
        The columns' categories and cut points.
    structure_score_ : float or None
        The score of the structure by the criterion; None where the structure asks for none.
    trace_ : Trace
        Steps of the search and of the optimiser.
    quality_ : Quality or None
        How good the model is on rows new to it, where it was read from a file that says so.
    feature_importances_ : array of shape (n_features,)
        How strong each attribute is, in nats.
    decision_ : Decision or None
        How `predict` decides, where the model was read from a file that says so; None for the most probable class.
    posterior_ : posterior or None
        How sure the model is, once `prepare_intervals` was called or where it was read from a file that says so.
    recipe_ : Recipe
        What is done to a table before the model sees it, where it was read from a file that says so.

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
        return self._learning(engine).learn(table)

    def _learning(self, engine: CountEngine) -> Learning:
        parts = self._parts()
        fills = needs_filler(self.missing, parts.parameters.describes_attributes)
        return Learning(parts, engine, self.missing, fills, seed=self._seed, verbose=int(self.verbose))

    def _needed_memory(self, table: CodedTable) -> int:
        structure, task = self._learning(self._count_engine()).prepare(table)
        return needed_memory(self._parts().parameters, task, structure.members)

    def _log_posterior(self, codes: Codes, normalized: bool) -> NDArray[np.float64]:
        network = self.network_
        if self.engine == "torch" and network.kind == "tables" and not self.gaps_.with_gap(codes).any():
            from tanager.torch.row_pass import look_up_on_device

            return look_up_on_device(*network.look_ups(codes), self.device, normalized)
        return super()._log_posterior(codes, normalized)

    def _count_engine(self) -> CountEngine:
        """What counts rows, by the options."""
        return choose_engine(self.engine, self.device)

    def _row_needs(self) -> RowNeeds:
        parts = self._parts()
        parameters = parts.parameters
        return RowNeeds(
            parts.needs,
            gap_states=self.missing == "category",
            unlabelled=parameters.learns_without_class,
            cuts_again=parameters.holds_out and sees_class(self.discretizer),
            pairs=parts.needs == "pairs" or needs_filler(self.missing, parameters.describes_attributes),
        )

    def _check_place(self, place: Place) -> None:
        self._parts().check(place)

    def _own_posterior(self) -> str | None:
        return self._parts().parameters.posterior

    def _parts(self) -> Parts:
        return Parts.of(self, self._structure())

    def _structure(self) -> str | StructureLearner:
        """The structure by name or as an object; a preset makes it of options of its own."""
        return self.structure
