"""The colours of the page: defined alike wherever they are, and told apart by colour-blind readers too."""

from __future__ import annotations

import re
from importlib.resources import files
from itertools import combinations

import numpy as np
import pytest

VISIONS = {
    "usual": np.eye(3),
    # Machado, Oliveira and Fernandes (2009), table 1, severity 1: linear RGB as it is seen.
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}
WHITE = np.array([0.9505, 1.0, 1.089])
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
APART = [*combinations([f"c{k}" for k in range(6)], 2), ("for", "against"), ("right", "wrong"), ("model", "chosen")]
CLEARLY = 15.0
"""CIE 1976 colour difference; 2.3 is just noticed side by side."""


def themes() -> list[dict[str, str]]:
    """The colours of each block that defines them: light, dark, dark by the system, and paper."""
    style = (files("tanager.report") / "page" / "style.css").read_text("utf-8")
    found = (
        dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", block)) for block in re.findall(r":root[^{]*\{(.*?)\}", style, re.S)
    )
    return [theme for theme in found if theme]


def lab(colour: str, vision) -> np.ndarray:
    parts = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    x = TO_XYZ @ np.clip(np.array(vision) @ linear, 0, 1) / WHITE
    f = np.where(x > 0.008856, np.cbrt(x), 7.787 * x + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("vision", VISIONS)
def test_colours_of_different_meaning_look_different(vision):
    for theme in themes():
        for one, other in APART:
            distance = np.linalg.norm(lab(theme[one], VISIONS[vision]) - lab(theme[other], VISIONS[vision]))
            assert distance > CLEARLY, (one, other, theme[one], theme[other])


def test_dark_is_the_same_by_the_button_and_by_the_system_and_paper_has_the_light_meanings():
    light, dark, by_system, paper = themes()
    assert dark == by_system
    assert light.keys() == dark.keys()
    meanings = ["for", "against", "model", "base", "right", "wrong", "chosen", *(f"c{k}" for k in range(6))]
    assert [paper[name] for name in meanings] == [light[name] for name in meanings]
