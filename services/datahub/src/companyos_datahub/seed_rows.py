"""Row schemas of the seed document: one class per table, one field per column."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, FiniteFloat, JsonValue, model_validator

from companyos_datahub.issues.schemas import IssueKind
from companyos_datahub.records.model import RecordKind
from companyos_datahub.records.schemas import RecordUpdate
from companyos_datahub.refreshes.model import RefreshOutcome, RefreshStatus
from companyos_datahub.sources.schemas import PipelineState
from companyos_datahub.vendors.schemas import RiskTier, VendorStatus
from companyos_shared.wire.company import ReasonCode

Id = Annotated[str, Field(min_length=1, max_length=64)]
Minutes = Annotated[int, Field(ge=1)]


class Row(BaseModel):
    """Base of seed rows; the fields are the columns of the table."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Id


class SourceSeed(Row):
    """A source with an optional maintenance window."""

    name: str
    owner_id: Id
    freshness_sla_minutes: Minutes
    pipeline_state: PipelineState = PipelineState.HEALTHY
    authoritative_for: list[str] = []
    refresh_minutes: Minutes
    maintenance_from: AwareDatetime | None = None
    maintenance_to: AwareDatetime | None = None


class MetricSeed(Row):
    """A metric with its current value."""

    key: str
    subject: Id
    title: str
    value: FiniteFloat
    unit: str
    as_of: AwareDatetime
    source_id: Id


class MetricValueSeed(Row):
    """An earlier value of a metric."""

    metric_id: Id
    value: FiniteFloat
    as_of: AwareDatetime


class RefreshPlanSeed(Row):
    """The planned result of the n-th refresh of a metric. No tool returns it."""

    metric_id: Id
    n: int = Field(ge=1)
    outcome: RefreshOutcome
    value: FiniteFloat | None = None
    error: str | None = None


class RefreshJobSeed(Row):
    """A refresh job requested before the episode starts."""

    metric_id: Id
    n: int = Field(ge=1)
    status: RefreshStatus
    requested_at: AwareDatetime
    requested_by: Id
    finished_at: AwareDatetime | None = None
    error: str | None = None


class VendorSeed(Row):
    """A vendor."""

    name: str
    legal_name: str
    tax_id: str
    country: str
    category: str
    status: VendorStatus
    risk_tier: RiskTier
    contact_name: str
    contact_email: str
    bank_iban: str
    notes: str = ""
    version: int = Field(1, ge=1)


class BankChangeSeed(Row):
    """A change of a vendor's bank details."""

    vendor_id: Id
    changed_at: AwareDatetime
    old_iban: str | None = None
    new_iban: str
    requested_by: str
    channel: str


class CertificateSeed(Row):
    """A certificate of a vendor."""

    vendor_id: Id
    kind: str
    issued_on: date
    expires_on: date


class RecordSeed(Row):
    """A record."""

    kind: RecordKind
    title: str
    state: str
    owner_id: Id | None = None
    vendor_id: Id | None = None
    amount_cents: int | None = None
    currency: str | None = None
    starts_on: date | None = None
    ends_on: date | None = None
    fields: dict[str, JsonValue] = {}
    version: int = Field(1, ge=1)
    created_at: AwareDatetime
    updated_at: AwareDatetime


class PolicySeed(Row):
    """A version of a policy; its id names both (`POL-007-v3`)."""

    policy_id: Id
    version: int = Field(ge=1)
    title: str
    topic: str
    body: str
    parameters: dict[str, JsonValue] = {}
    effective_from: date
    effective_to: date | None = None


class DataIssueSeed(Row):
    """An issue reported before the episode starts."""

    subject: Id
    kind: IssueKind
    reason_code: ReasonCode | None = None
    reason_ref: str | None = None
    description: str
    reported_by: Id
    reported_at: AwareDatetime


class ReadingData(BaseModel):
    """A value that a source delivers."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    metric_id: Id
    value: FiniteFloat


class PipelineData(BaseModel):
    """A new state of a source's pipeline."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source_id: Id
    pipeline_state: PipelineState


class RecordData(RecordUpdate):
    """A colleague's change of a record."""

    record_id: Id


DATA_TYPE_BY_EVENT_KIND: dict[str, type[BaseModel]] = {
    "reading": ReadingData,
    "pipeline": PipelineData,
    "record": RecordData,
}


class ScheduledEventSeed(BaseModel):
    """A scheduled event: a source delivers a value, a pipeline changes, or a colleague changes a record."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    due_at: AwareDatetime
    kind: Literal["reading", "pipeline", "record"]
    data: dict[str, Any]

    @model_validator(mode="after")
    def _data_fits_the_kind(self) -> ScheduledEventSeed:
        DATA_TYPE_BY_EVENT_KIND[self.kind].model_validate(self.data)
        return self
