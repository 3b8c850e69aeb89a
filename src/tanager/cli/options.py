"""Options that several commands share, and the classifier they ask for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from tanager.classifiers.base import TableClassifier

MODEL = "Model"
WITH_OPTIONS = {"structure": "'kdb(k=3)'", "criterion": "'bdeu(ess=5)'", "parameters": "'frequency(alpha=2)'"}

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="Table: .csv, .tsv, .txt, .parquet, .arff or .xlsx, also .csv.gz and .zip; - is CSV on stdin.",
    ),
]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="A model file that `tanager fit` wrote.")]
ClassColumn = Annotated[str, typer.Option("--class", "-c", metavar="COLUMN", help="The column to predict.")]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        "--missing",
        metavar="TEXT",
        help="A text that means missing, such as unknown; may be repeated. In columns of numbers NA, ? and the like "
        "are recognised, unless '' is among the texts.",
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option("--drop", metavar="COLUMN", help="A column to leave out, such as a customer number; may be repeated."),
]
RecipeFile = Annotated[
    str | None,
    typer.Option("--recipe", metavar="FILE", help="What to do to the table first: a file of `tanager check --fix`."),
]
Structure = Annotated[
    str | None,
    typer.Option(
        show_default="no network: the additive model",
        rich_help_panel=MODEL,
        autocompletion=lambda: registered_names()["structure"],
    ),
]
Pairs = Annotated[
    str,
    typer.Option(
        metavar="N|auto",
        help="Pairs of attributes in the additive model: so many, or as many as cross-validation takes.",
        rich_help_panel=MODEL,
    ),
]
NoTrees = Annotated[
    bool,
    typer.Option(
        "--no-trees", help="No boosted trees in the additive model: every term can be read.", rich_help_panel=MODEL
    ),
]
Criterion = Annotated[
    str | None,
    typer.Option(
        show_default="fcll, if the structure asks for one",
        rich_help_panel=MODEL,
        autocompletion=lambda: registered_names()["criterion"],
    ),
]
Parameters = Annotated[
    str | None,
    typer.Option(
        show_default="conditional, for a network",
        rich_help_panel=MODEL,
        autocompletion=lambda: registered_names()["parameters"],
    ),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN,COLUMN|all",
        help="Numeric columns whose numbers are categories; may be repeated.",
        rich_help_panel=MODEL,
    ),
]
Discretizer = Annotated[
    str | None,
    typer.Option(
        help="How numeric columns are cut; by default mdlp for networks, at quantiles for the additive model.",
        rich_help_panel=MODEL,
        autocompletion=lambda: registered_names()["discretizer"],
    ),
]
Engine = Annotated[str, typer.Option(rich_help_panel=MODEL, autocompletion=lambda: registered_names()["engine"])]
Device = Annotated[
    str | None,
    typer.Option(
        metavar="cpu|cuda|cuda:1",
        help="Where --engine torch works, for networks; by default on a GPU if there is one.",
        rich_help_panel=MODEL,
    ),
]
ClassWeight = Annotated[
    list[str] | None,
    typer.Option(
        metavar="CLASS=WEIGHT|balanced",
        help="Rows of the class count as so many; may be repeated. --cost of fit leaves probabilities as they are.",
        rich_help_panel=MODEL,
    ),
]
Monotone = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN=+1|-1",
        help="The probability of the second of two classes (in the order of their names) never falls, or never rises, "
        "along this column, whatever the others hold; may be repeated. For the additive model, then without trees.",
        rich_help_panel=MODEL,
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace a file of another kind; never one that is read.")]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="For everything drawn at random.")]


class ModelCommand(TyperCommand):
    """A command with model options. Its help lists the registered names, and imports what they name only then."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        names = registered_names()
        for option in self.params:
            if option.name in names:
                example = f" (options: {WITH_OPTIONS[option.name]})" if option.name in WITH_OPTIONS else ""
                option.help = ", ".join(names[option.name]) + example  # type: ignore[attr-defined]
        super().format_help(ctx, formatter)


def registered_names() -> dict[str, list[str]]:
    """The names each option takes."""
    from tanager.counts.engine import ENGINES
    from tanager.parameters import PARAMETERS
    from tanager.scores import SCORES
    from tanager.structure import STRUCTURES
    from tanager.table.discretizer import DISCRETIZERS

    return {
        "structure": list(STRUCTURES),
        "criterion": list(SCORES),
        "parameters": list(PARAMETERS),
        "discretizer": list(DISCRETIZERS),
        "engine": list(ENGINES),
    }


@dataclass(frozen=True)
class ModelOptions:
    """What kind of model the user asked for: a network where `structure` names one, else the additive model."""

    structure: str | None
    criterion: str | None
    parameters: str | None
    categorical: list[str] | None
    discretizer: str | None
    engine: str
    device: str | None
    seed: int
    class_weight: list[str] | None = None
    monotone: list[str] | None = None
    pairs: str = "auto"
    no_trees: bool = False

    def additive(self, monotone: list[str] | None, pairs: str, no_trees: bool) -> ModelOptions:
        """With the options that only the additive model has."""
        return replace(self, monotone=monotone, pairs=pairs, no_trees=no_trees)

    def classifier(self, columns: Sequence[str], labels: NDArray[np.generic] | None = None) -> TableClassifier:
        """An unfitted classifier for a table with these columns, and with these classes if they are known."""
        from tanager.classifiers import AdditiveClassifier, BayesianNetworkClassifier

        shared: dict[str, Any] = {
            "categorical_features": self._categorical_features(columns),
            "discretizer": self.discretizer,
            "class_weight": self._class_weight(labels),
            "random_state": self.seed,
        }
        if self.structure is None:
            self._refuse_network_options()
            return AdditiveClassifier(
                pairs=self._pairs(), trees=not self.no_trees, monotonic_cst=self._monotone(), **shared
            )
        self._refuse_additive_options()
        return BayesianNetworkClassifier(**self._parts(), engine=self.engine, device=self.device, **shared)

    def _refuse_network_options(self) -> None:
        from tanager.errors import OptionError

        given = {
            "--criterion": self.criterion is not None,
            "--parameters": self.parameters is not None,
            "--engine": self.engine != "auto",
            "--device": self.device is not None,
        }
        for option in (option for option, is_given in given.items() if is_given):
            raise OptionError(
                f"{option} is for a network, and without --structure the additive model is fitted.",
                hint="name a network, such as --structure tan, or leave the option out.",
            )

    def _refuse_additive_options(self) -> None:
        from tanager.errors import OptionError

        given = {
            "--monotone": self.monotone is not None,
            "--pairs": self.pairs != "auto",
            "--no-trees": self.no_trees,
        }
        for option in (option for option, is_given in given.items() if is_given):
            raise OptionError(
                f"{option} is for the additive model, and --structure {self.structure} is a network.",
                hint="leave --structure out, or the option.",
            )

    def _pairs(self) -> str | int:
        from tanager.errors import OptionError

        if self.pairs != "auto" and not self.pairs.isdecimal():
            raise OptionError(f"--pairs {self.pairs!r} is not valid; expected auto or a number from 0.")
        return self.pairs if self.pairs == "auto" else int(self.pairs)

    def _monotone(self) -> dict[str, int] | None:
        from tanager.errors import OptionError

        if self.monotone is None:
            return None
        directions = {}
        for text in self.monotone:
            name, _, direction = text.rpartition("=")
            if not name or direction not in ("1", "+1", "-1", "0"):
                raise OptionError(f"--monotone {text!r} is not valid; expected COLUMN=+1 or COLUMN=-1.")
            directions[name] = int(direction)
        return directions

    def _parts(self) -> dict[str, Any]:
        """Structure, criterion and parameters: by name, or as objects where options are given, as in kdb(k=3)."""
        parameters = "conditional" if self.parameters is None else self.parameters
        named = {"structure": self.structure, "criterion": self.criterion, "parameters": parameters}
        if not any("(" in text for text in named.values() if text):
            return named
        from tanager.evaluate.specs import parse_part

        return {kind: parse_part(kind, text) if text and "(" in text else text for kind, text in named.items()}

    def _class_weight(self, labels: NDArray[np.generic] | None) -> dict[Any, float] | str | None:
        if self.class_weight is None:
            return None
        from tanager.cli.classes import read_class_weights

        known = None if labels is None else {label for label in labels.tolist() if label is not None}
        return read_class_weights(self.class_weight, None if known is None else sorted(known, key=str))

    def _categorical_features(self, columns: Sequence[str]) -> str | list[str]:
        """Names separated by commas, unless the whole is a column's name."""
        if self.categorical is None:
            return "from_dtype"
        if self.categorical == ["all"] and "all" not in columns:
            return "all"
        parts = [[entry] if entry in columns else entry.split(",") for entry in self.categorical]
        return [name.strip() if name not in columns else name for entry in parts for name in entry]
