"""Data sets: manifests, folders of files, OpenML; what is wrong with them is said in words."""

from __future__ import annotations

import pyarrow as pa
import pytest

from experiments.studies.data_sets import choose, find_data_sets
from tanager.errors import OptionError


def test_a_manifest_says_what_is_a_category_and_only_empty_cells_are_missing(sets):
    mixed = sets[1]
    X, y = mixed.read()
    assert X.column_names == ["code", "x", "none"]
    assert X.schema.field("code").type == pa.string()
    assert X.schema.field("x").type == pa.float64()
    assert set(X.column("none").to_pylist()) == {"none", None}
    assert set(y) == {"a", "b"}
    assert (mixed.n_rows, mixed.groups) == (40, ("small",))
    assert sets[2].n_train == 30


def test_sets_are_chosen_by_name_and_group(sets):
    assert [each.name for each in choose(sets, ["split", "easy"])] == ["split", "easy"]
    assert [each.name for each in choose(sets, None, ["other"])] == ["split"]
    with pytest.raises(OptionError, match="'mixd'; the nearest are 'mixed'"):
        choose(sets, ["mixd"])
    with pytest.raises(OptionError, match="no group 'big'"):
        choose(sets, None, ["big"])


def test_a_folder_of_files_needs_no_manifest(tmp_path):
    (tmp_path / "one.csv").write_text("x,class\n1,a\n2,b\n")
    (tmp_path / "two.arff").write_text("@relation r\n@attribute x numeric\n@attribute class {a,b}\n@data\n1,a\n2,b\n")
    (tmp_path / "notes.txt").write_text("not a table")
    sets = find_data_sets(tmp_path)
    assert [each.name for each in sets] == ["one", "two"]
    for each in sets:
        X, y = each.read()
        assert (X.column("x").to_pylist(), y.tolist()) == ([1, 2], ["a", "b"])
