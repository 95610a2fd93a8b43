"""Renders pages from an app's templates and the shared shell. All values are escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, datetime
from enum import Enum
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import ChoiceLoader, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from companyos_shared.pages.shell import Shell
from companyos_shared.pages.shown_objects import RENDERED, RecordingEnvironment, ShownObjects
from companyos_shared.pages.values import day, duration, figure, moment, money

MOUNT = "/static/pages"
"""URL path of the static files of pages."""

STATIC = Path(str(resources.files("companyos_shared"))) / "pages" / "static"

_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Response headers of every page: only own resources are loaded, and the page is not cached."""


class Templates:
    """The templates in a package's folder `templates` and those of the shell."""

    def __init__(self, package: str) -> None:
        loaders = [PackageLoader(package), PackageLoader("companyos_shared.pages")]
        self._environment = RecordingEnvironment(
            loader=ChoiceLoader(loaders),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.filters.update(
            moment=moment,
            day=day,
            duration=duration,
            label=label,
            money=money,
            figure=figure,
            status_colour=status_colour,
            field_text=field_text,
            sort_value=sort_value,
        )
        self._environment.globals.update(static=MOUNT, ids_for=ids_for)

    def write(self, name: str, shell: Shell, shown: ShownObjects | None = None, **values: Any) -> str:
        """Render a page, and record in `shown` the attributes that it shows.

        NUL, which HTML does not allow, is replaced by the replacement character.
        """
        recording = RENDERED.set(shown)
        try:
            text = self._environment.get_template(name).render(
                shell=shell,
                url=partial(url, shell.prefix),
                linked=partial(link_ids, shell.home),
                typed=_typed_lookup(shell),
                error_at=_error_lookup(shell),
                is_rejected=partial(_is_rejected, shell),
                **values,
            )
        finally:
            RENDERED.reset(recording)
        return text.replace("\0", "\N{REPLACEMENT CHARACTER}")


def url(prefix: str, *parts: object, **query: object) -> str:
    """Return the path of a page within the app; empty query parameters are omitted."""
    path = "/".join([prefix, *(quote(str(part), safe="") for part in parts)])
    parameters = {name: str(value) for name, value in query.items() if value not in (None, "")}
    return f"{path}?{urlencode(parameters)}" if parameters else path


def link_ids(home: str | None, value: object) -> Markup:
    """Return a text in which each id, such as `VEN-104`, links to its object in the app that has it.

    Outside an episode there is no link between apps, and ids remain plain text.
    """
    text = escape(value)
    if home is None:
        return text
    link = rf'<a href="{escape(home)}/-/open?id=\g<0>">\g<0></a>'
    return Markup(_ID.sub(link, str(text)))  # noqa: S704 - escaped above


def label(value: object) -> str:
    """Return the label of an identifier: `in_progress` becomes `In progress`, `hr_lead` becomes `HR lead`."""
    if value is None or value == "":
        return "-"
    text = " ".join(word.upper() if word in _INITIALS else word for word in str(value).split("_"))
    return text[:1].upper() + text[1:]


def status_colour(value: object, kind: str = "status") -> str:
    """Return the badge color of a state.

    A closed ticket is done, but the episode outcome `closed` means that the episode was abandoned.
    """
    if kind.endswith("outcome") and value == "closed":
        return "yellow"
    for colour, states in _COLOURS.items():
        if str(value) in states:
            return colour
    return "secondary"


def _typed_lookup(shell: Shell) -> Any:
    """Return a function that looks up a typed value by form and field, with a default."""
    result = shell.form_result
    values: dict[str, str] = {}
    for name, text in result.typed if result is not None and result.problem is not None else ():
        values[name] = f"{values[name]}, {text}" if name in values else text
    form = None if result is None else result.form

    def field_value(of: str, name: str, default: object = "") -> str:
        return values[name] if of == form and name in values else field_text(default)

    return field_value


def _error_lookup(shell: Shell) -> Any:
    """Return a function that returns the error of a form field, or "" if there is none."""
    result = shell.form_result
    problem = None if result is None else result.problem
    reasons: dict[str, str] = {}
    if problem is not None:
        reasons = {str(one.get("place")): str(one.get("reason")) for one in problem.errors or ()}
        place, _, reason = (problem.detail or "").partition(" ")
        if not reasons and reason.startswith("must "):
            reasons = {place: reason}
    form = None if result is None else result.form

    def error_at(of: str, name: str) -> str:
        path, _, kind = name.partition(":")
        reason = reasons.get(path, "") if of == form else ""
        if kind in _EXPECTED and _OF_THE_API.match(reason):
            reason = _EXPECTED[kind]
        return reason[:1].upper() + reason[1:]

    return error_at


def _is_rejected(shell: Shell, form: str) -> bool:
    """Return whether a form of the page was submitted and rejected."""
    return shell.form_result is not None and shell.form_result.form == form and shell.form_result.problem is not None


def field_text(value: object) -> str:
    """Return the text of a value in a form field; parts of a list are separated by commas."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, datetime):
        return moment(value)
    if isinstance(value, date):
        return day(value)
    return ", ".join(map(str, value)) if isinstance(value, Iterable) else str(value)


def sort_value(value: object) -> str:
    """Return the sort key of a table cell; for a choice, its position among the choices."""
    if value is None:
        return ""
    return str(list(type(value)).index(value) if isinstance(value, Enum) else value)


def ids_for(name: str) -> str:
    """Return the kind of id that a form field accepts: the path of its pages, `any`, or "" for a field without ids."""
    member = name.rpartition(".")[2]
    if member in _ID_FIELDS:
        return _ID_FIELDS[member]
    return "any" if member in ("id", "subject") or member.endswith(("_id", "_ref")) else ""


_PEOPLE = ("approver_id", "employee_id", "hiring_manager_id", "holder_id", "manager_id", "owner_id", "person_id")
_ID_FIELDS = {
    "to_key": "tickets",
    "ticket_ref": "tickets",
    "approval_ref": "requests",
    "vendor_id": "vendors",
    "metric_id": "metrics",
    **dict.fromkeys(_PEOPLE, "people"),
}
"""Path of the pages for the ids in a field, by the last part of the field name."""

_ID = re.compile(r"\b(?:E|[A-Z]{2,6})-\d{1,8}\b", re.ASCII)
_OF_THE_API = re.compile(r"must be an? (ISO|integer|number)")
_EXPECTED = {
    "date": "must be a day such as 31 Mar 2026",
    "moment": "must be a time in UTC such as 6 Mar 2026, 17:00",
    "cents": "must be an amount such as 1,250.00",
}
"""Accepted format by field type; replaces a reason that describes the API format."""

_INITIALS = frozenset({"ceo", "cfo", "cto", "hr", "iban", "id", "sla"})
_COLOURS = {
    "green": {
        "approved",
        "resolved",
        "healthy",
        "succeeded",
        "active",
        "done",
        "fresh",
        "valid",
        "closed",
        "published",
        "in_force",
        "in_office",
        "accepted",
        "renewed",
        "paid",
        "passed",
        "success",
    },
    "blue": {
        "open",
        "in_progress",
        "running",
        "queued",
        "in_review",
        "pending",
        "escalated",
        "draft",
        "prospect",
        "submitted",
        "requested",
        "received",
        "information_given",
        "waits_for_a_decision",
        "not_started",
    },
    "yellow": {
        "blocked",
        "info_requested",
        "degraded",
        "medium",
        "stale",
        "on_hold",
        "expiring",
        "frozen",
        "away",
        "superseded",
        "waits_for_information",
        "out_of_steps",
    },
    "orange": {"high"},
    "red": {
        "critical",
        "rejected",
        "failed",
        "cancelled",
        "expired",
        "overdue",
        "withdrawn",
        "revoked",
        "departed",
        "suspended",
        "terminated",
    },
}


_CENTS = "_cents"
_NAME = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)
_SUFFIXES = {"integer": ":int", "number": ":number", "boolean": ":flag", "date": ":date", "datetime": ":moment"}


def field_label(name: str) -> str:
    """Return the label of a field, without the suffix `_cents`."""
    return label(name.removesuffix(_CENTS))


def form_argument(name: str, kind: str) -> str | None:
    """Return the form name of a field with that type, or None if the name is not valid in a form."""
    if not _NAME.fullmatch(name):
        return None
    is_amount = name.endswith(_CENTS) and kind in ("integer", "number")
    return f"fields.{name}{':cents' if is_amount else _SUFFIXES.get(kind, '')}"
