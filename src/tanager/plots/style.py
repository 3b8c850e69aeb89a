"""The look that all pictures share: sizes, colours, and texts that fit."""

from __future__ import annotations

FONT_SIZE = 9.0
MAX_LETTERS = 30
BLUE, ORANGE = "#34547a", "#b0672a"
LINE_COLOUR, TEXT_COLOUR = "#b5b5b5", "#555555"


def shorten(text: str, most: int = MAX_LETTERS) -> str:
    """On one line, and with its middle left out where it is longer than `most` letters."""
    line = " ".join(text.split())
    keep = most - 1
    return line if len(line) <= most else f"{line[: (keep + 1) // 2]}…{line[len(line) - keep // 2 :]}"


def text_inches(text: str, size: float = FONT_SIZE) -> float:
    """The width of a text whose letters are of this size in points, with a little room: hinting widens small ones."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    width, _, _ = text_to_path.get_text_width_height_descent(text, FontProperties(size=size), ismath=False)
    return 1.08 * float(width) / 72
