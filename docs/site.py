"""Put a built documentation into a site of all versions: `python docs/site.py SITE`, after `make docs`.

    SITE/index.html      leads to the newest release
    SITE/versions.html   lists all versions; every page of every version has a link to it
    SITE/0.2.0/          the documentation of a release
    SITE/dev/            that of the newest state, with --dev

Links between these are relative, so the site works in any folder of any server.
"""

from __future__ import annotations

import argparse
import re
import shutil
from html import escape
from pathlib import Path

ROOT = Path(__file__).parent.parent
RELEASE = re.compile(r"\d+(\.\d+)*")
PAGE = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>Tanager</title>{head}</head>
{body}</html>
"""


def add_version(site: Path, html: Path, name: str) -> None:
    """The pages of a version, in place of what it had, and the list of versions anew."""
    if not (html / "index.html").exists():
        raise SystemExit(f"{html} holds no built documentation: run `make docs` first.")
    shutil.rmtree(site / name, ignore_errors=True)
    shutil.copytree(html, site / name)
    write_versions(site)


def write_versions(site: Path) -> None:
    """index.html and versions.html for the folders that are there."""
    names = versions(site)
    items = "".join(f'<li><a href="{escape(name)}/index.html">{escape(name)}</a></li>\n' for name in names)
    (site / "versions.html").write_text(
        PAGE.format(head="", body=f"<body>\n<h1>Versions of the documentation</h1>\n<ul>\n{items}</ul>\n</body>\n")
    )
    first = next((name for name in names if RELEASE.fullmatch(name)), names[0])
    lead = f'<meta http-equiv="refresh" content="0; url={escape(first)}/index.html">'
    link = f'<body><a href="{escape(first)}/index.html">Tanager {escape(first)}</a></body>\n'
    (site / "index.html").write_text(PAGE.format(head=lead, body=link))


def versions(site: Path) -> list[str]:
    """The newest release first, then all that are none."""
    names = [folder.name for folder in site.iterdir() if (folder / "index.html").exists()]
    releases = [name for name in names if RELEASE.fullmatch(name)]
    newest = sorted(releases, key=lambda name: [int(part) for part in name.split(".")], reverse=True)
    return [*newest, *sorted(set(names) - set(releases))]


def main() -> None:
    from tanager.version import __version__

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", type=Path, help="the folder of all versions")
    parser.add_argument("--html", type=Path, default=ROOT / "docs" / "_build" / "html", help="what `make docs` built")
    parser.add_argument("--dev", action="store_true", help="as the newest state, not as a release")
    options = parser.parse_args()
    options.site.mkdir(parents=True, exist_ok=True)
    add_version(options.site, options.html, "dev" if options.dev else __version__)


if __name__ == "__main__":
    main()
