"""The torch engine: the same integers in parts of any size, on the device asked for; the rest is in test_engines."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from oracle import count_rows, random_batch  # noqa: E402
from tanager.counts.engine import NumpyEngine, choose_engine  # noqa: E402
from tanager.errors import MemoryLimitError, OptionError  # noqa: E402
from tanager.torch import engine as torch_engine  # noqa: E402
from tanager.torch import rows as torch_rows  # noqa: E402
from tanager.torch.engine import TorchEngine  # noqa: E402
from tanager.torch.rows import DeviceRows  # noqa: E402

# The same laws hold on a GPU where there is one.
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
N_STATES = (4, 2, 3, 7, 1, 3)
SETS = [(0,), (5,), (0, 2), (3, 5), (1, 3, 5)]


def assert_same_counts(engine, batch):
    np.testing.assert_array_equal(engine.count_pairs(batch).counts, NumpyEngine().count_pairs(batch).counts)
    for nodes, counted in zip(SETS, engine.count(batch, SETS), strict=True):
        np.testing.assert_array_equal(counted, count_rows(batch, nodes).reshape(-1))


@pytest.mark.parametrize("gaps", [0.0, 0.2])
@pytest.mark.parametrize("n_bytes", [1, 2_000, 30_000])
def test_counts_are_the_same_in_parts_of_any_size(monkeypatch, gaps, n_bytes):
    monkeypatch.setitem(torch_rows.WORKING_BYTES, DEVICE, n_bytes)
    monkeypatch.setattr(torch_rows, "SMALLEST_WORKING_BYTES", 1)
    assert_same_counts(TorchEngine(DEVICE), random_batch(1, 300, N_STATES, gaps))


def test_sums_too_large_for_one_product_are_added_up(monkeypatch):
    monkeypatch.setattr(torch_engine, "EXACT_ROWS", 130)
    assert_same_counts(TorchEngine(DEVICE), random_batch(2, 1000, N_STATES))


def test_wide_attributes_are_counted_by_position(monkeypatch):
    monkeypatch.setattr(torch_engine, "WIDEST", 3)
    assert_same_counts(TorchEngine(DEVICE), random_batch(3, 200, N_STATES, gaps=0.1))


def test_a_batch_is_copied_to_the_device_once(monkeypatch):
    copied = []
    own = DeviceRows.of
    monkeypatch.setattr(DeviceRows, "of", lambda batch, device: copied.append(batch) or own(batch, device))
    engine, one, other = TorchEngine(DEVICE), random_batch(5, 50, N_STATES), random_batch(6, 50, N_STATES)
    for batch in (one, one, other, one):
        engine.count(batch, SETS)
        engine.count_pairs(batch)
    assert [batch is one for batch in copied] == [True, False, True]


def fail_above(most, tried):
    """Work that needs `most` bytes at a time."""

    def work(n_bytes):
        tried.append(n_bytes)
        if n_bytes > most:
            raise torch.OutOfMemoryError
        return "done"

    return work


def test_parts_are_halved_until_they_fit_in_memory():
    tried = []
    cpu = torch.device("cpu")
    assert torch_rows.with_less_memory(fail_above(1 << 24, tried), cpu, "counting") == "done"
    assert tried == [1 << 26, 1 << 25, 1 << 24]


def test_memory_too_small_for_the_smallest_parts_is_an_error_that_names_the_device():
    tried = []
    with pytest.raises(MemoryLimitError, match=r"device 'cpu' is full: counting failed even in blocks of 1 MiB"):
        torch_rows.with_less_memory(fail_above(0, tried), torch.device("cpu"), "counting")
    assert tried[-1] == 1 << 20


@pytest.mark.parametrize("device", ["tpu", "meta", "graphics", 3.5])
def test_an_unknown_device_is_refused(device):
    with pytest.raises(OptionError, match=r"device=.* is not known; expected 'cuda'"):
        choose_engine("torch", device)


def test_a_device_is_refused_by_engines_that_have_none():
    with pytest.raises(OptionError, match="device='cuda' has no meaning for engine='numba'"):
        choose_engine("numba", "cuda")


def test_cuda_that_is_not_there_is_an_error_and_no_device_asked_for_is_the_cpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(OptionError, match=r"device='cuda' asks for a CUDA device that is not there.*sees 0"):
        choose_engine("torch", "cuda")
    assert choose_engine("torch").device == torch.device("cpu")


def test_a_cuda_device_beyond_those_there_is_an_error(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    for device in (None, "cuda", "cuda:0"):
        assert choose_engine("torch", device).device == torch.device("cuda", 0)
    with pytest.raises(OptionError, match=r"device='cuda:1'.*sees 1"):
        choose_engine("torch", "cuda:1")


def test_torch_is_loaded_only_when_asked_for():
    code = "import sys, tanager; from tanager import TANClassifier; TANClassifier(); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_without_torch_the_error_says_what_to_install():
    code = "import sys; sys.modules['torch'] = None; from tanager.counts.engine import choose_engine as c; c('torch')"
    run = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert "OptionError: engine='torch' needs the package torch" in run.stderr
    assert "pip install 'tanager[torch]'" in run.stderr


def test_the_code_of_the_page_about_gpus_runs():
    page = (Path(__file__).parents[2] / "docs" / "gpu.md").read_text()
    blocks = re.findall(r"^```py\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 1
    exec(compile("".join(blocks), "gpu.md", "exec", dont_inherit=True), {})
