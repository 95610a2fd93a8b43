"""Base schemas of requests and responses, pagination, and shared header parameters."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Annotated, Any, Generic, Literal, TypeVar

from fastapi import Depends, Header, Query, Request
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, JsonValue
from pydantic_core import PydanticCustomError
from sqlalchemy import ColumnElement, Row, Select, func, select, tuple_

from companyos_shared.framework.call import Call, CallDep
from companyos_shared.framework.columns import format_time
from companyos_shared.framework.errors import (
    IdempotencyKeyReusedError,
    InvalidCursorError,
    StaleVersionError,
    shortened,
)
from companyos_shared.framework.storage import sqlite_connection
from companyos_shared.streams import digest
from companyos_shared.wire.company import Company
from companyos_shared.wire.context import SOURCE_PATTERN

T = TypeVar("T")
RowT = TypeVar("RowT")

DEFAULT_ROWS = 10
MAX_ROWS = 50

_STORABLE_LIMIT = 2**63
_SELECT_STORED_RESPONSE = "SELECT request, status, media_type, body FROM _idempotency WHERE key = ?"
_YEAR = re.compile(r"\d{4}-", re.ASCII)
_YEARS = range(2000, 2200)


def _iso_text(error_type: Literal["time_text", "date_text"]) -> BeforeValidator:
    def require(value: object) -> object:
        if isinstance(value, date) or (isinstance(value, str) and _YEAR.match(value)):
            return value
        raise PydanticCustomError(error_type, "Input should be in ISO format, starting with the year")

    return BeforeValidator(require)


IsoTimeText = _iso_text("time_text")
"""Validator that accepts times only as ISO text, not as seconds since 1970."""

IsoDateText = _iso_text("date_text")
"""The same for dates."""


def _require_number(value: object) -> object:
    if isinstance(value, bool | str):
        raise PydanticCustomError("int_type", "Input should be a valid integer")
    return value


JsonInteger = BeforeValidator(_require_number)
"""Validator that accepts integers only as JSON numbers, such as 5 or 5.0, not as strings or booleans."""


def _require_text(value: str) -> str:
    if not value.strip():
        raise PydanticCustomError("blank_text", "Input should not be blank")
    return value


NotBlank = AfterValidator(_require_text)
"""Validator that rejects texts that consist only of whitespace."""


def _in_utc(moment: datetime) -> datetime:
    if moment.year not in _YEARS:
        raise ValueError(f"must be between {_YEARS.start} and {_YEARS.stop - 1}")
    aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return aware.replace(microsecond=0)


UtcTime = Annotated[datetime, IsoTimeText, AfterValidator(_in_utc)]
"""A time in UTC with whole seconds; a time without an offset is interpreted as UTC."""


class RequestModel(BaseModel):
    """Base of request bodies; unknown fields are rejected."""

    model_config = ConfigDict(extra="forbid")


class ResponseModel(BaseModel):
    """Base of responses; immutable, absent values are null."""

    model_config = ConfigDict(frozen=True, from_attributes=True)


def example(**fields: JsonValue) -> ConfigDict:
    """Return the configuration of a schema with an example for the OpenAPI document."""
    return ConfigDict(json_schema_extra={"examples": [fields]})


class SeedDocument(BaseModel):
    """Base of seed documents, from which a service creates an episode."""

    model_config = ConfigDict(extra="forbid")

    company: Company
    draw_seed: str = Field(min_length=1, description="Names the random streams of this service in this episode.")
    started_at: UtcTime = Field(description="Simulated time at which the episode starts.")
    base: str | None = Field(
        None,
        pattern=SOURCE_PATTERN,
        description="Source of a base: people and rows that the episode has besides its own, shared by many episodes.",
    )
    is_base: bool = Field(
        False, description="Whether this is a base. Evidence and digests include its rows once they change."
    )


class Page(ResponseModel, Generic[T]):
    """One page of a list."""

    items: list[T]
    total: int = Field(ge=0, description="Rows in the whole list.")
    next_cursor: str | None = Field(None, description="Pass as `cursor` for the next rows; null at the end.")


@dataclass(frozen=True, slots=True)
class PageParams:
    """Requested page of a list."""

    limit: int
    cursor: str | None


async def _page_params(
    limit: Annotated[int, Query(ge=1, le=MAX_ROWS, description="Rows per page.")] = DEFAULT_ROWS,
    cursor: Annotated[str | None, Query(max_length=512, description="`next_cursor` of the previous page.")] = None,
) -> PageParams:
    return PageParams(limit, cursor)


PageQuery = Annotated[PageParams, Depends(_page_params)]
"""Query parameters `limit` and `cursor` of a list operation."""


def paginate(
    call: Call,
    statement: Select[Any],
    page: PageParams,
    *,
    order_by: Sequence[ColumnElement[Any]],
    build: Callable[[Row[Any]], T],
    descending: bool = False,
) -> Page[T]:
    """Return one page of a select without ORDER BY.

    `order_by` lists selected, non-null columns. The last one makes rows unique; after others, such as a time, it is
    compared by `number_order`.
    """
    *first, unique = order_by
    keys, selected = (*first, *number_order(unique)) if first else (unique,), statement
    if page.cursor is not None:
        values = _decode_cursor(page.cursor, len(order_by))
        if first:
            values.insert(-1, len(str(values[-1])))
        compared, position = tuple_(*keys), tuple_(*values)
        selected = statement.where(compared < position if descending else compared > position)
    ordered = selected.order_by(*(key.desc() if descending else key.asc() for key in keys))
    rows = call.db.execute(ordered.limit(page.limit + 1)).all()
    visible = rows[: page.limit]
    is_last = len(rows) <= page.limit
    total = len(rows) if is_last and page.cursor is None else _count_rows(call, statement)
    last = None if is_last else [getattr(visible[-1], key.key or "") for key in order_by]
    return Page(items=[build(row) for row in visible], total=total, next_cursor=last and _encode_cursor(last))


def number_order(column: ColumnElement[str]) -> tuple[ColumnElement[Any], ColumnElement[str]]:
    """Return the sort keys that order ids such as N-9 and N-10 by their numbers: the length, then the text."""
    return func.length(column), column


def _count_rows(call: Call, statement: Select[Any]) -> int:
    return call.db.execute(select(func.count()).select_from(statement.order_by(None).subquery())).scalar_one()


def paginate_sequence(items: Sequence[RowT], page: PageParams, *, build: Callable[[RowT], T]) -> Page[T]:
    """Return a page of an already ordered list in memory."""
    start = 0 if page.cursor is None else _position(page.cursor)
    end = start + page.limit
    more = _encode_cursor([end]) if end < len(items) else None
    return Page(items=[build(item) for item in items[start:end]], total=len(items), next_cursor=more)


def _position(cursor: str) -> int:
    value = _decode_cursor(cursor, 1)[0]
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise _invalid_cursor(cursor)
    return value


def _encode_cursor(values: Sequence[Any]) -> str:
    plain = [format_time(v) if isinstance(v, datetime) else v.isoformat() if isinstance(v, date) else v for v in values]
    return base64.urlsafe_b64encode(json.dumps(plain, separators=(",", ":")).encode()).decode().rstrip("=")


def _decode_cursor(cursor: str, length: int) -> list[Any]:
    try:
        values = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (binascii.Error, ValueError) as error:
        raise _invalid_cursor(cursor) from error
    if not isinstance(values, list) or len(values) != length or not all(map(_is_storable, values)):
        raise _invalid_cursor(cursor)
    return values


def _invalid_cursor(cursor: str) -> InvalidCursorError:
    return InvalidCursorError(f"cursor must be the next_cursor of the previous page; got {shortened(cursor)}")


def _is_storable(value: Any) -> bool:
    if isinstance(value, str):
        return value.isascii() or value.encode(errors="replace").decode() == value
    return isinstance(value, (int, float)) and abs(value) < _STORABLE_LIMIT


def _unquoted(value: Any) -> Any:
    return value.strip().removeprefix("W/").strip('"') if isinstance(value, str) else value


IfMatch = Annotated[
    int | None, Header(alias="If-Match", ge=1, description="Version that was read."), BeforeValidator(_unquoted)
]
"""The expected version of the row that a write changes; the tool argument `if_match`."""


def check_version(if_match: int | None, version: int) -> None:
    """Raise StaleVersionError (412) if the row's version differs from the expected one."""
    if if_match is not None and if_match != version:
        raise StaleVersionError(f"if_match must be {version}, the current version; got {if_match}")


class StoredResponseError(Exception):
    """Raised to return the stored response of an earlier request with the same idempotency key and body."""

    def __init__(self, status: int, media_type: str, body: str) -> None:
        super().__init__(status)
        self.status, self.media_type, self.body = status, media_type, body


async def _idempotency_key(
    request: Request,
    call: CallDep,
    idempotency_key: Annotated[
        str | None,
        Header(
            alias="Idempotency-Key",
            max_length=64,
            pattern="^[!-~]+$",
            description="A repeat returns the first response.",
        ),
    ] = None,
) -> str | None:
    if idempotency_key is None:
        return None
    body = await request.body()
    request_digest = digest([request.method, request.url.path, json.loads(body) if body else None])
    row = sqlite_connection(call.db).execute(_SELECT_STORED_RESPONSE, (idempotency_key,)).fetchone()
    if row is None:
        call.idempotency = (idempotency_key, request_digest)
        return idempotency_key
    stored_digest, status, media_type, stored_body = row
    if stored_digest != request_digest:
        raise IdempotencyKeyReusedError
    raise StoredResponseError(status, media_type, stored_body)


IdempotencyKey = Annotated[str | None, Depends(_idempotency_key)]
"""Parameter of operations that create rows; a request with the same key receives the stored response."""
