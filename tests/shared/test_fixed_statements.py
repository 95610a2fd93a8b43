"""Statements that the driver executes: the same values as through SQLAlchemy."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from pydantic import BaseModel
from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Connection,
    Integer,
    MetaData,
    String,
    Table,
    bindparam,
    create_engine,
    func,
    insert,
    select,
)

from companyos_shared.framework import FixedSelect, SimTime, insert_rows

things = Table(
    "things",
    MetaData(),
    Column("id", String, primary_key=True),
    Column("kind", String),
    Column("tags", JSON),
    Column("at", SimTime),
    Column("is_open", Boolean),
    Column("count", Integer),
)
AT = datetime(2026, 3, 2, 9, tzinfo=UTC)


@pytest.fixture
def db() -> Iterator[Connection]:
    full = {"id": "a", "kind": "x", "tags": ["one"], "at": AT, "is_open": True, "count": 2}
    engine = create_engine("sqlite://")
    with engine.connect() as db:
        things.metadata.create_all(db)
        db.execute(insert(things), [full, full | {"id": "b"}, dict.fromkeys(full) | {"id": "c", "kind": "y"}])
        yield db
    engine.dispose()


def test_values_are_converted_as_by_sqlalchemy(db: Connection) -> None:
    statement = select(things, func.count().over().label("total")).order_by(things.c.id)
    assert FixedSelect(statement).rows(db) == [row._asdict() for row in db.execute(statement)]


def test_parameters_and_constants_are_bound(db: Connection) -> None:
    statement = select(things.c.id).where(things.c.kind == "x", things.c.id >= bindparam("first"))
    selected = FixedSelect(statement.order_by(things.c.id).limit(bindparam("most")))
    assert selected.rows(db, first="a", most=1) == [{"id": "a"}]
    assert selected.row(db, first="b", most=9) == {"id": "b"}
    assert selected.row(db, first="c", most=9) is None


def test_a_missing_parameter_is_an_error(db: Connection) -> None:
    with pytest.raises(sqlite3.ProgrammingError):
        FixedSelect(select(things).where(things.c.id == bindparam("id"))).rows(db)


class Thing(BaseModel):
    """A row whose fields are in another order than the columns."""

    tags: list[str] | None
    id: str
    kind: str | None = None
    at: datetime | None
    is_open: bool | None
    count: int | None


def test_rows_are_inserted_as_by_sqlalchemy(db: Connection) -> None:
    full = Thing(id="d", kind="z", tags=["two"], at=AT, is_open=False, count=3)
    rows = [full, Thing(id="e", tags=None, at=None, is_open=None, count=None)]
    insert_rows(db, things, rows)
    inserted = db.execute(select(things).where(things.c.id >= "d").order_by(things.c.id)).all()
    db.execute(things.delete().where(things.c.id >= "d"))
    db.execute(insert(things), [row.model_dump() for row in rows])
    assert db.execute(select(things).where(things.c.id >= "d").order_by(things.c.id)).all() == inserted


def test_inserting_an_existing_row_is_an_error(db: Connection) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        insert_rows(db, things, [Thing(id="a", tags=None, at=None, is_open=None, count=None)])
