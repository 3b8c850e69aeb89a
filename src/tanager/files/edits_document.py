"""Edits, and the revisions a model has been through <-> JSON.

    {"model": "9f86...", "edits": [{"what": "flatten", "attributes": ["age"], "from": 30, "to": 50,
                                    "reason": "few rows", "who": "A. Nurse", "when": "2024-02-29T12:00:00+00:00"}, ...]}

"states" in place of "from" and "to" names categories; "monotone" has a "direction" and, as "of", a class. A revision
has the edits and, as "before", what they changed: parts of "effects" as a model has them, "filling", "quality" and
"posterior".
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import cast

import numpy as np
from numpy.typing import NDArray

from tanager.additive.document import effect_parts, read_effect_parts
from tanager.additive.model import AdditiveModel
from tanager.edits.edit import DIRECTIONS, WHATS, Bound, Direction, Edit, Edits, Revision, What
from tanager.files.posterior_document import read_posterior, write_posterior
from tanager.files.quality_document import read_quality, write_quality
from tanager.missing.rule import GapRule
from tanager.network.document import DocumentError, Json, from_json, mapping, sequence, shorten, text, to_json
from tanager.table.schema import Category

KEYS = {"what", "attributes", "reason", "who", "when", "from", "to", "states", "direction", "of"}
MOST_EDITS = 10_000

WriteFilling = Callable[[GapRule], Json]
ReadRule = Callable[[AdditiveModel, Json], GapRule]


def write_edits(edits: Edits) -> dict[str, Json]:
    """The document of edits."""
    return {"model": edits.model, "edits": [_write_edit(edit) for edit in edits]}


def _write_edit(edit: Edit) -> Json:
    found: dict[str, Json] = {"what": edit.what, "attributes": list(edit.attributes)}
    optional: dict[str, object] = {
        "from": edit.start,
        "to": edit.end,
        "states": list(edit.states) or None,
        "direction": edit.direction,
        "of": edit.of,
    }
    for key, value in optional.items():
        if value is not None:
            found[key] = to_json(value, f"{key} of an edit", {})
    return {**found, "reason": edit.reason, "who": edit.who, "when": edit.when}


def read_edits(document: Json) -> Edits:
    """The edits of a document; a DocumentError says what is wrong with it and where."""
    found = mapping(document, "the edits")
    listed = sequence(found.get("edits"), "edits")
    if not 0 < len(listed) <= MOST_EDITS:
        raise DocumentError(f"edits must hold from one to {MOST_EDITS:,} edits, got {len(listed):,}")
    model = text(found.get("model", ""), "model")
    return Edits(tuple(_read_edit(each, f"edits[{k}]") for k, each in enumerate(listed)), model)


def _read_edit(document: Json, where: str) -> Edit:
    found = mapping(document, where)
    unknown = sorted(set(found) - KEYS)
    if unknown:
        raise DocumentError(f"{where} has {', '.join(unknown)}, which no edit has")
    what = cast(What, text(found.get("what"), f"{where}.what", WHATS))
    attributes = tuple(text(name, f"{where}.attributes") for name in sequence(found.get("attributes"), where))
    if not 1 <= len(attributes) <= 1 + (what == "remove"):
        raise DocumentError(f"{where}.attributes must name one attribute, or the two of a pair to remove")
    direction = found.get("direction")
    if (direction is not None) != (what == "monotone"):
        raise DocumentError(f"{where}.direction is for a monotone curve, and must be there for one")
    return Edit(
        what,
        attributes,
        text(found.get("reason"), f"{where}.reason"),
        text(found.get("who", ""), f"{where}.who"),
        text(found.get("when", ""), f"{where}.when"),
        _bound(found.get("from"), f"{where}.from"),
        _bound(found.get("to"), f"{where}.to"),
        tuple(_label(state, f"{where}.states") for state in sequence(found.get("states", []), f"{where}.states")),
        None if direction is None else cast(Direction, text(direction, f"{where}.direction", DIRECTIONS)),
        None if found.get("of") is None else _label(found["of"], f"{where}.of"),
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
    revisions: tuple[Revision, ...], network: AdditiveModel, rule: GapRule, write_filling: WriteFilling
) -> list[Json]:
    """Each revision with what it changed, the first one first; the model is now `network` with `rule`."""
    written: list[Json] = []
    after = effect_parts(network), write_filling(rule)
    for revision in reversed(revisions):
        before = effect_parts(revision.network), write_filling(revision.gaps)
        changed = {key: part for key, part in before[0].items() if json.dumps(part) != json.dumps(after[0][key])}
        measured = {"quality": write_quality(revision.quality), **write_posterior(revision.posterior)}
        entry: dict[str, Json] = {"effects": cast(Json, changed), **measured}
        if before[1] != after[1]:
            entry["filling"] = before[1]
        written.append({**write_edits(revision.edits), "refitted": revision.refitted, "before": entry})
        after = before
    return written[::-1]


def read_revisions(
    document: Json,
    network: AdditiveModel,
    filling: Json,
    classes: NDArray[np.generic],
    read_rule: ReadRule,
) -> tuple[Revision, ...]:
    """What `write_revisions` wrote, for a model that is now this network with this filling."""
    found: list[Revision] = []
    for each in reversed(sequence(document, "edits")):
        entry = mapping(each, "edits")
        before = mapping(entry.get("before"), "edits.before")
        changed = mapping(before.get("effects"), "edits.before.effects")
        network = read_effect_parts(network.columns, {**effect_parts(network), **changed})
        filling = before.get("filling", filling)
        refitted = entry.get("refitted")
        if not isinstance(refitted, bool):
            raise DocumentError(f"edits.refitted must be true or false, got {shorten(refitted)}")
        quality = read_quality(before.get("quality"), classes)
        posterior = read_posterior(before.get("posterior"), network, network.columns[:-1])
        rule = read_rule(network, filling)
        found.append(Revision(read_edits(entry), network, rule, quality, posterior, refitted))
    return tuple(found[::-1])
