"""What is published says the same version everywhere, and nothing that leads nowhere."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path

import tanager

ROOT = Path(__file__).parent.parent
NAMING = runpy.run_path(str(ROOT / "docs" / "name_address.py"))
ADDRESS, TAG = "https://example.org/someone/tanager", "v1.2.3"


def test_the_citation_and_the_changes_name_the_version_of_the_package():
    citation = dict(re.findall(r"^([a-z-]+): (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE))
    newest = re.search(r"^## (\S+) \((\S+)\)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    assert (citation["version"], citation["date-released"]) == newest.groups()
    assert citation["version"] == tanager.__version__


def test_every_link_of_the_readme_leads_to_a_file():
    paths = NAMING["relative_links"]((ROOT / "README.md").read_text())
    assert "docs/images/report-light.png" in paths
    assert [path for path in paths if not (ROOT / path.split("#")[0]).exists()] == []


def test_a_release_names_its_address_in_every_link_and_picture():
    readme = (ROOT / "README.md").read_text()
    named = NAMING["absolute_links"](readme, ADDRESS, TAG)
    assert NAMING["relative_links"](named) == []
    assert f"({ADDRESS}/raw/{TAG}/docs/images/report-light.png)" in named
    assert f"]({ADDRESS}/blob/{TAG}/docs/start.md)" in named
    assert re.sub(rf"{ADDRESS}/(raw|blob)/{TAG}/", "", named) == readme


def test_a_release_names_its_address_in_the_metadata():
    project = (ROOT / "pyproject.toml").read_text()
    named = tomllib.loads(NAMING["with_urls"](project, ADDRESS, TAG))
    assert named["project"].pop("urls")["Repository"] == ADDRESS
    assert named == tomllib.loads(project)


def test_the_release_workflow_names_the_address_before_it_builds():
    steps = (ROOT / ".github" / "workflows" / "release.yml").read_text()
    assert 0 < steps.index("docs/name_address.py") < steps.index("make dist")


def test_every_action_of_a_workflow_is_pinned_by_its_hash():
    text = "".join(file.read_text() for file in sorted((ROOT / ".github" / "workflows").glob("*.yml")))
    used = re.findall(r"uses: (\S+)", text)
    assert len(used) > 10
    assert [action for action in used if not re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", action)] == []
