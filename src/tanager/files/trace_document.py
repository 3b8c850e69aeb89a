"""What a parameter learner did, as JSON: {"kind": "EMTrace", "iterations": 7, ...}."""

from __future__ import annotations

from dataclasses import fields
from typing import cast

from tanager.network.document import DocumentError, Json, from_json, mapping, text, to_json
from tanager.parameters.protocol import ParameterTrace

# Fields of traces in files of version 0.2 that mean nothing any more.
FORMER = ("mean_of_fits",)


def write_trace(trace: ParameterTrace) -> Json:
    """The fields of a trace; one of them may be a trace too."""
    document: dict[str, Json] = {"kind": type(trace).__name__}
    for field in fields(trace):
        if not field.compare:  # seconds: a file is the same whatever the machine
            continue
        value = getattr(trace, field.name)
        is_trace = isinstance(value, ParameterTrace)
        document[field.name] = {"trace": write_trace(value)} if is_trace else to_json(value, "trace_", {})
    return document


def read_trace(document: Json) -> ParameterTrace:
    """The trace that was written; a DocumentError says what is wrong with it."""
    content = mapping(document, "trace.parameters")
    kinds = {kind.__name__: kind for kind in _kinds(ParameterTrace)}
    kind = kinds[text(content.get("kind"), "trace.parameters.kind", tuple(kinds))]
    names = [field.name for field in fields(kind) if field.compare]
    if set(content).difference(FORMER) != {"kind", *names}:
        raise DocumentError(f"trace.parameters must hold {', '.join(names) or 'nothing'} of a {kind.__name__}")
    return kind(**{name: _value(content[name]) for name in names})


def _value(document: Json) -> object:
    match document:
        case {"trace": inner}:
            return read_trace(cast(Json, inner))
    return from_json(document, "trace.parameters", {})


def _kinds(kind: type[ParameterTrace]) -> list[type[ParameterTrace]]:
    """The kind itself and all that are made of it."""
    return [kind, *(inner for each in kind.__subclasses__() for inner in _kinds(each))]
