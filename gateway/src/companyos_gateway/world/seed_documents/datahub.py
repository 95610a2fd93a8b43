"""Seed document of DataHub: sources, metrics, vendors, records and policies."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Literal

PipelineState = Literal["healthy", "degraded", "failed"]
RiskTier = Literal["low", "medium", "high"]
VendorStatus = Literal["prospect", "active", "suspended"]
RefreshOutcome = Literal["succeeded", "failed"]


@dataclass(slots=True, kw_only=True)
class SourceRow:
    """A system that delivers metrics."""

    id: str
    name: str
    owner_id: str
    freshness_sla_minutes: int
    pipeline_state: PipelineState
    authoritative_for: list[str]
    refresh_minutes: int
    maintenance_from: datetime | None = None
    maintenance_to: datetime | None = None


@dataclass(slots=True, kw_only=True)
class MetricRow:
    """Row of a metric: one source's value for one key of one subject."""

    id: str
    key: str
    subject: str
    title: str
    value: float
    unit: str
    as_of: datetime
    source_id: str


@dataclass(slots=True, kw_only=True)
class MetricValueRow:
    """An earlier value of a metric."""

    id: str
    metric_id: str
    value: float
    as_of: datetime


@dataclass(slots=True, kw_only=True)
class RefreshPlanRow:
    """Hidden: the outcome of the n-th refresh of a metric."""

    id: str
    metric_id: str
    n: int
    outcome: RefreshOutcome
    value: float | None = None
    error: str | None = None


@dataclass(slots=True, kw_only=True)
class VendorRow:
    """A vendor."""

    id: str
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
    notes: str
    version: int = 1


@dataclass(slots=True, kw_only=True)
class BankChangeRow:
    """A change of a vendor's bank details."""

    id: str
    vendor_id: str
    changed_at: datetime
    old_iban: str | None
    new_iban: str
    requested_by: str
    channel: str


@dataclass(slots=True, kw_only=True)
class CertificateRow:
    """A certificate of a vendor, valid up to and including its last day."""

    id: str
    vendor_id: str
    kind: str
    issued_on: date
    expires_on: date


@dataclass(slots=True, kw_only=True)
class RecordRow:
    """A contract, license, order or other record."""

    id: str
    kind: str
    title: str
    state: str
    owner_id: str | None
    vendor_id: str | None
    amount_cents: int | None
    currency: str | None
    starts_on: date | None
    ends_on: date | None
    fields: dict[str, Any]
    created_at: datetime
    updated_at: datetime
    version: int = 1


@dataclass(slots=True, kw_only=True)
class PolicyRow:
    """One version of a policy."""

    id: str
    policy_id: str
    version: int
    title: str
    topic: str
    body: str
    parameters: dict[str, Any]
    effective_from: date
    effective_to: date | None = None


@dataclass(slots=True, kw_only=True)
class DataIssueRow:
    """A reported data issue."""

    id: str
    subject: str
    kind: str
    description: str
    reported_by: str
    reported_at: datetime
    reason_code: str | None = None
    reason_ref: str | None = None


@dataclass(slots=True, kw_only=True)
class RefreshJobRow:
    """A past refresh of a metric."""

    id: str
    metric_id: str
    n: int
    status: Literal["queued", "running", "succeeded", "failed"]
    requested_at: datetime
    requested_by: str
    finished_at: datetime | None = None
    error: str | None = None


@dataclass(slots=True, kw_only=True)
class DataHubEvent:
    """Scheduled event: a delivery of a source, a pipeline change, or a colleague's change of a record."""

    due_at: datetime
    kind: Literal["reading", "pipeline", "record"]
    data: dict[str, Any]


@dataclass(slots=True)
class DataHubDocument:
    """The rows with which DataHub starts."""

    sources: list[SourceRow] = field(default_factory=list)
    metrics: list[MetricRow] = field(default_factory=list)
    metric_values: list[MetricValueRow] = field(default_factory=list)
    refresh_plans: list[RefreshPlanRow] = field(default_factory=list)
    vendors: list[VendorRow] = field(default_factory=list)
    bank_changes: list[BankChangeRow] = field(default_factory=list)
    certificates: list[CertificateRow] = field(default_factory=list)
    records: list[RecordRow] = field(default_factory=list)
    policies: list[PolicyRow] = field(default_factory=list)
    data_issues: list[DataIssueRow] = field(default_factory=list)
    refresh_jobs: list[RefreshJobRow] = field(default_factory=list)
    scheduled_events: list[DataHubEvent] = field(default_factory=list)
