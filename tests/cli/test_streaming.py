"""`fit` and `predict` batch by batch against the same commands on the table in memory."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from tanager.cli import training_data
from tanager.cli.main import run
from tanager.files import read_table as read_table_module
from tanager.files.read_table import bytes_in_memory
from tanager.files.write_table import write_table
from tanager.runtime import resources
from tanager.table.stream import source as stream_source


@pytest.fixture
def files(iris, monkeypatch) -> pa.Table:
    """iris.csv, iris.parquet and a folder of Parquet files; batches are small."""
    monkeypatch.setattr(stream_source, "BATCH_ROWS", 40)
    monkeypatch.setattr(read_table_module, "STREAM_BLOCK", 1_500)
    write_table(iris, "iris.parquet")
    Path("parts").mkdir()
    for number in range(3):
        write_table(iris.slice(50 * number, 50), f"parts/{number}.parquet")
    return iris


def fit(*arguments: str) -> dict[str, object]:
    assert (
        run(["fit", *arguments, "--class", "species", "--structure", "tan", "-o", "model.json", "--no-validate"]) == 0
    )
    return json.loads(Path("model.json").read_text())


@pytest.mark.parametrize("data", ["iris.csv", "iris.parquet", "parts"])
def test_a_streamed_fit_writes_the_same_model(files, data):
    assert fit(data, "--stream") == fit("iris.csv", "--no-stream")


def test_a_stream_is_not_validated_and_says_so(files, capsys, monkeypatch):
    said: list[str] = []
    monkeypatch.setattr("tanager.cli.fit.say", said.append)
    command = ["fit", "iris.csv", "--class", "species", "--structure", "tan", "-o", "model.json"]
    assert run([*command, "--stream"]) == 0
    assert json.loads(Path("model.json").read_text())["quality"] is None
    assert "was not measured" in said[2]
    assert run([*command, "--no-stream"]) == 0
    assert json.loads(Path("model.json").read_text())["quality"] is not None
    assert "On rows the model had not seen (5 folds): accuracy 9" in said[6]


def test_the_number_of_rows_is_told(files, capsys):
    for data in ("iris.csv", "iris.parquet"):
        assert run(["fit", data, "--class", "species", "--stream", "-o", "model.json", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["rows"] == 150


@pytest.mark.parametrize(("free", "streamed"), [(100, True), (10**9, False)])
@pytest.mark.parametrize("data", ["iris.csv", "iris.parquet"])
def test_a_file_streams_by_itself_where_memory_is_short(files, data, free, streamed, monkeypatch):
    monkeypatch.setattr(training_data, "available_memory", lambda: free)
    opened = []
    own = training_data.open_batches
    monkeypatch.setattr(
        training_data, "open_batches", lambda *rest, **named: opened.append(rest) or own(*rest, **named)
    )
    fit(data)
    assert run(["predict", "model.json", data, "-o", "out.csv"]) == 0
    assert len(opened) == (2 if streamed else 0)


def test_the_size_in_memory_is_that_of_the_columns(tmp_path):
    texts = [f"{'x' * 96}{number:04}" for number in range(1_000)]
    table = pa.table({"a": np.arange(1_000), "b": np.zeros(1_000, np.int8), "c": texts})
    write_table(table, tmp_path / "a.parquet")
    assert bytes_in_memory(tmp_path / "a.parquet") == pytest.approx(1_000 * (8 + 1 + 16 + 100), rel=0.06)
    assert bytes_in_memory(tmp_path) == bytes_in_memory(tmp_path / "a.parquet")


def test_available_memory_is_what_a_limit_on_addresses_leaves(monkeypatch):
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (10**9, 10**9))
    monkeypatch.setattr(resources, "_lines", lambda file: ["7 1 1"] if file == "/proc/self/statm" else [])
    assert resources.available_memory() == 10**9 - 7 * resource.getpagesize()


def test_available_memory_is_the_least_of_machine_and_control_group(monkeypatch):
    files = {
        "/proc/meminfo": ["MemTotal: 9 kB", "MemAvailable:  5000 kB"],
        "/proc/self/cgroup": ["4:cpu:/", "3:memory:/box", "0::/inner"],
        "/sys/fs/cgroup/memory/box/memory.limit_in_bytes": ["4000000"],
        "/sys/fs/cgroup/memory/box/memory.usage_in_bytes": ["1000000"],
        "/sys/fs/cgroup/inner/memory.max": ["max"],
        "/sys/fs/cgroup/inner/memory.current": ["12"],
    }
    monkeypatch.setattr(resources, "_lines", lambda file: files.get(file, []))
    assert resources.available_memory() == 3_000_000
    files["/sys/fs/cgroup/inner/memory.max"] = ["2000012"]
    assert resources.available_memory() == 2_000_000
    del files["/proc/self/cgroup"]
    assert resources.available_memory() == 5_000 * 1_024


def test_text_after_numbers_in_a_stream_of_text_is_refused_with_a_way_out(files, capsys):
    lines = ["a,species"] + [f"{row},x" for row in range(2_000)] + ["many,y"]
    Path("late.csv").write_text("\n".join(lines) + "\n")
    assert run(["fit", "late.csv", "--class", "species", "--stream", "-o", "m.json"]) == 2
    error = capsys.readouterr().err
    assert "somewhere after row" in error
    assert "--no-stream" in error
    assert not Path("m.json").exists()
