"""Schemas of the shell around a page: link prefix, app switcher and the result of the last form."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field

from companyos_shared.pages.forms import DONE
from companyos_shared.wire.problem import ProblemBody

_OPERATION = re.compile(r"[a-z][a-z_]{0,63}", re.ASCII)


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class AppLink(_Part):
    """An app in the switcher."""

    name: str
    title: str
    href: str


class FormResult(_Part):
    """The result of a form: success, or a problem and the typed values."""

    operation: str = Field(description="Operation id of the form.")
    form: str = Field("", description="Name of the form on its page.")
    problem: ProblemBody | None = None
    typed: tuple[tuple[str, str], ...] = Field((), description="Names and values as typed.")


def result_of_query(query: Mapping[str, str]) -> FormResult | None:
    """Return the success that the query of a page reports, or None."""
    operation = query.get(DONE, "")
    return FormResult(operation=operation) if _OPERATION.fullmatch(operation) else None


class Shell(_Part):
    """Data for the frame around a page, from the server that shows the page."""

    app: str = ""
    """The name of the app that the page belongs to."""

    title: str = ""
    prefix: str = ""
    """Path prefix of links within the app, without a trailing slash."""

    home: str | None = None
    """Link to the desk with the brief."""

    apps: tuple[AppLink, ...] = ()
    now: datetime | None = None
    person: str | None = None
    """The employee that the caller acts as."""

    notice: str | None = None
    """A notice on every page."""

    form_result: FormResult | None = None
