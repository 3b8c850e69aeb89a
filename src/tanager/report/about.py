"""What the page is about, and a model card made of what is on it."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tanager.classifiers.base import TableClassifier
from tanager.metrics.quality_text import NAMES, show
from tanager.report.json_page import Json, number
from tanager.report.learning import plural

MAX_CLASSES_NAMED = 6
FEW_OF_A_CLASS = 30


@dataclass(frozen=True)
class About:
    """What only the writer of a page knows.

    title    of the page: the name of the table, say
    purpose  what the model is for
    author   who answers for it
    date     of the page, today
    """

    title: str | None = None
    purpose: str | None = None
    author: str | None = None
    date: str = field(default_factory=lambda: datetime.date.today().isoformat())

    def describe(self, clf: TableClassifier) -> dict[str, Json]:
        """Title, class, date, and the rows and columns that the model was learnt from."""
        target = clf.model_.nodes[-1]
        counts = clf.class_count_
        return {
            "title": f"Predicting {target}" if self.title is None else self.title,
            "target": target,
            "model": clf.model_.summary if clf.model_.kind == "effects" else None,
            "date": self.date,
            "learnt_rows": number(float(counts.sum())),
            "columns": clf.n_features_in_,
            "shares": [number(share) for share in (counts / counts.sum()).tolist()],
            "decision": None if clf.decision_ is None else str(clf.decision_),
            "purpose": self.purpose,
            "author": self.author,
        }


def make_card(content: dict[str, Any]) -> dict[str, Json]:
    """The model card of a page's content: sections of plain sentences, and the measures."""
    about, quality = content["about"], content["quality"]
    sections = {
        "Purpose": [about["purpose"] or "Not stated by who wrote this card."],
        "Responsible": [about["author"] or "Not stated by who wrote this card."],
        "Data": data_sentences(content),
        "Model": list(content["learning"]["sentences"]),
        "Quality": quality_sentences(quality),
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
        "measures": [] if quality is None else measure_lines(quality),
    }


def measure_lines(quality: dict[str, Any]) -> list[Json]:
    """[measure, value, interval, base rate's] of each, in words."""
    lines: list[Json] = []
    for name, words in NAMES.items():
        low, high = (np.nan if end is None else end for end in quality["intervals"][name])
        interval = f"{show(name, low)} to {show(name, high)}" if np.isfinite(low) else "-"
        values = (np.nan if each is None else each for each in (quality[name], quality["base_rate"][name]))
        value, base = (show(name, each) for each in values)
        lines.append([words, value, interval, base])
    return lines


def data_sentences(content: dict[str, Any]) -> list[str]:
    about, classes = content["about"], content["network"]["nodes"][-1]["states"]
    order = np.argsort([-share for share in about["shares"]], kind="stable")
    shares = [f"{classes[k]} {100 * about['shares'][k]:.1f} %" for k in order[:MAX_CLASSES_NAMED]]
    more = f" and {len(classes) - MAX_CLASSES_NAMED} more classes" if len(classes) > MAX_CLASSES_NAMED else ""
    found = [
        f"Learnt from {about['learnt_rows']:,.0f} rows and {plural(about['columns'], 'attribute')}.",
        f"Classes of {about['target']}: {', '.join(shares)}{more}.",
    ]
    if content["columns"] is not None:
        cells = content["rows"]["count"] * len(content["columns"])
        missing = sum(column["missing"] for column in content["columns"])
        share = f" ({100 * missing / cells:.1f} %)" if missing else ""
        found.append(
            f"This page looked at {plural(content['rows']['count'], 'row')}; cells missing: {missing:,}{share}."
        )
    return found


def quality_sentences(quality: dict[str, Any] | None) -> list[str]:
    if quality is None:
        return ["Not measured: no rows with a class were given, and the model keeps no quality."]
    how = f"judged by models that had not seen them ({quality['split']})" if quality["split"] else "given"
    return [
        f"Measured on {plural(quality['n_rows'], 'row')} {how}, with 95 % intervals.",
        f"In bins of the probability, how often the class predicted is right differs from its probability by "
        f"{100 * quality['calibration_error']:.1f} % on average.",
    ]


def limit_sentences(content: dict[str, Any]) -> list[str]:
    """What a reader should not expect of the model."""
    quality, classes = content["quality"], content["network"]["nodes"][-1]["states"]
    found = [
        "It tells what goes together in the table, not what causes what: changing a value in what-if shows what the "
        "model would say, not what would happen.",
        "Rows of another place or time may differ from those it was learnt from; its quality there is not known.",
    ]
    counts = [share * content["about"]["learnt_rows"] for share in content["about"]["shares"]]
    rare = [classes[k] for k, count in enumerate(counts) if count < FEW_OF_A_CLASS]
    if rare:
        named = ", ".join(rare[:MAX_CLASSES_NAMED]) + (" and others" if len(rare) > MAX_CLASSES_NAMED else "")
        found.append(f"Few rows to learn from (below {FEW_OF_A_CLASS}): {named}.")
    if quality is not None and not quality["split"]:
        found.append("The rows judged may be those learnt from; then it will do worse on new ones.")
    worse = [each for each in (content["groups"] or {"found": []})["found"] if each["loss"] > each["rest_loss"]]
    found += [
        f"It does worse where {each['attribute']} is {each['state']} ({plural(each['rows'], 'row')}): log-loss "
        f"{each['loss']:.3f}, elsewhere {each['rest_loss']:.3f}."
        for each in worse[:3]
    ]
    high = [each for each in content["findings"] or [] if each["severity"] == "high"]
    return [*found, *(f"About the table: {each['words']}" for each in high[:5])]


def card_markdown(card: dict[str, Any]) -> str:
    """The card as Markdown; names are text, whatever they hold."""
    lines = [f"# {_plain(card['title'])}", "", f"Model card for {_plain(card['class'])}, {card['date']}.", ""]
    if card["model"]:
        lines[2:2] = [f"{_plain(card['model'])}.", ""]
    for name, sentences in card["sections"]:
        lines += [f"## {name}", "", *(f"- {_plain(sentence)}" for sentence in sentences), ""]
        if name == "Quality" and card["measures"]:
            lines += ["| measure | this model | 95 % interval | base rate alone |", "| --- | --- | --- | --- |"]
            lines += [f"| {' | '.join(line)} |" for line in card["measures"]] + [""]
    return "\n".join([*lines, f"Written by Tanager {card['version']}.", ""])


def _plain(text: str) -> str:
    """On one line, without characters that Markdown reads as markup."""
    return "".join(f"\\{letter}" if letter in r"\`*_{}[]<>#|" else letter for letter in " ".join(text.split()))
