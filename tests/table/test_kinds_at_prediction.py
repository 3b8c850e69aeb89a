"""Every kind of column that was learnt, beside every kind given at prediction: converted without a loss, or refused."""

from __future__ import annotations

import datetime
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tanager import DataError, NaiveBayesClassifier

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
    "zoned times": [datetime.datetime(1970, 1, day, tzinfo=datetime.UTC) for day in (1, 2)],
    "durations": [datetime.timedelta(0), datetime.timedelta(1)],
}
ARROW = {"numbers": pa.float64(), "whole numbers": pa.int32(), "booleans": pa.bool_(), "text": pa.string()}
ARROW |= {"categories": pa.dictionary(pa.int8(), pa.string()), "dates": pa.date32(), "times": pa.timestamp("ms")}
ARROW |= {"zoned times": pa.timestamp("ms", "America/New_York"), "durations": pa.duration("s")}
FAMILIES = [{"numbers", "whole numbers", "booleans"}, {"text", "categories"}, {"dates", "times"}, {"zoned times"}]
FAMILIES += [{"durations"}]


def arrow(kind):
    return pa.table({"a": pa.array([CELLS[kind][code] for code in CODES], ARROW[kind])})


def pandas(kind):
    frame = pd.DataFrame({"a": [CELLS[kind][code] for code in CODES]})
    return frame.astype("category") if kind == "categories" else frame


def polars(kind):
    return pl.DataFrame(pl.from_arrow(arrow(kind)))


def numpy(kind):
    cells = [CELLS[kind][code] for code in CODES]
    types = {"dates": "M8[D]", "times": "M8[us]", "durations": "m8[us]", "categories": object, "zoned times": object}
    return np.array(cells, dtype=types.get(kind))[:, np.newaxis]


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
        *((arrow, kind, "all") for kind in ("whole numbers", "dates", "zoned times", "durations")),
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


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "-05:00"])
def test_a_time_with_a_zone_is_the_same_moment_in_any_zone(zone):
    clf = learnt_from(arrow, "zoned times")
    moved = arrow("zoned times")["a"].cast(pa.timestamp("us", zone))
    np.testing.assert_array_equal(clf.predict_proba(pa.table({"a": moved})), clf.predict_proba(arrow("zoned times")))


@pytest.mark.parametrize(
    ("first", "other"),
    [("dates", "times"), ("dates", "zoned times"), ("times", "zoned times"), ("zoned times", "times")],
)
def test_a_column_holds_dates_or_times_with_a_zone_or_without(first, other):
    mixed = pd.DataFrame({"a": pd.Series([CELLS[(first, other)[k % 2]][c] for k, c in enumerate(CODES)], dtype=object)})
    for table in mixed, mixed.to_numpy():
        with pytest.raises(DataError, match=r"mixes (dates|times with a zone) and times"):
            NaiveBayesClassifier().fit(table, CLASSES)
    batches = [arrow(first), arrow(other)]
    with pytest.raises(DataError, match=r"column 'a' holds .* in one part of the table and .* in another"):
        NaiveBayesClassifier().fit(iter([batch.append_column("class", [CLASSES]) for batch in batches]), "class")
