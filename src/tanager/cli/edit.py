"""`tanager edit`: a model corrected by hand, and back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from tanager.cli import options
from tanager.cli.output import STREAM, check_stdout, optional_output
from tanager.errors import OptionError
from tanager.runtime.progress import say

if TYPE_CHECKING:
    from tanager.classifiers.base import TableClassifier


def edit(
    model: options.Model,
    edits: Annotated[
        str | None, typer.Argument(metavar="[EDITS]", help="A file of edits that a page of `tanager report` saved.")
    ] = None,
    output: Annotated[str | None, options.output("Where the new model goes; - is stdout.")] = None,
    refit: Annotated[
        str | None, options.option("DATA", "Fit the intercept again to these rows: mean probabilities are then right.")
    ] = None,
    who: Annotated[str, options.option("NAME", "The author of edits that name none.", "--by")] = "",
    undo: Annotated[bool, options.option(None, "Undo the last edits.", "--undo")] = False,
    missing: options.Missing = None,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Correct a model by hand; without EDITS, list what was corrected in it.

    The model must be an additive model. Edits flatten a stretch of a curve, make it rise or fall throughout, or remove
    an attribute or a pair, each with a reason. The new model stores who changed what, when and why. It does not store
    the quality of the old one: `tanager evaluate` and `tanager report` measure it again.

    Examples:

      tanager edit heart.json edits.json -o corrected.json
      tanager edit heart.json edits.json -o corrected.json --refit heart.csv --by "A. Nurse"
      tanager edit corrected.json
      tanager edit corrected.json --undo -o heart.json
    """
    from tanager.edits.edit import undo_edits
    from tanager.files.model_file import MODEL, load_model, save_model

    changes = edits is not None or undo
    if edits is not None and undo:
        raise OptionError("--undo takes the last edits back and applies none.", hint="leave EDITS out.")
    if changes != (output is not None):
        raise OptionError("-o names the file for the changed model, so it goes with EDITS or --undo.")
    if refit is not None and edits is None:
        raise OptionError("--refit goes with EDITS.")
    check_stdout(as_json, output)
    with optional_output(output, ".json", MODEL, [model, edits, refit], force) as path:
        clf = load_model(model)
        if path is not None:
            clf = undo_edits(clf) if edits is None else _edited(clf, edits, refit, who, missing)
            save_model(clf, path)
    if output == STREAM:
        return
    if output is not None:
        say(f"{output}: {_count(clf)}")
    _show(clf, as_json)


def _edited(
    clf: TableClassifier, edits: str, refit: str | None, who: str, missing: list[str] | None
) -> TableClassifier:
    from tanager.cli.training_data import read_labelled_rows
    from tanager.edits.edit import apply_edits
    from tanager.files.edits_file import load_edits

    X, y = None, None
    listed = load_edits(edits).signed(who)
    if refit is not None:
        X, y = read_labelled_rows(refit, clf, missing)
        if y is None:
            raise OptionError(f"--refit {refit} has no class column {clf.encoder_.schema.target.name!r}.")
    return apply_edits(clf, listed, X, y)


def _count(clf: TableClassifier) -> str:
    n_edits = sum(len(revision.edits) for revision in clf.edits_)
    return f"{n_edits:,} edit{'' if n_edits == 1 else 's'} in it"


def _show(clf: TableClassifier, as_json: bool) -> None:
    from tanager.files.edits_file import write_edits

    if as_json:
        print(json.dumps([{**write_edits(each.edits), "refitted": each.refitted} for each in clf.edits_], indent=2))
        return
    for revision in clf.edits_:
        print(revision)
    if not clf.edits_:
        print("No edits: the model is as it was learnt.")
