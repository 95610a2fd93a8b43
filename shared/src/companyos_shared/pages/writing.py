"""Writing pages: templates of the one who has pages, over the shell that all share. Every value is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from companyos_shared.pages.shell import Shell

MOUNT = "/static/pages"
"""Where whoever serves pages serves what they load."""

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
"""What every page is sent with: it loads nothing from anywhere else, and nobody keeps it."""


class Templates:
    """The templates of a package, in its folder `templates`, and those of the shell."""

    def __init__(self, package: str) -> None:
        loaders = [PackageLoader(package), PackageLoader("companyos_shared.pages")]
        self._environment = Environment(
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
        )
        self._environment.globals.update(static=MOUNT)

    def write(self, name: str, shell: Shell, **values: Any) -> str:
        """Return a page. The one sign that HTML cannot carry, NUL, is shown by its replacement."""
        text = self._environment.get_template(name).render(
            shell=shell, url=partial(url, shell.prefix), typed=_typed(shell), **values
        )
        return text.replace("\0", "\N{REPLACEMENT CHARACTER}")


def url(prefix: str, *parts: object, **query: object) -> str:
    """Return the path of a page within the app; queries that are None or empty are left out."""
    path = "/".join([prefix, *(quote(str(part), safe="") for part in parts)])
    asked = {name: str(value) for name, value in query.items() if value not in (None, "")}
    return f"{path}?{urlencode(asked)}" if asked else path


def moment(value: datetime | None) -> str:
    """Return a time as people read it, in UTC."""
    return "-" if value is None else f"{value.day} {value:%b %Y, %H:%M}"


def day(value: date | datetime | None) -> str:
    """Return a day as people read it."""
    return "-" if value is None else f"{value:%a} {value.day} {value:%b %Y}"


def duration(minutes: float) -> str:
    """Return a length of time as people say it, in its two largest units: `2 d 4 h`."""
    whole = int(minutes)
    days, hours, left = whole // 1440, whole // 60 % 24, whole % 60
    told = [f"{count} {unit}" for count, unit in ((days, "d"), (hours, "h"), (left, "min")) if count]
    return " ".join(told[:2]) or "0 min"


def label(value: object) -> str:
    """Return a name of the code in words: `in_progress` is `In progress`, `hr_lead` is `HR lead`."""
    if value is None or value == "":
        return "-"
    text = " ".join(word.upper() if word in _INITIALS else word for word in str(value).split("_"))
    return text[:1].upper() + text[1:]


def money(cents: int | None) -> str:
    """Return an amount of cents with its two decimals."""
    return "-" if cents is None else f"{cents / 100:,.2f}"


def figure(value: float | None) -> str:
    """Return a number without decimals that say nothing."""
    if value is None:
        return "-"
    if float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:,.4f}".rstrip("0") if abs(value) >= _SMALL else f"{value:.2g}"


_SMALL = 0.001
"""What is smaller is told by its first two digits."""


def status_colour(value: object, kind: str = "status") -> str:
    """Return the colour that a state is shown in; what it says is always written as well.

    A ticket that is closed is done; an episode whose outcome is `closed` was given up.
    """
    if kind.endswith("outcome") and value == "closed":
        return "yellow"
    for colour, states in _COLOURS.items():
        if str(value) in states:
            return colour
    return "secondary"


def _typed(shell: Shell) -> Any:
    """Return what was typed into a form by (form, name), and what stands there otherwise."""
    said = shell.said
    kept: dict[str, str] = {} if said is None or said.problem is None else dict(said.typed)
    form = None if said is None else said.form

    def look_up(of: str, name: str, otherwise: object = "") -> str:
        return kept[name] if of == form and name in kept else "" if otherwise is None else _plain(otherwise)

    return look_up


def _plain(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%SZ")
    return ", ".join(map(str, value)) if isinstance(value, Iterable) else str(value)


_INITIALS = frozenset({"ceo", "cfo", "cto", "hr"})
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
