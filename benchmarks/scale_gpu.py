"""Learning on a GPU through torch: from codes on the device, and what copying them there costs.

`python -m benchmarks.scale_gpu` with torch and a CUDA device; without one it says so. `--device cpu --small` is a trial
run of the same code. Every workload is first compared with the NumPy engine on a sample of its rows and attributes.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import time
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np

from benchmarks.timing import print_head, print_row
from tanager.counts.count_store import CountStore
from tanager.counts.engine import choose_engine
from tanager.parameters import Conditional, Frequency, ParameterTask
from tanager.parameters.conditional import learner
from tanager.scores import FCLL
from tanager.structure import LearntStructure, StructureTask, Tree
from tanager.table.rows import EncodedBatch

if find_spec("torch"):
    import torch

    from tanager.torch.rows import DeviceRows

SAMPLE_ROWS, SAMPLE_ATTRIBUTES = 20_000, 40


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--small", action="store_true", help="a hundredth of the work")
    arguments = parser.parse_args()
    if not find_spec("torch") or (arguments.device == "cuda" and not torch.cuda.is_available()):
        print("Not run: there is no torch here, or no CUDA device.")
        return
    place = torch.cuda.get_device_name() if arguments.device == "cuda" else "CPU"
    packages = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("torch", "numpy", "scipy"))
    print(f"{place}; {packages}; folds of the prior by {choose_fold_pass()}\n")
    print_head()
    share = 10 if arguments.small else 1
    long = Workload(1_000_000 // share**2, 100 // share, 4, arguments.device)
    long.check()
    long.report("TAN-fCLL, structure and frequencies", long.tan, "under 50 ms")
    long.report("of this, the structure", long.structure, "")
    long.report("counts of all pairs alone", long.pairs, "")
    long.report("TAN-fCLL + conditional", long.conditional, "under 2 s", n_times=2)
    long.report("copy and group by class", long.copy, "")
    if arguments.device == "cuda":
        print(f"\nAt most {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB of the device's memory were in use.")


def choose_fold_pass() -> str:
    """Strengths of the prior are chosen on the host, by compiled passes where numba can be imported there."""
    try:
        import numba
    except ImportError:
        learner.worth_compiling = lambda cells, batch: False
        return "SciPy"
    return f"numba {numba.__version__}"


class Workload:
    """Rows of a random tree: an attribute repeats an earlier one or the class half of the time."""

    def __init__(self, n_rows: int, n_attributes: int, n_states: int, device: str) -> None:
        self.engine = choose_engine("torch", device)
        self.name = f"{n_rows:,} x {n_attributes:,}, {n_states} states"
        rng = np.random.default_rng(0)
        classes = rng.integers(0, 2, n_rows, dtype=np.uint8)
        codes = rng.integers(0, n_states, (n_attributes, n_rows), dtype=np.uint8)
        for attribute, parent in enumerate(rng.integers(-1, np.arange(n_attributes)).tolist()):
            source = classes if parent < 0 else (codes[parent] + classes) % n_states
            codes[attribute] = np.where(rng.random(n_rows) < 0.5, source, codes[attribute])
        self.batch = self.rows(codes, classes, n_states)

    @staticmethod
    def rows(codes: np.ndarray, classes: np.ndarray, n_states: int) -> EncodedBatch:
        every = (*[n_states] * len(codes), 2)
        return EncodedBatch(codes.T, classes, every, np.zeros(len(codes), dtype=bool))

    def counts(self, batch: EncodedBatch | None = None, engine: str = "torch") -> CountStore:
        """Of rows that are on the device already, if they are all rows."""
        batch = self.batch if batch is None else batch
        names = [*map(str, range(batch.n_attributes)), "class"]
        return CountStore(batch, self.engine if engine == "torch" else choose_engine(engine), names)

    def pairs(self) -> None:
        self.counts().pairs()

    def structure(self, counts: CountStore | None = None) -> LearntStructure:
        counts = self.counts() if counts is None else counts
        return Tree().learn(StructureTask(counts, FCLL(), counts.names))

    def tan(self) -> None:
        counts = self.counts()
        Frequency().learn(ParameterTask(self.structure(counts).dag, counts))

    def conditional(self) -> str:
        counts = self.counts()
        learnt = Conditional().learn(ParameterTask(self.structure(counts).dag, counts))
        trace = learnt.trace
        return f"{trace.passes} passes, {trace.passes_on_folds} on folds; {trace.end}"

    def report(self, what: str, work: Callable[[], object], asked: str, n_times: int = 5) -> None:
        """The median of some runs after one that is not timed, and their range."""
        times = []
        for _ in range(n_times + 1):
            self.wait()
            start = time.perf_counter()
            found = work()
            self.wait()
            times.append(time.perf_counter() - start)
        times = sorted(times[1:])
        spread = f"{times[0] * 1e3:.3g} to {times[-1] * 1e3:.3g} ms"
        spread += f"; {found}" if isinstance(found, str) else ""
        print_row(f"{what}, {self.name}", times[len(times) // 2], spread, None, asked)

    def copy(self) -> None:
        DeviceRows.of(self.batch, self.engine.device)

    def wait(self) -> None:
        if self.engine.device.type == "cuda":
            torch.cuda.synchronize()

    def check(self) -> None:
        """Integers, the tree, tables and losses of a sample of the rows and attributes, against NumPy."""
        codes, classes = self.batch.codes[:SAMPLE_ROWS, :SAMPLE_ATTRIBUTES].T, self.batch.class_codes[:SAMPLE_ROWS]
        batch = self.rows(codes, classes, self.batch.n_states[0])
        device, host = self.counts(batch), self.counts(batch, "numpy")
        np.testing.assert_array_equal(device.pairs().counts, host.pairs().counts)
        expected = self.structure(host)
        assert self.structure(device).dag == expected.dag
        self._check_passes(host, device, expected)

    def _check_passes(self, host: CountStore, device: CountStore, structure: LearntStructure) -> None:
        from tanager.parameters.class_cells import ClassCells
        from tanager.parameters.conditional.objectives import IndicatorPass, Layout
        from tanager.torch.row_pass import TorchPass

        cells = ClassCells.of(structure.dag, host.n_states)
        odds = np.random.default_rng(1).normal(size=(cells.n_cells, 1)) / 10
        rows = DeviceRows.of(device.rows, self.engine.device)
        value, gradient = TorchPass(rows, Layout.of(cells, [device.rows]), 0)(odds)
        expected_value, expected = IndicatorPass(cells, host.rows, 0)(odds)
        np.testing.assert_allclose(value, expected_value, rtol=1e-9)
        np.testing.assert_allclose(gradient, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
        tables = [Frequency().tables(ParameterTask(structure.dag, counts)) for counts in (host, device)]
        for one, other in zip(*tables, strict=True):
            np.testing.assert_allclose(other, one, rtol=1e-9)


if __name__ == "__main__":
    main()
