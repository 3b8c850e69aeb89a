"""The figures of the papers, drawn from experiments/RESULTS.md: pictures, and experiments/FIGURES.md that shows them.

    python -m experiments.papers.figures

Zhou 2002, figures 4.3 to 4.10 and 4.12 to 4.21; fCLL 2011, figures 4 and 5; Roos et al. 2005, figures 5 and 6.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from experiments.papers.summary import AS_PRINTED, RESULTS, tables
from tanager.arrays import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FOLDER = RESULTS.parent / "pictures"
ZHOU_4_2, ZHOU_4_3, FCLL = list(AS_PRINTED.values())[:3]
ROOS = "Roos et al. 2005, tables I to III"
BESIDE, ACCURACY = ": ours / published", "accuracy in %"
EXAMPLE_3 = "roos-2005-figure-5"
FIGURES = RESULTS.parent / "FIGURES.md"
Panel = tuple[str, str, str, str, str]
"""The figure's number, section and heading of a table, and the classifiers drawn upwards and across."""

SCATTERS: dict[str, tuple[Panel, ...]] = {
    "zhou-2002-figures-4.8-to-4.16": (
        *(
            (number, ZHOU_4_2, "error in %", "NB+CLGD", across)
            for number, across in (("4.8", "NB+LM"), ("4.9", "C4.5"), ("4.10", "SNB+LM"), ("4.12", "TAN+LM"))
        ),
        *(
            (number, ZHOU_4_2, "error in %", "TAN+CLGD", across)
            for number, across in (("4.13", "NB+CLGD"), ("4.14", "TAN+LM"), ("4.15", "C4.5"), ("4.16", "SNB+LM"))
        ),
    ),
    "zhou-2002-figures-4.17-to-4.20": tuple(
        (number, ZHOU_4_3, "error in %" + BESIDE, f"{structure}+CLGD", f"{structure}+{other}")
        for number, structure, other in (
            ("4.17", "NB", "LGD"),
            ("4.18", "NB", "LEM"),
            ("4.19", "TAN", "LEM"),
            ("4.20", "TAN", "LGD"),
        )
    ),
    "fcll-2011-figure-4": tuple(
        ("4", FCLL, "error in %", upwards, across)
        for upwards in ("TAN-fCLL", "GHC2-fCLL")
        for across in ("TAN-LL", "GHC2-LL", "TAN-aCLL", "TAN-LL-ELR")
    ),
    "fcll-2011-figure-5": tuple(
        ("5", FCLL, "error in %", upwards, across)
        for upwards in ("TAN-fCLL", "GHC2-fCLL")
        for across in ("C4.5", "1-NN", "SVM", "LogR")
    ),
    "roos-2005-figure-6": tuple(
        (f"6{letter}", ROOS, heading + BESIDE, upwards, across)
        for letters, across, upwards in (("ab", "NB", "cNB"), ("cd", "NB", "pNB"), ("ef", "cNB", "pNB"))
        for letter, heading in zip(letters, ("log-loss in nats", ACCURACY), strict=True)
    ),
}
CURVES: dict[str, tuple[tuple[str, str, str], ...]] = {
    "zhou-2002-figures-4.3-to-4.7-and-4.21": (
        *(
            (number, "Zhou 2002, section 4.1.2: naive Bayes where evidence repeats itself", heading)
            for number, heading in (
                ("4.3", "log P(class, attributes), nats per row"),
                ("4.4", "log-loss in nats"),
                ("4.5", "error in %"),
                ("4.6", "Brier score"),
            )
        ),
        ("4.7", "Zhou 2002, figure 4.7: chess by the number of training rows", "error in %"),
        ("4.21", "Zhou 2002, figure 4.21: letter by the share of cells that are missing", "error in %"),
    )
}


def main() -> None:
    import matplotlib as mpl

    page = RESULTS.read_text(encoding="utf-8")
    with mpl.rc_context({"backend": "Agg", "svg.fonttype": "none", "svg.hashsalt": "tanager", "font.size": 8}):
        for name, panels in SCATTERS.items():
            axes = make_axes(len(panels))
            for ax, (number, title, heading, upwards, across) in zip(axes, panels, strict=True):
                _, values = read_values(page, title, heading)
                label = heading.removesuffix(BESIDE)
                if label == ACCURACY:  # the papers draw errors
                    values, label = {name: 100.0 - column for name, column in values.items()}, "error in %"
                draw_scatter(ax, values[across], values[upwards])
                ax.set(title=f"figure {number}", xlabel=f"{across}: {label}", ylabel=f"{upwards}: {label}")
            save(FOLDER / name)
        for name, curves in CURVES.items():
            axes = make_axes(len(curves))
            for ax, (number, title, heading) in zip(axes, curves, strict=True):
                draw_curves(ax, *read_values(page, title, heading))
                ax.set(title=f"figure {number}", ylabel=heading)
            save(FOLDER / name)
        (ax,) = make_axes(1)
        shares = np.linspace(0.001, 0.999, 999)
        ax.plot(shares, example_3(shares), color="black")
        ax.set(title="figure 5", xlabel="alpha", ylabel="conditional log-likelihood, nats")
        save(FOLDER / EXAMPLE_3)
    FIGURES.write_text("\n".join(write_page([*SCATTERS, *CURVES, EXAMPLE_3])), encoding="utf-8")


def write_page(names: Sequence[str]) -> Iterator[str]:
    yield "# Figures of the papers, from our results\n"
    yield "Written by `python -m experiments.papers.figures` from [the results](RESULTS.md). A point of a scatter plot"
    yield "is a data set. It is below the line if the classifier of the vertical axis has the lower value.\n"
    for name in sorted(names):
        yield f"![{name}]({FOLDER.name}/{name}.png)\n"
        yield f"*{name.replace('-', ' ')}*\n"


def read_values(page: str, title: str, heading: str) -> tuple[list[str], dict[str, Array]]:
    """Names of the rows of a table, without means, and by column our figures; NaN where there is none."""
    header, *rows = next(rest for found, *rest in tables(page, title) if found == heading)
    rows = [row for row in rows if not row[0].startswith("**")]

    def number(cell: str) -> float:
        text = cell.split(" / ")[0].split("±")[0].strip("* ")
        return float(text) if text not in ("", "-") else np.nan

    columns = {name: np.array([number(row[place]) for row in rows]) for place, name in enumerate(header) if place}
    return [row[0] for row in rows], columns


def example_3(alpha: Array) -> Array:
    """CLL of the four rows of Roos's example 3: P(x0 = 1) = .1, P(x1 | x0 = 1) = .5, P(x1 = 1 | x0 = 2) = alpha."""
    total: Array = np.zeros_like(alpha)
    for p in (alpha, 1.0 - alpha):  # x1 = 1 and x1 = 2, each once with either class
        joint = 0.1 * 0.5, 0.9 * p
        total += np.log(joint[0]) + np.log(joint[1]) - 2.0 * np.log(joint[0] + joint[1])
    return total


def draw_scatter(ax: Axes, x: Array, y: Array) -> None:
    """A point for each set, and the diagonal on which both are the same."""
    ends = np.nanmin([x, y]), np.nanmax([x, y])
    ax.plot(ends, ends, color="lightgray", linewidth=1)
    ax.scatter(x, y, s=8, color="black")
    ax.set_aspect("equal")


def draw_curves(ax: Axes, points: Sequence[str], curves: Mapping[str, Array]) -> None:
    for name, values in curves.items():
        ax.plot(values, marker="o", markersize=3, linewidth=1, label=name)
    ax.set_xticks(range(len(points)), points, rotation=30, ha="right")
    ax.legend(frameon=False, fontsize=7)


def make_axes(number: int) -> list[Axes]:
    """As many panels, at most four in a row."""
    import matplotlib.pyplot as plt

    n_columns = 3 if number == 6 else min(4, number)
    n_rows = -(-number // n_columns)
    _, axes = plt.subplots(n_rows, n_columns, figsize=(2.6 * n_columns, 2.6 * n_rows), layout="constrained")
    return list(np.ravel(axes))[:number]


def save(stem: Path) -> None:
    """The figure that was drawn last."""
    import matplotlib.pyplot as plt

    plt.savefig(stem.with_name(stem.name + ".png"), dpi=120)
    plt.close()


if __name__ == "__main__":
    main()
