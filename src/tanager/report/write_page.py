"""A fitted classifier, and rows to judge it by, as one HTML page."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import warnings
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import cast

from jinja2 import Environment
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from tanager.classifiers.base import TableClassifier
from tanager.errors import DataError, DataWarning, OptionError
from tanager.files.paths import OutputKind, atomic_write, begins_with, check_writable
from tanager.metrics import Quality
from tanager.report.collect import collect
from tanager.report.json_page import Json, to_page_json
from tanager.report.model_card import About, card_markdown

PAGE = OutputKind(
    "a page of `tanager report`", begins_with(rb'<!doctype html>.*<meta name="generator" content="Tanager">')
)
CARD = OutputKind("a model card of `tanager report`", begins_with(rb"(# .*\nModel card for |\{\s*\"model_card\")"))
CARD_WRITERS: dict[str, Callable[[dict[str, Json]], str]] = {
    ".md": card_markdown,
    ".json": lambda card: json.dumps({"model_card": card}, indent=2, ensure_ascii=False) + "\n",
}
LARGE_PAGE = 3_000_000
"""Bytes."""
SHARED_SCRIPTS = ("numbers", "inference", "averaging")
"""Those that exported models use too."""
SCRIPTS = (
    "draw", "explain", "effects", "meanings", "state", "edits", "tables", "charts", "opening", "deciding", "failures",
    "printing", "tree_shapes", "shapes", "edit_panel", "shape_cards", "graph", "intervals", "reference_model",
    "posteriors", "evidence", "whatif", "changes", "sections", "main",
)  # fmt: skip


def write_page(
    clf: TableClassifier,
    X: object,
    y: ArrayLike | None,
    path: str | os.PathLike[str] | None,
    quality: Quality | None = None,
    about: About | None = None,
    card: str | os.PathLike[str] | None = None,
) -> str | Path:
    """See `tanager.report.report`."""
    check_is_fitted(clf)
    clf = getattr(clf, "to_model", lambda: clf)()  # one that decides has the model within
    if X is None and y is not None:
        raise DataError("the report was given classes y without the rows X they belong to.", hint="pass X too.")
    for file in (path, card):
        if file is not None:
            check_writable(file)
    write = None if card is None else card_writer(card)
    if path is not None and card is not None and Path(path).resolve() == Path(card).resolve():
        raise OptionError(f"page and card would both be written to {os.fspath(card)!r}; each needs a file of its own.")
    content = collect(clf, X, y, clf.quality_ if quality is None else quality, about)
    page = render(content)
    encoded = page.encode("utf-8", "xmlcharrefreplace")
    if len(encoded) > LARGE_PAGE:
        warnings.warn(
            f"the page has {len(encoded) / 1e6:.1f} MB, as the tables of the model are large; it may open slowly.",
            DataWarning,
            stacklevel=3,
        )
    if card is not None and write is not None:
        with atomic_write(card) as stream:
            stream.write(write(cast(dict[str, Json], content["card"])).encode("utf-8", "replace"))
    if path is None:
        return page
    with atomic_write(path) as stream:
        stream.write(encoded)
    return Path(path)


def card_writer(path: str | os.PathLike[str]) -> Callable[[dict[str, Json]], str]:
    """What makes the text of a model card, by the ending of its file's name."""
    suffix = Path(path).suffix.lower()
    if suffix not in CARD_WRITERS:
        raise OptionError(
            f"a model card is Markdown or JSON; {os.fspath(path)!r} ends in neither .md nor .json.",
            hint="name it card.md or card.json.",
        )
    return CARD_WRITERS[suffix]


def render(content: dict[str, Json]) -> str:
    """One HTML page.

    Names reach it only as JSON, which a script writes into text nodes. Should one ever become markup, the page's
    content security policy still runs no script but ours, known by its hash, and loads nothing from anywhere.
    """
    page = files("tanager.report") / "page"
    shared = files("tanager.export") / "js"
    scripts = [*(shared / f"{name}.js" for name in SHARED_SCRIPTS), *(page / f"{name}.js" for name in SCRIPTS)]
    lines = (line.strip() for each in scripts for line in each.read_text("utf-8").splitlines())
    # Comments and margins are for those who read the files; a page is to be small.
    kept = "\n".join(line for line in lines if line and not line.startswith("//"))
    script = f"(() => {{\n'use strict';\n{kept}\n}})();"
    style = (page / "style.css").read_text("utf-8")
    template = Environment(autoescape=True).from_string((page / "page.html.j2").read_text("utf-8"))
    return template.render(
        title=content["title"],
        script=script,
        style=style,
        script_hash=_hash(script),
        style_hash=_hash(style),
        content=to_page_json(content),
        has_rows=content["rows"] is not None,
        has_quality=content["quality"] is not None,
        has_shapes=isinstance(content["network"], dict) and content["network"]["kind"] == "effects",
    )


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
