"""Database tables of ApprovalFlow. Only the approver simulation reads `traits` and `reactions`."""

from __future__ import annotations

from sqlalchemy import JSON, Column, ForeignKey, Index, Integer, MetaData, Table, Text

from companyos_shared.framework import SimTime

metadata = MetaData()

approval_types = Table(
    "approval_types",
    metadata,
    Column("key", Text, primary_key=True),
    Column("title", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("policy_ref", Text),
    Column("fields", JSON, nullable=False),
    Column("amount_field", Text),
    Column("thresholds", JSON, nullable=False),
    Column("second_role", Text),
    Column("second_above_cents", Integer),
    Column("expires_after_minutes", Integer, nullable=False),
    Column("administered_by", JSON, nullable=False),
)

requests = Table(
    "requests",
    metadata,
    Column("id", Text, primary_key=True),
    Column("type_key", Text, ForeignKey("approval_types.key"), nullable=False),
    Column("subject", Text, nullable=False),
    Column("ticket_ref", Text),
    Column("requester_id", Text, nullable=False),
    Column("approver_id", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("fields", JSON, nullable=False),
    Column("justification", Text, nullable=False),
    Column("submitted_at", SimTime, nullable=False),
    Column("decided_at", SimTime),
    Column("expires_at", SimTime, nullable=False),
    Column("reason_code", Text),
    Column("reason_ref", Text),
    Column("version", Integer, nullable=False),
    Index("requests_by_subject", "type_key", "subject"),
    Index("requests_by_time", "submitted_at", "id"),
)

decisions = Table(
    "decisions",
    metadata,
    Column("id", Text, primary_key=True),
    Column("request_id", Text, ForeignKey("requests.id"), nullable=False, index=True),
    Column("kind", Text, nullable=False),
    Column("by", Text, nullable=False),
    Column("at", SimTime, nullable=False),
    Column("reason_code", Text),
    Column("reason_ref", Text),
    Column("reason", Text, nullable=False),
)

notes = Table(
    "notes",
    metadata,
    Column("id", Text, primary_key=True),
    Column("request_id", Text, ForeignKey("requests.id"), nullable=False, index=True),
    Column("author_id", Text, nullable=False),
    Column("at", SimTime, nullable=False),
    Column("body", Text, nullable=False),
    Column("question_id", Text, ForeignKey("decisions.id")),
)

delegations = Table(
    "delegations",
    metadata,
    Column("id", Text, primary_key=True),
    Column("from_id", Text, nullable=False, index=True),
    Column("to_id", Text, nullable=False, index=True),
    Column("type_keys", JSON, nullable=False),
    Column("limit_cents", Integer),
    Column("starts_at", SimTime, nullable=False),
    Column("ends_at", SimTime, nullable=False),
    Column("revoked_at", SimTime),
    Column("created_by", Text, nullable=False),
)

traits = Table(
    "traits",
    metadata,
    Column("id", Text, primary_key=True),
    Column("min_minutes", Integer, nullable=False),
    Column("max_minutes", Integer, nullable=False),
)

reactions = Table(
    "reactions",
    metadata,
    Column("id", Text, primary_key=True),
    Column("type_key", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("n", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    Column("reason_code", Text),
    Column("reason", Text, nullable=False),
    Column("accepted", JSON, nullable=False),
    Column("extra_minutes", Integer, nullable=False),
    Index("reactions_by_turn", "type_key", "subject", "n"),
)
