"""The options that say how a model decides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tanager.cli.options import find_class, once, read_class_number
from tanager.errors import OptionError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tanager.classifiers.base import TableClassifier
    from tanager.decide import Decision, DecisionQuality
    from tanager.metrics import Probabilities, Quality
    from tanager.table.schema import Category


def classes_of(labels: NDArray[np.generic]) -> list[Category]:
    """The classes of the rows that have one."""
    import numpy as np

    from tanager.table.training_table import missing_labels

    classes: list[Category] = np.unique(labels[~missing_labels(labels)]).tolist()
    return classes


def _option(metavar: str, help: str) -> Any:
    return typer.Option(metavar=metavar, help=help, rich_help_panel="Decision")


@dataclass(frozen=True)
class WantedDecision:
    """The options of a decision; at most one of costs (with a price), threshold, sensitivity and specificity."""

    cost: Annotated[
        list[str] | None,
        _option(
            "TRUE:DECIDED=COST",
            "What a mistake costs, such as ill:healthy=10 where one who is ill is taken for healthy; may be repeated. "
            "Other mistakes cost 1. Decided is what is expected to cost least.",
        ),
    ] = None
    ask: Annotated[
        float | None,
        _option(
            "PRICE", "Ask a person, at this price, where every class is expected to cost more: the class is then empty."
        ),
    ] = None
    threshold: Annotated[
        str | None, _option("CLASS=P", "Decide for the class where its probability is at least P.")
    ] = None
    sensitivity: Annotated[
        str | None,
        _option("CLASS=SHARE", "The highest threshold that this share of the class's rows reaches, on rows held out."),
    ] = None
    specificity: Annotated[
        str | None,
        _option("CLASS=SHARE", "The lowest threshold below which this share of the other rows is, on rows held out."),
    ] = None

    def __post_init__(self) -> None:
        kinds = {"--cost or --ask": self.cost or self.ask is not None, "--threshold": self.threshold}
        kinds |= {"--sensitivity": self.sensitivity, "--specificity": self.specificity}
        named = [name for name, value in kinds.items() if value]
        if len(named) > 1:
            raise OptionError(
                f"{' and '.join(named)} each say by themselves what is decided.", hint="give one of them."
            )

    @property
    def is_wanted(self) -> bool:
        return any(value is not None for value in vars(self).values())

    @property
    def is_tuned(self) -> bool:
        return bool(self.sensitivity or self.specificity)

    def check(self, labels: NDArray[np.generic]) -> None:
        """Refuse classes that no row has, and other mistakes, before anything is learnt."""
        if not self.is_wanted:
            return
        classes = classes_of(labels)
        if self.is_tuned:
            self._share(classes)
        else:
            self._decision(classes)

    def check_held_out(self, any_held_out: bool) -> None:
        """Refuse a threshold that is to be tuned where no rows are held out for it."""
        if self.is_tuned and not any_held_out:
            raise OptionError(
                "no rows are held out to tune a threshold on.",
                hint="leave out --no-validate and --stream, or give a --threshold or costs.",
            )

    def decide(self, clf: TableClassifier, quality: Quality | None) -> DecisionQuality | None:
        """Make a model decide so, and measure that on the rows held out; None without them, or if nothing is wanted."""
        from tanager.decide import measure_decision

        classes = clf.classes_.tolist()
        if not self.is_wanted:
            return None
        self.check_held_out(quality is not None)
        if quality is None:
            clf.decision_ = self._decision(classes)
            return None
        held_out = quality.predictions.probabilities, quality.predictions.class_codes
        clf.decision_ = self._tuned(classes, *held_out) if self.is_tuned else self._decision(classes)
        return measure_decision(clf.decision_, *held_out)

    def _decision(self, classes: list[Category]) -> Decision:
        from tanager.decide import CostDecision, ThresholdDecision
        from tanager.decide.decision import read_costs, read_price

        if self.threshold is None:
            costs = once("--cost", (_read_cost(text, classes) for text in self.cost or ()))
            return CostDecision(tuple(classes), read_costs(costs, classes), read_price(self.ask))
        name, threshold = read_class_number("--threshold", self.threshold)
        if not 0.0 <= threshold <= 1.0:
            raise OptionError(f"--threshold {threshold:g} is reached by no row, or by all; expected 0 to 1.")
        return ThresholdDecision(tuple(classes), find_class("--threshold", name, classes), threshold)

    def _tuned(
        self, classes: list[Category], probabilities: Probabilities, class_codes: NDArray[np.integer]
    ) -> Decision:
        from tanager.decide import ThresholdDecision, tune_for_sensitivity, tune_for_specificity

        tune = tune_for_sensitivity if self.sensitivity else tune_for_specificity
        label, wanted = self._share(classes)
        threshold = tune(probabilities, class_codes, classes.index(label), wanted)
        return ThresholdDecision(tuple(classes), label, threshold)

    def _share(self, classes: list[Category]) -> tuple[Category, float]:
        """The class that a threshold is tuned for, and the share wanted."""
        from tanager.decide.tuning import check_share

        option, text = ("--sensitivity", self.sensitivity) if self.sensitivity else ("--specificity", self.specificity)
        name, wanted = read_class_number(option, text or "")
        check_share(option, wanted)
        return find_class(option, name, classes), wanted


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
