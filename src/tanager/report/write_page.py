"""A fitted classifier, and rows to judge it by, as one HTML page."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import cast

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from tanager.classifiers.base import TableClassifier
from tanager.errors import DataError, DataWarning, OptionError
from tanager.files.paths import OutputKind, atomic_write, begins_with, check_writable
from tanager.metrics import Quality
from tanager.report.collect import collect
from tanager.report.json_page import Json
from tanager.report.model_card import About, card_markdown
from tanager.report.render import render
from tanager.table.schema import Category

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
FRAME_HEIGHT = 800
"""Pixels of a page in a notebook."""


def write_page(
    clf: TableClassifier,
    X: object,
    y: ArrayLike | None,
    path: str | os.PathLike[str] | None,
    quality: Quality | None = None,
    about: About | None = None,
    card: str | os.PathLike[str] | None = None,
    event: Category | None = None,
    keep_rows: bool = True,
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
    content = collect(clf, X, y, clf.quality_ if quality is None else quality, about, event, keep_rows)
    page = render(content)
    encoded = page.encode("utf-8", "xmlcharrefreplace")
    if card is not None and write is not None:
        with atomic_write(card) as stream:
            stream.write(write(cast(dict[str, Json], content["card"])).encode("utf-8", "replace"))
    if path is None:
        return Page(page)
    with atomic_write(path) as stream:
        stream.write(encoded)
    return Path(path)


def size_in_words(n_bytes: int) -> list[str]:
    """A sentence about a page that is large."""
    large = f"The page has {n_bytes / 1e6:.1f} MB, as the tables of the model are large; it may open slowly."
    return [large] if n_bytes > LARGE_PAGE else []


class Page(str):
    """The text of a page, which a notebook shows in a frame."""

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{escape(self)}" width="100%" height="{FRAME_HEIGHT}"></iframe>'


def card_writer(path: str | os.PathLike[str]) -> Callable[[dict[str, Json]], str]:
    """What makes the text of a model card, by the ending of its file's name."""
    suffix = Path(path).suffix.lower()
    if suffix not in CARD_WRITERS:
        raise OptionError(
            f"a model card is Markdown or JSON; {os.fspath(path)!r} ends in neither .md nor .json.",
            hint="name it card.md or card.json.",
        )
    return CARD_WRITERS[suffix]
