"""The languages a classifier can be written in, by name: one file and one line each."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from tanager.classifiers.base import TableClassifier
from tanager.decide.classifiers import DecidingClassifier
from tanager.errors import OptionError
from tanager.export.c import write_c
from tanager.export.document import MARK
from tanager.export.excel import is_empty_workbook, write_excel
from tanager.export.onnx import write_onnx
from tanager.export.program import Program
from tanager.export.scorecard import write_scorecard
from tanager.export.scripts import write_javascript, write_python, write_types
from tanager.export.sql import write_sql
from tanager.files.paths import OutputKind, atomic_write, begins_with, check_writable
from tanager.registry import check_option

MISSING = ("as-fitted", "refuse")


@dataclass(frozen=True)
class Target:
    """A language that programs are written in.

    write   turns a program, and options of the language, into the content of a file
    suffix  of such a file
    opening what stands before our mark in such a file, a regular expression; None where it is a workbook
    rules   the rules for missing values that it has (`Program.missing_rule`); "tree sums" stands for "summed out"
            where `Program.is_tree`
    mixed   the rules that it has for a mixture
    """

    write: Callable[..., str | bytes]
    suffix: str
    opening: bytes | None
    rules: tuple[str, ...] = ("looked up", "refused")
    mixed: tuple[str, ...] = ("refused",)

    def can_express(self, program: Program) -> bool:
        if program.members:
            return program.missing_rule in self.mixed
        return program.missing_rule in self.rules or (
            program.missing_rule == "summed out" and program.is_tree and "tree sums" in self.rules
        )


EVERY_RULE = ("looked up", "refused", "summed out", "averaged")
TARGETS: dict[str, Target] = {
    "sql": Target(write_sql, ".sql", b"-- "),
    "python": Target(write_python, ".py", b"# ", EVERY_RULE, ("refused", "summed out")),
    "js": Target(write_javascript, ".js", b"// ", EVERY_RULE),
    "ts": Target(write_types, ".d.ts", b"// ", EVERY_RULE),
    "c": Target(write_c, ".h", rb"/\*\n \* ", ("looked up", "refused", "tree sums")),
    "onnx": Target(write_onnx, ".onnx", rb"\x08[^A-Za-z]{1,8}"),
    "scorecard": Target(write_scorecard, ".csv", b"attribute,state,[^\n]*\n|<!doctype html>\n<!-- ", mixed=()),
    "excel": Target(write_excel, ".xlsx", None, mixed=()),
}


def write_export(
    clf: TableClassifier | DecidingClassifier,
    to: str,
    path: str | os.PathLike[str] | None,
    missing: str,
    rename: Mapping[str, str] | None,
    options: Mapping[str, object],
) -> str | bytes | Path:
    """See `tanager.export.export`."""
    clf = _model(clf)
    target = TARGETS[check_option("to", to, TARGETS)]
    check_option("missing", missing, MISSING)
    if path is not None:
        check_writable(path)
    content = target.write(_program(clf, to, missing == "refuse", rename), **_options(to, target, options))
    if path is None:
        return content
    with atomic_write(path) as stream:
        stream.write(content if isinstance(content, bytes) else content.encode())
    return Path(path)


def _model(clf: object) -> TableClassifier:
    """The fitted classifier with its decision, whatever it is wrapped in."""
    if isinstance(clf, DecidingClassifier):
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
    """The kind of file that `tanager export` writes: one that begins with our mark, or a workbook nobody filled in."""
    opening = TARGETS[to].opening
    if opening is None:
        return OutputKind(f"an empty workbook of `tanager export --to {to}`", is_empty_workbook)
    return OutputKind(f"an export of `tanager export --to {to}`", begins_with(b"(?:" + opening + b")" + MARK.encode()))


def _program(clf: TableClassifier, to: str, refuse: bool, rename: Mapping[str, str] | None) -> Program:
    program = Program.of(clf, refuse, rename)
    if TARGETS[to].can_express(program):
        return program
    able = [name for name, target in TARGETS.items() if target.can_express(program)]
    if program.members and not TARGETS[to].mixed:
        raise OptionError(
            f"the model is a mean of several networks, which {to} cannot express.",
            hint="python, js, c, sql and onnx can; structure='tan' learns one network.",
        )
    rule = {"averaged": "averages over what a missing cell may hold", "summed out": "sums a missing cell out"}
    raise OptionError(
        f"the model {rule[program.missing_rule]}, which {to} cannot express.",
        hint="missing='refuse' gives rows with a missing cell no probabilities (a model that has states for the "
        f"missing cells of its training rows refuses few); {', '.join(able)} can express it.",
    )


def _options(to: str, target: Target, options: Mapping[str, object]) -> dict[str, Any]:
    """The options chosen, if the language has them; those it needs must be there."""
    known = inspect.signature(target.write).parameters
    chosen = {name: value for name, value in options.items() if value is not None}
    for name in chosen:
        if name not in known:
            raise OptionError(
                f"to={to!r} has no option {name!r}.", hint=f"it has {', '.join(list(known)[1:]) or 'none'}."
            )
    for name, parameter in list(known.items())[1:]:
        if parameter.default is inspect.Parameter.empty and name not in chosen:
            raise OptionError(f"to={to!r} needs the option {name!r}.")
    return chosen
