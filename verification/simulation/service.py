"""A minimal service on the real framework, used twice, and a scenario with both services."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import Annotated, Any

from fastapi import APIRouter, Path
from sqlalchemy import Column, Integer, MetaData, Table, Text, insert, select, update

from companyos_gateway.chaos import FaultPlan
from companyos_gateway.engine.toolbox import Toolbox, build_toolbox
from companyos_gateway.evaluation import Check, Evidence, FinishDeclaration, Milestone, Mismatch, TaskRubric
from companyos_gateway.scenarios import Instance
from companyos_shared.framework import (
    Call,
    CallDep,
    RequestModel,
    ResponseModel,
    SeedDocument,
    Service,
    ServiceError,
    create_app,
    error_responses,
)
from companyos_shared.framework.settings import ServiceSettings
from companyos_shared.wire.company import Company, Person, Team
from companyos_shared.wire.context import Fault, FaultKind

KEY = "the key of every simulated service"
SCENARIO = "entries"
SERVICES = ("board", "ledger")
STARTED_AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
MAX_STEPS = 40
ECHO = "echo of "
ECHO_AFTER = timedelta(minutes=20)
"""Delay of the note that each new entry schedules, in simulated time."""

REJECTED_COUNT = 2
"""Every second `count_entry` of an episode and service is rejected as unavailable."""

TIMED_OUT_ADD = 4
"""Every fourth `add_entry` of an episode and service is applied but times out."""

_metadata = MetaData()
_entries = Table(
    "entries",
    _metadata,
    Column("id", Integer, primary_key=True),
    Column("text", Text, nullable=False),
    Column("count", Integer, nullable=False),
)


class EntryNotFoundError(ServiceError):
    """Raised for an unknown entry id."""

    status, code, title = 404, "entry-not-found", "There is no such entry"


class Entry(ResponseModel):
    """One entry."""

    id: int
    text: str
    count: int


class NewEntry(RequestModel):
    """The request body of a new entry."""

    text: str


class Seed(SeedDocument):
    """The initial data of a service."""

    texts: tuple[str, ...] = ()


def _insert_seed(call: Call, seed: Seed) -> None:
    for number, text in enumerate(seed.texts, start=1):
        call.db.execute(insert(_entries), {"id": number, "text": text, "count": 0})


def _write_echo(call: Call, payload: dict[str, Any]) -> None:
    call.db.execute(insert(_entries), {"text": f"{ECHO}{payload['text']}", "count": 0})


_router = APIRouter()
_EntryId = Annotated[int, Path(ge=1)]


@_router.get("/entries", operation_id="list_entries")
async def _list_entries(call: CallDep) -> list[Entry]:
    """List the entries by id."""
    return [Entry.model_validate(row._asdict()) for row in call.db.execute(select(_entries).order_by(_entries.c.id))]


@_router.post("/entries", operation_id="add_entry", status_code=201)
async def _add_entry(new_entry: NewEntry, call: CallDep) -> Entry:
    """Add an entry, and a note about it some minutes later."""
    added = call.db.execute(insert(_entries), {"text": new_entry.text, "count": 0}).inserted_primary_key
    assert added is not None
    call.schedule(call.now + ECHO_AFTER, "echo", {"text": new_entry.text})
    return _entry(call, added[0])


@_router.post("/entries/{entry_id}/count", operation_id="count_entry", responses=error_responses(EntryNotFoundError))
async def _count_entry(entry_id: _EntryId, call: CallDep) -> Entry:
    """Increment the count of an entry."""
    entry = _entry(call, entry_id)
    call.db.execute(update(_entries).where(_entries.c.id == entry_id).values(count=entry.count + 1))
    return _entry(call, entry_id)


def _entry(call: Call, entry_id: int) -> Entry:
    row = call.db.execute(select(_entries).where(_entries.c.id == entry_id)).one_or_none()
    if row is None:
        raise EntryNotFoundError(f"No entry has the id {entry_id}.")
    return Entry.model_validate(row._asdict())


def _seed(draw_seed: str = "0") -> Seed:
    person = Person(
        id="ana", name="Ana", email="ana@example.com", title="Clerk", team_id="ops", employed_from=date(2020, 1, 1)
    )
    team = Team(id="ops", name="Operations", department="Operations", lead_id="ana")
    company = Company(name="Entries Ltd", domain="example.com", agent_id="ana", people=(person,), teams=(team,))
    return Seed(company=company, draw_seed=draw_seed, started_at=STARTED_AT, texts=("first", f"seed {draw_seed}"))


def _service(name: str) -> Service[Seed]:
    return Service(
        name=name,
        title=name.title(),
        description="Entries with a count.",
        version="1.0.0",
        metadata=_metadata,
        seed=Seed,
        load_seed=_insert_seed,
        demo_seed=_seed,
        routers=[_router],
        event_handlers={"echo": _write_echo},
    )


SERVICE_DEFINITIONS = {name: _service(name) for name in SERVICES}


class CountedFaults(FaultPlan):
    """Faults that the model predicts by counting the calls of an operation."""

    def fault_for(self, service: str, operation: str, target: str, nth: int, **_times: Any) -> Fault | None:
        if operation == "count_entry" and nth % REJECTED_COUNT == 0:
            return Fault(kind=FaultKind.UNAVAILABLE)
        if operation == "add_entry" and nth % TIMED_OUT_ADD == 0:
            return Fault(kind=FaultKind.TIMEOUT_AFTER_COMMIT)
        return None


@dataclass(frozen=True)
class EntriesScenario:
    """A scenario without success, which ends when its steps are used up."""

    name: str = SCENARIO
    held_out: frozenset[str] = frozenset()

    def plan(self, seed: int, chaos: int, overrides: Mapping[str, float] | None = None) -> Instance:
        """Return the task of a seed."""
        return _planned(seed, chaos)


@cache
def _planned(seed: int, chaos: int) -> Instance:
    document = _seed(str(seed)).model_dump(mode="json")
    return Instance(
        scenario=SCENARIO,
        seed=seed,
        chaos=chaos,
        brief="Keep the entries.",
        company_name="Entries Ltd",
        acting_as="ana",
        started_at=STARTED_AT,
        max_steps=MAX_STEPS,
        documents=dict.fromkeys(SERVICES, document),
        task_tools=(),
        variant="endless",
        faults=CountedFaults((), {}, 0, 0),
        rubric=TaskRubric(
            checks=[Check("never", False, lambda _evidence: Mismatch("entries", "an end", "there is none"))],
            milestones=[Milestone("wrote", 1.0, lambda evidence: bool(evidence.agent_changes()))],
            declaration=_is_declared,
            damage=lambda _evidence: [],
            rejections=lambda _evidence: 0,
            is_closed=lambda _evidence: False,
        ),
        injections=(),
    )


def _is_declared(_evidence: Evidence, finish: FinishDeclaration | None) -> Mismatch | None:
    return None if finish is None else Mismatch("finish", "no declaration", "a declaration")


@cache
def toolbox() -> Toolbox:
    """Return the tools of both services."""
    settings = ServiceSettings(service_key=KEY, service_key_file=None)
    documents = {name: create_app(service, settings).openapi() for name, service in SERVICE_DEFINITIONS.items()}
    return build_toolbox(documents, {"type": "object"})
