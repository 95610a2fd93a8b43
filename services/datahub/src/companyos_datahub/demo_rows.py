"""Rows of the demo seed: one function per table."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

from companyos_datahub.records.model import RecordKind
from companyos_datahub.refreshes.model import RefreshOutcome
from companyos_datahub.seed_rows import (
    BankChangeSeed,
    CertificateSeed,
    MetricSeed,
    MetricValueSeed,
    PolicySeed,
    RecordSeed,
    RefreshPlanSeed,
    SourceSeed,
    VendorSeed,
)
from companyos_datahub.sources.model import PipelineState
from companyos_datahub.vendors.schemas import RiskTier, VendorStatus

_DAY_MINUTES = 1440
_COMPLIANCE, _ERRORS, _RENEWAL = "compliance_score", "error_rate", "days_to_expiry"


def sources() -> list[SourceSeed]:
    """Return a healthy, a degraded and a nightly source, the last with a maintenance window."""
    return [
        SourceSeed(
            id="SRC-RISK",
            name="Supplier risk engine",
            owner_id="E-1005",
            freshness_sla_minutes=_DAY_MINUTES,
            authoritative_for=[_COMPLIANCE],
            refresh_minutes=20,
        ),
        SourceSeed(
            id="SRC-OBS",
            name="Observability",
            owner_id="E-1006",
            freshness_sla_minutes=30,
            pipeline_state=PipelineState.DEGRADED,
            authoritative_for=[_ERRORS],
            refresh_minutes=5,
        ),
        SourceSeed(
            id="SRC-ERP",
            name="ERP nightly export",
            owner_id="E-1003",
            freshness_sla_minutes=2 * _DAY_MINUTES,
            authoritative_for=[_RENEWAL],
            refresh_minutes=60,
            maintenance_from=_at(3, 3, 20),
            maintenance_to=_at(3, 4, 4),
        ),
    ]


def metrics() -> list[MetricSeed]:
    """Return metrics, of which one is stale and one differs between two sources."""
    nordwind, bluepeak = "Nordwind Logistik", "Bluepeak Optics"
    return [
        _metric(
            "MET-1", _COMPLIANCE, "VEN-201", f"Compliance score of {nordwind}", 82.0, "points", _at(2, 22, 6), "RISK"
        ),
        _metric(
            "MET-2", _COMPLIANCE, "VEN-201", f"Compliance score of {nordwind}", 79.0, "points", _at(3, 1, 2), "ERP"
        ),
        _metric(
            "MET-3", _COMPLIANCE, "VEN-202", f"Compliance score of {bluepeak}", 91.0, "points", _at(3, 2, 6), "RISK"
        ),
        _metric(
            "MET-4", _ERRORS, "checkout-api", "Error rate of the checkout API", 0.042, "fraction", _at(3, 2, 8), "OBS"
        ),
        _metric("MET-5", _RENEWAL, "LIC-77", "Days until Calibre CAD expires", 27.0, "days", _at(3, 2, 2), "ERP"),
    ]


def metric_values() -> list[MetricValueSeed]:
    """Return earlier values of the first metric."""
    return [
        MetricValueSeed(id="MV-1", metric_id="MET-1", value=88.0, as_of=_at(1, 22, 6)),
        MetricValueSeed(id="MV-2", metric_id="MET-1", value=85.0, as_of=_at(2, 8, 6)),
    ]


def refresh_plans() -> list[RefreshPlanSeed]:
    """Return a refresh that fails, followed by one with a better value."""
    return [
        RefreshPlanSeed(
            id="RP-1",
            metric_id="MET-1",
            n=1,
            outcome=RefreshOutcome.FAILED,
            error="The supplier portal did not answer.",
        ),
        RefreshPlanSeed(id="RP-2", metric_id="MET-1", n=2, outcome=RefreshOutcome.SUCCEEDED, value=84.0),
    ]


def vendors() -> list[VendorSeed]:
    """Return three vendors, two of them with similar names."""
    return [
        VendorSeed(
            id="VEN-201",
            name="Nordwind Logistik",
            legal_name="Nordwind Logistik GmbH",
            tax_id="DE811234567",
            country="DE",
            category="logistics",
            status=VendorStatus.PROSPECT,
            risk_tier=RiskTier.MEDIUM,
            contact_name="Jana Peters",
            contact_email="jana.peters@nordwind-logistik.example",
            bank_iban="DE44500105175407324931",
        ),
        VendorSeed(
            id="VEN-202",
            name="Bluepeak Optics",
            legal_name="Bluepeak Optics GmbH",
            tax_id="DE299876543",
            country="DE",
            category="optical components",
            status=VendorStatus.ACTIVE,
            risk_tier=RiskTier.MEDIUM,
            contact_name="Markus Vogel",
            contact_email="markus.vogel@bluepeak-optics.example",
            bank_iban="DE02120300000000202051",
        ),
        VendorSeed(
            id="VEN-203",
            name="Bluepeak Office",
            legal_name="Bluepeak Office KG",
            tax_id="DE288112233",
            country="DE",
            category="office supplies",
            status=VendorStatus.ACTIVE,
            risk_tier=RiskTier.LOW,
            contact_name="Sabine Krause",
            contact_email="sabine.krause@bluepeak-office.example",
            bank_iban="DE02500105170137075030",
        ),
    ]


def bank_changes() -> list[BankChangeSeed]:
    """Return one change that was requested by mail."""
    return [
        BankChangeSeed(
            id="BC-1",
            vendor_id="VEN-202",
            changed_at=_at(1, 14, 10),
            old_iban="DE02100500000054540402",
            new_iban="DE02120300000000202051",
            requested_by="accounts@bluepeak-optics.example",
            channel="email",
        )
    ]


def certificates() -> list[CertificateSeed]:
    """Return a valid and an expired certificate."""
    return [
        CertificateSeed(
            id="CRT-1", vendor_id="VEN-201", kind="iso27001", issued_on=date(2024, 5, 1), expires_on=date(2027, 4, 30)
        ),
        CertificateSeed(
            id="CRT-2", vendor_id="VEN-202", kind="iso9001", issued_on=date(2023, 2, 1), expires_on=date(2026, 1, 31)
        ),
    ]


def records() -> list[RecordSeed]:
    """Return one record of every kind."""
    kinds = RecordKind
    return [
        _record("CON-41", kinds.CONTRACT, "Freight framework agreement", "draft", vendor_id="VEN-201", notice_days=90),
        _record("LIC-77", kinds.LICENSE, "Calibre CAD", "active", ends_on=date(2026, 3, 29), seats=40),
        _record(
            "EXP-512",
            kinds.EXPENSE,
            "Trade fair travel",
            "submitted",
            48_250,
            owner_id="E-1010",
            category="travel",
            attendees=1,
        ),
        _record(
            "PO-3311",
            kinds.PURCHASE_ORDER,
            "40 objective lenses",
            "received",
            5_200_000,
            "VEN-202",
            created_at=_at(1, 12, 8),
            quantity=40,
        ),
        _record(
            "GR-908",
            kinds.GOODS_RECEIPT,
            "Receipt of 38 objective lenses",
            "recorded",
            None,
            "VEN-202",
            created_at=_at(2, 9, 10),
            quantity=38,
            purchase_order_id="PO-3311",
        ),
        _record(
            "INV-6620",
            kinds.INVOICE,
            "Invoice for 40 objective lenses",
            "received",
            5_200_000,
            "VEN-202",
            quantity=40,
            purchase_order_id="PO-3311",
        ),
        _record(
            "BUD-12",
            kinds.BUDGET_LINE,
            "Platform tools 2026",
            "active",
            12_000_000,
            owner_id="E-1006",
            fiscal_year=2026,
        ),
        _record(
            "AG-330",
            kinds.ACCESS_GRANT,
            "Production database, Peter Novak",
            "active",
            owner_id="E-1006",
            person_id="E-1009",
        ),
        _record(
            "DOC-15",
            kinds.DOCUMENT,
            "Employee handbook",
            "published",
            owner_id="E-1008",
            document_type="handbook",
            revision=7,
        ),
    ]


def policies() -> list[PolicySeed]:
    """Return a policy in two versions and one in a single version."""
    onboarding = (
        "1. Approval\nThe CFO approves a new vendor.\n\n"
        "2. Compliance\nThe compliance score must be at least {} points and must not be stale at approval."
    )
    return [
        PolicySeed(
            id="POL-007-v1",
            policy_id="POL-007",
            version=1,
            title="Vendor onboarding",
            topic="procurement",
            body=onboarding.format(75),
            parameters={"min_compliance_score": 75},
            effective_from=date(2023, 1, 1),
            effective_to=date(2025, 12, 31),
        ),
        PolicySeed(
            id="POL-007-v2",
            policy_id="POL-007",
            version=2,
            title="Vendor onboarding",
            topic="procurement",
            body=onboarding.format(80),
            parameters={"min_compliance_score": 80},
            effective_from=date(2026, 1, 1),
        ),
        PolicySeed(
            id="POL-012-v1",
            policy_id="POL-012",
            version=1,
            title="Travel and expenses",
            topic="finance",
            body=(
                "1. Receipts\nEvery expense requires a receipt.\n\n"
                "2. Approval\nExpenses above EUR 500 require the approval of the finance controller."
            ),
            parameters={"limit_cents": 50_000},
            effective_from=date(2024, 7, 1),
        ),
    ]


def _at(month: int, day: int, hour: int) -> datetime:
    return datetime(2026, month, day, hour, tzinfo=UTC)


def _metric(
    metric_id: str, key: str, subject: str, title: str, value: float, unit: str, as_of: datetime, source: str
) -> MetricSeed:
    return MetricSeed(
        id=metric_id,
        key=key,
        subject=subject,
        title=title,
        value=value,
        unit=unit,
        as_of=as_of,
        source_id=f"SRC-{source}",
    )


def _record(
    record_id: str,
    kind: RecordKind,
    title: str,
    state: str,
    amount_cents: int | None = None,
    vendor_id: str | None = None,
    *,
    owner_id: str = "E-1004",
    created_at: datetime = datetime(2026, 2, 10, 8, tzinfo=UTC),
    ends_on: date | None = None,
    **fields: Any,
) -> RecordSeed:
    return RecordSeed(
        id=record_id,
        kind=kind,
        title=title,
        state=state,
        owner_id=owner_id,
        vendor_id=vendor_id,
        amount_cents=amount_cents,
        currency=None if amount_cents is None else "EUR",
        ends_on=ends_on,
        fields=fields,
        created_at=created_at,
        updated_at=created_at,
    )
