"""Database tables of TicketDesk."""

from __future__ import annotations

from sqlalchemy import JSON, Column, Index, Integer, MetaData, String, Table

from companyos_shared.framework import SEARCHED, SimTime

metadata = MetaData()

tickets = Table(
    "tickets",
    metadata,
    Column("key", String, primary_key=True),
    Column("type", String, nullable=False),
    Column("title", String, nullable=False),
    Column("description", String, nullable=False),
    Column("status", String, comment="null: never triaged"),
    Column("priority", String),
    Column("assignee_id", String),
    Column("reporter_id", String, nullable=False),
    Column("team_id", String, nullable=False),
    Column("tags", JSON, nullable=False),
    Column("created_at", SimTime, nullable=False),
    Column("updated_at", SimTime, nullable=False),
    Column("due_at", SimTime),
    Column("verified_at", SimTime),
    Column("verified_by", String),
    Column("approval_ref", String, comment="opaque: of whatever system approves"),
    Column("reason_code", String),
    Column("reason_ref", String),
    Column("version", Integer, nullable=False),
    Index("tickets_by_created_at", "created_at", "key"),
    Index("tickets_by_status", "status"),
    Index("tickets_by_assignee", "assignee_id"),
    info={SEARCHED: ("key", "title", "tags", "description")},
)

checklist_items = Table(
    "checklist_items",
    metadata,
    Column("id", String, primary_key=True),
    Column("ticket_key", String, nullable=False),
    Column("position", Integer, nullable=False),
    Column("text", String, nullable=False),
    Column("done_at", SimTime),
    Column("done_by", String),
    Index("checklist_items_by_ticket", "ticket_key", "position"),
)

comments = Table(
    "comments",
    metadata,
    Column("id", String, primary_key=True),
    Column("ticket_key", String, nullable=False),
    Column("author_id", String, nullable=False),
    Column("created_at", SimTime, nullable=False),
    Column("body", String, nullable=False),
    Index("comments_by_ticket", "ticket_key", "created_at"),
)

answers = Table(
    "answers",
    metadata,
    Column("id", String, primary_key=True),
    Column("person_id", String, nullable=False),
    Column("ticket_key", String, nullable=False),
    Column("body", String, nullable=False, comment="what the person answers under the ticket when mentioned"),
)

links = Table(
    "links",
    metadata,
    Column("id", String, primary_key=True),
    Column("kind", String, nullable=False),
    Column("from_key", String, nullable=False),
    Column("to_key", String, nullable=False),
    Column("created_at", SimTime, nullable=False),
    Column("created_by", String, nullable=False),
    Index("links_by_source", "from_key"),
    Index("links_by_target", "to_key"),
)

removed_links = Table(
    "removed_links",
    metadata,
    Column("id", String, primary_key=True, comment="the id that the link had"),
    Column("kind", String, nullable=False),
    Column("from_key", String, nullable=False),
    Column("to_key", String, nullable=False),
    Column("removed_at", SimTime, nullable=False),
    Column("removed_by", String, nullable=False),
    Column("justification", String, nullable=False),
    Index("removed_links_by_source", "from_key"),
    Index("removed_links_by_target", "to_key"),
)

transitions = Table(
    "transitions",
    metadata,
    Column("id", String, primary_key=True),
    Column("ticket_key", String, nullable=False),
    Column("at", SimTime, nullable=False),
    Column("by", String, nullable=False),
    Column("from_status", String),
    Column("to_status", String, nullable=False),
    Column("reason_code", String),
    Column("reason_ref", String),
    Index("transitions_by_ticket", "ticket_key", "at"),
)

team_prefixes = Table(
    "team_prefixes",
    metadata,
    Column("team_id", String, primary_key=True),
    Column("prefix", String, nullable=False),
)
