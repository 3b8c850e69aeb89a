"""The data checks find each fault that is planted, and nothing of high severity in clean tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from check.faults import FAULTS, clean_table
from tanager import DataError, OptionError, check
from tanager.check.class_issues import errors_of

seeds = st.integers(0, 10**6)


@settings(max_examples=40, deadline=None)
@given(seeds)
def test_nothing_of_high_severity_is_found_in_a_clean_table(seed):
    found = check(*clean_table(seed))
    assert found.of_severity("high") == ()
    assert found.recipe.steps == ()


@pytest.mark.parametrize("name", FAULTS)
@settings(max_examples=6, deadline=None)
@given(seed=seeds)
def test_a_planted_fault_is_found_and_what_it_does_to_other_columns_is_nothing(name, seed):
    X, y = clean_table(seed)
    fault = FAULTS[name]
    X["planted"] = fault.make(np.random.default_rng(seed), y)
    found = check(X, y)
    (finding,) = [each for each in found.findings if each.column == "planted" and fault.words in each.what]
    assert finding.severity == fault.severity
    assert {each.column for each in found.of_severity("high")} <= {"planted"}
    assert [step.name for step in found.recipe.steps] == ([fault.step] if fault.step else [])
    # The example is a cell of the table, and the remedy leaves nothing of high severity that it could fix.
    if finding.row is not None and isinstance(X["planted"][finding.row], str):
        assert finding.example == repr(X["planted"][finding.row])
    again = check(found.recipe.apply(X), y)
    assert [each for each in again.findings if each.column == "planted" and each.steps] == []


@pytest.mark.parametrize(
    ("spoil", "severity", "words"),
    [
        (lambda y: y.where(y.index > 3, y + " "), "high", "differ only by blanks or case"),
        (lambda y: y.where(y.index > 3, "rare"), "high", "a class with fewer than 10 rows: 'rare'"),
        (lambda y: y.where(y.index > 3, None), "medium", "missing in 4 of"),
        (lambda y: pd.Series(np.arange(len(y)) / 7), "high", "is it a quantity?"),
        (lambda y: pd.Series(np.arange(len(y)) // 2), "high", "is it a quantity?"),
        (lambda y: "P" + y.index.astype(str), "high", "different texts in"),
        (lambda y: y.where(y.index < 0, "one"), "high", "'one' in every row"),
        (lambda y: y.where(y.index < 0, None), "high", "is the class, and empty"),
        (lambda y: y.where(y.index < 0, "  "), "high", "nothing but blanks"),
    ],
    ids=["spelling", "rare", "unlabelled", "fractions", "numbers", "identifiers", "single", "empty", "blanks"],
)
def test_what_is_odd_about_a_class_is_found(spoil, severity, words):
    X, y = clean_table(1)
    found = check(X, pd.Series(spoil(y), name="state")).findings
    assert [each.severity for each in found if each.column == "state" and words in each.what] == [severity]


def test_a_leak_is_found_while_the_class_has_spellings_and_typos():
    X, y = clean_table(6)
    X["leak"] = y.map({"ill": 1, "well": 0})
    spelt = y.where(y.index % 3 > 0, y.str.upper() + " ")
    spelt[:4] = ["il", "il", "wel", "wel"]
    found = check(X, spelt)
    assert ("high", "leak") in [(each.severity, each.column) for each in found.findings if each.topic == "leak"]
    assert "is 'il' a typo of 'ill'?" in str(found)


def test_a_column_that_is_empty_in_one_of_three_classes_alone_reveals_it_and_its_hint_leaves_it_out():
    X, y = clean_table(7)
    y = y.where(y.index % 3 > 0, "dead")
    X["cause"] = np.where(y == "dead", "x", None)
    (finding,) = [each for each in check(X, y).findings if each.column == "cause"]
    assert (finding.severity, finding.topic) == ("high", "leak")
    assert finding.option == "if it is filled in only after the class is known, --drop cause leaves it out"


def test_a_code_for_missing_is_missing_in_texts_and_numbers_alike():
    ages = [*range(20, 60), 999, 999, 999]
    recipe = check(pd.DataFrame({"age": ages})).recipe
    expected = [*range(20, 60), None, None, None]
    for cells in (ages, [float(age) for age in ages], [f"{age}.0" for age in ages]):
        assert recipe.apply(pd.DataFrame({"age": cells})).column("age").to_pylist() == expected
    assert check(pd.DataFrame({"x": [-1, 0, 1] * 20})).recipe.steps == ()  # three values: -1 is one of them


@pytest.mark.parametrize(("locale", "first"), [("en_US", "month"), ("de_DE", "day")])
def test_the_locale_decides_where_no_cell_tells_the_day_from_the_month(monkeypatch, locale, first):
    monkeypatch.setattr("locale.getlocale", lambda: (locale, "UTF-8"))
    X = pd.DataFrame({"when": [f"{d:02}/{m:02}/2024" for d in range(1, 13) for m in range(1, 13)]})
    (finding,) = check(X).findings
    assert f"no cell tells the day from the month, so the {first} is taken as first" in finding.what
    assert finding.steps[0].order.startswith(first)


@pytest.mark.parametrize(
    ("numbers", "found"),
    [(range(149, -1, -1), True), ([*range(149), 200], False), ([*range(149), 0], False), (np.arange(150) + 0.5, False)],
    ids=["descending", "a leap", "a repeat", "fractions"],
)
def test_whole_numbers_without_a_leap_or_a_repeat_number_the_rows(numbers, found):
    issues = check(pd.DataFrame({"id": numbers, "x": [1, 2, 2] * 50})).findings
    assert any(each.what == "numbers the rows" for each in issues) == found


def test_repeated_rows_and_columns_are_counted():
    X, y = clean_table(2)
    X["city"] = X["town"].map({"Rome": 10, "Paris": 20, "Oslo": 30, "Bern": 40})
    twice = pd.concat([X, X[:9]], ignore_index=True)
    found = check(twice, pd.concat([y, y[:9]], ignore_index=True))
    (column,) = [each for each in found.findings if each.column == "city"]
    (rows,) = [each for each in found.findings if each.column is None]
    assert (column.severity, column.what) == ("medium", "is a renaming of column 'town'")
    assert rows.what.startswith(f"9 of {len(twice)} rows (")
    assert (rows.row, found.example(rows)) == (len(X), f"row {len(X)}")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2)), min_size=2, max_size=25))
def test_mistakes_are_those_of_the_other_rows_counted_by_hand(rows):
    codes, classes = map(np.array, zip(*rows, strict=True))
    usual = np.bincount(classes).argmax()
    expected = 0
    for row, (code, label) in enumerate(rows):
        others = [c for k, (v, c) in enumerate(rows) if v == code and k != row]
        votes = np.bincount(others, minlength=3)
        rival = max(votes[c] for c in range(3) if c != label)
        # A tie is half a mistake.
        expected += label != usual if not others else (votes[label] < rival) + 0.5 * (votes[label] == rival)
    assert errors_of(codes, classes, 5, 3, ordered=False) == expected


@settings(max_examples=20, deadline=None)
@given(seeds)
def test_noise_never_gives_the_class_away(seed):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({f"x{j}": rng.integers(0, 2 + j, 30) for j in range(40)} | {"text": rng.choice(list("abc"), 30)})
    assert not [each for each in check(X, rng.integers(0, 2, 30)).findings if "predicts" in each.what]


def test_two_orders_of_dates_in_one_column_are_said():
    mixed = pd.DataFrame({"when": [f"13/{m:02}/2024" if m % 2 else f"{m:02}/13/2024" for m in range(1, 13)] * 3})
    (finding,) = [each for each in check(mixed).findings if each.column]
    assert (finding.what, finding.steps) == (
        "holds dates as text, some with the day first and some with the month first", ())  # fmt: skip


def test_the_same_is_found_in_every_kind_of_table():
    X, y = clean_table(3)
    X["id"] = [f"P{k:05}" for k in range(len(X))]
    expected = check(X, y)
    for frame, labels in (
        (pl.from_pandas(X), pl.Series("state", y.tolist())),
        (pa.Table.from_pandas(X, preserve_index=False), y),
    ):
        assert check(frame, labels).findings == expected.findings
    assert [each.what for each in check(X.to_numpy(dtype=object)).findings] == [expected.findings[0].what]


def test_texts_of_digits_with_leading_zeros_stay_texts():
    X = pd.DataFrame({"plz": [f"{k % 40 * 37:05}" for k in range(200)]})
    assert check(X).recipe.steps == ()


def test_numbers_and_words_in_one_column_of_objects_are_found_and_fixed():
    ages = [31, "unknown", 28.5, None, *range(40, 60)]
    X = pd.DataFrame({"age": pd.Series(ages * 3, dtype=object), "size": range(72)})
    found = check(X[["age"]])
    assert found.findings[0].what.endswith("is the rest ('unknown') missing?")
    expected = [None if age == "unknown" else age for age in ages]
    assert found.recipe.apply(X).column("age").to_pylist()[:24] == expected


def test_a_class_of_another_length_is_refused():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        check([[1], [2]], [1])
    with pytest.raises(DataError, match="no row"):
        check(pd.DataFrame({"a": []}))


@settings(max_examples=15, deadline=None)
@given(seed=seeds, name=st.text(min_size=1, max_size=60), fault=st.sampled_from(list(FAULTS)))
def test_the_text_fits_80_columns(seed, name, fault):
    X, y = clean_table(seed)
    X[f"<script>{name}"] = FAULTS[fault].make(np.random.default_rng(seed), y)
    assert max(map(len, str(check(X, y)).split("\n"))) <= 80


def odd_table(cells: list[object]) -> pd.DataFrame:
    return pd.DataFrame({"odd": pd.Series(cells, dtype=object), "z": list("uv") * (len(cells) // 2)})


def test_cells_of_several_kinds_are_text_as_it_is_written():
    table = odd_table([pd.NA, "x", 1] * 10)
    assert check(table, list("ab") * 15).recipe.apply(table)["odd"].to_pylist()[:3] == [None, "x", "1"]


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ([np.array([1, 2]), pd.NA], "list<"),
        ([10**30, 1], "cannot be kept: 10000"),
        ([b"x", b"\xff"], "binary cells"),
        (["x\ud800", 1], "Unicode"),
    ],
    ids=["arrays", "numbers beyond 64 bits", "bytes", "half a letter"],
)
def test_cells_that_no_column_can_hold_are_one_clear_error(cells, words):
    with pytest.raises(DataError, match=words):
        check(odd_table(cells * 10), list("ab") * 10)


def test_a_class_by_its_name_is_the_class_by_its_cells_and_a_checkup_shows_itself():
    X, y = clean_table(4)
    by_name = check(X.assign(state=y), "state")
    assert by_name == check(X, y)
    assert repr(by_name) == str(by_name)
    with pytest.raises(OptionError, match="y='stat' is not known; expected one of 'state'"):
        check(X.assign(state=y), "stat")


@pytest.mark.parametrize(
    ("others", "code", "by_class", "is_fixed"),
    [(range(20, 60), 999, False, True), (range(20, 60), 999, True, False), (range(30), -1, False, False)],
    ids=["far outside", "of one class", "near the others"],
)
def test_a_code_is_taken_as_missing_by_itself_only_where_that_is_harmless(others, code, by_class, is_fixed):
    rows = 40 * list(others)
    y = np.array(["ill" if k // 7 % 2 else "well" for k in range(len(rows))])
    has_code = (y == "ill") & (np.arange(len(rows)) % 3 == 0) if by_class else np.arange(len(rows)) % 70 < 14
    (finding,) = [each for each in check(pd.DataFrame({"x": np.where(has_code, code, rows)}), y).findings if each.topic]
    assert finding.topic == "code"
    assert [step.missing for step in finding.offered] == [(str(code),)]
    assert finding.steps == (finding.offered if is_fixed else ())
    assert (finding.option == f"--missing {code}") != is_fixed
