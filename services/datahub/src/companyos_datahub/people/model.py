"""How the directory is searched: the company document is the data, these are the views of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from companyos_shared.wire.company import Person


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """Who holds a role on a day, whether they are there, and who deputises."""

    person: Person
    out_of_office: bool
    back_on: date | None
    deputy: Person | None
    deputy_out_of_office: bool | None
