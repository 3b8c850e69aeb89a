"""Writing: what is read back is what was written, and a failed write leaves everything as it was."""

from __future__ import annotations

import csv
import stat

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager.errors import FileError
from tanager.files.paths import atomic_write, check_writable
from tanager.files.read_table import read_table
from tanager.files.write_table import escape_formulas, table_suffix, write_table

words = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), min_size=1, max_size=6).map("w".__add__)
tables = st.builds(
    lambda rows: pa.table(
        {
            'a, "b"': pa.array([row[0] for row in rows], pa.string()),
            "x": pa.array([row[1] for row in rows], pa.float64()),
        }
    ),
    st.lists(
        st.tuples(words | st.none() | st.just('w,"\n'), st.floats(allow_nan=False) | st.none()),
        min_size=1,
        max_size=6,
    ),
)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
@settings(max_examples=30, deadline=None)
@given(table=tables)
def test_a_table_is_read_back_as_written(tmp_path_factory, suffix, table):
    path = tmp_path_factory.mktemp("tables") / f"a{suffix}"
    write_table(table, path)
    assert read_table(path).to_pydict() == table.to_pydict()


def test_plain_text_is_written_without_quotes(tmp_path):
    write_table(pa.table({"class": ["yes", "no"], "p": [0.5, None]}), tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == "class,p\nyes,0.5\nno,\n"


@pytest.mark.parametrize("cells", [["a", None, "b,c"], [None, 1.5, None], [None, None, None]])
def test_other_readers_find_every_row_of_a_column_alone(tmp_path, cells):
    kind = pa.float64() if 1.5 in cells else pa.string()
    write_table(pa.table({"y": pa.array(cells, type=kind)}), tmp_path / "t.csv")
    with (tmp_path / "t.csv").open(newline="") as stream:
        assert [row[0] or None for row in csv.reader(stream)][1:] == [None if c is None else str(c) for c in cells]
    assert pd.read_csv(tmp_path / "t.csv")["y"].isna().tolist() == [cell is None for cell in cells]


TEXTS = {
    "string": pa.array(["=1+1", "-x", None, "-1", "b"]),
    "large": pa.array(["=1+1", "-x", None, "-1", "b"], pa.large_string()),
    "binary": pa.array([b"=1+1", b"-x", None, b"-1", b"b"]),
    "view": pa.array(["=1+1", "-x", None, "-1", "b"], pa.string_view()),
    "dictionary": pa.array(["=1+1", "-x", None, "-1", "b"], pa.large_string()).dictionary_encode(),
}


@pytest.mark.parametrize("texts", TEXTS.values(), ids=TEXTS)
def test_a_text_like_a_formula_is_escaped_whatever_the_type_of_its_column(tmp_path, texts):
    write_table(escape_formulas(pa.table({"@t": texts, "n": range(5)})), tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == "'@t,n\n'=1+1,0\n'-x,1\n,2\n-1,3\nb,4\n"


@pytest.mark.parametrize("column", [pa.array([[1], [2]]), pa.array([b"\xff", b""])], ids=["lists", "bytes"])
def test_a_column_that_text_cannot_hold_is_refused_by_name(tmp_path, column):
    with pytest.raises(FileError, match=r"column 'c' holds [\s\S]*\.parquet"):
        write_table(pa.table({"c": column}), tmp_path / "t.csv")
    write_table(pa.table({"c": column}), tmp_path / "t.parquet")
    assert [file.name for file in tmp_path.iterdir()] == ["t.parquet"]


def test_an_unknown_suffix_is_refused_with_the_valid_ones(tmp_path):
    for refuse in (lambda path: write_table(pa.table({"a": [1]}), path), table_suffix):
        with pytest.raises(FileError, match=r"\.csv, \.tsv, \.parquet"):
            refuse(tmp_path / "a.xls")
    assert not list(tmp_path.iterdir())


def unwritable(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    return [tmp_path / "absent" / "a.csv", tmp_path, tmp_path / "file" / "a.csv", "a\0.csv", tmp_path / ("a" * 300)]


def test_a_path_that_cannot_be_written_is_refused_before_and_at_the_write(tmp_path):
    for path in unwritable(tmp_path):
        if len(str(path)) < 300:
            with pytest.raises(FileError, match="cannot write"):
                check_writable(path)
        with pytest.raises(FileError, match="cannot write"), atomic_write(path) as stream:
            stream.write(b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_checking_a_target_leaves_nothing_behind(tmp_path):
    (tmp_path / "old").write_bytes(b"old")
    check_writable(tmp_path / "new")
    check_writable(tmp_path / "old")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("old", b"old")]


def test_permissions_and_links_are_kept(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    target.chmod(0o640)
    link.symlink_to(target)
    with atomic_write(link) as stream:
        stream.write(b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path):
    (tmp_path / "plain").write_bytes(b"")
    with atomic_write(tmp_path / "atomic") as stream:
        stream.write(b"x")
    assert (tmp_path / "atomic").stat().st_mode == (tmp_path / "plain").stat().st_mode
