"""How a model is to decide, as the options of a command say it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from tanager.cli.classes import find_class, read_class_number
from tanager.errors import OptionError

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from tanager.classifiers import BayesianNetworkClassifier
    from tanager.decide import Decision, DecisionQuality
    from tanager.measures import Probabilities
    from tanager.table.schema import Category

PANEL = "Decision"

Cost = Annotated[
    list[str] | None,
    typer.Option(
        "--cost",
        metavar="TRUE:DECIDED=COST",
        help="What a mistake costs, such as ill:healthy=10 where one who is ill is taken for healthy; may be repeated. "
        "Other mistakes cost 1. Decided is what is expected to cost least.",
        rich_help_panel=PANEL,
    ),
]
Ask = Annotated[
    float | None,
    typer.Option(
        metavar="PRICE",
        help="Ask a person, at this price, where every class is expected to cost more: the class is then left empty.",
        rich_help_panel=PANEL,
    ),
]
Threshold = Annotated[
    str | None,
    typer.Option(
        metavar="CLASS=P",
        help="Decide for the class where its probability is at least P.",
        rich_help_panel=PANEL,
    ),
]
Sensitivity = Annotated[
    str | None,
    typer.Option(
        metavar="CLASS=SHARE",
        help="The highest threshold that this share of the rows of the class reaches, on rows held out.",
        rich_help_panel=PANEL,
    ),
]
Specificity = Annotated[
    str | None,
    typer.Option(
        metavar="CLASS=SHARE",
        help="The lowest threshold below which this share of the other rows is, on rows held out.",
        rich_help_panel=PANEL,
    ),
]


@dataclass(frozen=True)
class WantedDecision:
    """What the options say; at most one of costs (with a price), threshold, sensitivity and specificity."""

    cost: Sequence[str] | None
    ask: float | None
    threshold: str | None
    sensitivity: str | None
    specificity: str | None

    def __post_init__(self) -> None:
        kinds = {"--cost or --ask": self.cost or self.ask is not None, "--threshold": self.threshold}
        kinds |= {"--sensitivity": self.sensitivity, "--specificity": self.specificity}
        given = [name for name, value in kinds.items() if value]
        if len(given) > 1:
            raise OptionError(
                f"{' and '.join(given)} each say by themselves what is decided.", hint="give one of them."
            )

    @property
    def given(self) -> bool:
        return any(value is not None for value in vars(self).values())

    def decide_unmeasured(self, clf: BayesianNetworkClassifier) -> None:
        """Make a model decide so, where no rows can be held out."""
        if self.sensitivity or self.specificity:
            raise OptionError(
                "a file that is read batch by batch leaves no rows to tune a threshold on.",
                hint="give a --threshold or costs, or --no-stream.",
            )
        if self.given:
            clf.decision_ = self._decision(clf.classes_.tolist())

    def decide(
        self, clf: BayesianNetworkClassifier, X: pa.Table, y: NDArray[np.generic], seed: int
    ) -> DecisionQuality | None:
        """Make a model decide so, and measure that on rows held out; None where nothing was wanted."""
        if not self.given:
            return None
        from sklearn.model_selection import StratifiedKFold

        from tanager.classifiers.out_of_fold import out_of_fold
        from tanager.cli.training_data import leave_out_unlabelled
        from tanager.decide import measure_decision
        from tanager.table.training_table import encode_labels

        classes = clf.classes_.tolist()
        decision = None if self.sensitivity or self.specificity else self._decision(classes)
        rows, truth = leave_out_unlabelled(X, y, clf.classes_)
        folds = StratifiedKFold(5, shuffle=True, random_state=seed)
        probabilities = out_of_fold(clf, rows, truth, None, clf.classes_, folds)
        class_codes = encode_labels(truth, clf.classes_)[1]
        clf.decision_ = decision or self._tuned(classes, probabilities, class_codes)
        return measure_decision(clf.decision_, probabilities, class_codes)

    def _decision(self, classes: list[Category]) -> Decision:
        from tanager.decide import CostDecision, ThresholdDecision
        from tanager.decide.costs import read_costs, read_price

        if self.threshold is None:
            costs = dict(_read_cost(text, classes) for text in self.cost or ())
            return CostDecision(tuple(classes), read_costs(costs, classes), read_price(self.ask))
        name, threshold = read_class_number("--threshold", self.threshold)
        if not 0.0 <= threshold <= 1.0:
            raise OptionError(f"--threshold {threshold:g} is reached by no row, or by all; expected 0 to 1.")
        return ThresholdDecision(tuple(classes), find_class("--threshold", name, classes), threshold)

    def _tuned(
        self, classes: list[Category], probabilities: Probabilities, class_codes: NDArray[np.integer]
    ) -> Decision:
        from tanager.decide import ThresholdDecision, tune_for_sensitivity, tune_for_specificity

        option, tune, text = ("--sensitivity", tune_for_sensitivity, self.sensitivity)
        if text is None:
            option, tune, text = ("--specificity", tune_for_specificity, self.specificity or "")
        name, wanted = read_class_number(option, text)
        label = find_class(option, name, classes)
        threshold = tune(probabilities, class_codes, classes.index(label), wanted)
        return ThresholdDecision(tuple(classes), label, threshold)


def _read_cost(text: str, classes: list[Category]) -> tuple[tuple[Category, Category], float]:
    """TRUE:DECIDED=COST; a class may have a colon in its name."""
    pair, cost = read_class_number("--cost", text)
    if ":" not in pair:
        raise OptionError(f"--cost {text!r} is not valid; expected TRUE:DECIDED=COST, such as ill:healthy=10.")
    written = {str(label) for label in classes}
    places = [place for place, letter in enumerate(pair) if letter == ":"]
    known = [place for place in places if pair[:place] in written and pair[place + 1 :] in written]
    place = (known or places)[0]
    true, decided = (find_class("--cost", name, classes) for name in (pair[:place], pair[place + 1 :]))
    return (true, decided), cost
