"""Formats values for pages, and parses the same formats from forms.

Each `parse_` function also accepts the API format, and returns a text that it cannot parse unchanged, so that the
tool's validation reports it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation

from companyos_shared.wire.strict_json import MAX_INTEGER

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DAY = rf"(?:([a-z]{{3}}) )?(\d{{1,2}}) ({'|'.join(_MONTHS)}) (\d{{4}})"
_SHOWN_DAY = re.compile(_DAY, re.ASCII | re.IGNORECASE)
_SHOWN_MOMENT = re.compile(rf"{_DAY}, (\d\d:\d\d)(:\d\d)?(?: UTC)?", re.ASCII | re.IGNORECASE)
_DIGITS = r"-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
_UNIT = r"(?: ?%| [A-Z]{3}| (?!(?:dozen|hundred|thousand|million|billion|and)\b)[a-z]{3,}\b.*)"
_NUMBER = re.compile(rf"({_DIGITS}){_UNIT}?", re.ASCII)
_AMOUNT = re.compile(rf"(?:[A-Z]{{3}} )?({_DIGITS})|({_DIGITS}) [A-Z]{{3}}", re.ASCII)
_CENTS = "_cents"
_WHOLE_DIGITS = 18


def moment(value: datetime | None) -> str:
    """Format a time in UTC: `1 Jun 2027, 09:22`, with seconds only if they are not zero."""
    if value is None:
        return "-"
    clock = f"{value:%H:%M:%S}" if value.second else f"{value:%H:%M}"
    return f"{value.day} {_MONTHS[value.month - 1]} {value.year:04}, {clock}"


def parse_moment(text: str) -> str:
    """Return a time in the API format: `2027-06-01T09:22:00Z`."""
    found = _SHOWN_MOMENT.fullmatch(_spaced(text))
    if found is None:
        return text
    shown_day, clock, seconds = _spaced(text).partition(",")[0], found[5], found[6] or ":00"
    parsed = parse_day(shown_day)
    return text if parsed == shown_day else f"{parsed}T{clock}{seconds}Z"


def day(value: date | datetime | None) -> str:
    """Format a day: `Tue 1 Jun 2027`."""
    return "-" if value is None else f"{value:%a} {value.day} {_MONTHS[value.month - 1]} {value.year:04}"


def parse_day(text: str) -> str:
    """Return a day in the API format: `2027-06-01`."""
    if (found := _SHOWN_DAY.fullmatch(_spaced(text))) is None:
        return text
    weekday, number, month, year = found.groups()
    try:
        parsed = date(int(year), _MONTHS.index(month.capitalize()) + 1, int(number))
    except ValueError:
        return text
    return text if weekday is not None and weekday.capitalize() != f"{parsed:%a}" else parsed.isoformat()


def money(cents: float | None) -> str:
    """Format cents as an amount with two decimals, `83,375.00`, or more for fractions of a cent."""
    if cents is None:
        return "-"
    amount = Decimal(repr(cents)) / 100
    return f"{amount:,.2f}" if amount == round(amount, 2) else f"{amount:,f}"


def parse_money(text: str) -> float | str:
    """Return an amount in cents; a currency code may precede or follow it: `83,375.00 EUR`."""
    if (found := _AMOUNT.fullmatch(_spaced(text))) is None:
        return text
    cents = _decimal(found[1] or found[2]) * 100
    if not _fits_json(cents):
        return text
    return int(cents) if cents == cents.to_integral_value() else float(cents)


def figure(value: float | None) -> str:
    """Format a number with all of its decimals: `1,250.5`."""
    if value is None:
        return "-"
    return f"{Decimal(repr(value)):,f}".removesuffix(".0")


def parse_number(text: str) -> float | str:
    """Return a number; a unit may follow it: `1,250.5 requests`."""
    found = _NUMBER.fullmatch(_spaced(text))
    try:
        number = Decimal(text.strip()) if found is None else _decimal(found[1])
    except InvalidOperation:
        return text
    if not number.is_finite() or not _fits_json(number) or (number and not float(number)):
        return text
    return int(number) if number == number.to_integral_value() else float(number)


def parse_integer(text: str) -> int | str:
    """Return a whole number."""
    plain = text.strip().replace(",", "") if _NUMBER.fullmatch(_spaced(text)) else text.strip()
    is_whole = plain.removeprefix("-").isdecimal() and plain.isascii() and len(plain) <= _WHOLE_DIGITS + 1
    return int(plain) if is_whole and _fits_json(int(plain)) else text


def duration(minutes: float) -> str:
    """Format a duration in its two largest units: `2 days 4 h`."""
    whole = int(minutes)
    days, hours, left = whole // 1440, whole // 60 % 24, whole % 60
    parts = [
        f"{count} {unit}"
        for count, unit in ((days, "day" if days == 1 else "days"), (hours, "h"), (left, "min"))
        if count
    ]
    return " ".join(parts[:2]) or "0 min"


def format_value(name: str, value: object, kind: str = "text") -> str:
    """Format the value of a field of that type; cents as an amount with two decimals."""
    if value is None or value == "":
        return "-"
    if isinstance(value, bool):
        return "Yes" if value else "No"
    if isinstance(value, int | float) and name.endswith(_CENTS):
        return money(value)
    if isinstance(value, str) and kind in _FORMATS:
        return _format_time(value, kind)
    return json.dumps(value) if isinstance(value, list | dict) else str(value)


def _format_time(text: str, kind: str) -> str:
    try:
        return _FORMATS[kind](text)
    except ValueError:
        return text


_FORMATS: dict[str, Callable[[str], str]] = {
    "date": lambda text: day(date.fromisoformat(text)),
    "datetime": lambda text: moment(datetime.fromisoformat(text).astimezone(UTC)),
}


def _spaced(text: str) -> str:
    """Return a text with single spaces, because copied values may contain more."""
    return " ".join(text.split())


def _decimal(text: str) -> Decimal:
    return Decimal(text.replace(",", ""))


def _fits_json(number: int | Decimal) -> bool:
    """Return whether strict JSON accepts a number of that size."""
    return -MAX_INTEGER <= number <= MAX_INTEGER
