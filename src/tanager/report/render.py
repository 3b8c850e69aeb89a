"""The page from its content: template, style and scripts joined into one file that loads nothing else."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files

from jinja2 import Environment

from tanager.report.json_page import Json, to_page_json

SCRIPTS = (
    "draw",
    "inference",
    "explain",
    "averaging",
    "effects",
    "meanings",
    "state",
    "tables",
    "charts",
    "shapes",
    "shape_cards",
    "graph",
    "whatif",
    "sections",
    "main",
)


def render(content: dict[str, Json]) -> str:
    """One HTML page.

    Names reach it only as JSON, which a script writes into text nodes. Should one ever become markup, the page's
    content security policy still runs no script but ours, known by its hash, and loads nothing from anywhere.
    """
    page = files("tanager.report") / "page"
    script = "(() => {\n'use strict';\n" + "\n".join((page / f"{n}.js").read_text("utf-8") for n in SCRIPTS) + "})();"
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
        has_shapes=isinstance(content["network"], dict) and content["network"]["kind"] == "effects",
    )


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
