"""The languages a classifier can be written in, by name: one file and one line each."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from tanager.classifiers.base import TableClassifier
from tanager.decide.classifiers import FixedDecisionClassifier
from tanager.errors import OptionError
from tanager.export.c import write_c
from tanager.export.document import MARK
from tanager.export.onnx import write_onnx
from tanager.export.program import Program
from tanager.export.scripts import write_javascript, write_python
from tanager.export.sheets import write_excel, write_scorecard
from tanager.export.sql import write_sql
from tanager.files.paths import OutputKind, atomic_write, begins_with, check_writable
from tanager.registry import check_option


@dataclass(frozen=True)
class Target:
    """A language that programs are written in.

    write   turns a program, and options of the language, into the content of a file
    suffix  of such a file
    opening what stands before our mark in such a file, a regular expression; None where somebody may have filled it in
    rules   whether it can sum unknown cells out and average over them; else rows with one are refused
    decides whether it can decide by costs or a threshold; else a model that does is refused
    """

    write: Callable[..., str | bytes]
    suffix: str
    opening: bytes | None
    rules: bool = False
    decides: bool = False


TARGETS: dict[str, Target] = {
    "sql": Target(write_sql, ".sql", b"-- ", decides=True),
    "python": Target(write_python, ".py", b"# ", rules=True, decides=True),
    "js": Target(write_javascript, ".js", b"// ", rules=True, decides=True),
    "c": Target(write_c, ".h", rb"/\*\n \* "),
    "onnx": Target(write_onnx, ".onnx", rb"\x08[^A-Za-z]{1,8}"),
    "scorecard": Target(write_scorecard, ".csv", b"attribute,state,[^\n]*\n"),
    "excel": Target(write_excel, ".xlsx", None),
}


KINDS: dict[str, tuple[type, str]] = {"double": (Real, "a number"), "even": (Real, "a number")}
KINDS |= {"rows": (Integral, "a whole number")}
"""The types of options that are no text."""


def write_export(
    clf: TableClassifier | FixedDecisionClassifier,
    to: str,
    path: str | os.PathLike[str] | None,
    rename: Mapping[str, str] | None,
    options: Mapping[str, object],
) -> str | bytes | Path:
    """See `tanager.export.export`."""
    clf = _model(clf)
    target = TARGETS[check_option("to", to, TARGETS)]
    if path is not None:
        check_writable(path)
    program = Program.of(clf, rename)
    if not target.rules and program.missing_rule != "looked up":
        program = program.refusing()
    if not target.decides and program.decision is not None:
        raise OptionError(
            f"the model decides by {program.decision}, and to={to!r} gives the most probable class.",
            hint="--no-decision leaves the decision out (in Python clf.decision_ = None); sql, python and js have it.",
        )
    content = target.write(program, **_options(to, target, options))
    if path is None:
        return content
    with atomic_write(path) as stream:
        stream.write(content if isinstance(content, bytes) else content.encode())
    return Path(path)


def _model(clf: object) -> TableClassifier:
    """The fitted classifier with its decision, whatever it is wrapped in."""
    if isinstance(clf, FixedDecisionClassifier):
        check_is_fitted(clf)
        return clf.to_model()
    if not isinstance(clf, TableClassifier):
        raise OptionError(
            f"export takes a fitted classifier of Tanager; this is a {type(clf).__name__}.",
            hint="load_model reads one from a file, write_network writes a network; of a wrapper take estimator_.",
        )
    check_is_fitted(clf)
    return clf


def export_kind(to: str) -> OutputKind:
    """The kind of file that `tanager export` writes, and may replace: one that begins with our mark."""
    opening = TARGETS[to].opening
    if opening is None:
        return OutputKind("a file that this command may replace", lambda file: False)
    return OutputKind(f"an export of `tanager export --to {to}`", begins_with(b"(?:" + opening + b")" + MARK.encode()))


def _options(to: str, target: Target, options: Mapping[str, object]) -> dict[str, Any]:
    """The options chosen, if the language has them; those it needs must be there."""
    known = inspect.signature(target.write).parameters
    chosen = {name: value for name, value in options.items() if value is not None}
    for name, value in chosen.items():
        if name == "key" and isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
            continue
        kind, words = KINDS.get(name, (str, "text"))
        if not isinstance(value, kind) or isinstance(value, bool):
            raise OptionError(f"{name}={value!r} is not valid; expected {words}.")
        if name not in known:
            raise OptionError(
                f"to={to!r} has no option {name!r}.", hint=f"it has {', '.join(list(known)[1:]) or 'none'}."
            )
    for name, parameter in list(known.items())[1:]:
        if parameter.default is inspect.Parameter.empty and name not in chosen:
            raise OptionError(f"to={to!r} needs the option {name!r}.")
    return chosen
