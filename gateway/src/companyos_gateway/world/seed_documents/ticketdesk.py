"""Seed document of TicketDesk: tickets with checklists, comments, answers, links and transitions."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

Status = Literal["open", "in_progress", "blocked", "in_review", "resolved", "closed", "cancelled"]
Priority = Literal["low", "medium", "high", "critical"]
LinkKind = Literal["blocks", "duplicates", "relates_to"]


@dataclass(slots=True, kw_only=True)
class TicketRow:
    """A ticket; its status is None until it is triaged."""

    key: str
    type: str
    title: str
    description: str
    status: Status | None
    priority: Priority | None
    assignee_id: str | None
    reporter_id: str
    team_id: str
    tags: list[str]
    created_at: datetime
    updated_at: datetime
    due_at: datetime | None = None
    verified_at: datetime | None = None
    verified_by: str | None = None
    approval_ref: str | None = None
    reason_code: str | None = None
    reason_ref: str | None = None
    version: int = 1


@dataclass(slots=True, kw_only=True)
class ChecklistRow:
    """A step of a ticket's checklist."""

    id: str
    ticket_key: str
    position: int
    text: str
    done_at: datetime | None = None
    done_by: str | None = None


@dataclass(slots=True, kw_only=True)
class CommentRow:
    """Row of a comment on a ticket."""

    id: str
    ticket_key: str
    author_id: str
    created_at: datetime
    body: str


@dataclass(slots=True, kw_only=True)
class AnswerRow:
    """Row of a person's answer when mentioned in a comment under a ticket."""

    id: str
    person_id: str
    ticket_key: str
    body: str


@dataclass(slots=True, kw_only=True)
class LinkRow:
    """Row of a link: one ticket blocks, duplicates or relates to another."""

    id: str
    kind: LinkKind
    from_key: str
    to_key: str
    created_at: datetime
    created_by: str


@dataclass(slots=True, kw_only=True)
class TransitionRow:
    """Row of a ticket's change from one status to another."""

    id: str
    ticket_key: str
    at: datetime
    by: str
    from_status: Status | None
    to_status: Status
    reason_code: str | None = None
    reason_ref: str | None = None


@dataclass(slots=True, kw_only=True)
class TicketDeskEvent:
    """Scheduled action of a colleague at a time, or once a ticket is verified."""

    due_at: datetime
    kind: Literal["ticket", "comment", "transition", "change"]
    data: dict[str, Any]
    once_verified: str | None = None


@dataclass(slots=True)
class TicketDeskDocument:
    """The rows with which TicketDesk starts."""

    team_prefixes: dict[str, str] = field(default_factory=dict)
    tickets: list[TicketRow] = field(default_factory=list)
    checklist_items: list[ChecklistRow] = field(default_factory=list)
    comments: list[CommentRow] = field(default_factory=list)
    answers: list[AnswerRow] = field(default_factory=list)
    links: list[LinkRow] = field(default_factory=list)
    transitions: list[TransitionRow] = field(default_factory=list)
    scheduled_events: list[TicketDeskEvent] = field(default_factory=list)
