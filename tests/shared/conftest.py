"""A small lending library as a service for tests of the framework."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any

import pytest
from fastapi import Path
from pydantic import Field
from sqlalchemy import JSON, Boolean, Column, Integer, MetaData, Table, Text, insert, select, update

from companyos_shared.framework import (
    Call,
    CallDep,
    IdempotencyKey,
    IfMatch,
    OperationRouter,
    Page,
    PageQuery,
    RequestModel,
    ResponseModel,
    SeedDocument,
    Service,
    ServiceError,
    SimTime,
    check_version,
    error_responses,
    paginate,
)
from companyos_shared.framework.testing import ServiceHarness
from companyos_shared.wire.company import Company, Person

metadata = MetaData()
books = Table(
    "books",
    metadata,
    Column("id", Text, primary_key=True),
    Column("title", Text, nullable=False),
    Column("lent", Boolean, nullable=False),
    Column("marks", JSON, nullable=False),
    Column("due_back", SimTime),
    Column("version", Integer, nullable=False),
)


class BookNotFoundError(ServiceError):
    status, code, title = 404, "book-not-found", "There is no such book"


class BookLentError(ServiceError):
    status, code, title = 409, "book-lent", "The book is lent"


class Book(ResponseModel):
    id: str
    title: str
    lent: bool
    version: int


class NewBook(RequestModel):
    title: str = Field(min_length=1, max_length=80)


class LibrarySeed(SeedDocument):
    titles: list[str]


def load_seed(call: Call, seed: LibrarySeed) -> None:
    for number, title in enumerate(seed.titles, start=1):
        values = {"id": f"B-{number}", "title": title, "lent": False, "marks": ["old"], "version": 1}
        call.db.execute(insert(books).values(**values))
    call.start_numbering("book", len(seed.titles))


def give_back(call: Call, payload: dict[str, Any]) -> None:
    call.db.execute(update(books).where(books.c.id == payload["id"]).values(lent=False, due_back=None))


router = OperationRouter(tags=["books"])
BookId = Annotated[str, Path(pattern="^B-[0-9]+$")]


def _book(call: Call, book_id: str) -> Any:
    row = call.db.execute(select(books).where(books.c.id == book_id)).one_or_none()
    if row is None:
        raise BookNotFoundError(f"No book has the id {book_id}.")
    return row


@router.get("/books", operation_id="list_books")
async def list_books(call: CallDep, page: PageQuery) -> Page[Book]:
    """List the books."""
    statement = select(books.c.id, books.c.title, books.c.lent, books.c.version)
    return paginate(call, statement, page, order_by=[books.c.title, books.c.id], build=Book.model_validate)


@router.get("/books/{book_id}", operation_id="get_book", responses=error_responses(BookNotFoundError))
async def get_book(book_id: BookId, call: CallDep) -> Book:
    """Read a book."""
    return Book.model_validate(_book(call, book_id))


@router.post("/books", operation_id="create_book", status_code=201)
async def create_book(body: NewBook, call: CallDep, idempotency_key: IdempotencyKey = None) -> Book:
    """Buy a book."""
    number = call.next_number("book")
    values = {"id": f"B-{number}", "title": body.title, "lent": False, "marks": [], "version": 1}
    call.db.execute(insert(books).values(**values))
    return Book.model_validate(_book(call, f"B-{number}"))


@router.post(
    "/books/{book_id}/lend", operation_id="lend_book", responses=error_responses(BookNotFoundError, BookLentError)
)
async def lend_book(book_id: BookId, call: CallDep, if_match: IfMatch = None) -> Book:
    """Lend a book for a drawn number of hours."""
    row = _book(call, book_id)
    check_version(if_match, row.version)
    back = call.now + timedelta(hours=call.stream("loan", book_id).integer(1, 5))
    changed = {"lent": True, "due_back": back, "version": row.version + 1}
    call.db.execute(update(books).where(books.c.id == book_id).values(**changed))
    call.schedule(back, "give_back", {"id": book_id})
    if row.lent:
        raise BookLentError
    return Book.model_validate(_book(call, book_id))


@router.post("/books/{book_id}/burn", operation_id="burn_book")
async def burn_book(book_id: BookId, call: CallDep) -> Book:
    """Fail halfway, as a bug would."""
    call.db.execute(update(books).where(books.c.id == book_id).values(title="ashes"))
    raise RuntimeError(f"{book_id} burns")


def library_seed() -> LibrarySeed:
    clerk = Person(
        id="P-1", name="Ada", email="ada@lib.example", title="Clerk", team_id="T-1", employed_from=date(2020, 1, 1)
    )
    return LibrarySeed(
        company=Company(name="Library", domain="lib.example", agent_id="P-1", people=(clerk,)),
        draw_seed="library",
        started_at=datetime(2026, 3, 2, 9, 0, tzinfo=UTC),
        titles=[f"Volume {number:02}" for number in range(1, 24)],
    )


LIBRARY = Service(
    name="library",
    title="Library",
    description="Books that are lent.",
    version="1.0.0",
    metadata=metadata,
    seed=LibrarySeed,
    load_seed=load_seed,
    demo_seed=library_seed,
    routers=[router],
    event_handlers={"give_back": give_back},
)


@pytest.fixture
async def library() -> AsyncIterator[ServiceHarness]:
    async with ServiceHarness(LIBRARY) as harness:
        yield harness
