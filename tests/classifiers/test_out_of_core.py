"""A fit on batches against the fit on the same rows in memory."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import namedtuple
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest

from classifiers.stream_tables import assert_same_model, cut, mixed_table, split
from tanager import BayesianNetworkClassifier, NaiveBayesClassifier
from tanager.errors import DataError, DataWarning, FileError, MemoryLimitError, OptionError
from tanager.parameters import Frequency
from tanager.table.stream import coder as stream_coder
from tanager.table.stream import reader as stream_reader

LABELS = {
    "text": pa.array(["no", "yes"] * 20),
    "integers": pa.array([3, 4] * 20),
    "bytes": pa.array([3, 4] * 20, pa.int8()),
    "floats": pa.array([3.0, 4.0] * 20, pa.float32()),
    "booleans": pa.array([False, True] * 20),
    "dictionary": pa.array(["no", "yes"] * 20).dictionary_encode(),
}


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("unlabelled", [(), (3,), tuple(range(20, 40))], ids=["none", "one", "a batch"])
@pytest.mark.filterwarnings("ignore:the class is missing")
def test_predictions_have_the_type_that_a_fit_in_memory_gives_them(kind, unlabelled):
    labels = LABELS[kind].to_pylist()
    table = pa.table({"a": [1, 2] * 20, "outcome": pa.array(labels, LABELS[kind].type, mask=mask_of(unlabelled))})
    X = table.select(["a"])
    expected = NaiveBayesClassifier().fit(X, table["outcome"])
    clf = NaiveBayesClassifier().fit(cut(table, [20]), "outcome")
    assert clf.classes_.dtype == expected.classes_.dtype
    assert clf.predict(X).dtype == expected.predict(X).dtype
    np.testing.assert_array_equal(clf.predict(X), expected.predict(X))


def mask_of(rows: tuple[int, ...]) -> np.ndarray:
    return np.isin(np.arange(40), rows)


def test_many_distinct_numbers_are_cut_within_the_error_of_the_sketch(monkeypatch):
    monkeypatch.setattr(stream_coder, "MAX_DISTINCT_NUMBERS", 100)
    rng = np.random.default_rng(3)
    x = rng.normal(size=40_000)
    table = pa.table({"x": x, "outcome": np.where(x + 0.2 * rng.normal(size=len(x)) > 0.5, "b", "a")})
    clf = NaiveBayesClassifier(discretizer="quantile").fit(cut(table, [10_000, 20_000, 30_000]), "outcome")
    cuts = np.array(clf.encoder_.schema.attributes[0].cuts)
    ranks = np.searchsorted(np.sort(x), cuts) / len(x)
    # Four batches: each row through at most three summaries of 8,192 groups, then a value of the sketch for a quantile.
    np.testing.assert_allclose(ranks, np.arange(1, 8) / 8, atol=4 / 8_192 + 1 / len(x))


def sources(table: pa.Table, folder: Path):
    pa.parquet.write_table(table.slice(0, 150), folder / "a.parquet", row_group_size=40)
    pa.parquet.write_table(table.slice(150), folder / "b.parquet")
    data = pa.dataset.dataset(folder, format="parquet")
    yield data
    yield data.filter(pa.dataset.field("outcome") != "nothing")
    yield pa.dataset.dataset(table)
    yield table.to_reader(max_chunksize=70)
    yield iter(table.to_batches(max_chunksize=70))
    yield (part.to_pandas() for part in cut(table, [100]))
    polars = pytest.importorskip("polars")
    yield polars.scan_parquet(folder / "*.parquet")
    yield iter([polars.from_arrow(part) for part in cut(table, [100])])


def test_every_source_gives_the_same_model(tmp_path):
    table = mixed_table(300)
    X, y = split(table)
    expected = BayesianNetworkClassifier("tan", parameters="frequency").fit(X, y)
    n_sources = 0
    for source in sources(table, tmp_path):
        assert_same_model(BayesianNetworkClassifier("tan", parameters="frequency").fit(source, "outcome"), expected)
        n_sources += 1
    assert n_sources == 8


def late_category(table):
    """In the last batch alone, between batches without rows."""
    late = table.set_column(0, "word", pa.array(["late"] * 300))
    return [table.slice(0, 0), table, table.slice(0, 0), late.slice(250), table.slice(0, 0)]


def declared_order(table):
    words = pa.array(np.arange(300) % 3, pa.int8()), pa.array(["low", "mid", "high"])
    return list(cut(table.set_column(0, "word", pa.DictionaryArray.from_arrays(*words, ordered=True)), [90]))


ODD_BATCHES = {
    "a category of the last batch": late_category,
    "categories in an order": declared_order,
    "a class seen late": lambda table: list(cut(table.sort_by([("outcome", "descending")]), [20, 150])),
    "columns without a value": lambda table: list(
        cut(table.append_column("nothing", pa.nulls(300)).append_column("none", pa.nulls(300, pa.float64())), [10])
    ),
    "many classes": lambda table: list(
        cut(table.set_column(5, "outcome", pa.array([f"class {row % 40}" for row in range(300)])), [5])
    ),
}


@pytest.mark.parametrize("case", ODD_BATCHES)
@pytest.mark.filterwarnings("ignore:column 'no.* holds no value:tanager.DataWarning")
def test_odd_batches_give_the_model_of_the_table_in_memory(case):
    parts = ODD_BATCHES[case](mixed_table(300))
    clf = BayesianNetworkClassifier("tan", parameters="frequency").fit(iter(parts), "outcome")
    X, y = split(pa.concat_tables(parts))
    assert_same_model(clf, BayesianNetworkClassifier("tan", parameters="frequency").fit(X, y))
    if case == "categories in an order":
        assert clf.encoder_.schema.attributes[0].categories == ("low", "mid", "high")


def test_rows_without_a_class_are_left_out_with_a_warning():
    table = mixed_table(120)
    labels = pa.array([None if row % 6 == 0 else label.as_py() for row, label in enumerate(table["outcome"])])
    gappy = table.set_column(5, "outcome", labels)
    with pytest.warns(DataWarning, match="the class is missing in 20 of 120 rows; they are left out"):
        clf = NaiveBayesClassifier().fit(cut(gappy, [1, 50]), "outcome")
    X, y = split(gappy)
    with pytest.warns(DataWarning, match="the class is missing in 20 of 120 rows"):
        assert_same_model(clf, NaiveBayesClassifier().fit(X, y))


class BrokenError(Exception):
    pass


def failing(error: BaseException):
    yield from cut(mixed_table(200), [100])
    raise error


def open_temporary_files(folder: Path) -> list[str]:
    links = Path("/proc/self/fd")
    found = [os.readlink(link) for link in links.iterdir() if link.exists() or link.is_symlink()]
    return [name for name in found if name.startswith(str(folder))]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the open files of a process are listed on Linux only")
@pytest.mark.parametrize("error", [BrokenError(), KeyboardInterrupt()])
def test_an_iterator_that_raises_leaves_no_file_behind(error, tmp_path, monkeypatch, small_chunks):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    seen = []
    monkeypatch.setattr(
        stream_reader,
        "choose_categorical",
        lambda *rest: seen.append(open_temporary_files(tmp_path)) or np.ones(5, bool),
    )
    with pytest.raises(type(error)):
        NaiveBayesClassifier().fit(failing(error), "outcome")
    assert len(seen[-1]) == 1  # it was open
    assert list(tmp_path.iterdir()) == []
    assert open_temporary_files(tmp_path) == []


def test_a_killed_process_leaves_no_file_behind(tmp_path):
    code = (
        "import os, signal, pyarrow as pa\n"
        "from tanager import NaiveBayesClassifier\n"
        "def batches():\n"
        "    for part in range(3):\n"
        "        yield pa.table({'a': ['x', 'y'] * 200_000, 'outcome': [0, 1] * 200_000})\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "NaiveBayesClassifier().fit(batches(), 'outcome')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "TMPDIR": str(tmp_path)}, check=False)
    assert done.returncode == -signal.SIGKILL
    assert list(tmp_path.iterdir()) == []


def test_codes_that_find_no_space_are_refused(monkeypatch, small_chunks):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage(1_000, 900, 100))
    with pytest.raises(MemoryLimitError, match="which has 100 left"):
        NaiveBayesClassifier().fit(cut(mixed_table(200), [100]), "outcome")


def test_a_file_with_other_columns_is_named(tmp_path):
    pa.parquet.write_table(mixed_table(30), tmp_path / "a.parquet")
    pa.parquet.write_table(mixed_table(30).rename_columns(["other", *"bcde", "outcome"]), tmp_path / "b.parquet")
    with pytest.raises(FileError, match=r"b.parquet' has the column 'b', unlike the first file"):
        NaiveBayesClassifier().fit(pa.dataset.dataset(tmp_path), "outcome")


@pytest.mark.parametrize("damage", ["cut in half", "a byte short", "inside"])
def test_a_damaged_file_is_named(tmp_path, damage):
    for name in "abc":
        pa.parquet.write_table(mixed_table(2_000), tmp_path / f"{name}.parquet", compression="zstd")
    broken = tmp_path / "b.parquet"
    data = bytearray(broken.read_bytes())
    if damage == "inside":
        data[100:400] = bytes(300)
    broken.write_bytes(data[: len(data) // 2] if damage == "cut in half" else data[:-1] if "short" in damage else data)
    with pytest.raises(FileError, match=r"b.parquet' cannot be read"):
        NaiveBayesClassifier().fit(pa.dataset.dataset(tmp_path), "outcome")


@pytest.mark.parametrize(
    ("batches", "y", "message"),
    [
        ([mixed_table(20)], [0, 1], "expected the name of the class column"),
        ([mixed_table(20)], "outcom", "no column 'outcom' to predict; its columns, nearest first, are 'outcome'"),
        ([mixed_table(20).select(["outcome"])], "outcome", "no column besides the class"),
        ([mixed_table(20), mixed_table(20).drop_columns(["flag"])], "outcome", "batch 1 lacks the column 'flag'"),
        ([pa.table({"a": [1, 2], "outcome": ["x", "x"]})], "outcome", "holds one class, 'x', in 2 rows"),
        ([pa.table({"a": [1, 2], "outcome": [None, None]})], "outcome", "the class column 'outcome' holds no class"),
        ([np.zeros((3, 2))], "outcome", "without column names"),
        ([pa.table({"a": [1, 2], "outcome": [1.0, 2.5]})], "outcome", "holds 2.5; expected classes, not a quantity"),
        ([pa.table({"a": [1], "outcome": [date(2020, 1, 1)]})], "outcome", "holds dates; expected text"),
    ],
)
@pytest.mark.filterwarnings("ignore:the class is missing")
def test_unusable_batches_are_refused_in_words(batches, y, message):
    with pytest.raises(DataError, match=message):
        NaiveBayesClassifier().fit(iter(batches), y)


class WholeTable(Frequency):
    needs = "memory"


def test_a_part_that_needs_all_rows_at_once_is_refused_before_anything_is_read():
    clf = BayesianNetworkClassifier("tan", parameters=WholeTable())
    with pytest.raises(OptionError, match=r"WholeTable\(\) needs all rows in memory at once, and the table comes"):
        clf.fit((pytest.fail("read") for _ in range(1)), "outcome")


def test_a_batch_to_predict_that_lacks_a_column_is_refused():
    table = mixed_table(60)
    clf = NaiveBayesClassifier().fit(iter([table]), "outcome")
    with pytest.raises(DataError, match="batch 1 lacks column 'float'"):
        clf.predict(iter([table, table.drop_columns(["float"])]))
