"""What texts say: numbers and dates are those that were written."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager.check.text_values import ORDERS, merge_key, parse_date, parse_number

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
