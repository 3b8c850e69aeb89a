"""The model in sentences: a model card made of what is on the page."""

from __future__ import annotations

import datetime
import os
import platform
from dataclasses import dataclass, field
from hashlib import file_digest
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from tanager.additive.model import AnyModel
from tanager.classifiers.base import TableClassifier
from tanager.report.json_page import Json, number, percent, plural
from tanager.report.model_section import shown_strength
from tanager.version import __version__

MAX_CLASSES_NAMED = 6
FEW_OF_A_CLASS = 30
LIBRARIES = ("numpy", "scipy", "scikit-learn")
NOT_GIVEN = "Not given."


@dataclass(frozen=True)
class About:
    """What only the writer of a page knows.

    title    of the page: the name of the table, say
    purpose  what the model is for
    author   who answers for it
    model    the file of the model, whose hash is on the page
    table    the file of the rows, whose hash is on the page
    date     of the page, today
    """

    title: str | None = None
    purpose: str | None = None
    author: str | None = None
    model: str | os.PathLike[str] | None = None
    table: str | os.PathLike[str] | None = None
    date: str = field(default_factory=lambda: datetime.date.today().isoformat())

    def describe(self, clf: TableClassifier) -> dict[str, Json]:
        """Title, class, date, and the rows and columns that the model was learnt from."""
        target, kind = clf.model_.nodes[-1], what_it_is(clf.model_)
        counts = clf.class_count_
        return {
            "title": f"Predicting {target}" if self.title is None else self.title,
            "target": target,
            "model": kind[0].upper() + kind[1:],
            "hashes": [
                [file, _hash_of(path)]
                for file, path in (("model file", self.model), ("table", self.table))
                if path is not None
            ],
            "options": [list(option) for option in set_options(clf)],
            "sentences": list[Json](model_sentences(clf)),
            "date": self.date,
            "learnt_rows": number(float(counts.sum())),
            "columns": clf.n_features_in_,
            "shares": [number(share) for share in (counts / counts.sum()).tolist()],
            "decision": None if clf.decision_ is None else str(clf.decision_),
            "purpose": self.purpose,
            "author": self.author,
        }


def _hash_of(path: str | os.PathLike[str]) -> str:
    with Path(path).open("rb") as stream:
        return file_digest(stream, "sha256").hexdigest()


def what_it_is(model: AnyModel) -> str:
    """The kind of the model, in a line."""
    if model.kind == "effects":
        return model.summary
    n_edges = sum(1 for edge in model.edges if model.nodes[-1] not in edge)
    return f"Bayesian network: {plural(len(model.nodes) - 1, 'attribute')}, {plural(n_edges, 'edge')} between them"


def set_options(clf: TableClassifier) -> list[tuple[str, str]]:
    """Name and value of the options that differ from the default; a seed of 0 is the default of the command."""
    default, options = type(clf)().get_params(deep=False), clf.get_params(deep=False)
    if options["random_state"] == 0:
        options.pop("random_state")
    return [(name, _shown(value)) for name, value in options.items() if repr(value) != repr(default[name])]


def model_sentences(clf: TableClassifier) -> list[str]:
    """What the model consists of, how long the fit took, what a missing cell means, options set, and versions."""
    seconds = clf.trace_.seconds
    options = ", ".join(f"{name}={value}" for name, value in set_options(clf))
    libraries = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    return [
        part_sentence(clf.model_),
        *([] if seconds is None else [f"Learning took {seconds:.3g} s."]),
        clf.missing_rule_.sentence,
        f"Options that were set: {options}." if options else "All options have their defaults.",
        f"Written with Tanager {__version__}, Python {platform.python_version()}, {libraries}.",
    ]


def part_sentence(network: AnyModel) -> str:
    """The parts of the model."""
    target = network.nodes[-1]
    if network.kind != "effects":
        return f"P({target} | row) follows from a table of probabilities for each attribute given its parents."
    shown = shown_strength(network) > 0
    n_mains, n_pairs = int(shown[: len(network.mains)].sum()), int(shown[len(network.mains) :].sum())
    parts = [f"{plural(n_mains, 'effect')} of one attribute"] if n_mains else []
    parts += [f"{plural(n_pairs, 'effect')} of two attributes together"] if n_pairs else []
    parts += [plural(len(network.forest.roots), "boosted tree")] if network.forest is not None else []
    if not parts:
        return f"The model gives every row the base rate of {target}: no attribute is informative."
    listed = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
    return f"The model adds up log odds of {target}: {listed}."


def make_card(content: dict[str, Any]) -> dict[str, Json]:
    """The model card of a page's content: sections of plain sentences, and the measures."""
    about, quality = content["about"], content["quality"]
    sections = {
        "Warnings": list(content["issues"]),
        "Purpose": [about["purpose"] or NOT_GIVEN],
        "Responsible": [about["author"] or NOT_GIVEN],
        "Data": data_sentences(content),
        "Model": [
            *(f"{about['model']}.", *about["sentences"]),
            *(f"SHA-256 of the {kind}: {digest}." for kind, digest in about["hashes"]),
        ],
        "Quality": [*filter(None, [(content["event"] or {"words": ""})["words"]]), *quality_sentences(quality)],
        "Decision": [f"{about['decision']}."] if about["decision"] else [],
        "Limits": limit_sentences(content),
    }
    return {
        "title": about["title"],
        "model": about["model"],
        "class": about["target"],
        "date": about["date"],
        "version": content["version"],
        "sections": [[name, list(lines)] for name, lines in sections.items() if lines],
        "measures": [] if quality is None else quality["measures"],
    }


def data_sentences(content: dict[str, Any]) -> list[str]:
    """The rows learnt from, their classes, and the rows on the page."""
    about, classes = content["about"], content["network"]["nodes"][-1]["states"]
    order = np.argsort([-share for share in about["shares"]], kind="stable")
    shares = [f"{classes[k]} {100 * about['shares'][k]:.1f} %" for k in order[:MAX_CLASSES_NAMED]]
    more = f" and {len(classes) - MAX_CLASSES_NAMED} more classes" if len(classes) > MAX_CLASSES_NAMED else ""
    sentences = [
        f"Learnt from {about['learnt_rows']:,.0f} rows and {plural(about['columns'], 'attribute')}.",
        f"Classes of {about['target']}: {', '.join(shares)}{more}.",
    ]
    if content["columns"] is not None:
        n_rows = content["n_rows"]
        missing = sum(column["missing"] for column in content["columns"])
        share = f" ({100 * missing / (n_rows * len(content['columns'])):.1f} %)" if missing else ""
        sentences.append(f"This page looked at {plural(n_rows, 'row')}; cells missing: {missing:,}{share}.")
    return sentences


def quality_sentences(quality: dict[str, Any] | None) -> list[str]:
    if quality is None:
        return ["Not measured: no rows with a class were given, and the model keeps no quality."]
    how = f"judged by models that had not seen them ({quality['split']})" if quality["split"] else "given"
    return [
        f"Measured on {plural(quality['n_rows'], 'row')} {how}, with 95 % intervals.",
        "In bins of the probability, the share of right predictions differs from the mean probability by "
        f"{percent(quality['calibration_error'])} on average.",
    ]


def limit_sentences(content: dict[str, Any]) -> list[str]:
    """What a reader should not expect of the model."""
    quality, classes = content["quality"], content["network"]["nodes"][-1]["states"]
    sentences = [
        "It describes associations in the table, not causes: changing a value in what-if shows what the model would "
        "predict, not what would happen.",
        "Rows of another place or time may differ from those it was learnt from; its quality there is not known.",
    ]
    counts = [share * content["about"]["learnt_rows"] for share in content["about"]["shares"]]
    rare = [classes[k] for k, count in enumerate(counts) if count < FEW_OF_A_CLASS]
    if rare:
        named = ", ".join(rare[:MAX_CLASSES_NAMED]) + (" and others" if len(rare) > MAX_CLASSES_NAMED else "")
        sentences.append(f"Few rows to learn from (below {FEW_OF_A_CLASS}): {named}.")
    if quality is not None and not quality["split"]:
        sentences.append("The rows judged may be those learnt from; then it will do worse on new ones.")
    return sentences + [
        f"It does worse where {each['attribute']} is {each['state']} ({plural(each['rows'], 'row')}): right in "
        f"{percent(each['accuracy'])}, elsewhere in {percent(each['rest_accuracy'])}."
        for each in (content["groups"] or {"found": []})["found"][:3]
        if each["accuracy"] < each["rest_accuracy"]
    ]


def card_markdown(card: dict[str, Any]) -> str:
    """The card as Markdown; names are text, whatever they hold."""
    lines = [f"# {_plain(card['title'])}", "", f"{_plain(card['model'])}.", ""]
    lines += [f"Model card for {_plain(card['class'])}, {card['date']}.", ""]
    for name, sentences in card["sections"]:
        lines += [f"## {name}", "", *(f"- {_plain(sentence)}" for sentence in sentences), ""]
        if name == "Quality" and card["measures"]:
            lines += ["| measure | this model | 95 % interval | base rate alone |", "| --- | --- | --- | --- |"]
            lines += [f"| {' | '.join(line)} |" for line in card["measures"]] + [""]
    return "\n".join([*lines, f"Written by Tanager {card['version']}.", ""])


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else " ".join(repr(value).split())
    return text if len(text) <= 200 else text[:199] + "…"


def _plain(text: str) -> str:
    """On one line, without characters that Markdown reads as markup."""
    return "".join(f"\\{letter}" if letter in r"\`*_{}[]<>#|" else letter for letter in " ".join(text.split()))
