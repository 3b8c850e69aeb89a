"""Faults of the system while the command works: signals, full disks, closed streams, two writers.

Laws: a file is the old one or the new one as a whole; nothing is left beside it unless the process was killed outright;
the exit code says what happened, in at most one line and never in a traceback.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tanager import NaiveBayesClassifier, load_model, save_model
from tanager.files.read_table import read_table

TABLE = "x,c,y\n" + "1,u,a\n5,v,b\n1.5,u,a\n6,v,b\n" * 5
COMMAND = [sys.executable, "-c", "from tanager.cli.main import main; main()"]
FIT = [
    "fit",
    "table.csv",
    "--class",
    "y",
    "--structure",
    "naive-bayes",
    "--parameters",
    "frequency",
    "-o",
    "model.json",
]
PREDICT = ["predict", "model.json", "table.csv"]
# The file is written and not yet in its place: the moment at which most can go wrong. Who runs us may ignore SIGHUP.
WRITING = """
import os, signal, sys, time
signal.signal(signal.SIGHUP, signal.SIG_DFL)
def wait(file):
    print("writing", flush=True)
    time.sleep(60)
os.fsync = wait
from tanager.cli.main import main
main()
"""
# The terminal is closed at that moment.
HANGING_UP = """
import os
sync = os.fsync
def hang_up(file):
    os.kill(os.getpid(), signal.SIGHUP)
    sync(file)
os.fsync = hang_up
from tanager.cli.main import main
main()
"""
# A classifier whose first fit ends its process as the system does when memory runs out.
TERMINATED, INTERRUPTED, HUNG_UP, REFUSED = 143, 130, 129, 2


def prepare(folder: Path) -> bytes:
    """A table and an older model in a folder; the model's bytes."""
    (folder / "table.csv").write_text(TABLE)
    table = read_table(folder / "table.csv")
    save_model(NaiveBayesClassifier().fit(table.select(["x", "c"]), table["y"].to_numpy()), folder / "model.json")
    return (folder / "model.json").read_bytes()


def run(folder: Path, arguments: list[str], **options: Any) -> subprocess.CompletedProcess[bytes]:
    """Run the command in a folder to its end."""
    return subprocess.run([*COMMAND, *arguments], cwd=folder, capture_output=not options, check=False, **options)


def shell(folder: Path, arguments: list[str], around: str) -> subprocess.CompletedProcess[bytes]:
    """Run the command in a shell that does something to its streams: {} in `around` is the command."""
    line = around.format('"$@"')
    return subprocess.run(
        ["bash", "-c", line, "bash", *COMMAND, *arguments], cwd=folder, capture_output=True, check=False
    )


def check_folder(folder: Path, old: bytes, leftovers: bool = False) -> None:
    """The model is the older one, or a new one that can be read; nothing half-written lies beside it."""
    if (folder / "model.json").read_bytes() != old:
        load_model(folder / "model.json")
    names = {path.name for path in folder.iterdir()} - {"table.csv", "model.json"}
    assert leftovers or not names, f"left behind: {names}"


def check_refused(done: subprocess.CompletedProcess[bytes], words: bytes) -> None:
    """One line that says what is wrong, and the code of a refusal."""
    assert done.returncode == REFUSED, (done.returncode, done.stderr)
    assert done.stderr.count(b"\n") <= 1, done.stderr
    assert words in done.stderr, done.stderr


def signal_while_writing(folder: Path, number: int) -> int:
    """The exit code of a fit that gets a signal when its file is written and not yet in its place."""
    old = prepare(folder)
    child = subprocess.Popen(
        [sys.executable, "-c", WRITING, *FIT], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"writing\n"
    child.send_signal(number)
    _, complaint = child.communicate()
    assert b"Traceback" not in complaint, complaint
    assert (folder / "model.json").read_bytes() == old
    check_folder(folder, old, leftovers=number == signal.SIGKILL)
    return child.returncode


def terminated(folder: Path) -> None:
    assert signal_while_writing(folder, signal.SIGTERM) == TERMINATED


def hung_up(folder: Path) -> None:
    assert signal_while_writing(folder, signal.SIGHUP) == HUNG_UP


def hung_up_when_that_is_ignored(folder: Path) -> None:
    """As `nohup` asks for: the fit goes on."""
    old = prepare(folder)
    ignoring = [sys.executable, "-c", "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)" + HANGING_UP, *FIT]
    assert subprocess.run(ignoring, cwd=folder, capture_output=True, check=False).returncode == 0
    assert (folder / "model.json").read_bytes() != old
    check_folder(folder, old)


def interrupted(folder: Path) -> None:
    assert signal_while_writing(folder, signal.SIGINT) == INTERRUPTED


def killed(folder: Path) -> None:
    assert signal_while_writing(folder, signal.SIGKILL) == -signal.SIGKILL


def closed_output(folder: Path) -> None:
    prepare(folder)
    check_refused(shell(folder, PREDICT, "{} >&-"), b"cannot write standard output")


def closed_output_that_nobody_needs(folder: Path) -> None:
    old = prepare(folder)
    assert shell(folder, FIT, "{} >&- <&- 2>&-").returncode == 0
    check_folder(folder, old)


def closed_input(folder: Path) -> None:
    prepare(folder)
    check_refused(shell(folder, ["predict", "model.json", "-"], "{} <&-"), b"standard input is empty")


def closed_complaints(folder: Path) -> None:
    prepare(folder)
    assert shell(folder, ["predict", "model.json", "absent.csv"], "{} 2>&-").returncode == REFUSED
    assert shell(folder, ["predict", "model.json", "absent.csv"], "{} 2>/dev/full").returncode == REFUSED


def few_letters(folder: Path) -> None:
    """An output that has ASCII alone: names of any script go there as codes."""
    prepare(folder)
    (folder / "table.csv").write_text(TABLE.replace("u", "\u00e9"), encoding="utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    options: dict[str, Any] = {"env": environment, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    done = run(folder, ["explain", "model.json", "table.csv", "--row", "2"], **options)
    assert done.returncode == 0, done.stderr
    assert b"\\xe9" in done.stdout, done.stdout


def full_device(folder: Path) -> None:
    prepare(folder)
    check_refused(shell(folder, PREDICT, "{} >/dev/full"), b"no space left on device")


def reader_that_stops(folder: Path) -> None:
    prepare(folder)
    done = shell(folder, PREDICT, "{} | true; exit ${{PIPESTATUS[0]}}")
    assert (done.returncode, done.stderr) == (0, b""), done


def full_disk(folder: Path) -> None:
    """A limit on the size of files, met in the middle of writing."""
    old = prepare(folder)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))

    done = subprocess.run(
        [*COMMAND, *FIT],
        cwd=folder,
        capture_output=True,
        check=False,
        preexec_fn=limit,
        env={**os.environ, "NUMBA_CACHE_DIR": "/nonexistent"},
    )
    check_refused(done, b"cannot write 'model.json'")
    assert (folder / "model.json").read_bytes() == old
    check_folder(folder, old)


def folder_that_takes_no_file(folder: Path) -> None:
    prepare(folder)
    check_refused(run(folder, [*FIT[:-1], "/proc/model.json"]), b"cannot write '/proc/model.json'")


def long_names(folder: Path) -> None:
    """As long as the file system takes, and one longer: refused before the table is read."""
    prepare(folder)
    longest = "\u20ac" * 83 + ".json"
    assert run(folder, [*FIT[:-1], longest]).returncode == 0
    load_model(folder / longest)
    check_refused(run(folder, ["fit", "absent.csv", *FIT[2:-1], "x" * 251 + ".json"]), b"name too long")


def two_writers(folder: Path) -> None:
    old = prepare(folder)
    both = [subprocess.Popen([*COMMAND, *FIT], cwd=folder) for _ in range(2)]
    assert [writer.wait() for writer in both] == [0, 0]
    check_folder(folder, old)


FAULTS: dict[str, Callable[[Path], None]] = {
    "SIGTERM while the file is written": terminated,
    "SIGHUP while the file is written": hung_up,
    "SIGHUP that is to be ignored": hung_up_when_that_is_ignored,
    "SIGINT while the file is written": interrupted,
    "SIGKILL while the file is written": killed,
    "stdout closed": closed_output,
    "all streams closed, and none needed": closed_output_that_nobody_needs,
    "stdin closed": closed_input,
    "stderr closed or full": closed_complaints,
    "stdout of few letters": few_letters,
    "stdout full": full_device,
    "a reader of stdout that stops": reader_that_stops,
    "a full disk": full_disk,
    "a folder that takes no file": folder_that_takes_no_file,
    "names as long as they can be": long_names,
    "two writers of one file": two_writers,
}


def signal_at_random(folder: Path, rng: np.random.Generator) -> None:
    """A signal at any moment of a fit: the model is the older one or a new one as a whole."""
    old = prepare(folder)
    number = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL][rng.integers(4)]
    child = subprocess.Popen([*COMMAND, *FIT], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        child.wait(rng.uniform(0.0, 2.0))
    except subprocess.TimeoutExpired:
        child.send_signal(number)
        child.wait()
    check_folder(folder, old, leftovers=number == signal.SIGKILL)
