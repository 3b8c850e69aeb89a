"""Edits files: corrections of a model, as JSON that a page saves and a person can read and change."""

from __future__ import annotations

import json
import os

from tanager.edits.edit import Edits
from tanager.files.document_file import document_kind, parse_json, read_document, write_document
from tanager.files.edits_document import read_edits, write_edits
from tanager.network.document import check_form
from tanager.version import __version__

EDITS_FORMAT = 1
"""Number of the form (`edits_document`). A file of another number is refused."""
EDITS = document_kind("edits of Tanager", "model")
REMEDY = "save it again from the page of `tanager report`, or with save_edits"


def save_edits(edits: Edits, path: str | os.PathLike[str]) -> None:
    """Write edits to a JSON file, all at once.

    Parameters
    ----------
    edits : Edits
        What to write.
    path : str or path
        Of the file.

    Examples
    --------
    >>> import tempfile
    >>> from tanager.edits import Edit, Edits
    >>> from tanager.files import load_edits, save_edits
    >>> edits = Edits((Edit.flatten("age", 70, reason="few patients are so old"),))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_edits(edits, f"{folder}/edits.json")
    ...     same = load_edits(f"{folder}/edits.json")
    >>> same == edits
    True
    """
    document = {"format": EDITS_FORMAT, "versions": {"tanager": __version__}, **write_edits(edits)}
    write_document(path, "file of edits", json.dumps(document, indent=2, ensure_ascii=False).encode() + b"\n")


def load_edits(path: str | os.PathLike[str]) -> Edits:
    """Read edits that `save_edits` or a page of `tanager report` wrote.

    Parameters
    ----------
    path : str or path
        Of the file.

    Returns
    -------
    Edits
        What `apply_edits` takes.
    """

    def parse(content: bytes) -> Edits:
        return read_edits(dict(check_form(parse_json(content), "file of edits", EDITS_FORMAT, ("edits",), REMEDY)))

    return read_document(path, "file of edits", parse)
