"""Seed document of ApprovalFlow, its validation and its insertion into the database."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pydantic import Field, model_validator

from companyos_approvalflow import tables
from companyos_approvalflow.decisions.service import schedule_decision, schedule_expiry
from companyos_approvalflow.requests.model import OPEN, WAITING, Request
from companyos_approvalflow.scheduled_events import COLLEAGUE
from companyos_approvalflow.seed_rows import (
    ApprovalTypeSeed,
    DecisionSeed,
    DelegationSeed,
    NoteSeed,
    ReactionSeed,
    RequestSeed,
    ScheduledEventSeed,
    SeedModel,
    TraitSeed,
)
from companyos_shared.framework import Call, SeedDocument, insert_rows

SEEDED_TABLES = ("approval_types", "requests", "decisions", "notes", "delegations", "traits", "reactions")
"""Lists of the seed in the order of insertion."""

_NUMBERED = re.compile(r"\A(.*?)(\d{1,15})")


class Seed(SeedDocument):
    """Initial data of ApprovalFlow. Open requests are decided and expire from `started_at` on."""

    approval_types: list[ApprovalTypeSeed] = Field(default_factory=list)
    requests: list[RequestSeed] = Field(default_factory=list)
    decisions: list[DecisionSeed] = Field(default_factory=list)
    notes: list[NoteSeed] = Field(default_factory=list)
    delegations: list[DelegationSeed] = Field(default_factory=list)
    traits: list[TraitSeed] = Field(default_factory=list)
    reactions: list[ReactionSeed] = Field(default_factory=list)
    scheduled_events: list[ScheduledEventSeed] = Field(default_factory=list)

    @model_validator(mode="after")
    def _is_whole(self) -> Seed:
        _check_unique(self)
        _check_references(self)
        _check_times(self)
        return self


def load_seed(call: Call, seed: Seed) -> None:
    """Insert all rows, start numbering after the highest id of each kind, and schedule events."""
    for name in SEEDED_TABLES:
        insert_rows(call.db, tables.metadata.tables[name], getattr(seed, name))
    for prefix, last in sorted(_highest_numbers(seed).items()):
        call.start_numbering(prefix, last)
    for row in seed.requests:
        request = Request(**row.model_dump())
        if request.status in WAITING:
            schedule_decision(call, request)
        if request.status in OPEN:
            schedule_expiry(call, request)
    for event in seed.scheduled_events:
        payload = {"kind": event.kind.value, "data": event.data}
        call.schedule(event.due_at, COLLEAGUE, payload)


def _every_row(seed: Seed) -> Iterator[tuple[str, SeedModel]]:
    """Yield each row with its path, including the rows of scheduled events."""
    for name in SEEDED_TABLES:
        for number, row in enumerate(getattr(seed, name)):
            yield f"{name}[{number}]", row
    for number, event in enumerate(seed.scheduled_events):
        yield f"scheduled_events[{number}].data", event.row


def _key(row: SeedModel) -> str:
    return row.key if isinstance(row, ApprovalTypeSeed) else str(row.id)  # type: ignore[attr-defined]


def _check_unique(seed: Seed) -> None:
    seen: set[tuple[type[SeedModel], str]] = set()
    for place, row in _every_row(seed):
        if (type(row), _key(row)) in seen:
            raise ValueError(f"{place}: duplicate id {_key(row)}")
        seen.add((type(row), _key(row)))


def _check_references(seed: Seed) -> None:
    types = {row.key for row in seed.approval_types}
    requests = {_key(row) for _, row in _every_row(seed) if isinstance(row, RequestSeed)}
    ids = {
        "type_key": types,
        "type_keys": types,
        "request_id": requests,
        "question_id": {row.id for row in seed.decisions},
        "administered_by": {team.id for team in seed.company.teams},
    }
    for place, row in _every_row(seed):
        for name, value in _named(row):
            if seed.is_base and name == "type_key":
                continue  # the episodes that use the base have the types
            known = ids.get(name)
            is_known = value in known if known is not None else seed.company.person(value) is not None
            if not is_known:
                raise ValueError(f"{place}.{name}: unknown id {value}")


_PEOPLE = ("requester_id", "approver_id", "by", "author_id", "from_id", "to_id", "created_by")


def _named(row: SeedModel) -> Iterator[tuple[str, str]]:
    values = vars(row)
    for name in ("type_keys", "administered_by"):
        yield from ((name, key) for key in values.get(name, ()))
    yield from ((name, values[name]) for name in ("type_key", "request_id", *_PEOPLE) if name in values)
    if isinstance(row, NoteSeed) and row.question_id is not None:
        yield "question_id", row.question_id
    if isinstance(row, TraitSeed):
        yield "id", row.id


def _check_times(seed: Seed) -> None:
    open_on: set[tuple[str, str]] = set()
    for number, row in enumerate(seed.requests):
        if row.status not in OPEN:
            continue
        if row.expires_at <= seed.started_at:
            raise ValueError(f"requests[{number}].expires_at: must be after started_at for an open request")
        if (row.type_key, row.subject) in open_on:
            raise ValueError(f"requests[{number}].subject: another request of the type is open on {row.subject}")
        open_on.add((row.type_key, row.subject))
    for number, event in enumerate(seed.scheduled_events):
        if event.due_at < seed.started_at:
            raise ValueError(f"scheduled_events[{number}].due_at: must not be before started_at")


def _highest_numbers(seed: Seed) -> dict[str, int]:
    """Return the highest number of each id prefix: {"APR-": 1042}."""
    highest: dict[str, int] = {}
    for _, row in _every_row(seed):
        if isinstance(row, (RequestSeed, DelegationSeed, DecisionSeed, NoteSeed)) and (
            match := _NUMBERED.fullmatch(row.id)
        ):
            prefix, number = match.group(1), int(match.group(2))
            highest[prefix] = max(highest.get(prefix, 0), number)
    return highest
