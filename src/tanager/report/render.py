"""The content of a page as one HTML file: text, tables and curves as markup, and the scripts with what they need."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined

from tanager.metrics.quality import show
from tanager.report.json_page import NO_VALUE, brief, cut, percent, plural, short, signed, to_page_json
from tanager.report.model_section import chance

SHARED_SCRIPTS = ("numbers", "inference", "averaging")
"""Those that exported models use too."""
SCRIPTS = (
    "draw", "explain", "effects", "meanings", "state", "edits", "tables", "charts", "opening", "deciding", "printing",
    "tree_shapes", "shapes", "edit_panel", "shape_cards", "graph", "intervals", "evidence",
    "whatif", "changes", "columns", "main",
)  # fmt: skip
SCRIPT_CONTENT = (
    "version", "network", "missing", "base", "rows", "quality", "decision", "decision_quality", "edits", "mistakes",
    "examples", "columns", "n_rows", "class_groups", "intervals", "event",
)  # fmt: skip
"""Of the content, what scripts use; the rest is markup alone."""
MEASURES = {
    "accuracy": ("100 %", 1.0, "Share of rows whose most probable class is the true one."),
    "log_loss": ("0", 0.0, "Mean of minus the logarithm of the probability given to the true class: lower is better."),
    "brier": ("0", 0.0, "Mean squared error of the class probabilities: lower is better."),
    "auc": ("1", 1.0, "How often a row of a class has a higher probability of it than a row of another class."),
}
"""Of each measure what is perfect, in words and as a number, and its meaning."""
FEW_OF_A_CLASS = 10


def render(content: dict[str, Any]) -> str:
    """One HTML page.

    Names reach it as text that Jinja escapes, or as JSON which a script writes into text nodes. Should one ever become
    markup, the page's content security policy still runs no script but ours, known by its hash, and loads nothing.
    """
    page = files("tanager.report") / "page"
    shared = files("tanager.export") / "js"
    scripts = [*(shared / f"{name}.js" for name in SHARED_SCRIPTS), *(page / f"{name}.js" for name in SCRIPTS)]
    lines = (line.strip() for each in scripts for line in each.read_text("utf-8").splitlines())
    # Comments and margins are for those who read the files; a page is to be small.
    kept = "\n".join(line for line in lines if line and not line.startswith("//"))
    script = f"(() => {{\n'use strict';\n{kept}\n}})();"
    style = (page / "style.css").read_text("utf-8")
    loader = PackageLoader("tanager.report", "page")
    environment = Environment(autoescape=True, loader=loader, trim_blocks=True, undefined=StrictUndefined)
    environment.filters |= {
        "percent": percent, "short": short, "signed": signed, "cut": cut, "plural": plural,
        "count": lambda n: f"{n:,}", "brief": brief,
        "chance": lambda odds, base: brief(float(chance(base, np.array(odds)))),
    }  # fmt: skip
    return environment.get_template("page.html.j2").render(
        content=content,
        data=to_page_json({key: content[key] for key in SCRIPT_CONTENT}),
        script=script,
        style=style,
        script_hash=_hash(script),
        style_hash=_hash(style),
        **_context(content),
    )


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


def _context(content: dict[str, Any]) -> dict[str, Any]:
    """What the templates show that is a little more than the content."""
    network, quality, decided = content["network"], content["quality"], content["decision_quality"]
    nodes, shares, columns = network["nodes"], content["about"]["shares"], content["columns"] or []
    classes, shown = nodes[-1]["states"], content["base"]["shown"]
    n_rows = content["n_rows"]
    missing = sorted(((columns[k]["missing"], -k) for k in range(len(columns)) if columns[k]["missing"]), reverse=True)
    return {
        "classes": classes,
        "order": sorted(range(len(classes)), key=lambda k: -shares[k]),
        "shown": classes[shown],
        "base": shares[shown],
        "has_shapes": network["kind"] == "effects",
        "has_network": network["kind"] == "tables" or any(strength for *_, strength in network["pairs"]),
        "tiles": [] if quality is None else _tiles(quality, content["card"]["measures"]),
        "matrix": None if quality is None or quality["confusion"] is None else _matrix(quality, decided),
        "decided_rows": [
            [
                *(rule["rule"], short(rule["cost"], 4), f"{short(rule['low'], 4)} to {short(rule['high'], 4)}"),
                short(rule["net_benefit"], 4),
            ]
            for rule in (decided["rules"] if decided else [])
        ],
        "by_class": [] if quality is None else _class_rows(quality["classes"], classes),
        "n_rows": n_rows,
        "n_missing": sum(count for count, _ in missing),
        "missing_shares": [(nodes[-k]["name"], count / n_rows, percent(count / n_rows)) for count, k in missing],
    }


def _matrix(quality: dict[str, Any], decided: dict[str, Any] | None) -> list[list[int]]:
    """The rows of each true class by the class predicted or decided, and by whether a person is asked."""
    if decided is None:
        return list(quality["confusion"])
    return [row if decided["asks"] else row[:-1] for row in decided["confusion"]]


def _tiles(quality: dict[str, Any], lines: list[list[str]]) -> list[tuple[object, ...]]:
    """Of each measure its words, and its place and that of its interval on a scale from the base rate to perfect."""
    rare = sum(0 < each["support"] < FEW_OF_A_CLASS for each in quality["classes"])
    tiles: list[tuple[object, ...]] = []
    for name, (words, value, interval, base) in zip(MEASURES, lines, strict=True):
        best_words, best, meaning = MEASURES[name]
        ends, start = [quality[name], *quality["intervals"][name]], quality["base_rate"][name]
        places: tuple[float | None, ...] = (None, None, None)
        if None not in (*ends, start):
            place, *reach = (min(1.0, max(0.0, (end - start) / ((best - start) or 1.0))) for end in ends)
            places = (place, min(reach), max(reach))
        if name == "auc" and len(quality["classes"]) > 2:
            meaning += " It is the mean over the classes"
            meaning += f", of which {plural(rare, 'one')} has fewer than ten rows." if rare else "."
            words += f" (mean, {rare} of {len(quality['classes'])} classes below ten rows)" if rare else ""
        tiles.append((name, words, value, interval, base, best_words, *places, meaning))
    return tiles


def _class_rows(measured: list[dict[str, Any]], classes: list[str]) -> list[list[str]]:
    shares = ("sensitivity", "specificity", "positive_predictive_value", "negative_predictive_value")
    return [
        [
            name,
            f"{each['support']:,}",
            *(percent(each[key]) for key in shares),
            NO_VALUE if each["auc"] is None else show("auc", each["auc"]),
        ]
        for name, each in zip(classes, measured, strict=True)
    ]
