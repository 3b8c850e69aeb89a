"""`python -m experiments.papers`: the page it writes, the order of its studies, what it refuses."""

from __future__ import annotations

import json

import numpy as np
import pytest

from experiments.papers import PAPERS
from experiments.papers.__main__ import main
from experiments.studies.data_sets import find_data_sets
from tanager.errors import OptionError


@pytest.fixture
def folder(tmp_path):
    """A folder with one small set of binding sites."""
    random = np.random.default_rng(0)
    rows = [
        [*("A" if k == "site" and random.random() < 0.7 else "ACGT"[random.integers(4)] for _ in range(3)), k]
        for k in ("site", "background") * 20
    ]
    (tmp_path / "one.csv").write_text("\n".join(map(",".join, [["p1", "p2", "p3", "class"], *rows])) + "\n")
    kinds = dict.fromkeys(("p1", "p2", "p3"), "categorical")
    entry = {"name": "one", "file": "one.csv", "rows": 40, "classes": 2, "kinds": kinds, "group": ["tfbs"]}
    (tmp_path / "manifest.json").write_text(json.dumps([entry]))
    return tmp_path


def test_a_paper_is_repeated_and_its_page_written_with_the_command(folder):
    arguments = ["bckg-2007", "--data", str(folder), "--output", str(folder / "out"), "--page", str(folder / "page.md")]
    main([*arguments, "--jobs", "1"])
    text = (folder / "page.md").read_text()
    (study,) = PAPERS["bckg-2007"](find_data_sets(folder), False)
    assert f"Command: `python -m experiments.papers bckg-2007 --data {folder}" in text
    assert f"## {study.title}\n" in text
    assert all(claim.text in text for claim in study.comparison.claims)
    assert list((folder / "pictures").glob("bckg-2007-*.svg"))


def test_what_cannot_be_repeated_is_refused_before_any_work(folder):
    with pytest.raises(OptionError, match="paper='zhu' is not known; expected one of 'zhou"):
        main(["zhu", "--data", str(folder)])
    with pytest.raises(OptionError, match="no data set of the group 'roos18'"):
        main(["roos-2005", "--data", str(folder)])
