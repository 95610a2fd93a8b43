"""Parses posted forms as tool arguments.

A field is named after its argument. A dot separates object and member; a suffix defines the type:

    title            text          version:int       whole number        days:number       any number
    fields.reason    text in an    urgent:flag       true where ticked   tags:list         words between commas
                     object        price:cents       an amount, in cents answers:pairs     lines of name = value

Empty fields are omitted. Names that begin with `_` belong to the page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any
from urllib.parse import parse_qsl, quote

from companyos_shared.wire.strict_json import MAX_INTEGER

MOST_FIELDS = 200
MOST_DEPTH = 3

PAGE, NEXT, FORM = "_page", "_next", "_form"

_NAME = re.compile(r"_?[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*(:[a-z]+)?", re.ASCII)
_WHOLE = re.compile(r"-?\d{1,18}", re.ASCII)
_WAY = re.compile(r"[A-Za-z0-9_\-./{}?=&%:]*(#[A-Za-z0-9_-]+)?", re.ASCII)


class MalformedForm(ValueError):
    """Raised for a body that is not a valid form of a page."""


@dataclass(frozen=True, slots=True)
class SubmittedForm:
    """A form that was posted."""

    arguments: Mapping[str, Any]
    """The arguments of the tool call."""

    page: str
    """Path of the page with the form, within the app; shown again if the call fails."""

    next: str
    """Path to redirect to after a successful call; `{name}` is replaced by a member of the response."""

    form: str
    """The name of the form on its page."""

    typed: tuple[tuple[str, str], ...]
    """Names and values as typed."""

    def way_on(self, answer: Any) -> str:
        """Return the path to redirect to, with members of the response percent-encoded."""
        members = answer if isinstance(answer, dict) else {}
        return re.sub(r"\{([a-z_]+)\}", lambda match: quote(str(members.get(match[1], "")), safe=""), self.next)


def read_form(body: bytes) -> SubmittedForm:
    """Parse an `application/x-www-form-urlencoded` body; raises MalformedForm."""
    try:
        pairs = parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError as error:
        raise MalformedForm(f"The form must be URL-encoded UTF-8 with at most {MOST_FIELDS} fields.") from error
    own: dict[str, str] = {}
    arguments: dict[str, Any] = {}
    for name, text in pairs:
        if not _NAME.fullmatch(name):
            raise MalformedForm(f"{name[:40]!r} is not a valid field name.")
        if name.startswith("_"):
            own[name] = text
        elif text.strip():
            _put(arguments, name, text.replace("\r\n", "\n"))
    return SubmittedForm(
        arguments=arguments,
        page=_page_path(own.get(PAGE, "")),
        next=_page_path(own.get(NEXT) or own.get(PAGE, "")),
        form=own.get(FORM, ""),
        typed=tuple((name, text) for name, text in pairs if not name.startswith("_")),
    )


def _put(arguments: dict[str, Any], name: str, text: str) -> None:
    path, _, kind = name.partition(":")
    read = _KINDS.get(kind)
    *outer, last = path.split(".")
    if read is None or len(outer) >= MOST_DEPTH:
        raise MalformedForm(f"{name!r} is not a valid field name.")
    for part in outer:
        arguments = arguments.setdefault(part, {})
        if not isinstance(arguments, dict):
            raise MalformedForm(f"{name!r} is a member of a field that is not an object.")
    arguments[last] = read(text)


def _page_path(text: str) -> str:
    """Return a relative path within the app; raises MalformedForm for any other path."""
    if not _WAY.fullmatch(text) or text.startswith("/") or ".." in text or ":" in text.partition("?")[0]:
        raise MalformedForm("The form must name a page of this app.")
    return text


def _whole(text: str) -> Any:
    return int(text) if _WHOLE.fullmatch(text.strip()) and _is_carried(int(text)) else text


def _number(text: str) -> Any:
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return text
    if not number.is_finite() or not _is_carried(number):
        return text
    return int(number) if number == number.to_integral_value() else float(number)


def _cents(text: str) -> Any:
    number = _number(text.replace(",", ""))
    if isinstance(number, str):
        return text
    cents = Decimal(str(number)) * 100
    return int(cents) if cents == cents.to_integral_value() and _is_carried(cents) else text


def _is_carried(number: int | Decimal) -> bool:
    """Return whether strict JSON accepts a number of that size."""
    return -MAX_INTEGER <= number <= MAX_INTEGER


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _paired(text: str) -> dict[str, Any]:
    lines = [line.partition("=") for line in text.splitlines() if line.strip()]
    return {name.strip(): _figure(value.strip()) for name, _, value in lines}


def _figure(text: str) -> Any:
    flags = {"true": True, "false": False}
    return flags[text] if text in flags else _number(text)


_KINDS: Mapping[str, Callable[[str], Any]] = {
    "": str,
    "int": _whole,
    "number": _number,
    "flag": lambda text: text.strip().lower() in {"on", "true", "yes", "1"},
    "list": _listed,
    "cents": _cents,
    "pairs": _paired,
}
"""Parser by suffix. A value that cannot be parsed stays text, so that the tool's validation rejects it."""
