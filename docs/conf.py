"""How the documentation is built: `make docs`."""

from __future__ import annotations

import re
from typing import Any

import tanager

project = "Tanager"
author = "Tanager contributors"
version = release = tanager.__version__

extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc", "myst_parser", "sphinx_gallery.gen_gallery"]
# Included by other pages.
exclude_patterns = [
    "_build",
    "missing_data_table.md",
    "weights_table.md",
    "classics_table.md",
    "smoothing_table.md",
    "papers_table.md",
    "export_speed.md",
    "install_size.md",
    "clients_table.md",
]
templates_path = ["_templates"]
default_role = "py:obj"
myst_heading_anchors = 3

autosummary_generate = True
autosummary_imported_members = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
# The class template lists the members; scikit-learn's own methods are documented there.
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = "Tanager"
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["docs.css"]
html_sidebars = {"start": [], "measurements": []}
html_theme_options: dict[str, Any] = {
    "navbar_end": ["versions", "theme-switcher"],
    "navbar_persistent": ["search-button"],
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": {"**": ["page-toc"], "comparison": [], "index": []},  # the table needs the room
    "show_prev_next": False,
    "footer_start": [],
    "footer_end": [],
}

sphinx_gallery_conf: dict[str, Any] = {
    "examples_dirs": "../examples",
    "gallery_dirs": "generated/gallery",
    "within_subsection_order": "FileNameSortKey",
    "filename_pattern": r"/\d\d_",
    "image_scrapers": ("matplotlib",),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
    "show_signature": False,
    "min_reported_time": 60,
    "remove_config_comments": True,
}

ENTRY = re.compile(r"^(?P<names>\S+(?:, \S+)*) {2,}(?P<text>\S.*)$")


def list_aligned_entries(app: object, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Turn the columns `name   what it is` of our docstrings into a definition list, which is what they mean."""
    result: list[str] = []
    column = 0  # where the text of the entry we are in begins; 0 outside a list
    for line in lines:
        entry = ENTRY.match(line)
        if entry:
            column = entry.start("text")
            result += ["", f"``{entry['names']}``", f"   {entry['text']}"]
        elif column and line.startswith(" " * column):
            result.append(f"   {line.strip()}")
        else:
            result += [""] * bool(column and line)
            result.append(line)
            column = 0
    lines[:] = result


def skip_request_methods(app: object, what: str, name: str, obj: object, skip: bool, options: object) -> bool | None:
    """scikit-learn adds `set_fit_request` and the like to every estimator; its own pages explain them."""
    return True if re.fullmatch(r"set_\w+_request", name) else None


def setup(app: Any) -> None:
    app.connect("autodoc-process-docstring", list_aligned_entries, priority=400)  # before numpydoc, at 500
    app.connect("autodoc-skip-member", skip_request_methods)
