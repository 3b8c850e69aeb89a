"""Tests run in a process of their own, forked from one that has imported every library but this package."""

from __future__ import annotations

import gc
import importlib
import importlib.util
import json
import os
import resource
import signal
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, FrameType

import pytest
from hypothesis import Phase, settings

from mutation.mutants import Mutant

# No doctests; and hypothesis is imported before pytest starts, which pytest warns of.
QUIET = ["-x", "-q", "--tb=no", "-o", "addopts=--import-mode=importlib", "-p", "no:cacheprovider", "-p", "no:xdist"]
QUIET += ["-p", "no:unraisableexception", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
MAX_MEMORY = 12 << 30


def warm_up() -> None:
    """Import what takes long, and make hypothesis draw the same examples in every process."""
    for name in ("numba", "pandas", "scipy.optimize", "sklearn.ensemble", "sklearn.linear_model"):
        importlib.import_module(name)
    phases = (Phase.explicit, Phase.generate)
    settings.register_profile("mutants", derandomize=True, database=None, deadline=None, phases=phases)
    settings.load_profile("mutants")
    # What is imported by now stays: a collection in a forked process need not look at it.
    gc.freeze()


def fork(work: Callable[[], int]) -> int:
    """Start `work` in a process, and return its id."""
    pid = os.fork()
    if pid:
        return pid
    code = int(pytest.ExitCode.USAGE_ERROR)
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (1, 2):
            os.dup2(nothing, stream)
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        code = work()
    finally:
        os._exit(code)


class Reach:
    """Notes which tests call which functions of the package, and how long each test takes."""

    def __init__(self, package: Path) -> None:
        self.package = f"{package}/"
        self.tests: dict[str, set[str]] = defaultdict(set)
        self.seconds: dict[str, float] = {}
        self.called: set[CodeType] = set()

    def _call(self, frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            self.called.add(frame.f_code)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> object:
        self.called = set()
        threading.setprofile(self._call)
        sys.setprofile(self._call)
        try:
            return (yield)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
            for code in self.called:
                if code.co_filename.startswith(self.package):
                    file = code.co_filename.removeprefix(self.package)
                    for reached in (file, f"{file} {code.co_qualname.split('.<locals>')[0]}"):
                        self.tests[reached].add(item.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration

    def write(self, file: Path) -> None:
        tests = {reached: sorted(tests, key=self.seconds.__getitem__) for reached, tests in self.tests.items()}
        file.write_text(json.dumps({"calling": tests, "seconds": self.seconds}))


def find_reach(package: Path, tests: Sequence[str], file: Path) -> int:
    """Run the tests as they are, and write which reach which functions."""
    reach = Reach(package)
    code = int(pytest.main([*QUIET, *tests], plugins=[reach]))
    reach.write(file)
    return code


class Chosen:
    """Runs these tests, in this order, and no others; one that takes many times its seconds ends the process."""

    def __init__(self, seconds: Mapping[str, float]) -> None:
        self.seconds = seconds
        self.place = {test: place for place, test in enumerate(seconds)}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted((i for i in items if i.nodeid in self.place), key=lambda item: self.place[item.nodeid])

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        limit_time(5 + 5 * self.seconds[item.nodeid])


def limit_time(seconds: float) -> None:
    """End the process after so many seconds of work, or ten times as many of waiting."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, 10 * seconds)


def try_mutant(mutant: Mutant, package: Path, seconds: Mapping[str, float]) -> int:
    """Run tests, given with the seconds they take, on the package with the mutant in it: 0 if all pass."""
    limit_time(30)
    sys.meta_path.insert(0, _Finder(mutant, package))
    files = dict.fromkeys(test.split("::")[0] for test in seconds)
    return int(pytest.main([*QUIET, *files], plugins=[Chosen(seconds)]))


class _Finder:
    """Finds the mutated file in place of the one on disk."""

    def __init__(self, mutant: Mutant, package: Path) -> None:
        self.path = package / mutant.file
        self.mutant = mutant
        parts = Path(package.name, mutant.file).with_suffix("").parts
        self.module = ".".join(parts).removesuffix(".__init__")

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name != self.module:
            return None
        return importlib.util.spec_from_file_location(
            name, self.path, loader=_Loader(name, str(self.path), self.mutant)
        )


class _Loader(SourceFileLoader):
    def __init__(self, name: str, path: str, mutant: Mutant) -> None:
        super().__init__(name, path)
        self.mutant = mutant

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.mutant.text(self.get_data(self.path)), self.path, "exec", dont_inherit=True)
