"""A small service on the real framework, and a scenario for it: the fourth service of these tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path, status
from pydantic import BaseModel, ConfigDict
from sqlalchemy import Column, Integer, MetaData, String, Table, insert, select, update

from companyos.contract import FinishOutcome
from companyos_gateway.chaos import FaultPlan
from companyos_gateway.evaluation import Check, Evidence, FinishDeclaration, Milestone, Mismatch, TaskRubric
from companyos_gateway.scenarios import Instance
from companyos_shared.framework import (
    Call,
    CallDep,
    IdempotencyKey,
    RequestModel,
    ResponseModel,
    SeedDocument,
    Service,
    ServiceError,
    SimTime,
    error_responses,
)
from companyos_shared.wire.company import Company, Person, Team
from companyos_shared.wire.context import Fault

STARTED_AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)

metadata = MetaData()
notes = Table(
    "notes",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("text", String, nullable=False),
    Column("done_at", SimTime, nullable=True),
)


class NoteNotFoundError(ServiceError):
    """No note has that id."""

    status, code, title = 404, "note-not-found", "There is no such note"


class NoteDoneError(ServiceError):
    """The note was done before."""

    status, code, title = 409, "note-done", "The note is done already"


class Note(ResponseModel):
    """A note."""

    id: int
    text: str
    done_at: datetime | None


class NewNote(RequestModel):
    """A note to write."""

    text: str
    stars: int | None = None
    scores: list[float] | None = None


class SeedNote(BaseModel):
    """A note that exists from the start."""

    model_config = ConfigDict(extra="forbid")

    id: int
    text: str


class Later(BaseModel):
    """A note that a colleague writes later."""

    model_config = ConfigDict(extra="forbid")

    due_at: datetime
    text: str


class Seed(SeedDocument):
    """Seed of a notebook."""

    notes: tuple[SeedNote, ...] = ()
    scheduled_events: tuple[Later, ...] = ()


def load_seed(call: Call, seed: Seed) -> None:
    for note in seed.notes:
        call.db.execute(insert(notes), {"id": note.id, "text": note.text})
    for later in seed.scheduled_events:
        call.schedule(later.due_at, "note", {"text": later.text})


def write_later(call: Call, payload: dict[str, Any]) -> None:
    call.db.execute(insert(notes), {"text": payload["text"]})


router = APIRouter()
NoteId = Annotated[int, Path(ge=1)]


@router.get("/notes", operation_id="list_notes")
async def list_notes(call: CallDep, word: str | None = None) -> list[Note]:
    """List the notes.

    In the order of their ids.
    """
    rows = call.db.execute(select(notes).order_by(notes.c.id)).all()
    return [Note.model_validate(row._asdict()) for row in rows if word is None or word in row.text]


@router.get("/notes/{note_id}", operation_id="get_note", responses=error_responses(NoteNotFoundError))
async def get_note(note_id: NoteId, call: CallDep) -> Note:
    """Get one note."""
    return _note(call, note_id)


@router.post("/notes", operation_id="write_note", status_code=status.HTTP_201_CREATED)
async def write_note(expected: NewNote, call: CallDep, idempotency_key: IdempotencyKey = None) -> Note:
    """Write a note."""
    written = call.db.execute(insert(notes), {"text": expected.text}).inserted_primary_key
    assert written is not None
    return _note(call, written[0])


@router.post(
    "/notes/{note_id}/done",
    operation_id="finish_note",
    responses=error_responses(NoteNotFoundError, NoteDoneError),
    openapi_extra={"x-minutes": 10},
)
async def finish_note(note_id: NoteId, call: CallDep) -> Note:
    """Say that a note is done."""
    if _note(call, note_id).done_at is not None:
        raise NoteDoneError(f"Note {note_id} is done already.")
    call.db.execute(update(notes).where(notes.c.id == note_id).values(done_at=call.now))
    return _note(call, note_id)


@router.post("/broken", operation_id="break_things")
async def break_things(call: CallDep) -> Note:
    """Break."""
    raise RuntimeError("a bug")


@router.get("/words/{word}", operation_id="find_word")
async def find_word(word: str, call: CallDep) -> dict[str, str]:
    """Say the word."""
    return {"word": word}


def _note(call: Call, note_id: int) -> Note:
    row = call.db.execute(select(notes).where(notes.c.id == note_id)).one_or_none()
    if row is None:
        raise NoteNotFoundError(f"No note has the id {note_id}.")
    return Note.model_validate(row._asdict())


def company() -> Company:
    person = Person(
        id="ana", name="Ana", email="ana@example.com", title="Clerk", team_id="ops", employed_from=date(2020, 1, 1)
    )
    team = Team(id="ops", name="Operations", department="Operations", lead_id="ana")
    return Company(name="Notes Ltd", domain="example.com", agent_id="ana", people=(person,), teams=(team,))


def seed(draw_seed: str = "0", *, later: datetime | None = None) -> Seed:
    scheduled_events = () if later is None else (Later(due_at=later, text="from a colleague"),)
    first = (SeedNote(id=1, text="water the plants"), SeedNote(id=2, text="call the vendor"))
    return Seed(
        company=company(), draw_seed=draw_seed, started_at=STARTED_AT, notes=first, scheduled_events=scheduled_events
    )


SERVICE = Service(
    name="notes",
    title="Notes",
    description="Notes of an office.",
    version="1.0.0",
    metadata=metadata,
    seed=Seed,
    load_seed=load_seed,
    demo_seed=seed,
    routers=[router],
    event_handlers={"note": write_later},
)


@dataclass(frozen=True)
class PlannedFaults(FaultPlan):
    """Faults by (operation, n-th call), as given by a test."""

    planned: Mapping[tuple[str, int], Fault] = field(default_factory=dict)

    def fault_for(self, service: str, operation: str, target: str, nth: int, **_times: Any) -> Fault | None:
        return self.planned.get((operation, nth))


def _is_done(note_id: int) -> Any:
    def is_done(evidence: Evidence) -> bool:
        row = evidence.row("notes", "notes", str(note_id))
        return row is not None and row["done_at"] is not None

    return is_done


def _find_undone(note_id: int) -> Any:
    is_done, undone = _is_done(note_id), Mismatch(f"notes.notes[{note_id}]", "done", "not done")
    return lambda evidence: None if is_done(evidence) else undone


def _find_other_change(evidence: Evidence) -> Mismatch | None:
    strays = [change for change in evidence.agent_changes() if change.key not in {"1", "2"}]
    return Mismatch(strays[0].row_path, "unchanged", strays[0].description) if strays else None


def _find_wrong_declaration(evidence: Evidence, finish: FinishDeclaration | None) -> Mismatch | None:
    is_right = finish is None or finish.outcome is FinishOutcome.DONE
    return None if is_right else Mismatch("finish", "outcome: done", "another outcome")


@dataclass(frozen=True)
class NoteKeeping:
    """Both notes have to be done; writing another one is collateral."""

    name: str = "note_keeping"
    held_out: frozenset[str] = frozenset()
    max_steps: int = 10
    later: datetime | None = None
    faults: Mapping[tuple[str, int], Fault] = field(default_factory=dict)

    def plan(self, seed_: int, chaos: int, overrides: Mapping[str, float] | None = None) -> Instance:
        if overrides:
            raise ValueError(f"chaos_overrides: nothing is named {min(overrides)!r}")
        document = seed(str(seed_), later=self.later).model_dump(mode="json")
        return Instance(
            scenario=self.name,
            seed=seed_,
            chaos=chaos,
            brief="Do notes 1 and 2.",
            company_name="Notes Ltd",
            acting_as="ana",
            started_at=STARTED_AT,
            max_steps=self.max_steps,
            documents={"notes": document},
            task_tools=("notes_list_notes", "notes_finish_note"),
            variant="two",
            faults=PlannedFaults((), {}, 0, 0, self.faults),
            rubric=rubric(),
            injections=(),
        )


def rubric() -> TaskRubric:
    return TaskRubric(
        checks=[
            Check("first", False, _find_undone(1)),
            Check("second", False, _find_undone(2)),
            Check("nothing-else", True, _find_other_change),
        ],
        milestones=[Milestone("first", 2.0, lambda evidence: _is_done(1)(evidence))],
        declaration=_find_wrong_declaration,
        damage=lambda _evidence: [],
        rejections=lambda _evidence: 0,
        is_closed=lambda evidence: _is_done(1)(evidence) and _is_done(2)(evidence),
    )
