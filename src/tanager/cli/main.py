"""The command `tanager`: its subcommands, and what becomes of errors and warnings."""

from __future__ import annotations

import io
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, TextIO, cast

import typer

from tanager import __version__
from tanager.cli.demo import completion, demo
from tanager.cli.edit import edit
from tanager.cli.evaluate import compare, evaluate, stability
from tanager.cli.explain import explain
from tanager.cli.export import export
from tanager.cli.fit import fit
from tanager.cli.networks import convert, tune
from tanager.cli.options import Command
from tanager.cli.predict import predict
from tanager.cli.report import report
from tanager.cli.start import check, start
from tanager.errors import DataWarning, TanagerError

SIGNALLED = 128
"""The exit code of a command that a signal ends is this more than the signal's number."""
INTERRUPTED = 130
REFUSED = 2
FAILED = 1
DEBUG = "TANAGER_DEBUG"
"""The environment variable that asks for the traceback of a fault of ours."""

REPLACED = {
    "--curve": "use sklearn.model_selection.learning_curve with a classifier of Tanager.",
    "--set": "use mapie.classification.CrossConformalClassifier with a classifier of Tanager.",
    "--reason": "use --change, which shows the cells that decide.",
    "--report": "write it by `tanager report MODEL DATA`.",
    "--from": "name a file: its suffix gives the format.",
    "--to": "name a file: its suffix gives the format.",
}
"""Options of version 0.2 that are gone from a command, and what to use."""

# typer brings its own copy of click; the base of its errors about arguments has no public name.
UsageError = cast(type[Exception], typer.BadParameter.__mro__[1])

app = typer.Typer(
    name="tanager",
    help="Learn additive models and Bayesian network classifiers from tables, apply them, and measure them.",
    epilog="Begin with: tanager start FILE, or tanager demo",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
COMMANDS = (
    start,
    check,
    fit,
    predict,
    evaluate,
    compare,
    explain,
    convert,
    export,
    stability,
    tune,
    edit,
    report,
    demo,
)
for command in COMMANDS:
    app.command(cls=Command)(command)
app.command()(completion)


def _print_version(asked: bool) -> None:
    if asked:
        print(f"tanager {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass


def main() -> None:
    """Entry point of the command. A request to end is an exit, so that no half-written file is left."""
    for name in ("SIGTERM", "SIGHUP"):  # a terminal that is closed; Windows has no such signal
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:  # nohup asks to ignore it
            signal.signal(number, lambda number, frame: sys.exit(SIGNALLED + number))
    # joblib's keeper of what processes share tells the terminal of each pool that was not left in peace.
    os.environ.setdefault("PYTHONWARNINGS", "ignore:resource_tracker:UserWarning")
    _prepare_streams()
    code = run(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)  # all files are closed; threads of Arrow that still end can abort an exit that takes them down


def _prepare_streams() -> None:
    """Give the standard streams that are closed their numbers back, so that no file of ours gets one of these.

    An input that is closed is empty; to write to a closed output is an error.
    """
    sys.stdin = sys.stdin or os.fdopen(os.open(os.devnull, os.O_RDONLY))
    sys.stdout = sys.stdout or os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    sys.stderr = sys.stderr or os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # as stderr: names of any script on a terminal of few letters


def run(arguments: Sequence[str]) -> int:
    """Run one command line; the exit code.

    An error is one line on stderr: of what was asked for or given, or of the system, code 2, of the program itself
    code 1. An interruption is code 130. A reader of stdout that stops early is no error.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("always", DataWarning)
        _print_warnings()
        try:
            code = app(args=list(arguments), prog_name="tanager", standalone_mode=False)
            sys.stdout.flush()
        except TanagerError as error:
            return _refuse(str(error))
        except MemoryError:
            return _refuse("there is not enough memory for this table.")
        except UsageError as error:
            return _refuse_usage(error)
        except (KeyboardInterrupt, typer.Abort):
            return INTERRUPTED
        except SystemExit as stop:
            if isinstance(stop.__context__, BrokenPipeError):  # typer ends so where nobody reads stdout any more
                return 0
            raise
        except BrokenPipeError:
            _drop_output()
            return 0
        except OSError as error:
            _drop_output()
            return _refuse(_in_words(error))
        except Exception as error:
            if os.environ.get(DEBUG):
                raise
            what = f"{type(error).__name__}: {error}"
            _refuse(f"unexpected {what}. This is a fault of Tanager; {DEBUG}=1 in the environment shows where.")
            return FAILED
    return code if isinstance(code, int) else 0


def _print_warnings() -> None:
    """Show each warning once, as one line without the place in the code."""
    shown: set[str] = set()

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        words = _one_line(str(message))
        if words not in shown:
            shown.add(words)
            _complain(f"tanager: warning: {words}")

    warnings.showwarning = show


def _drop_output() -> None:
    """What is left in the buffer has nowhere to go, and Python would complain of it at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _in_words(error: OSError) -> str:
    """What the system refuses; where it names no file it is an output that takes no more."""
    what = "cannot write standard output" if error.filename is None else f"cannot use {str(error.filename)!r}"
    return f"{what}: {(error.strerror or str(error)).lower()}."


def _complain(line: str) -> None:
    """A line on stderr; where it takes none, the exit code has to do."""
    with suppress(OSError):
        print(line, file=sys.stderr, flush=True)


def _refuse(message: str) -> int:
    _complain(f"tanager: error: {_one_line(message)}")
    return REFUSED


def _refuse_usage(error: BaseException) -> int:
    message = error.format_message()  # type: ignore[attr-defined]
    if message:  # without arguments the help has been printed already
        context = getattr(error, "ctx", None)
        name = "tanager" if context is None else context.command_path
        option = getattr(error, "option_name", "")
        gone = f"{option} is gone; {REPLACED[option]}" if option in REPLACED else ""
        _refuse(gone or f"{message} Try '{name} --help'.")
    return REFUSED


def _one_line(message: str) -> str:
    return " ".join(message.split())
