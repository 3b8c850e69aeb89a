"""Every kind of column that was learnt, beside every kind given at prediction: converted without a loss, or refused."""

from __future__ import annotations

import datetime
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tanager import DataError, NaiveBayesClassifier, save_model
from tanager.cli.main import run
from tanager.files.write_table import write_table

CODES = [0, 1] * 6
CLASSES = ["no", "yes"] * 5 + ["yes", "no"]
DAY = datetime.date(1970, 1, 1)
CELLS = {
    "numbers": [0.0, 1.0],
    "whole numbers": [0, 1],
    "booleans": [False, True],
    "text": ["0", "1"],
    "categories": ["0", "1"],
    "dates": [DAY, DAY + datetime.timedelta(1)],
    "times": [datetime.datetime(1970, 1, 1), datetime.datetime(1970, 1, 2)],
    "durations": [datetime.timedelta(0), datetime.timedelta(1)],
}
ARROW = {"numbers": pa.float64(), "whole numbers": pa.int32(), "booleans": pa.bool_(), "text": pa.string()}
ARROW |= {"categories": pa.dictionary(pa.int8(), pa.string()), "dates": pa.date32(), "times": pa.timestamp("ms")}
ARROW |= {"durations": pa.duration("s")}
FAMILIES = [{"numbers", "whole numbers", "booleans"}, {"text", "categories"}, {"dates", "times"}, {"durations"}]


def arrow(kind):
    return pa.table({"a": pa.array([CELLS[kind][code] for code in CODES], ARROW[kind])})


def pandas(kind):
    frame = pd.DataFrame({"a": [CELLS[kind][code] for code in CODES]})
    return frame.astype("category") if kind == "categories" else frame


def polars(kind):
    return pl.DataFrame(pl.from_arrow(arrow(kind)))


def numpy(kind):
    cells = [CELLS[kind][code] for code in CODES]
    moments = {"dates": "M8[D]", "times": "M8[us]", "durations": "m8[us]"}
    return np.array(cells, dtype=moments.get(kind, object if kind == "categories" else None))[:, np.newaxis]


def stream(kind):
    whole = arrow(kind)
    return iter([whole.slice(0, 1), whole.slice(1)])


@cache
def learnt_from(container, kind, features="from_dtype"):
    return NaiveBayesClassifier(categorical_features=features).fit(container(kind), CLASSES)


@pytest.mark.parametrize(
    ("container", "learnt", "features"),
    [
        *((container, kind, "from_dtype") for container in (pandas, polars, arrow, numpy, stream) for kind in CELLS),
        *((arrow, kind, "all") for kind in ("whole numbers", "dates", "durations")),
    ],
)
def test_a_column_of_another_kind_is_converted_or_refused_by_its_name(container, learnt, features):
    frame = arrow if container is stream else container
    clf, name = learnt_from(frame, learnt, features), "x0" if container is numpy else "a"
    for given in CELLS:
        if any({learnt, given} <= family for family in FAMILIES):
            np.testing.assert_array_equal(clf.predict_proba(container(given)), clf.predict_proba(frame(learnt)))
        else:
            with pytest.raises(DataError, match=f"column '{name}' of the table to predict holds"):
                clf.predict_proba(container(given))


def test_numbers_that_are_neither_zero_nor_one_are_no_booleans():
    for cells in ([0, 2], [0.5, 1.0], pd.Categorical([3, 1])):
        with pytest.raises(DataError, match=r"column 'a' .* holds numbers.*it held booleans"):
            learnt_from(pandas, "booleans").predict(pd.DataFrame({"a": cells}))


@pytest.mark.parametrize(("suffix", "options"), [(".parquet", []), (".parquet", ["--stream"]), (".csv", [])])
@pytest.mark.parametrize("learnt", CELLS)
def test_the_command_converts_or_refuses_too(learnt, suffix, options, tmp_path, monkeypatch, capsys):
    """A CSV has no types: its digits are text where text was learnt and numbers elsewhere; it has no durations."""
    monkeypatch.chdir(tmp_path)
    save_model(learnt_from(arrow, learnt), "m.json")
    expected = learnt_from(arrow, learnt).predict(arrow(learnt)).tolist()
    for given in CELLS if suffix == ".parquet" else CELLS.keys() - {"durations"}:
        write_table(arrow(given), f"given{suffix}")
        code = run(["predict", "m.json", f"given{suffix}", *options])
        out, err = capsys.readouterr()
        written = given
        if suffix == ".csv":
            digits = given in ("text", "categories", "whole numbers", "numbers")
            written = "text" if learnt in ("text", "categories") else "numbers" if digits else given
        if any({learnt, written} <= family for family in FAMILIES):
            assert code == 0, err
            assert out.split()[1:] == expected or given != learnt
        else:
            assert code == 2, given
            assert "column 'a'" in err
