"""Database tables of DataHub. Each has one primary key column; references are by id."""

from __future__ import annotations

from sqlalchemy import JSON, Column, Float, ForeignKey, Index, Integer, MetaData, Table, Text, UniqueConstraint

from companyos_shared.framework import SEARCHED, SimDate, SimTime

metadata = MetaData()

sources = Table(
    "sources",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("owner_id", Text, nullable=False),
    Column("freshness_sla_minutes", Integer, nullable=False),
    Column("pipeline_state", Text, nullable=False),
    Column("authoritative_for", JSON, nullable=False),
    Column("refresh_minutes", Integer, nullable=False),
    Column("maintenance_from", SimTime),
    Column("maintenance_to", SimTime),
)

metrics = Table(
    "metrics",
    metadata,
    Column("id", Text, primary_key=True),
    Column("key", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("value", Float, nullable=False),
    Column("unit", Text, nullable=False),
    Column("as_of", SimTime, nullable=False),
    Column("source_id", Text, ForeignKey("sources.id"), nullable=False),
    UniqueConstraint("key", "subject", "source_id"),
    Index("metrics_by_subject", "subject"),
)

metric_values = Table(
    "metric_values",
    metadata,
    Column("id", Text, primary_key=True),
    Column("metric_id", Text, ForeignKey("metrics.id"), nullable=False),
    Column("value", Float, nullable=False),
    Column("as_of", SimTime, nullable=False),
    Index("metric_values_by_metric", "metric_id", "as_of"),
)

refresh_plans = Table(
    "refresh_plans",
    metadata,
    Column("id", Text, primary_key=True),
    Column("metric_id", Text, ForeignKey("metrics.id"), nullable=False),
    Column("n", Integer, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("value", Float),
    Column("error", Text),
    UniqueConstraint("metric_id", "n"),
)

refresh_jobs = Table(
    "refresh_jobs",
    metadata,
    Column("id", Text, primary_key=True),
    Column("metric_id", Text, ForeignKey("metrics.id"), nullable=False),
    Column("n", Integer, nullable=False),
    Column("status", Text, nullable=False),
    Column("requested_at", SimTime, nullable=False),
    Column("requested_by", Text, nullable=False),
    Column("finished_at", SimTime),
    Column("error", Text),
    UniqueConstraint("metric_id", "n"),
)

vendors = Table(
    "vendors",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("legal_name", Text, nullable=False),
    Column("tax_id", Text, nullable=False),
    Column("country", Text, nullable=False),
    Column("category", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("risk_tier", Text, nullable=False),
    Column("contact_name", Text, nullable=False),
    Column("contact_email", Text, nullable=False),
    Column("bank_iban", Text, nullable=False),
    Column("notes", Text, nullable=False),
    Column("version", Integer, nullable=False),
    info={SEARCHED: ("id", "name", "legal_name", "tax_id", "category", "contact_name")},
)

bank_changes = Table(
    "bank_changes",
    metadata,
    Column("id", Text, primary_key=True),
    Column("vendor_id", Text, ForeignKey("vendors.id"), nullable=False),
    Column("changed_at", SimTime, nullable=False),
    Column("old_iban", Text),
    Column("new_iban", Text, nullable=False),
    Column("requested_by", Text, nullable=False),
    Column("channel", Text, nullable=False),
    Index("bank_changes_by_vendor", "vendor_id", "changed_at"),
)

certificates = Table(
    "certificates",
    metadata,
    Column("id", Text, primary_key=True),
    Column("vendor_id", Text, ForeignKey("vendors.id"), nullable=False),
    Column("kind", Text, nullable=False),
    Column("issued_on", SimDate, nullable=False),
    Column("expires_on", SimDate, nullable=False),
    Index("certificates_by_vendor", "vendor_id"),
)

records = Table(
    "records",
    metadata,
    Column("id", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("owner_id", Text),
    Column("vendor_id", Text, ForeignKey("vendors.id")),
    Column("amount_cents", Integer),
    Column("currency", Text),
    Column("starts_on", SimDate),
    Column("ends_on", SimDate),
    Column("fields", JSON, nullable=False),
    Column("version", Integer, nullable=False),
    Column("created_at", SimTime, nullable=False),
    Column("updated_at", SimTime, nullable=False),
    Index("records_by_kind", "kind", "state"),
    Index("records_by_vendor", "vendor_id"),
    Index("records_by_owner", "owner_id"),
    info={SEARCHED: ("id", "title", "vendor_id", "fields")},
)

policies = Table(
    "policies",
    metadata,
    Column("id", Text, primary_key=True),
    Column("policy_id", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("title", Text, nullable=False),
    Column("topic", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("parameters", JSON, nullable=False),
    Column("effective_from", SimDate, nullable=False),
    Column("effective_to", SimDate),
    UniqueConstraint("policy_id", "version"),
    info={SEARCHED: ("id", "title", "topic", "body")},
)

data_issues = Table(
    "data_issues",
    metadata,
    Column("id", Text, primary_key=True),
    Column("subject", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("reason_code", Text),
    Column("reason_ref", Text),
    Column("description", Text, nullable=False),
    Column("reported_by", Text, nullable=False),
    Column("reported_at", SimTime, nullable=False),
)
