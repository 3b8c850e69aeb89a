"""Draw counts -> graph -> tables -> log joint, with the numbers that the library computes: `make pictures`.

Writes docs/images/how-it-works-light.svg and -dark.svg. The table is the one of docs/how_it_works.md.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

import numpy as np
import pandas as pd

from tanager import BayesianNetworkClassifier
from tanager.classifiers.base import code_labelled
from tanager.counts.family import Family
from tanager.structure import Tree

IMAGES = Path(__file__).parent / "images"
SCHEMES = {
    "light": {"ink": "#1f2733", "quiet": "#6b7480", "line": "#c9cfd6", "card": "#ffffff", "accent": "#b0471a"},
    "dark": {"ink": "#e8eaed", "quiet": "#9aa3ad", "line": "#4a525c", "card": "#1d232b", "accent": "#f0935f"},
}
WIDTH, HEIGHT = 1094, 268
CARD_TOP, CARD_HEIGHT, CARD_WIDTH, GAP = 44, 216, 196, 35
LINE = 21

SKY = ["clear", "clear", "clear", "cloud", "cloud", "cloud", "cloud", "clear"]
WIND = [2.0, 3.0, 9.0, 2.5, 8.0, 9.5, 8.5, 2.2]
PLAN = ["walk", "walk", "stay", "walk", "stay", "stay", "stay", "walk"]


class Drawing:
    """Pieces of an SVG in the colours of a scheme."""

    def __init__(self, colours: dict[str, str]) -> None:
        self.colours = colours
        self.pieces: list[str] = []

    def text(
        self, x: float, y: float, words: object, colour: str = "ink", anchor: str = "start", bold: bool = False
    ) -> None:
        weight = ' font-weight="600"' if bold else ""
        self.pieces.append(
            f'<text x="{x:.0f}" y="{y:.0f}" fill="{self.colours[colour]}" text-anchor="{anchor}"{weight}>'
            f"{escape(str(words))}</text>"
        )

    def box(self, x: float, y: float, width: float, height: float, colour: str = "line") -> None:
        self.pieces.append(
            f'<rect x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{height:.0f}" rx="9" '
            f'fill="{self.colours["card"]}" stroke="{self.colours[colour]}"/>'
        )

    def arrow(self, x1: float, y1: float, x2: float, y2: float, colour: str = "quiet") -> None:
        self.pieces.append(
            f'<line x1="{x1:.0f}" y1="{y1:.0f}" x2="{x2:.0f}" y2="{y2:.0f}" stroke="{self.colours[colour]}" '
            f'stroke-width="1.6" marker-end="url(#tip)"/>'
        )

    def rows(self, x: float, y: float, columns: list[float], rows: list[list[object]], head: bool = True) -> None:
        """A small table: the first column starts at x, the others end at x + columns[k]."""
        for line, row in enumerate(rows):
            for place, cell in enumerate(row):
                colour = "quiet" if head and line == 0 else "ink"
                at, anchor = (x, "start") if place == 0 else (x + columns[place], "end")
                self.text(at, y + line * LINE, cell, colour, anchor)

    def svg(self, title: str) -> str:
        tip = (
            f'<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
            f'<path d="M0 0L8 4L0 8z" fill="{self.colours["quiet"]}"/></marker>'
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
            f'font-family="system-ui, sans-serif" font-size="14"><title>{escape(title)}</title><defs>{tip}</defs>\n'
            + "\n".join(self.pieces)
            + "\n</svg>\n"
        )


def main() -> None:
    X = pd.DataFrame({"sky": SKY, "wind": WIND})
    y = pd.Series(PLAN, name="plan")
    clf = BayesianNetworkClassifier(Tree(forest=True), "bic", "frequency").fit(X, y)
    for name, colours in SCHEMES.items():
        drawing = Drawing(colours)
        draw(drawing, clf, X, y)
        target = IMAGES / f"how-it-works-{name}.svg"
        target.write_text(drawing.svg("A table is counted, a graph chosen, its tables filled, rows looked up"))
        print(target)


def draw(drawing: Drawing, clf: BayesianNetworkClassifier, X: pd.DataFrame, y: pd.Series) -> None:
    lefts = [4 + k * (CARD_WIDTH + GAP) - k * 9 for k in range(5)]
    for k, (left, title) in enumerate(zip(lefts, ["table", "counts", "graph", "tables", "log joint"], strict=True)):
        drawing.text(left + CARD_WIDTH / 2, 26, title, "accent", "middle", bold=True)
        drawing.box(left, CARD_TOP, CARD_WIDTH, CARD_HEIGHT)
        if k:
            drawing.arrow(left - GAP + 12, CARD_TOP + CARD_HEIGHT / 2, left - 3, CARD_TOP + CARD_HEIGHT / 2)
    top = CARD_TOP + 32
    shown = [["sky", "wind", "plan"], *zip(SKY, WIND, PLAN, strict=True)]
    drawing.rows(lefts[0] + 18, top, [0, 104, 160], [list(row) for row in shown])
    draw_counts(drawing, clf, X, y, lefts[1] + 18, top)
    draw_graph(drawing, lefts[2])
    draw_tables(drawing, clf, lefts[3] + 18, top)
    draw_log_joint(drawing, clf, lefts[4] + 18, top)


def draw_counts(
    drawing: Drawing, clf: BayesianNetworkClassifier, X: pd.DataFrame, y: pd.Series, x: float, top: float
) -> None:
    counts = code_labelled(clf, X, y).counts()
    network = clf.network_
    for place, attribute in enumerate(("sky", "wind")):
        found = counts.table(Family(place, (2,)))[0]  # (classes, states)
        head: list[object] = ["plan", *network.states[attribute]]
        body = [[label, *row] for label, row in zip(network.states["plan"], found.tolist(), strict=True)]
        y0 = top + place * 4.6 * LINE
        drawing.text(x, y0, f"rows by plan and {attribute}", "quiet")
        drawing.rows(x, y0 + LINE + 4, [0, 104, 160], [head, *body])


def draw_graph(drawing: Drawing, left: float) -> None:
    middle, row, height = left + CARD_WIDTH / 2, CARD_TOP + 20, 32
    drawing.arrow(middle - 10, row + height, middle - 46, row + 92)
    drawing.arrow(middle + 10, row + height, middle + 46, row + 92)
    for x, y, name, colour in ((0, 0, "plan", "accent"), (-48, 94, "sky", "quiet"), (48, 94, "wind", "quiet")):
        drawing.box(middle + x - 36, row + y, 72, height, colour)
        drawing.text(middle + x, row + y + 21, name, anchor="middle")
    drawing.text(middle, row + 158, "the best by a score:", "quiet", "middle")
    drawing.text(middle, row + 158 + LINE, "sky and wind not joined", "quiet", "middle")


def draw_tables(drawing: Drawing, clf: BayesianNetworkClassifier, x: float, top: float) -> None:
    network = clf.network_
    for place, attribute in enumerate(("sky", "wind")):
        table = network.table(attribute)
        given = zip(network.states["plan"], table.probabilities, strict=True)
        body = [[label, *(f"{p:.2f}" for p in row)] for label, row in given]
        y0 = top + place * 4.6 * LINE
        drawing.text(x, y0, f"P({attribute} | plan)", "quiet")
        drawing.rows(x, y0 + LINE + 4, [0, 104, 160], [["plan", *table.states], *body])


def draw_log_joint(drawing: Drawing, clf: BayesianNetworkClassifier, x: float, top: float) -> None:
    network = clf.network_
    cells = {"sky": "clear", "wind": 9.0}
    drawing.text(x, top, "log P, sky clear, wind 9", "quiet")
    rows: list[list[object]] = [["", *network.states["plan"]]]
    parts = {"plan": network.table("plan").probabilities[0]}
    for attribute, value in cells.items():
        table = network.table(attribute)
        state = value if isinstance(value, str) else table.states[1]
        column = list(table.states).index(state)
        parts[f"+ {attribute}"] = table.probabilities[:, column]
    total = np.sum([np.log(part) for part in parts.values()], axis=0)
    rows += [[name, *(f"{value:.2f}" for value in np.log(part))] for name, part in parts.items()]
    rows.append(["= sum", *(f"{value:.2f}" for value in total)])
    drawing.rows(x, top + LINE + 8, [0, 116, 160], rows)
    answer = clf.predict_proba(pd.DataFrame([cells]))[0]
    assert np.allclose(answer, np.exp(total) / np.exp(total).sum())
    drawing.text(x, top + 7 * LINE, "normalised", "quiet")
    drawing.rows(x, top + 8 * LINE, [0, 116, 160], [["", *(f"{p:.2f}" for p in answer)]], head=False)


if __name__ == "__main__":
    main()
