"""What a file asks for: time in proportion to its length, and no more memory than its length allows."""

from __future__ import annotations

import datetime
import tracemalloc

import pyarrow as pa
import pytest

from tanager import DataWarning, FileError, read_network
from tanager.check.preprocessing import NOTHING_TO_DO
from tanager.evaluate.specs import parse_part
from tanager.files.network_nodes import LOWER_BOUND
from tanager.files.read_arff import ArffError, read_header, split_cells
from tanager.files.read_csv import CellRules
from tanager.files.read_table import read_table

# Quadratic, these take minutes.
LONG = 200_000
COIN = "network n {} variable a { type discrete [2] { s, t }; } "
ROOM = 100 << 20


def refusal(tmp_path, suffix: str, content: str) -> str:
    path = tmp_path / f"bad{suffix}"
    path.write_text(content)
    with pytest.raises(FileError) as refused:
        read_network(path)
    return str(refused.value)


@pytest.mark.parametrize("suffix", [".bif", ".dne"])
def test_a_comment_that_is_never_closed_is_read_once(tmp_path, suffix):
    assert "cut short" in refusal(tmp_path, suffix, "network x " + "/* " * LONG)


@pytest.mark.parametrize("blank", [" ", "\t", "\r", "\\", "a "])
@pytest.mark.parametrize("end", ["y", "'", '"', ""])
def test_cells_of_arff_are_split_in_one_pass_whatever_they_hold(blank, end):
    line = "x" + blank * LONG + end
    try:
        cells = list(split_cells(line, 1))
    except ArffError:
        return
    assert len("".join(cell.text for cell in cells)) <= len(line)


def test_an_attribute_of_arff_is_read_in_one_pass():
    (attribute,) = read_header("@attribute a {x" + " " * LONG + "y}")
    assert attribute.values == ("x" + " " * LONG + "y",)
    with pytest.raises(ArffError, match="is not '@attribute name type'"):
        read_header("@attribute " + "a" * LONG)


def test_bounds_and_options_are_read_in_one_pass():
    assert LOWER_BOUND.fullmatch("[" + "1" * LONG + "x") is None
    learner = parse_part("structure", "kdb(k=" + " " * LONG + "3" + " " * LONG + ")")
    assert learner.k == 3


def test_rows_of_a_table_are_found_by_name_without_a_search(tmp_path):
    """As many rows as states: a search through the states for each row would be quadratic."""
    n_states = 30_000
    states = ", ".join(f"s{k}" for k in range(n_states))
    rows = " ".join(f"(s{k}) 1, 0;" for k in range(n_states))
    content = (
        f"{COIN}variable b {{ type discrete [{n_states}] {{ {states} }}; }} "
        f"probability ( a | b ) {{ {rows} }} probability ( b ) {{ table 1{', 0' * (n_states - 1)}; }}"
    )
    path = tmp_path / "wide.bif"
    path.write_text(content)
    assert read_network(path).tables[0].tolist() == [[1.0, 0.0]] * n_states


def hungry_bif(n_tables: int, n_parents: int) -> str:
    """Tables of 2^(parents + 1) cells each, in a few words."""
    variables = "".join(COIN[13:].replace(" a ", f" p{k} ") for k in range(n_parents))
    children = "".join(COIN[13:].replace(" a ", f" c{k} ") for k in range(n_tables))
    parents = ", ".join(f"p{k}" for k in range(n_parents))
    tables = "".join(f"probability ( c{k} | {parents} ) {{ default 0.5, 0.5; }}" for k in range(n_tables))
    return f"network n {{}} {variables} {children} {tables}"


HUNGRY = {
    "one table of .bif": (".bif", hungry_bif(1, 26)),
    "a table of more cells than a float can count": (".bif", hungry_bif(1, 2_000)),
    "many tables of .bif": (".bif", hungry_bif(100, 19)),
    "states of .uai": (".uai", "BAYES 1 100000000 1 1 0 100000000 1.0"),
    "states of .uai beside a parent without one": (".uai", "BAYES 2 0 100000000 2 1 0 2 0 1 0 0"),
    "cells of .uai": (".uai", "BAYES 1 2 1 1 0 900000000 1.0"),
    "results of .xdsl": (
        ".xdsl",
        "<smile><nodes><deterministic id='a'>"
        + "".join(f"<state id='s{k}'/>" for k in range(20_000))
        + f"<resultingstates>{' s1' * 20_000}</resultingstates></deterministic></nodes></smile>",
    ),
}


@pytest.mark.parametrize(("suffix", "content"), HUNGRY.values(), ids=HUNGRY)
def test_no_file_takes_memory_out_of_proportion_to_its_length(tmp_path, suffix, content):
    tracemalloc.start()
    try:
        refusal(tmp_path, suffix, content)
        assert tracemalloc.get_traced_memory()[1] < ROOM
    finally:
        tracemalloc.stop()


def test_a_default_may_stand_for_all_rows_of_a_table_of_common_size(tmp_path):
    path = tmp_path / "default.bif"
    path.write_text(hungry_bif(1, 15) + "".join(f"probability ( p{k} ) {{ table 0.5, 0.5; }}" for k in range(15)))
    assert read_network(path).tables[-1].shape == (2**15, 2)


def test_bounds_beyond_every_number_are_no_bins(tmp_path):
    path = tmp_path / "infinite.bif"
    path.write_text(
        'network n {} variable a { type discrete [2] { "< 1e999", ">= 1e999" }; } probability ( a ) { table 1, 0; }'
    )
    assert read_network(path).columns[0].kind == "categorical"


def test_a_part_of_a_date_may_stand_once_in_its_pattern():
    assert read_header("@attribute d date 'yyyy-MM-dd'")[0].date_format == "%Y-%m-%d"
    with pytest.raises(ArffError, match="'MM' stands twice"):
        read_header("@attribute d date 'yyyy-MM-MM'")


@pytest.mark.parametrize("literal", ["%Y", "%", "%Q", "100%%"])
def test_a_sign_in_quotes_of_a_date_pattern_stands_for_itself(tmp_path, literal):
    path = tmp_path / "dates.arff"
    path.write_text(f"@relation r\n@attribute d date \"yyyy'{literal}'\"\n@data\n2024{literal}\n")
    assert read_table(path)["d"].to_pylist() == [datetime.date(2024, 1, 1)]
    path.write_text(f"@relation r\n@attribute d date \"yyyy'{literal}'\"\n@data\n2024-{literal}\n")
    with pytest.raises(FileError, match="line 4: '2024-"):
        read_table(path)


def test_a_table_of_many_columns_is_mended_in_one_pass(tmp_path):
    """Marks, decimal commas and texts that mean missing: to replace the columns one by one would take minutes."""
    n_columns = 5_000
    names, path = [f"c{k}" for k in range(n_columns)], tmp_path / "wide.csv"
    path.write_text(";".join(names) + "\n" + ";".join(["1,5"] * n_columns) + "\n" + ";".join(["NA"] * n_columns) + "\n")
    with pytest.warns(DataWarning):
        table = read_table(path, CellRules(marks=True))
    assert table.column_names == names
    assert table.slice(0, 1).to_pylist() == [dict.fromkeys(names, 1.5)]
    recipe = NOTHING_TO_DO.with_options(["x"], names[1:], None)
    assert recipe.apply(pa.table({name: ["x", "y"] for name in names})).to_pylist() == [{"c0": None}, {"c0": "y"}]


def test_arff_without_rows_is_a_table_without_rows(tmp_path):
    path = tmp_path / "empty.arff"
    path.write_text("@relation r\n@attribute x numeric\n@attribute d date yyyy-MM-dd\n@attribute c {a,b}\n@data\n")
    table = read_table(path)
    assert (table.num_rows, table.column_names) == (0, ["x", "d", "c"])
