"""The options that several commands share, each stated once; the classifier and the decision they ask for."""

from __future__ import annotations

import functools
import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast, get_type_hints

import typer
from typer.core import TyperCommand

from tanager.errors import OptionError
from tanager.registry import check_option

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tanager.check.preprocessing import Recipe
    from tanager.classifiers.base import TableClassifier
    from tanager.decide import Decision, DecisionQuality
    from tanager.files.read_csv import CellRules
    from tanager.metrics import Predictions, Quality
    from tanager.table.schema import Category

Name = TypeVar("Name")
Value = TypeVar("Value")
MODEL = "Model"
HIDDEN_IN_START = ("engine", "device", "discretizer")
WITH_OPTIONS = {"structure": "'kdb(k=3)'", "criterion": "'bdeu(ess=5)'", "parameters": "'frequency(alpha=2)'"}


def option(metavar: str | None, help: str, *names: str, **more: Any) -> Any:
    """An option; without names it is called as its parameter."""
    return typer.Option(*names, metavar=metavar, help=help, **more)


def output(help: str) -> Any:
    """The option that names the file to write."""
    return option("FILE", help, "--output", "-o")


def _option(metavar: str | None, help: str, *names: str) -> Any:
    """An option of the model."""
    return option(metavar, help, *names, rich_help_panel=MODEL)


def _decides(metavar: str, help: str) -> Any:
    """An option of the decision."""
    return option(metavar, help, rich_help_panel="Decision")


def _named(kind: str, **options: Any) -> Any:
    """An option of the model that takes a registered name; the help lists the names."""
    return typer.Option(rich_help_panel=MODEL, autocompletion=lambda: registered_names()[kind], **options)


Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="Table: .csv, .tsv, .txt, .parquet, .arff or .xlsx, also .csv.gz; - is CSV on stdin.",
    ),
]
OptionalData = Annotated[
    str | None, typer.Argument(metavar="[DATA]", help="Rows: a table as for predict; - is CSV on stdin.")
]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="A model file that `tanager fit` wrote.")]
ClassColumn = Annotated[str, option("COLUMN", "The column to predict.", "--class", "-c")]
OptionalClass = Annotated[str | None, option("COLUMN", "The column to predict.", "--class", "-c")]
Missing = Annotated[
    list[str] | None,
    option(
        "TEXT",
        "A text that means missing, such as unknown; may be repeated. In columns of numbers NA, ? and the like "
        "are recognised, unless '' is among the texts.",
        "--missing",
    ),
]
Drop = Annotated[
    list[str] | None, option("COLUMN", "A column to leave out, such as a customer number; may be repeated.", "--drop")
]
NoDecision = Annotated[
    bool, option(None, "Predict the most probable class; ignore costs and threshold.", "--no-decision")
]
Stream = Annotated[
    bool | None,
    option(
        None,
        "Read the file, or a folder of Parquet files, batch by batch; by default where memory is short.",
        "--stream/--no-stream",
    ),
]
Force = Annotated[bool, option(None, "Replace a file of another kind; never one that is read.", "--force")]
Seed = Annotated[int, option(None, "For everything drawn at random.", min=0, max=2**32 - 1)]
Event = Annotated[
    str | None,
    option(
        "CLASS",
        "The class that matters: the share of its cases that is found, and of the alarms that are right.",
        "--event",
        show_default="the rarer of two classes",
    ),
]
NoRows = Annotated[
    bool, option(None, "Leave the rows of the table out of the page; counts and curves stay.", "--no-rows")
]
AsJson = Annotated[bool, option(None, "Print JSON, with every detail.", "--json")]


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take dataclasses of options: the command line has their fields in place of each of them."""
    hints = get_type_hints(command, include_extras=True)
    groups = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    parameters = []
    for name, parameter in inspect.signature(command).parameters.items():
        options = {name: (hints[name], parameter.default)}
        if name in groups:
            kinds = get_type_hints(groups[name], include_extras=True)
            options = {field.name: (kinds[field.name], field.default) for field in fields(groups[name])}
        parameters += [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
            for name, (kind, default) in options.items()
        ]

    @functools.wraps(command)
    def run(**values: object) -> None:
        for name, group in groups.items():
            values[name] = cast(type, group)(**{field.name: values.pop(field.name) for field in fields(group)})
        command(**values)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


@dataclass(frozen=True)
class Reading:
    """How a table to learn from is read: its place, texts that mean missing, columns to drop, a preprocessing file."""

    missing: Missing = None
    drop: Drop = None
    recipe: Annotated[
        str | None, option("FILE", "What to do to the table first: a file of `tanager check --fix`.", "--recipe")
    ] = None
    sheet: Annotated[
        str | None, option("NAME", "The sheet of an Excel workbook.", show_default="the one with the class")
    ] = None
    header_row: Annotated[
        int | None, option("N", "The row with the names of the columns, counted from 1.", min=1, show_default="found")
    ] = None

    def rules(self, recipe: Recipe, class_column: str | None) -> CellRules:
        """How the table in a file is read."""
        from tanager.files.read_csv import CellRules

        expected = [] if class_column is None else [class_column]
        place = {"sheet": self.sheet, "header_row": self.header_row}
        return CellRules.given(recipe.missing, recipe.texts, expected=expected, **place)

    def preprocessing(self, class_column: str | None) -> Recipe:
        """All that is done to the table before a model sees it; a model remembers it."""
        from tanager.check.preprocessing import NOTHING_TO_DO
        from tanager.files.json_file import load_recipe

        recipe = NOTHING_TO_DO if self.recipe is None else load_recipe(self.recipe)
        return recipe.with_options(self.missing or (), self.drop or (), class_column)


@dataclass(frozen=True)
class ModelOptions:
    """The kind of model: a network where `structure` names one, else the additive model."""

    structure: Annotated[str | None, _named("structure", show_default="no network: the additive model")] = None
    pairs: Annotated[
        str,
        _option(
            "N|auto",
            "Pairs of attributes in the additive model: a maximum number, or 'auto': cross-validation chooses.",
        ),
    ] = "auto"
    no_trees: Annotated[
        bool, _option(None, "No boosted trees in the additive model: every term can be read.", "--no-trees")
    ] = False
    criterion: Annotated[str | None, _named("criterion", show_default="fcll, if the structure asks for one")] = None
    parameters: Annotated[str | None, _named("parameters", show_default="conditional, for a network")] = None
    categorical: Annotated[
        list[str] | None, _option("COLUMN,COLUMN|all", "Numeric columns whose numbers are categories; may be repeated.")
    ] = None
    discretizer: Annotated[str | None, _named("discretizer", show_default="mdlp for networks, else quantiles")] = None
    engine: Annotated[str, _named("engine")] = "auto"
    device: Annotated[
        str | None,
        _option("cpu|cuda|cuda:1", "Where --engine torch works, for networks; by default on a GPU if there is one."),
    ] = None
    class_weight: Annotated[
        list[str] | None,
        _option(
            "CLASS=WEIGHT|balanced",
            "Each row of the class has this weight; may be repeated. --cost of fit leaves probabilities as they are.",
        ),
    ] = None
    monotone: Annotated[
        list[str] | None,
        _option(
            "COLUMN=+1|-1",
            "The probability of the second of two classes (in the order of their names) never falls (+1) or never "
            "rises (-1) along this column; may be repeated. For the additive model, which then has no trees.",
        ),
    ] = None
    seed: Seed = 0

    def classifier(self, columns: Sequence[str], labels: NDArray[np.generic] | None = None) -> TableClassifier:
        """An unfitted classifier for a table with these columns, and with these classes if they are known."""
        from tanager.classifiers import AdditiveClassifier, BayesianNetworkClassifier

        shared: dict[str, Any] = {
            "categorical_features": self._categorical_features(columns),
            "discretizer": self.discretizer,
            "class_weight": self._class_weight(labels),
            "random_state": self.seed,
        }
        self._refuse_options_of_the_other()
        if self.structure is None:
            pairs = int(self.pairs) if self.pairs.isdecimal() else self.pairs
            monotone = None if self.monotone is None else once("--monotone", map(_read_direction, self.monotone))
            return AdditiveClassifier(pairs=pairs, trees=not self.no_trees, monotonic_cst=monotone, **shared)
        return BayesianNetworkClassifier(**self._parts(), engine=self.engine, device=self.device, **shared)

    def _refuse_options_of_the_other(self) -> None:
        """Options of a network go with --structure, those of the additive model without."""
        refused: tuple[str, ...]
        if self.structure is None:
            refused = ("criterion", "parameters", "engine", "device")
            words = "is for a network, and without --structure the additive model is fitted."
            hint = "name a network, such as --structure tan, or leave the option out."
        else:
            refused = ("monotone", "pairs", "no_trees")
            words = f"is for the additive model, and --structure {self.structure} is a network."
            hint = "leave --structure out, or the option."
        for field in fields(self):
            if field.name in refused and getattr(self, field.name) != field.default:
                raise OptionError(f"--{field.name.replace('_', '-')} {words}", hint=hint)

    def _parts(self) -> dict[str, Any]:
        """Structure, criterion and parameters: by name, or as objects where options are given, as in kdb(k=3)."""
        parameters = self.parameters or "conditional"
        named = {"structure": self.structure, "criterion": self.criterion, "parameters": parameters}
        if not any("(" in text for text in named.values() if text):
            return named
        from tanager.evaluate.specs import parse_part

        return {kind: parse_part(kind, text) if text and "(" in text else text for kind, text in named.items()}

    def _class_weight(self, labels: NDArray[np.generic] | None) -> dict[Any, float] | str | None:
        """Where the classes are not known yet, whole numbers are taken for classes that are numbers."""
        if self.class_weight is None or self.class_weight == ["balanced"]:
            return None if self.class_weight is None else "balanced"
        classes = None if labels is None else classes_of(labels)
        weights: list[tuple[Any, float]] = []
        for text in self.class_weight:
            name, weight = read_class_number("--class-weight", text)
            number = int(name) if name.lstrip("-").isdigit() else name
            weights.append((number if classes is None else find_class("--class-weight", name, classes), weight))
        return once("--class-weight", weights)

    def _categorical_features(self, columns: Sequence[str]) -> str | list[str]:
        """Names separated by commas, unless the whole is a column's name."""
        if self.categorical is None:
            return "from_dtype"
        if self.categorical == ["all"] and "all" not in columns:
            return "all"
        parts = [[entry] if entry in columns else entry.split(",") for entry in self.categorical]
        return [name.strip() if name not in columns else name for entry in parts for name in entry]


def classes_of(labels: NDArray[np.generic]) -> list[Category]:
    """The classes of the rows that have one."""
    import numpy as np

    from tanager.table.training_table import missing_labels

    classes: list[Category] = np.unique(labels[~missing_labels(labels)]).tolist()
    return classes


@dataclass(frozen=True)
class WantedDecision:
    """The options of a decision; at most one of costs (with a price), threshold, sensitivity and specificity."""

    cost: Annotated[
        list[str] | None,
        _decides(
            "TRUE:DECIDED=COST",
            "The cost of an error, such as ill:healthy=10 for an ill person predicted as healthy; may be repeated. "
            "Other errors cost 1. The decision has the least expected cost.",
        ),
    ] = None
    ask: Annotated[
        float | None,
        _decides(
            "PRICE", "Ask a person, at this price, if every class has a higher expected cost; the class is then empty."
        ),
    ] = None
    threshold: Annotated[
        str | None, _decides("CLASS=P", "Decide for the class where its probability is at least P.")
    ] = None
    sensitivity: Annotated[
        str | None,
        _decides("CLASS=SHARE", "The highest threshold that this share of the class's rows reaches, on rows held out."),
    ] = None
    specificity: Annotated[
        str | None,
        _decides("CLASS=SHARE", "The lowest threshold below which this share of the other rows is, on rows held out."),
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

    def check(self, labels: NDArray[np.generic]) -> None:
        """Refuse classes that no row has, and other mistakes, before anything is learnt."""
        if self.is_wanted:
            self._decision(classes_of(labels), None)

    def check_held_out(self, any_held_out: bool) -> None:
        """Refuse a threshold that is to be tuned where no rows are held out for it."""
        if (self.sensitivity or self.specificity) and not any_held_out:
            raise OptionError(
                "no rows are held out to tune a threshold on.",
                hint="leave out --no-validate and --stream, or give a --threshold or costs.",
            )

    def decide(self, clf: TableClassifier, quality: Quality | None) -> DecisionQuality | None:
        """Make a model decide so, and measure that on the rows held out; None without them, or if nothing is wanted."""
        from tanager.decide import measure_decision

        if not self.is_wanted:
            return None
        self.check_held_out(quality is not None)
        held_out = None if quality is None else quality.predictions
        clf.decision_ = self._decision(clf.classes_.tolist(), held_out)
        if held_out is None or clf.decision_ is None:
            return None
        return measure_decision(clf.decision_, held_out.probabilities, held_out.class_codes)

    def _decision(self, classes: list[Category], held_out: Predictions | None) -> Decision | None:
        """The decision; None where a threshold is to be tuned and there are no rows held out yet."""
        from tanager.decide import CostDecision, ThresholdDecision, tune_for_sensitivity, tune_for_specificity
        from tanager.decide.decision import check_share, read_costs, read_price

        tuned = {"--sensitivity": self.sensitivity, "--specificity": self.specificity}
        for option, text in {**tuned, "--threshold": self.threshold}.items():
            if not text:
                continue
            name, share = read_class_number(option, text)
            check_share(option, share)
            label = find_class(option, name, classes)
            if option in tuned:
                if held_out is None:
                    return None
                tune = tune_for_sensitivity if self.sensitivity else tune_for_specificity
                share = tune(held_out.probabilities, held_out.class_codes, classes.index(label), share)
            return ThresholdDecision(tuple(classes), label, share)
        costs = once("--cost", (_read_cost(text, classes) for text in self.cost or ()))
        return CostDecision(tuple(classes), read_costs(costs, classes), read_price(self.ask))


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


def _read_direction(text: str) -> tuple[str, int]:
    name, _, direction = text.rpartition("=")
    if not name or direction not in ("1", "+1", "-1", "0"):
        raise OptionError(f"--monotone {text!r} is not valid; expected COLUMN=+1 or COLUMN=-1.")
    return name, int(direction)


def once(option: str, pairs: Iterable[tuple[Name, Value]]) -> dict[Name, Value]:
    """What a repeated option says of each name, which it may say once."""
    values: dict[Name, Value] = {}
    for name, value in pairs:
        if name in values:
            what = ":".join(map(str, name)) if isinstance(name, tuple) else name
            raise OptionError(f"{option} says twice what holds for {what}.", hint="give it once.")
        values[name] = value
    return values


def find_class(option: str, text: str, classes: Sequence[Category]) -> Category:
    """The class that is written so."""
    written: dict[str, Category] = {str(label): label for label in classes}
    return written[check_option(option, text, written)]


def read_class_number(option: str, text: str) -> tuple[str, float]:
    """A class, as it is written, and its number: ill=10."""
    name, equals, number = text.rpartition("=")
    try:
        if not equals:
            raise ValueError
        return name, float(number)
    except ValueError:
        raise OptionError(f"{option} {text!r} is not valid; expected CLASS=NUMBER, such as ill=10.") from None


class Command(TyperCommand):
    """A command whose help lists the registered names of model options, and imports what they name only then.

    An option that takes one value is given once: of several values nobody would see which one holds.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        given: Counter[Any] = Counter(self.make_parser(ctx).parse_args(args=list(args))[2])
        for option, times in given.items():
            if times > 1 and not (option.multiple or option.is_flag):
                raise OptionError(
                    f"{option.opts[0]} is given {times} times, and takes one value.", hint="give it once."
                )
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        names = registered_names()
        for option in self.params:
            option.hidden = self.name == "start" and option.name in HIDDEN_IN_START  # type: ignore[attr-defined]
            if option.name in names and getattr(option, "rich_help_panel", None) == MODEL:
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
