"""Response schemas of people."""

from __future__ import annotations

from datetime import date

from pydantic import Field
from pydantic.config import JsonDict

from companyos_shared.framework import ResponseModel, example
from companyos_shared.wire.company import Role

_ROW: JsonDict = {"id": "E-1002", "name": "Mara Lindqvist", "title": "CFO", "team_id": "T-FIN", "is_employed": True}


DEPUTY = "Contact during an absence; being a deputy gives no authority to decide."


class PersonRef(ResponseModel):
    """Id and name of a person."""

    id: str
    name: str


class PersonRow(PersonRef):
    """A person in a list."""

    model_config = example(**_ROW)

    title: str
    team_id: str
    is_employed: bool = Field(description="Employed today.")


class RoleHeldAnswer(ResponseModel):
    """A role held from first to last day, both included."""

    role: Role
    first_day: date
    last_day: date | None = Field(description="Null: until further notice.")
    deputy_id: str | None = Field(description=DEPUTY)


class PersonDetail(PersonRow):
    """A person in the directory."""

    model_config = example(
        **_ROW,
        email="mara.lindqvist@example.com",
        team_name="Finance",
        manager_id="E-1001",
        employed_from="2019-04-01",
        employed_to=None,
        out_of_office=False,
        roles=[{"role": "cfo", "first_day": "2021-01-01", "last_day": None, "deputy_id": "E-1003"}],
    )

    email: str
    team_name: str | None
    manager_id: str | None
    employed_from: date
    employed_to: date | None = Field(description="Last day of employment.")
    out_of_office: bool = Field(description="Absent today.")
    roles: list[RoleHeldAnswer]


class Holder(ResponseModel):
    """A holder of a role today."""

    person: PersonRef
    out_of_office: bool = Field(description="Absent today.")
    back_on: date | None = Field(description="First working day after the absence.")
    deputy: PersonRef | None = Field(description=DEPUTY)
    deputy_out_of_office: bool | None = Field(description="Whether the deputy is absent today; null without a deputy.")


class Approver(ResponseModel):
    """The holders of a role today; the list is empty if nobody holds it."""

    model_config = example(
        role="cfo",
        holders=[
            {
                "person": {"id": "E-1002", "name": "Mara Lindqvist"},
                "out_of_office": True,
                "back_on": "2026-03-09",
                "deputy": {"id": "E-1003", "name": "Tomas Okafor"},
                "deputy_out_of_office": False,
            }
        ],
    )

    role: Role
    holders: list[Holder]
