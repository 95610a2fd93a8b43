"""Internal tables in every episode's database. Tools do not read them and digests do not include them."""

from __future__ import annotations

from sqlalchemy import JSON, Column, Integer, MetaData, Table, Text

from companyos_shared.framework.columns import SimTime

metadata = MetaData()

changes = Table(
    "_changes",
    metadata,
    Column("seq", Integer, primary_key=True),
    Column("step", Integer),
    Column("at", SimTime),
    Column("actor", Text),
    Column("cause", Text),
    Column("tbl", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("before", Text),
    Column("after", Text),
)

audit = Table(
    "_audit",
    metadata,
    Column("seq", Integer, primary_key=True),
    Column("step", Integer, nullable=False),
    Column("line", Text, nullable=False),
)

scheduled_events = Table(
    "_due",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("due_at", SimTime, nullable=False, index=True),
    Column("kind", Text, nullable=False),
    Column("payload", JSON, nullable=False),
    Column("cause", Text),
)

step_responses = Table(
    "_applied",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("step", Integer, nullable=False),
    Column("request", Text, nullable=False),
    Column("status", Integer, nullable=False),
    Column("headers", JSON, nullable=False),
    Column("body", Text, nullable=False),
    Column("report", Text, nullable=False),
)

idempotency = Table(
    "_idempotency",
    metadata,
    Column("key", Text, primary_key=True),
    Column("request", Text, nullable=False),
    Column("status", Integer, nullable=False),
    Column("media_type", Text, nullable=False),
    Column("body", Text, nullable=False),
)

sequences = Table(
    "_sequences",
    metadata,
    Column("name", Text, primary_key=True),
    Column("last", Integer, nullable=False),
)

meta = Table(
    "_meta",
    metadata,
    Column("key", Text, primary_key=True),
    Column("value", Text, nullable=False),
)
