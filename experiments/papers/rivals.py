"""The field's records of other people's classifiers, in one small tracked file: no machine need measure them again.

    python -m experiments.papers.rivals [FOLDER ...]

adds the rivals' records in these folders of results, experiments/results/field if none is named, to
experiments/records/rivals.jsonl. `python -m experiments.papers --field` reads in what its own folder lacks.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from experiments.studies.jobs import Key, Record, key_of, pair_of
from experiments.studies.protocol import Protocol
from experiments.studies.results import Results
from experiments.studies.results_folder import read_results, results_folder
from experiments.studies.study import Study
from tanager.errors import DataError, TanagerError

FILE = Path(__file__).parent.parent / "records" / "rivals.jsonl"
OTHERS = "OnTable("
"""How the text of an estimator begins that is not ours."""
PAIR = ("set", "classifier", "estimator")


def write_rivals(folders: Sequence[Path], file: Path = FILE) -> int:
    """Add the rivals' records of these folders, later ones in place of earlier ones; give how many the file has.

    The first line is the protocol. Each other line is a set and a classifier: what PAIR names once, then every measure
    as a list by fold, null where a fold has it not.
    """
    protocol = repr(Protocol())
    latest = {key_of(record): record for record in read_rivals(file)} if file.exists() else {}
    for folder in folders:
        settings, records = read_results(folder)
        if settings != protocol:
            raise DataError(f"the results in {str(folder)!r} are of {settings}; the field's are of {protocol}.")
        latest |= {key_of(record): record for record in records if record["estimator"].startswith(OTHERS)}
    lines = [{"protocol": protocol}, *_by_pair(latest)]
    file.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(line, separators=(",", ":"), ensure_ascii=False) + "\n" for line in lines)
    file.write_text(text, encoding="utf-8")
    return len(latest)


def read_rivals(file: Path = FILE) -> Iterator[Record]:
    """The records of the file; none if they are of another protocol."""
    heading, *lines = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    if heading["protocol"] != repr(Protocol()):
        return
    for line in lines:
        pair = {name: line.pop(name) for name in PAIR}
        for values in zip(*line.values(), strict=True):
            yield pair | {name: value for name, value in zip(line, values, strict=True) if value is not None}


def take_rivals(folder: Path, file: Path = FILE) -> int:
    """Put those records of the file into a folder of the field's results that it lacks; give how many."""
    if not file.exists():
        return 0
    with results_folder(folder, repr(Protocol())) as kept:
        known = {(key_of(record), record["estimator"]) for record in kept.records}
        lacking = [record for record in read_rivals(file) if (key_of(record), record["estimator"]) not in known]
        for record in lacking:
            kept.append(record)
    return len(lacking)


def say_devices(study: Study, results: Results) -> tuple[Study, Results]:
    """The same, with a note on classifiers that were fitted on another machine."""
    note = fitted_elsewhere(results.records)
    return (replace(study, notes=(*study.notes, note)) if note else study), results


def fitted_elsewhere(records: Iterable[Record]) -> str:
    """Which classifiers were fitted on another machine, on what device: in words, empty if none was."""
    pairs = sorted({(each["device"], *reversed(pair_of(each))) for each in records if "device" in each})
    counted = Counter((device, classifier) for device, classifier, _ in pairs)
    parts = [f"{classifier} on {number} sets ({device})" for (device, classifier), number in counted.items()]
    if not parts:
        return ""
    return f"Fitted on another machine, so that seconds cannot be compared: {', '.join(parts)}."


def _by_pair(latest: dict[Key, Record]) -> Iterator[Record]:
    """A line for each set, classifier and estimator, in the order of their names."""

    def pair(record: Record) -> tuple[str, ...]:
        return tuple(record[name] for name in PAIR)

    for values, group in groupby(sorted(latest.values(), key=lambda record: (*pair(record), record["fold"])), pair):
        records = list(map(_compact, group))
        names = dict.fromkeys(name for record in records for name in record if name not in PAIR)
        columns = {name: [record.get(name) for record in records] for name in names}
        yield dict(zip(PAIR, values, strict=True)) | columns


def _compact(record: Record) -> Record:
    """Without warnings, the sums of its calibration curve to three digits; measures exact, so that ties stay ties."""
    kept = {name: value for name, value in record.items() if name != "warnings"}
    if "calibration" in kept:
        kept["calibration"] = [[round(each, 3) for each in sums] for sums in kept["calibration"]]
    return kept


def main(folders: Sequence[str]) -> None:
    count = write_rivals([Path(folder) for folder in folders] or [FILE.parent.parent / "results" / "field"])
    print(f"{count:,} records in {FILE}")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except TanagerError as error:
        sys.exit(f"error: {error}")
