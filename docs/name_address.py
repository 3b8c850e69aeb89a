"""What a package index shows of the README needs an address: name it in README.md and pyproject.toml before a release.

    python docs/name_address.py https://example.org/someone/tanager v0.2.0

The repository itself names none, since it may lie anywhere; the release workflow knows where it runs. Without one
given, this says which links would lead nowhere.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
LINK = re.compile(r"(!?)(\[[^\]]*\])\((?!https?://|#|mailto:)([^)\s]+)\)")
"""A link or, with an exclamation mark, a picture whose target is a path of the repository."""
MARK = "# There is no [project.urls]: the repository names no public address, and none is made up here.\n"


def relative_links(readme: str) -> list[str]:
    """The paths that links and pictures of a README lead to."""
    return [found[3] for found in LINK.finditer(readme)]


def absolute_links(readme: str, address: str, tag: str) -> str:
    """The README with addresses in place of paths: pages of files, and pictures as they are."""

    def absolute(found: re.Match[str]) -> str:
        kind = "raw" if found[1] else "blob"
        return f"{found[1]}{found[2]}({address}/{kind}/{tag}/{found[3]})"

    return LINK.sub(absolute, readme)


def with_urls(project: str, address: str, tag: str) -> str:
    """pyproject.toml with the addresses of the project."""
    changes = f"{address}/blob/{tag}/CHANGELOG.md"
    return project.replace(MARK, f'[project.urls]\nRepository = "{address}"\nChangelog = "{changes}"\n')


def main(arguments: list[str]) -> None:
    readme, project = ROOT / "README.md", ROOT / "pyproject.toml"
    if not arguments:
        paths = relative_links(readme.read_text())
        if paths:
            print(f"README.md has {len(paths)} links that lead nowhere on a package index, the first to {paths[0]}.")
            print("A release names its address: python docs/name_address.py ADDRESS TAG")
        return
    address, tag = arguments
    readme.write_text(absolute_links(readme.read_text(), address.rstrip("/"), tag))
    project.write_text(with_urls(project.read_text(), address.rstrip("/"), tag))


if __name__ == "__main__":
    main(sys.argv[1:])
