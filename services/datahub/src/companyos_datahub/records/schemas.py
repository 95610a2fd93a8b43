"""Schemas of records."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import Annotated

from pydantic import Field, JsonValue
from pydantic.config import JsonDict

from companyos_datahub.records.model import FoundKind, RecordKind
from companyos_shared.choices import fold_choice
from companyos_shared.framework import IsoDateText, JsonInteger, NotBlank, RequestModel, ResponseModel, example


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordFilter:
    """Filters of a search. All must match; the query matches any of its words."""

    query: str | None = None
    kind: FoundKind | None = None
    state: str | None = None
    vendor_id: str | None = None
    owner_id: str | None = None

    def columns(self) -> dict[str, str]:
        """Return the filters on columns."""
        values = {
            "kind": self.kind,
            "state": self.state and fold_choice(self.state),
            "vendor_id": self.vendor_id,
            "owner_id": self.owner_id,
        }
        return {name: str(value) for name, value in values.items() if value is not None}


_FOUND: JsonDict = {
    "id": "PO-3311",
    "kind": "purchase_order",
    "title": "40 laptops",
    "state": "open",
    "owner_id": "E-1004",
    "vendor_id": "VEN-207",
    "amount_cents": 5_200_000,
    "currency": "EUR",
    "starts_on": "2026-02-10",
    "ends_on": None,
}


class Found(ResponseModel):
    """A record or vendor in a list."""

    model_config = example(**_FOUND)

    id: str
    kind: FoundKind
    title: str
    state: str = Field(description="For a vendor: its status.")
    owner_id: str | None
    vendor_id: str | None
    amount_cents: int | None = Field(description="Amount in cents of `currency`.")
    currency: str | None
    starts_on: date | None
    ends_on: date | None = Field(description="Last day, included.")


class RecordDetail(ResponseModel):
    """A record with all its fields."""

    model_config = example(
        **_FOUND,
        fields={"item": "laptop", "quantity": 40, "unit_price_cents": 130_000},
        version=1,
        created_at="2026-02-10T08:00:00Z",
        updated_at="2026-02-10T08:00:00Z",
    )

    id: str
    kind: RecordKind
    title: str
    state: str
    owner_id: str | None
    vendor_id: str | None
    amount_cents: int | None = Field(description="Amount in cents of `currency`.")
    currency: str | None
    starts_on: date | None
    ends_on: date | None = Field(description="Last day, included.")
    fields: dict[str, JsonValue] = Field(description="Fields of the record's kind, and additional ones.")
    version: int = Field(description="Increases with each change; pass it as `if_match`.")
    created_at: datetime
    updated_at: datetime


class RecordUpdate(RequestModel):
    """The values to change; absent or null values stay unchanged."""

    model_config = example(state="renewed", ends_on="2027-03-31", fields={"seats": 120})

    title: Annotated[str, Field(min_length=1, max_length=200), NotBlank] | None = Field(None, description="New title.")
    state: Annotated[str, Field(max_length=32)] | None = Field(None, description="A state of the record's kind.")
    owner_id: Annotated[str, Field(max_length=64)] | None = Field(None, description="ID of a current employee.")
    amount_cents: Annotated[int, Field(ge=0, le=10**12), JsonInteger] | None = Field(
        None, description="Amount in cents."
    )
    starts_on: Annotated[date, IsoDateText] | None = Field(None, description="First day, such as 2026-03-31.")
    ends_on: Annotated[date, IsoDateText] | None = Field(None, description="Last day, included.")
    fields: dict[str, JsonValue] = Field({}, max_length=20, description="Fields to set; others stay unchanged.")
