"""Values written as text: numbers with separators, dates in a known order, words but for blanks and case."""

from __future__ import annotations

import datetime
import math
import re
from functools import lru_cache

MARKS = ("NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL", "None", "?", "-", ".")
"""Texts that commonly stand for a missing value."""
PERCENT = "%"
UNITS = ("", PERCENT, "€", "$", "£", "¥", "EUR", "USD", "GBP", "CHF")
"""What may stand before or after a number. Of a percentage a hundredth is the number."""
BLANKS = " \t\r\n\u00a0\u202f\u2009"
"""A blank, tabs and line ends, and the narrow blanks that spreadsheets put between thousands."""
ORDERS = {"day-month-year": "dmy", "month-day-year": "mdy", "year-month-day": "ymd"}
FIRST_TWO_DIGIT_YEAR = 69
"""Two digits from here on are a year of 19.., those below one of 20.. (POSIX)."""
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
CLOCK = r"(?:[T ]+(?P<clock>\d{1,2}:\d{2}(?::\d{2})?))?"
PARTS = {"d": r"(?P<d>\d{1,2})", "m": r"(?P<m>\d{1,2}|[A-Za-z]{3,9})\.?", "y": r"(?P<y>\d{4}|\d{2})"}


def merge_key(text: str) -> str:
    """The text without what is stray: blanks at its ends, several blanks for one, and case."""
    return " ".join(text.split()).casefold()


def parse_number(text: str, thousands: str = "", decimal: str = ".", unit: str = "") -> float | None:
    """The number that a text is, or None; a thousands separator may stand only before three digits.

    A currency may be left out, a percent sign not.
    """
    text = text.strip(BLANKS)
    if unit and unit in text:
        number = parse_number(without_unit(text, unit), thousands, decimal)
        return number / 100 if number is not None and unit == PERCENT else number
    match = None if unit == PERCENT else _number_pattern(thousands, decimal).match(text)
    if match is None:
        return None
    plain = match[0].translate(str.maketrans("", "", BLANKS if thousands == " " else thousands))
    value = float(plain.replace(decimal, ".").replace("\u2212", "-"))
    return value if math.isfinite(value) else None


def without_unit(text: str, unit: str) -> str:
    """The text without a unit at its end or start, also after a sign."""
    sign = text[:1] if text[:1] in ("-", "+", "\u2212") else ""
    rest = text[len(sign) :].strip(BLANKS)
    return sign + (rest.removesuffix(unit) if rest.endswith(unit) else rest.removeprefix(unit)).strip(BLANKS)


@lru_cache
def _number_pattern(thousands: str, decimal: str) -> re.Pattern[str]:
    separator = rf"[{BLANKS}]" if thousands == " " else re.escape(thousands)
    whole = rf"(?:\d{{1,3}}(?:{separator}\d{{3}})+|\d+)" if thousands else r"\d+"
    point = re.escape(decimal)
    return re.compile(rf"[+\-\u2212]?(?:{whole}(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?\Z", re.ASCII)


def parse_date(text: str, order: str) -> datetime.datetime | None:
    """The moment that a text is in this order of day, month and year, or None; midnight where it has no time."""
    match = _date_pattern(ORDERS[order]).match(text.strip(BLANKS))
    if match is None:
        return None
    month = match["m"]
    try:
        number = int(month) if month.isdigit() else MONTHS.index(month[:3].lower()) + 1
        hour, minute, second = (*map(int, (match["clock"] or "0:0").split(":")), 0)[:3]
        year = int(match["y"])
        if len(match["y"]) == 2:
            year += 1900 if year >= FIRST_TWO_DIGIT_YEAR else 2000
        return datetime.datetime(year, number, int(match["d"]), hour, minute, second)
    except ValueError:
        return None


@lru_cache
def _date_pattern(order: str) -> re.Pattern[str]:
    first, second, third = (PARTS[part] for part in order)
    return re.compile(rf"{first}(?P<sign>[-/. ]|, ?){second}(?:(?P=sign)|, ?){third}{CLOCK}\Z", re.ASCII)
