"""Request schema of delegations."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import Path
from pydantic import AfterValidator, AwareDatetime, Field
from pydantic_core import PydanticCustomError

from companyos_shared.framework import IsoTimeText, RequestModel, example

MAX_TYPES = 20
LARGEST_CENTS = 2**53
EARLIEST_YEAR, LATEST_YEAR = 2000, 2099

DelegationId = Annotated[str, Path(max_length=64, examples=["DEL-7"], description="ID of the delegation.")]
PersonId = Annotated[str, Field(min_length=1, max_length=64)]


def _whole_seconds(moment: datetime) -> datetime:
    if not EARLIEST_YEAR <= moment.year <= LATEST_YEAR:
        raise PydanticCustomError("datetime_range", f"Input should be between {EARLIEST_YEAR} and {LATEST_YEAR}")
    return moment.astimezone(UTC).replace(microsecond=0)


Timestamp = Annotated[AwareDatetime, IsoTimeText, AfterValidator(_whole_seconds)]


class NewDelegation(RequestModel):
    """A delegation to create."""

    model_config = example(from_id="E-101", to_id="E-104", ends_at="2026-03-13T17:00:00Z", limit_cents=500000)

    from_id: PersonId = Field(description="Person whose authority is delegated; must be you.")
    to_id: PersonId = Field(description="Delegate; a current employee.")
    ends_at: Timestamp = Field(description="The delegation ends at this time, exclusive.")
    starts_at: Timestamp | None = Field(
        None, description="The delegation starts at this time, inclusive; default: now."
    )
    type_keys: list[Annotated[str, Field(max_length=64)]] = Field(
        default_factory=list, max_length=MAX_TYPES, description="Covered approval types; empty: all types."
    )
    limit_cents: int | None = Field(
        None, ge=0, le=LARGEST_CENTS, strict=True, description="Maximum amount covered, inclusive; null: no limit."
    )
