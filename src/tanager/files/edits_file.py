"""Edits files: corrections of a model, as JSON that a page saves and a person can read and change.

    {"model": "9f86...", "edits": [{"what": "flatten", "attributes": ["age"], "from": 30, "to": 50,
                                    "reason": "few rows", "who": "A. Nurse", "when": "2024-02-29T12:00:00+00:00"}, ...]}

"states" in place of "from" and "to" names categories; "monotone" has a "direction" and, as "of", a class. A revision
in a model file has the edits and, as "before", the values that they changed: parts of "effects", "imputation",
"quality" and "posterior".
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import cast

import numpy as np
from numpy.typing import NDArray

from tanager.additive.document import effect_parts, read_effect_parts
from tanager.additive.model import AdditiveModel
from tanager.edits.edit import DIRECTIONS, WHATS, Bound, Direction, Edit, Edits, Revision, What
from tanager.files.json_file import parse_json, read_document, write_json
from tanager.files.model_documents import read_posterior, read_quality, write_posterior, write_quality
from tanager.missing.rule import MissingRule
from tanager.network.document import (
    DocumentError,
    Json,
    check_form,
    flag,
    from_json,
    mapping,
    sequence,
    shorten,
    text,
    to_json,
)
from tanager.table.schema import Category
from tanager.version import __version__

EDITS_FORMAT = 1
"""Number of the form above. A file of another number is refused."""
MOST_EDITS = 10_000
FIELDS = {"from": "start", "to": "end", "states": "states", "direction": "direction", "of": "of"}
"""Keys of an edit that may be absent, and the fields of `Edit` that they hold."""
KEYS = {"what", "attributes", "reason", "who", "when", *FIELDS}
REMEDY = "save it again from the page of `tanager report`, or with save_edits"

WriteImputation = Callable[[MissingRule], Json]
ReadRule = Callable[[AdditiveModel, Json], MissingRule]


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
    write_json(path, "file of edits", document, indent=2)


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


def write_edits(edits: Edits) -> dict[str, Json]:
    """The document of edits."""
    return {"model": edits.model, "edits": [_write_edit(edit) for edit in edits]}


def _write_edit(edit: Edit) -> Json:
    document: dict[str, Json] = {"what": edit.what, "attributes": list(edit.attributes)}
    for key, field in FIELDS.items():
        value = getattr(edit, field)
        if value is not None and value != ():
            document[key] = to_json(list(value) if isinstance(value, tuple) else value, f"{key} of an edit", {})
    return {**document, "reason": edit.reason, "who": edit.who, "when": edit.when}


def read_edits(document: Json) -> Edits:
    """The edits of a document; a DocumentError says what is wrong with it and where."""
    content = mapping(document, "the edits")
    listed = sequence(content.get("edits"), "edits")
    if not 0 < len(listed) <= MOST_EDITS:
        raise DocumentError(f"edits must hold from one to {MOST_EDITS:,} edits, got {len(listed):,}")
    model = text(content.get("model", ""), "model")
    return Edits(tuple(_read_edit(each, f"edits[{k}]") for k, each in enumerate(listed)), model)


def _read_edit(document: Json, where: str) -> Edit:
    content = mapping(document, where)
    unknown = sorted(set(content) - KEYS)
    if unknown:
        raise DocumentError(f"{where} has {', '.join(unknown)}, which no edit has")
    what = cast(What, text(content.get("what"), f"{where}.what", WHATS))
    attributes = tuple(text(name, f"{where}.attributes") for name in sequence(content.get("attributes"), where))
    if not 1 <= len(attributes) <= 1 + (what == "remove"):
        raise DocumentError(f"{where}.attributes must name one attribute, or the two of a pair to remove")
    direction = content.get("direction")
    if (direction is not None) != (what == "monotone"):
        raise DocumentError(f"{where}.direction is for a monotone curve, and must be there for one")
    return Edit(
        what,
        attributes,
        text(content.get("reason"), f"{where}.reason"),
        text(content.get("who", ""), f"{where}.who"),
        text(content.get("when", ""), f"{where}.when"),
        _bound(content.get("from"), f"{where}.from"),
        _bound(content.get("to"), f"{where}.to"),
        tuple(_label(state, f"{where}.states") for state in sequence(content.get("states", []), f"{where}.states")),
        None if direction is None else cast(Direction, text(direction, f"{where}.direction", DIRECTIONS)),
        None if content.get("of") is None else _label(content["of"], f"{where}.of"),
    )


def _bound(document: Json, where: str) -> Bound:
    if document is None or (isinstance(document, int | float | str) and not isinstance(document, bool)):
        return document
    raise DocumentError(f"{where} must be a number or the text of a date, got {shorten(document)}")


def _label(document: Json, where: str) -> Category:
    value = from_json(document, where, {})
    if value is None or isinstance(value, list | tuple | dict | set | frozenset):
        raise DocumentError(f"{where} must be the label of a state, got {shorten(document)}")
    return cast(Category, value)


def write_revisions(
    revisions: tuple[Revision, ...], network: AdditiveModel, rule: MissingRule, write_imputation: WriteImputation
) -> list[Json]:
    """Each revision with what it changed, the first one first; the model is now `network` with `rule`."""
    written: list[Json] = []
    after = effect_parts(network), write_imputation(rule)
    for revision in reversed(revisions):
        before = effect_parts(revision.model), write_imputation(revision.missing_rule)
        changed = {key: part for key, part in before[0].items() if json.dumps(part) != json.dumps(after[0][key])}
        measured = {"quality": write_quality(revision.quality), **write_posterior(revision.posterior)}
        entry: dict[str, Json] = {"effects": cast(Json, changed), **measured}
        if before[1] != after[1]:
            entry["imputation"] = before[1]
        written.append({**write_edits(revision.edits), "refitted": revision.refitted, "before": entry})
        after = before
    return written[::-1]


def read_revisions(
    document: Json,
    network: AdditiveModel,
    imputation: Json,
    classes: NDArray[np.generic],
    read_rule: ReadRule,
) -> tuple[Revision, ...]:
    """The revisions that `write_revisions` wrote, for a model that is now this network with this imputation."""
    revisions: list[Revision] = []
    for each in reversed(sequence(document, "edits")):
        entry = mapping(each, "edits")
        before = mapping(entry.get("before"), "edits.before")
        changed = mapping(before.get("effects"), "edits.before.effects")
        network = read_effect_parts(network.columns, {**effect_parts(network), **changed})
        imputation = before.get("imputation", imputation)
        refitted = flag(entry.get("refitted"), "edits.refitted")
        quality = read_quality(before.get("quality"), classes)
        posterior = read_posterior(before.get("posterior"), network, network.columns[:-1])
        rule = read_rule(network, imputation)
        revisions.append(Revision(read_edits(entry), network, rule, quality, posterior, refitted))
    return tuple(revisions[::-1])
