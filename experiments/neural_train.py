"""Fit RealMLP and TabM to the folds that `experiments.neural_rivals export` wrote, on a machine without Tanager.

    python neural_train.py FOLDER [--workers 14] [--minutes 9] [--device cuda] [--sets iris,heart]

needs numpy, torch and pytabkit alone. The small sets come first. Each fit adds a line to FOLDER/fits.jsonl as it is
done, with P(class | test row); a run that was stopped goes on with what the file lacks. After so many minutes no result
is waited for.
"""

from __future__ import annotations

import json
import logging
import multiprocessing
import sys
import time
import warnings
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

PLAN, FITS = "plan.json", "fits.jsonl"


class Task(NamedTuple):
    """One fit: a fold's file and a classifier of pytabkit."""

    file: Path
    name: str
    fold: int
    classifier: str
    class_name: str
    options: dict[str, Any]

    @property
    def key(self) -> tuple[str, int, str]:
        return self.name, self.fold, self.classifier


def main(arguments: Sequence[str]) -> None:
    parser = ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--workers", type=int, default=1, help="processes, each of one thread; they share the GPU")
    parser.add_argument("--minutes", type=float, help="then stop; a later run goes on")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--sets", type=lambda text: text.split(","), help="only these, by name")
    options = parser.parse_args(arguments)
    end = time.monotonic() + (60.0 * options.minutes if options.minutes else float("inf"))
    train(options.folder, options.workers, end, options.device, options.sets)


def train(folder: Path, n_workers: int, end: float, device: str, sets: Sequence[str] | None = None) -> None:
    """Do what FITS lacks; no longer than the clock says."""
    todo = plan(folder, device, sets)
    print(f"{len(todo)} fits to do", flush=True)
    # Processes that are forked cannot use a GPU.
    context = multiprocessing.get_context("spawn")
    with (folder / FITS).open("a", encoding="utf-8") as lines, context.Pool(n_workers, _start) as pool:
        results = pool.imap_unordered(fit, todo)
        for number in range(1, len(todo) + 1):
            try:
                record = results.next(max(end - time.monotonic(), 0.0) if end < float("inf") else None)
            except multiprocessing.TimeoutError:
                print("out of time", flush=True)
                return
            lines.write(json.dumps(record) + "\n")
            lines.flush()
            said = record.get("failure") or f"{record['wall_seconds']:.1f} s"
            print(f"{number}/{len(todo)} {record['set']} {record['fold']} {record['classifier']}: {said}", flush=True)


def plan(folder: Path, device: str, sets: Sequence[str] | None = None) -> list[Task]:
    """The fits that FITS lacks or that failed, in the order of the plan."""
    planned = json.loads((folder / PLAN).read_text(encoding="utf-8"))
    file = folder / FITS
    done = set()
    if file.exists():
        text = file.read_text(encoding="utf-8")
        # A last line cut short by a kill would spoil the next one.
        file.write_text(text[: text.rfind("\n") + 1], encoding="utf-8")
        fits = [each for each in read_fits(folder) if "failure" not in each]
        done = {(each["set"], each["fold"], each["classifier"]) for each in fits}
    tasks = [
        Task(folder / fold["file"], fold["set"], fold["fold"], classifier, class_name, {**options, "device": device})
        for fold in planned["folds"]
        if sets is None or fold["set"] in sets
        for classifier, (class_name, options) in planned["classifiers"].items()
    ]
    return [task for task in tasks if task.key not in done]


def read_fits(folder: Path) -> list[dict[str, Any]]:
    """The records that `fit` gave; the last of a fit counts."""
    return [json.loads(line) for line in (folder / FITS).read_text(encoding="utf-8").splitlines()]


def _start() -> None:
    """A worker has one thread, as each fit of the field, and says nothing of its own."""
    import torch

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)


def fit(task: Task) -> dict[str, Any]:
    """P(class | test row) and seconds; or the reason why there are none."""
    import pytabkit
    import torch

    record: dict[str, Any] = dict(zip(("set", "fold", "classifier"), task.key, strict=True))
    record["device"] = torch.cuda.get_device_name() if task.options["device"] == "cuda" else "CPU"
    began = time.monotonic()
    with np.load(task.file) as arrays:
        X, y, X_test, categories = (arrays[name] for name in ("X", "y", "X_test", "categories"))
    try:
        started = time.process_time()
        fitted = getattr(pytabkit, task.class_name)(**task.options).fit(X, y, cat_indicator=categories.tolist())
        fit_seconds = time.process_time() - started
        started = time.process_time()
        probabilities = fitted.predict_proba(X_test)
        predict_seconds = time.process_time() - started
    except Exception as error:
        return record | {"failure": f"{type(error).__name__}: {' '.join(str(error).split())}"}
    seconds = {"fit_seconds": fit_seconds, "predict_seconds": predict_seconds, "wall_seconds": time.monotonic() - began}
    # As float64 for the sake of JSON: the digits say every float32 exactly.
    return record | seconds | {"probabilities": probabilities.astype(np.float64).tolist()}


if __name__ == "__main__":
    main(sys.argv[1:])
