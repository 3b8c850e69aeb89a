"""The site of all versions of the documentation: `docs/site.py`."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

SITE = runpy.run_path(str(Path(__file__).parent.parent / "docs" / "site.py"))


@pytest.fixture
def html(tmp_path) -> Path:
    folder = tmp_path / "html"
    folder.mkdir()
    (folder / "index.html").write_text("first")
    return folder


def test_the_site_leads_to_the_newest_release_and_lists_all_versions(tmp_path, html):
    site = tmp_path / "site"
    site.mkdir()
    SITE["add_version"](site, html, "dev")
    assert "url=dev/index.html" in (site / "index.html").read_text()
    for name in ("0.9.0", "0.10.0", "0.2.0"):
        SITE["add_version"](site, html, name)
    assert "url=0.10.0/index.html" in (site / "index.html").read_text()
    listed = re.findall(r'href="([^"]+)"', (site / "versions.html").read_text())
    assert listed == [f"{name}/index.html" for name in ("0.10.0", "0.9.0", "0.2.0", "dev")]
    assert all((site / link).exists() for link in listed)


def test_a_version_is_replaced_as_a_whole_and_others_stay(tmp_path, html):
    site = tmp_path / "site"
    site.mkdir()
    (html / "old.html").write_text("old")
    for name in ("0.1.0", "0.2.0"):
        SITE["add_version"](site, html, name)
    (html / "old.html").unlink()
    (html / "index.html").write_text("second")
    SITE["add_version"](site, html, "0.2.0")
    assert {path.name for path in (site / "0.2.0").iterdir()} == {"index.html"}
    assert ((site / "0.2.0/index.html").read_text(), (site / "0.1.0/index.html").read_text()) == ("second", "first")


def test_nothing_is_put_there_that_was_not_built(tmp_path):
    with pytest.raises(SystemExit, match="make docs"):
        SITE["add_version"](tmp_path, tmp_path / "absent", "1.0")
