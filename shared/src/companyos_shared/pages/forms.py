"""Parses posted forms as tool arguments.

A field is named after its argument. A dot separates object and member; a suffix defines the type:

    title            text          version:int       whole number        days:number       any number
    fields.reason    text in an    urgent:flag       true if ticked      tags:list         texts between commas
                     object        price:cents       an amount, in cents answers:pairs     lines of name = value
                                   due_on:date       a day               due_at:moment     a time in UTC

Values are accepted in the format of pages and in that of the API. Empty fields are omitted, and so is a field `name`
whose text equals that of `_was.name`. Names that begin with `_` are reserved for the page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, quote

from companyos_shared.pages.values import parse_day, parse_integer, parse_moment, parse_money, parse_number

MAX_FIELDS = 200
MAX_NESTING = 3

PAGE, NEXT, FORM, WAS = "_page", "_next", "_form", "_was."
DONE = "_done"
"""Query parameter with the operation that succeeded, for the page after a form."""

_NAME = re.compile(r"_?[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*(:[a-z]+)?", re.ASCII)
_PATH = re.compile(r"[A-Za-z0-9_\-./{}?=&%:]*(#[A-Za-z0-9_-]+)?", re.ASCII)


class MalformedFormError(ValueError):
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
    """Names and values as typed, without unchanged fields."""

    def next_path(self, answer: Any, operation: str) -> str:
        """Return the path to redirect to after an operation, with members of the response percent-encoded."""
        members = answer if isinstance(answer, dict) else {}
        path = re.sub(r"\{([a-z_]+)\}", lambda match: quote(str(members.get(match[1], "")), safe=""), self.next)
        page, mark, fragment = path.partition("#")
        return f"{page}{'&' if '?' in page else '?'}{DONE}={quote(operation, safe='')}{mark}{fragment}"


def parse_form(body: bytes) -> SubmittedForm:
    """Parse an `application/x-www-form-urlencoded` body; raises MalformedFormError."""
    try:
        pairs = parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except ValueError as error:
        raise MalformedFormError(f"The form must be URL-encoded UTF-8 with at most {MAX_FIELDS} fields.") from error
    control_fields: dict[str, str] = {}
    arguments: dict[str, Any] = {}
    typed: list[tuple[str, str]] = []
    originals = {name.removeprefix(WAS): text for name, text in pairs if name.startswith(WAS)}
    for name, text in pairs:
        if not _NAME.fullmatch(name):
            raise MalformedFormError(f"{name[:40]!r} is not a valid field name.")
        if name.startswith("_"):
            control_fields[name] = text
            continue
        text = text.replace("\r\n", "\n")
        if name in originals and _is_unchanged(text, originals[name].replace("\r\n", "\n")):
            continue
        typed.append((name, text))
        if name in originals or text.strip():
            _set_argument(arguments, name, text)
    return SubmittedForm(
        arguments=arguments,
        page=_page_path(control_fields.get(PAGE, "")),
        next=_page_path(control_fields.get(NEXT) or control_fields.get(PAGE, "")),
        form=control_fields.get(FORM, ""),
        typed=tuple(typed),
    )


def _is_unchanged(text: str, original: str) -> bool:
    """Return whether a field is unchanged; single-line fields drop the line breaks of their original text."""
    return text in (original, original.replace("\n", ""))


def _set_argument(arguments: dict[str, Any], name: str, text: str) -> None:
    path, _, kind = name.partition(":")
    parse = _KINDS.get(kind)
    *outer, last = path.split(".")
    if parse is None or len(outer) >= MAX_NESTING:
        raise MalformedFormError(f"{name!r} is not a valid field name.")
    for part in outer:
        arguments = arguments.setdefault(part, {})
        if not isinstance(arguments, dict):
            raise MalformedFormError(f"{name!r} is a member of a field that is not an object.")
    value = parse(text)
    if isinstance(value, list):
        earlier = arguments.get(last, [])
        if not isinstance(earlier, list):
            raise MalformedFormError(f"{path!r} is in the form as a list and as something else.")
        value = earlier + value
    arguments[last] = value


def _page_path(text: str) -> str:
    """Return a relative path within the app; raises MalformedFormError for any other path."""
    if not _PATH.fullmatch(text) or text.startswith("/") or ".." in text or ":" in text.partition("?")[0]:
        raise MalformedFormError("The form must name a page of this app.")
    return text


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _paired(text: str) -> dict[str, Any]:
    lines = [line.partition("=") for line in text.splitlines() if line.strip()]
    return {name.strip(): _answer(value.strip()) for name, _, value in lines}


def _answer(text: str) -> Any:
    flags = {"true": True, "false": False}
    return flags[text] if text in flags else parse_number(text)


def _flag(text: str) -> bool | str:
    return _FLAGS.get(text.strip().lower(), text)


_FLAGS = {"on": True, "true": True, "yes": True, "1": True, "off": False, "false": False, "no": False, "0": False}


_KINDS: Mapping[str, Callable[[str], Any]] = {
    "": str,
    "int": parse_integer,
    "number": parse_number,
    "date": parse_day,
    "moment": parse_moment,
    "flag": _flag,
    "list": _listed,
    "cents": parse_money,
    "pairs": _paired,
}
"""Parser by suffix. A value that cannot be parsed remains text, so that the tool's validation rejects it."""
