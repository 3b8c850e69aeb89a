"""`python -m experiments.papers`: the page it writes, the order of its studies, what it refuses."""

from __future__ import annotations

import json

import numpy as np
import pytest

from experiments.papers import PAPERS
from experiments.papers.__main__ import main, parse, plan
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


def test_a_page_keeps_the_sections_of_other_studies(folder):
    page = folder / "page.md"
    page.write_text("# Results\n\n## Zhou 2002, table 4-2: complete data\n\nkept\n\n## Something else\n\nkept too\n")
    arguments = ["--data", str(folder), "--output", str(folder / "out"), "--page", str(page), "--jobs", "1"]
    (study,) = PAPERS["bckg-2007"](find_data_sets(folder), False)
    main(["bckg-2007", *arguments])
    text = page.read_text()
    assert "\nkept\n" in text
    assert "\nkept too\n" in text
    assert f"## {study.title}" in text


def test_some_sets_alone_do_not_touch_the_page_of_all(folder):
    options = parse(["bckg-2007", "--sets", "one", "--output", str(folder / "out")])
    assert options.page == folder / "out" / "RESULTS.md"
    assert parse(["bckg-2007"]).page.name == "RESULTS.md"
    with pytest.raises(SystemExit):
        parse([])


def test_the_field_is_the_last_study_of_the_page(folder):
    options = parse(["bckg-2007", "acll-2013", "--field", "--data", str(folder)])
    assert [study.name for study in plan(options)] == [
        "bckg-2007",
        "acll-2013",
        "acll-2013-frequency",
        "acll-2013-ternary",
        "acll-2013-frequency-ternary",
        "field",
    ]


def test_what_cannot_be_repeated_is_refused_before_any_work(folder):
    with pytest.raises(OptionError, match="paper='zhu' is not known; expected one of 'zhou"):
        main(["zhu", "--data", str(folder)])
    with pytest.raises(OptionError, match="no data set of the group 'roos18'"):
        main(["roos-2005", "--data", str(folder)])
