"""The shell of a page: where its links begin, which other apps there are, and what the last form led to."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field

from companyos_shared.wire.problem import ProblemBody


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class AppLink(_Part):
    """One app of the switcher."""

    name: str
    title: str
    href: str


class Said(_Part):
    """What a form led to: it was carried out, or refused, with everything that was typed."""

    operation: str = Field(description="The operation id that the form asked for.")
    form: str = Field("", description="Which form of the page it was.")
    problem: ProblemBody | None = None
    typed: tuple[tuple[str, str], ...] = Field((), description="Names and values as they were typed.")


class Shell(_Part):
    """What a page is told of its surroundings by whoever serves it."""

    app: str = ""
    """The name of the app that the page belongs to."""

    title: str = ""
    prefix: str = ""
    """The path in front of every link within the app, without a slash at its end."""

    home: str | None = None
    """Where the person came from: the desk with the brief."""

    apps: tuple[AppLink, ...] = ()
    now: datetime | None = None
    person: str | None = None
    """The employee in whose name the caller acts."""

    notice: str | None = None
    """What stands on every page for now."""

    said: Said | None = None
