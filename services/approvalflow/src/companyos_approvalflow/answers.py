"""Compares answers to approvers' questions with the accepted values.

Names match on word boundaries, regardless of case and punctuation. Numbers, dates and times match by value; the sign
of a number is ignored. An answer with more than MAX_FIGURES figures matches nothing: a list of possible values is no
answer.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

AcceptedValue = str | int | float

MAX_FIGURES = 20
"""Maximum number of different figures in an answer with its corrected fields. 2026-03-31 and 1,200.00 are one each."""

_FIGURE = re.compile(r"\d{4}-\d\d-\d\d|\d+(?:[.,']\d{3})*(?:[.,]\d\d?(?!\d))?")

_WORD = re.compile(r"[^\W_]+")
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_ISO_TIME = re.compile(r"\d{4}-\d\d-\d\d[t ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:z|[+-]\d\d:?\d\d)?")


def contains_accepted(text: str, accepted: Sequence[AcceptedValue]) -> bool:
    """Return whether the text contains one of the values, and no more than MAX_FIGURES figures."""
    written = _normalized(text)
    return len(set(_FIGURE.findall(written))) <= MAX_FIGURES and any(_contains(written, value) for value in accepted)


def _normalized(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _contains(text: str, value: AcceptedValue) -> bool:
    if not isinstance(value, str):
        return abs(Decimal(str(value))) in set(_numbers(text))
    expected = _normalized(value).strip()
    if _NUMBER.fullmatch(expected):
        return not set(_numbers(expected)).isdisjoint(_numbers(text))
    if _ISO_DATE.fullmatch(expected):
        return date.fromisoformat(expected) in set(_dates(text))
    if _ISO_TIME.fullmatch(expected):
        return _contains_moment(text, _moment(expected))
    return _contains_words(_WORD.findall(text), "".join(_WORD.findall(expected)))


def _contains_words(words: Sequence[str], expected: str) -> bool:
    """Return whether consecutive words spell the expected text; hyphens and blanks between them are ignored."""
    for start in range(len(words)):
        rest = expected
        for word in words[start:]:
            if not rest or not rest.startswith(word):
                break
            rest = rest.removeprefix(word)
        if not rest:
            return bool(expected)
    return False


_CURRENCY = r"(?:eur|usd|gbp|chf|cents?|ct)"
_UNIT = r"(?:d|days?|weeks?|months?|years?|h|hours?)"
_GLUED = re.compile(
    rf"(?<=\d)(?=(?:{_CURRENCY}|{_UNIT})\b)|(?<=\b[a-z]{{3}})(?<=eur|usd|gbp|chf)(?=\d)|(?<=\b[vr])(?=\d)"
)
_NUMBER = re.compile(r"\d+(?:[.,']\d+)*")
_GROUPED_BY_BLANKS = re.compile(r"\d{1,3}(?: \d{3})+(?:[.,]\d+)?")
_STANDALONE = r"(?<!\w)(?<!\w-)(?<!\d[.,'])(?:{})(?!\w)"
_NUMBER_IN_TEXT = re.compile(_STANDALONE.format(_NUMBER.pattern))
_GROUPED_IN_TEXT = re.compile(_STANDALONE.format(_GROUPED_BY_BLANKS.pattern))


def _numbers(text: str) -> Iterator[Decimal]:
    """Yield the numbers in a text; a comma or point before three digits may separate thousands or decimals."""
    spaced = _GLUED.sub(" ", text)
    for found in _NUMBER_IN_TEXT.findall(spaced):
        yield from _readings(found)
    for found in _GROUPED_IN_TEXT.findall(spaced):
        yield from _readings(found.replace(" ", "'"))


def _readings(written: str) -> Iterator[Decimal]:
    whole, *groups = re.split(r"[.,']", written)
    separators = re.findall(r"[.,']", written)
    if all(len(group) == _GROUP_DIGITS for group in groups) and len(set(separators)) <= 1:
        yield Decimal(whole + "".join(groups))
    if not groups or separators[-1] == "'":
        return
    *thousands, fraction = groups
    if all(len(group) == _GROUP_DIGITS for group in thousands) and separators[-1] not in separators[:-1]:
        yield Decimal(f"{whole}{''.join(thousands)}.{fraction}")


_GROUP_DIGITS = 3

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = rf"({'|'.join(_MONTHS)})[a-z]*\.?"
_YEAR_FIRST = re.compile(r"(?<!\d)(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)")
_YEAR_LAST = re.compile(r"(?<!\d)(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})(?!\d)")
_DAY_MONTH = re.compile(rf"(?<!\d)(\d{{1,2}})(?:st|nd|rd|th)?\.?[ -]*(?:of )?{_MONTH},?[ -]*(\d{{4}})(?!\d)")
_MONTH_DAY = re.compile(rf"(?<![a-z]){_MONTH} *(\d{{1,2}})(?:st|nd|rd|th)?,? *(\d{{4}})(?!\d)")
_CLOCK = re.compile(r"(?<![\d:])(\d{1,2}):(\d\d)(?::\d\d)?(?: *([ap])\.?m\b)?")
_NOON = 12


def _dates(text: str) -> Iterator[date]:
    """Yield the dates in a text, in both readings if the order of day and month is ambiguous."""
    candidates = [(year, month, day) for year, month, day in _YEAR_FIRST.findall(text)]
    for first, second, year in _YEAR_LAST.findall(text):
        candidates += [(year, second, first), (year, first, second)]
    candidates += [(year, _MONTHS.index(month) + 1, day) for day, month, year in _DAY_MONTH.findall(text)]
    candidates += [(year, _MONTHS.index(month) + 1, day) for month, day, year in _MONTH_DAY.findall(text)]
    for year, month, day in candidates:
        try:
            yield date(int(year), int(month), int(day))
        except ValueError:
            continue


def _contains_moment(text: str, expected: datetime) -> bool:
    """Return whether the text contains the time to the minute: as an ISO time, or as date and time of day in UTC."""
    written = [found for found in _ISO_TIME.findall(text) if found[-1] == "z" or found[-6:-5] in ("+", "-")]
    if any(abs(_moment(found) - expected) < timedelta(minutes=1) for found in written if _is_moment(found)):
        return True
    return expected.date() in set(_dates(text)) and (expected.hour, expected.minute) in set(_times_of_day(text))


def _times_of_day(text: str) -> Iterator[tuple[int, int]]:
    for hour, minute, half in _CLOCK.findall(text):
        shift = {"a": 0, "p": _NOON}.get(half)
        yield (int(hour) if shift is None else int(hour) % _NOON + shift), int(minute)


def _is_moment(written: str) -> bool:
    try:
        _moment(written)
    except (ValueError, OverflowError):
        return False
    return True


def _moment(written: str) -> datetime:
    """Return the time in UTC, to the minute."""
    moment = datetime.fromisoformat(written.upper())
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return moment.replace(second=0, microsecond=0)
