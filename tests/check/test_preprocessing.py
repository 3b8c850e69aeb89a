"""Texts that are numbers and dates, and what a recipe does to a table: by itself, from a file, in a model."""

from __future__ import annotations

import datetime
import json
from contextlib import nullcontext

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager import DataError, FileError, NaiveBayesClassifier, load_model, save_model
from tanager.check.preprocessing import STEPS, Category, Date, Drop, Merge, Missing, Number, Recipe
from tanager.check.text_values import ORDERS, merge_key, parse_date, parse_number
from tanager.files import load_recipe, save_recipe
from tanager.table.read_columns import read_columns

SEPARATORS = [("", "."), (",", "."), (".", ","), (" ", ","), ("'", "."), ("", ",")]
FORMATS = {"day-month-year": "%d{0}%m{0}%Y", "month-day-year": "%m{0}%d{0}%Y", "year-month-day": "%Y{0}%m{0}%d"}


def write_number(value: float, thousands: str, decimal: str) -> str:
    return f"{value:,.2f}".replace(",", "T").replace(".", decimal).replace("T", thousands)


@given(st.floats(-1e9, 1e9), st.sampled_from(SEPARATORS))
def test_a_number_is_read_as_it_was_written(value, style):
    assert parse_number(write_number(value, *style), *style) == float(f"{value:.2f}")


@pytest.mark.parametrize("text", ["", "x", "1,2", "12,34", "1,2345", "1.2.3", "1,234,56", "nan", "inf", "1e999", "٣"])
def test_what_is_no_number_is_none(text):
    assert parse_number(text, ",", ".") is None


def test_blanks_of_any_width_separate_thousands():
    assert parse_number(" 1\u00a0234\u202f567,5 ", " ", ",") == 1234567.5


moments = st.datetimes(datetime.datetime(1970, 1, 1), datetime.datetime(2060, 1, 1)).map(
    lambda moment: moment.replace(microsecond=0)
)


@given(moments, st.sampled_from(list(ORDERS)), st.sampled_from("-/. "), st.booleans())
def test_a_date_is_read_as_it_was_written(moment, order, sign, clock):
    text = moment.strftime(FORMATS[order].format(sign))
    midnight = moment.replace(hour=0, minute=0, second=0)
    if clock:
        assert parse_date(f"{text} {moment:%H:%M:%S}", order) == moment
    else:
        assert parse_date(text, order) == midnight


@pytest.mark.parametrize(
    ("text", "order", "expected"),
    [
        ("5 Jan 2024", "day-month-year", datetime.datetime(2024, 1, 5)),
        ("January 5, 2024", "month-day-year", datetime.datetime(2024, 1, 5)),
        ("5/1/68", "day-month-year", datetime.datetime(2068, 1, 5)),
        ("5/1/69", "day-month-year", datetime.datetime(1969, 1, 5)),
        ("31/02/2024", "day-month-year", None),
        ("12/31/2024", "day-month-year", None),
        ("12/2024", "day-month-year", None),
    ],
)
def test_dates_with_names_of_months_and_short_years(text, order, expected):
    assert parse_date(text, order) == expected


@given(st.text(max_size=8))
def test_blanks_and_case_do_not_change_the_key(text):
    assert merge_key(f"  {text}\t") == merge_key(text) == merge_key(text.casefold())


@pytest.mark.parametrize(
    ("text", "unit", "number"),
    [("12 %", "%", 0.12), ("-12%", "%", -0.12), ("12", "%", None), ("€ 5", "€", 5.0), ("-€5", "€", -5.0),
     ("5 EUR", "EUR", 5.0), ("7", "€", 7.0), ("€", "€", None), ("5 %", "", None)],
)  # fmt: skip
def test_a_unit_stands_before_or_after_a_number(text, unit, number):
    assert parse_number(text, unit=unit) == number


RECIPE = Recipe(
    (
        Drop("id"),
        Number("price", ",", ".", ("free",)),
        Date("when", "day-month-year", missing=("never",)),
        Merge("town", ("New York",)),
        Missing("sex", ("unknown",)),
        Category("zip"),
        Merge("y", ("yes", "no")),
    ),
    ("?",),
    "y",
)
CELLS = {
    "id": st.text("abc", min_size=1, max_size=3),
    "price": st.sampled_from(["1,234", "950", "12,000.5", "free", " 7 ", "NA", "?", None]),
    "when": st.sampled_from(["31/12/2024", "1/2/2023", "never", "NA", None]),
    "town": st.sampled_from(["New York", "new  york ", "Rome", " Rome", " ", "?", None]),
    "sex": st.sampled_from(["f", "m", "unknown", None]),
    "zip": st.sampled_from(["007", "7", "12345", None]),
    "y": st.sampled_from(["yes", "Yes", "no ", "no"]),
}
rows = st.lists(st.fixed_dictionaries(CELLS), min_size=1, max_size=12)
SCHEMA = pa.schema([(name, pa.string()) for name in CELLS])


def fixed_by_hand(row: dict[str, str | None]) -> dict[str, object]:
    """The oracle: one row by the words of the recipe."""
    prices = {"1,234": 1234.0, "950": 950.0, "12,000.5": 12000.5, " 7 ": 7.0}
    days = {"31/12/2024": datetime.date(2024, 12, 31), "1/2/2023": datetime.date(2023, 2, 1)}
    towns = {"New York": "New York", "new  york ": "New York", "Rome": "Rome", " Rome": "Rome"}
    return {
        "price": prices.get(row["price"]),
        "when": days.get(row["when"]),
        "town": towns.get(row["town"]),
        "sex": None if row["sex"] == "unknown" else row["sex"],
        "zip": row["zip"],
        "y": row["y"].strip().lower(),
    }


@settings(max_examples=60, deadline=None)
@given(rows)
def test_a_recipe_does_to_each_row_what_its_words_say(cells):
    fixed = RECIPE.apply(pa.Table.from_pylist(cells, SCHEMA))
    assert fixed.to_pylist() == [fixed_by_hand(row) for row in cells]


@settings(max_examples=30, deadline=None)
@given(rows)
def test_a_row_alone_is_fixed_as_among_others_whatever_the_frame(cells):
    whole = RECIPE.apply(pa.Table.from_pylist(cells, SCHEMA))
    for k, row in enumerate(cells):
        alone = pa.Table.from_pylist([row], SCHEMA)
        for frame in (alone, pl.from_arrow(alone), alone.to_pandas()):
            fixed = RECIPE.apply(frame)
            assert fixed.equals(whole.slice(k, 1).combine_chunks())
            assert fixed.to_pandas()["price"].dtype == float


@settings(max_examples=15, deadline=None)
@given(st.lists(st.fixed_dictionaries(CELLS), min_size=8, max_size=20))
def test_rows_to_predict_have_the_codes_of_training(cells):
    cells = [*cells, {**cells[0], "y": "yes"}, {**cells[0], "y": "no"}]
    table = RECIPE.apply(pa.Table.from_pylist(cells, SCHEMA))
    X, y = table.drop_columns(["y"]), table.column("y").to_pylist()
    with pytest.warns() if any(column.null_count == len(y) for column in X.columns) else nullcontext():
        clf = NaiveBayesClassifier().fit(X, y)
    codes = clf.encoder_.encode(read_columns(X))
    for k, row in enumerate(cells):
        new = RECIPE.apply(pa.Table.from_pylist([row], SCHEMA).drop_columns(["id", "y"]))
        assert clf.encoder_.encode(read_columns(new)).tolist() == [codes[k].tolist()]


def test_numbers_and_dates_of_a_frame_stay_what_they_are():
    frame = pd.DataFrame({"price": [1.5], "when": [datetime.datetime(2024, 1, 2)], "zip": [7], "town": ["Rome"]})
    frame["sex"] = "f"
    fixed = RECIPE.apply(frame)
    assert fixed.column("price").to_pylist() == [1.5]
    assert fixed.column("zip").to_pylist() == ["7"]


@given(st.lists(st.sampled_from([7.0, 7.5, -1.0, None]), min_size=1, max_size=5))
def test_a_number_taken_as_a_name_is_called_the_same_among_any_others(numbers):
    names = {7.0: "7", 7.5: "7.5", -1.0: "-1", None: None}
    fixed = Recipe((Category("zip"),)).apply(pa.table({"zip": pa.array(numbers, pa.float64())}))
    assert fixed.column("zip").to_pylist() == [names[number] for number in numbers]


def test_texts_that_mean_missing_leave_the_order_of_categories():
    grades = pa.DictionaryArray.from_arrays(pa.array([1, 0, 2, None]), pa.array(["low", "high", "?"]))
    fixed = Recipe(missing=("?",)).apply(pa.table({"grade": grades}))
    assert fixed.column("grade").type == grades.type
    assert fixed.column("grade").to_pylist() == ["high", "low", None, None]
    assert fixed.column("grade").chunk(0).dictionary.to_pylist() == ["low", "high", "?"]


def test_a_recipe_for_other_columns_is_refused():
    with pytest.raises(
        DataError, match=r"recipe is for other columns: the data has no 'town', 'sex', 'zip'; .*'price'"
    ):
        RECIPE.apply(pa.table({"price": ["1"], "when": ["1/2/2024"]}))


@pytest.mark.parametrize(("column", "cell", "words"), [("price", "dear", "number"), ("when", "12/31/2024", "date")])
def test_a_cell_that_is_no_number_or_date_is_refused_with_the_option_that_names_it(column, cell, words):
    row = dict.fromkeys(CELLS) | {column: cell}
    with pytest.raises(
        DataError, match=rf"column '{column}' holds '{cell}'; by the recipe it is a {words}.*\n.*--missing"
    ):
        RECIPE.apply(pa.Table.from_pylist([row], SCHEMA))


def test_a_recipe_comes_back_from_its_file_and_from_a_model(tmp_path):
    save_recipe(RECIPE, tmp_path / "recipe.json")
    assert load_recipe(tmp_path / "recipe.json") == RECIPE
    clf = NaiveBayesClassifier().fit([["a"], ["b"]], ["x", "y"])
    save_model(clf, tmp_path / "model.json", recipe=RECIPE)
    same = load_model(tmp_path / "model.json")
    save_model(same, tmp_path / "again.json")
    assert load_model(tmp_path / "again.json").recipe_ == same.recipe_ == RECIPE
    save_model(clf, tmp_path / "plain.json")
    assert not load_model(tmp_path / "plain.json").recipe_


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"recipe": []}, "no class, missing and steps"),
        ({"format": 9}, "format is 9"),
        ({"recipe": {"class": None, "missing": [1], "steps": []}}, "expected a list of texts"),
        ({"recipe": {"class": None, "missing": [], "steps": [{"step": "drop"}]}}, "has no column"),
        ({"recipe": {"class": None, "missing": [], "steps": [{"step": "dropp", "column": "a"}]}}, "'drop'"),
        ({"recipe": {"class": None, "missing": [], "steps": [{"step": "drop", "column": "a", "x": 1}]}}, "has 'x'"),
        ({"recipe": {"class": None, "missing": [], "steps": [{"step": "merge", "column": "a"}]}}, "not complete"),
        (
            {"recipe": {"class": None, "missing": [], "steps": [{"step": "date", "column": "a", "order": "dm"}]}},
            "day-month-year",
        ),
        (
            {"recipe": {"class": None, "missing": [], "steps": [{"step": "number", "column": "a", "decimal": 1}]}},
            "expected a text",
        ),
        (
            {"recipe": {"class": None, "missing": [], "steps": [
                {"step": "number", "column": "a", "decimal": ",", "thousands": ","}]}},
            "cannot separate thousands and decimals",
        ),
    ],
)  # fmt: skip
def test_a_file_that_is_no_recipe_is_refused(tmp_path, change, words):
    save_recipe(RECIPE, tmp_path / "recipe.json")
    document = json.loads((tmp_path / "recipe.json").read_text()) | change
    (tmp_path / "recipe.json").write_text(json.dumps(document))
    with pytest.raises(FileError, match="not a recipe that can be read") as caught:
        load_recipe(tmp_path / "recipe.json")
    assert words in str(caught.value)


def test_every_step_says_in_a_line_what_it_does():
    assert {step.name for step in RECIPE.steps} == set(STEPS)
    assert str(RECIPE).splitlines()[:3] == [
        "every column: missing (texts '?')",
        "id: drop",
        "price: number (thousands ',', decimal '.', missing 'free')",
    ]
