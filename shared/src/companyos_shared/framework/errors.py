"""Expected errors as subclasses of ServiceError, and the handlers that return them as application/problem+json."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar, Self, cast

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from companyos_shared.web.problems import allow_header, http_error_detail, problem_response
from companyos_shared.wire.problem import PROBLEM_MEDIA_TYPE, ProblemBody

MAX_ERRORS = 10
"""Errors of a request that are listed."""
_LONGEST_VALUE = 80
_QUOTED = re.compile(r"'([^']*)'")
_REQUIREMENTS = {
    "string_too_short": "have at least {min_length} character{s}",
    "string_too_long": "have at most {max_length} character{s}",
    "too_short": "have at least {min_length} item{s}",
    "too_long": "have at most {max_length} item{s}",
    "string_pattern_mismatch": "match the pattern {pattern}",
    "greater_than_equal": "be at least {ge}",
    "less_than_equal": "be at most {le}",
    "string_type": "be a string",
    "list_type": "be an array",
    "dict_type": "be an object",
    "model_attributes_type": "be an object",
    "blank_text": "not be blank",
    "date_text": "be a date such as 2026-03-31",
    "time_text": "be an ISO date or time such as 2026-03-31 or 2026-03-31T09:00:00Z",
}
"""Requirement on a value, worded to follow "must", by type of the Pydantic error."""

_REQUIREMENTS_BY_PREFIX = {
    "int_": "be an integer",
    "float_": "be a number",
    "bool_": "be true or false",
    "datetime_": "be a time such as 2026-03-31T09:00:00Z",
    "date_": "be a date such as 2026-03-31",
}
_HTTP_CODES = {404: "not-found", 405: "method-not-allowed"}


class ServiceError(Exception):
    """An expected error with a status and a stable code. `detail` states facts, never a remedy."""

    status: ClassVar[int] = 400
    code: ClassVar[str] = "problem"
    title: ClassVar[str] = "Request rejected"

    def __init__(self, detail: str | None = None, *, errors: list[dict[str, Any]] | None = None) -> None:
        super().__init__(detail or self.title)
        self.detail = detail
        self.errors = errors

    @classmethod
    def of_places(cls, places: Iterable[tuple[str, Mapping[str, Any]]]) -> Self:
        """Return an error that lists the first ten of the (place, Pydantic error) pairs."""
        errors = [{"place": place, "reason": invalid_reason(error)} for place, error in islice(places, MAX_ERRORS)]
        return cls("; ".join(f"{error['place']} {error['reason']}" for error in errors), errors=errors)

    def body(self) -> ProblemBody:
        """Return the response body."""
        return ProblemBody(title=self.title, status=self.status, code=self.code, detail=self.detail, errors=self.errors)

    def response(self, headers: dict[str, str] | None = None) -> Response:
        """Return the problem as an HTTP response."""
        return problem_response(self.body(), headers)


class InvalidArgumentsError(ServiceError):
    status, code, title = 422, "invalid-arguments", "Invalid arguments"


class InvalidCursorError(ServiceError):
    status, code, title = 422, "invalid-cursor", "Invalid cursor"


class IdempotencyKeyReusedError(ServiceError):
    status, code, title = 422, "idempotency-key-reused", "Idempotency key used with another request"


class StaleVersionError(ServiceError):
    status, code, title = 412, "stale-version", "Version is not current"


class MalformedBodyError(ServiceError):
    status, code, title = 400, "malformed-body", "Body is not a valid JSON object"


class BodyTooLargeError(ServiceError):
    status, code, title = 413, "body-too-large", "Body too large"


class UnsignedCallError(ServiceError):
    status, code, title = 401, "not-signed", "Call is not signed"


class InvalidContextError(ServiceError):
    status, code, title = 400, "invalid-context", "Malformed call context"


class CallExpiredError(ServiceError):
    status, code, title = 401, "call-expired", "Control call expired"


class CallReplayedError(ServiceError):
    status, code, title = 401, "call-replayed", "Control call already received"


class LeaseHeldError(ServiceError):
    status, code, title = 409, "lease-held", "Lease held by another gateway"


class StaleGenerationError(ServiceError):
    status, code, title = 409, "stale-generation", "Lease taken over by another gateway"


class UnknownEntryError(ServiceError):
    status, code, title = 404, "unknown-entry", "Quarantine entry not found"


class QuarantineConflictError(ServiceError):
    status, code, title = 409, "quarantine-conflict", "Quarantine entry cannot be restored"


class UnknownSourceError(ServiceError):
    status, code, title = 404, "unknown-source", "Source not found"


class UnknownBaseError(ServiceError):
    status, code, title = 404, "unknown-base", "Base not found"


class SourceMismatchError(ServiceError):
    status, code, title = 422, "source-mismatch", "Document digest mismatch"


class InvalidSeedError(ServiceError):
    status, code, title = 422, "invalid-seed", "Invalid seed"


class CorruptSourceError(ServiceError):
    status, code, title = 410, "source-corrupt", "Snapshot checksum mismatch"


class OutdatedSourceError(ServiceError):
    status, code, title = 410, "source-outdated", "Snapshot of another service version"


class StaleEpochError(ServiceError):
    status, code, title = 409, "stale-epoch", "Epoch is not the newest"


class OutdatedEpisodeError(ServiceError):
    status, code, title = 410, "episode-outdated", "Episode of another service version"


class CorruptEpisodeError(ServiceError):
    status, code, title = 410, "episode-corrupt", "Episode file is damaged"


class EpisodeDroppedError(ServiceError):
    status, code, title = 410, "episode-dropped", "Episode was dropped"


class StepReusedError(ServiceError):
    status, code, title = 422, "operation-conflict", "Step already applied with another request"


class StepSupersededError(ServiceError):
    status, code, title = 409, "step-superseded", "Later step already applied"


class StorageFullError(ServiceError):
    status, code, title = 507, "storage-full", "Storage is full"


class ServiceUnavailableError(ServiceError):
    status, code, title = 503, "service-unavailable", "Service unavailable"


class TooManyRequestsError(ServiceError):
    status, code, title = 429, "too-many-requests", "Too many requests"


class GatewayTimeoutError(ServiceError):
    status, code, title = 504, "timeout", "Gateway timeout"


class AuthorizationUnavailableError(ServiceError):
    status, code, title = 403, "authorization-unavailable", "Authorization temporarily unavailable"


class InternalError(ServiceError):
    status, code, title = 500, "internal-error", "Internal server error"


def error_responses(*kinds: type[ServiceError]) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI `responses` of a route that may raise these errors. Several may share a status.

    InvalidArgumentsError is always included.
    """
    by_status: dict[int, list[type[ServiceError]]] = {}
    every: tuple[type[ServiceError], ...] = (InvalidArgumentsError, *kinds)
    for kind in dict.fromkeys(every):
        by_status.setdefault(kind.status, []).append(kind)
    return {status: _openapi_response(same_status) for status, same_status in sorted(by_status.items())}


def _openapi_response(kinds: Sequence[type[ServiceError]]) -> dict[str, Any]:
    examples = {
        kind.code: {"summary": kind.title, "value": {"title": kind.title, "status": kind.status, "code": kind.code}}
        for kind in kinds
    }
    return {
        "description": "; ".join(f"`{kind.code}`: {kind.title}" for kind in kinds),
        "content": {PROBLEM_MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemBody"}, "examples": examples}},
    }


def install_problem_handlers(app: FastAPI) -> None:
    """Add handlers that return expected errors of the app as problem+json."""
    app.add_exception_handler(ServiceError, _on_problem)
    app.add_exception_handler(RequestValidationError, _on_invalid)
    app.add_exception_handler(HTTPException, _on_http)


async def _on_problem(_request: Request, error: Exception) -> Response:
    return cast(ServiceError, error).response()


async def _on_invalid(request: Request, error: Exception) -> Response:
    invalid = cast(RequestValidationError, error)
    if any(item["loc"] == ("body",) and isinstance(item["input"], bytes) for item in invalid.errors()):
        content_type = request.headers.get("content-type", "missing")
        reason = f"must be JSON; the Content-Type is {content_type}, not application/json"
        return InvalidArgumentsError(f"body {reason}", errors=[{"place": "body", "reason": reason}]).response()
    places = ((".".join(map(str, item["loc"][1:])) or str(item["loc"][0]), item) for item in invalid.errors())
    return InvalidArgumentsError.of_places(places).response()


def invalid_reason(error: Mapping[str, Any]) -> str:
    """Return the requirement and the rejected value of a Pydantic error, worded to follow the field name."""
    if error["type"] == "missing":
        return "is required"
    if error["type"] == "extra_forbidden":
        return "is not a known field"
    if error["type"] == "json_invalid":
        return "is not valid JSON"
    requirement = _requirement(error)
    return f"{requirement}; got {shortened(error['input'])}" if error["loc"] else requirement


def _requirement(error: Mapping[str, Any]) -> str:
    kind, context = error["type"], error.get("ctx", {})
    if kind in ("enum", "literal_error"):
        return f"must be one of {', '.join(_QUOTED.findall(context['expected']))}"
    if kind in _REQUIREMENTS:
        length = context.get("min_length", context.get("max_length"))
        return f"must {_REQUIREMENTS[kind].format(**context, s='' if length == 1 else 's')}"
    for prefix, requirement in _REQUIREMENTS_BY_PREFIX.items():
        if kind.startswith(prefix):
            return f"must {requirement}"
    return str(error["msg"]).removeprefix("Value error, ").replace("Input should ", "must ", 1)


def shortened(value: object) -> str:
    """Return a value as JSON of at most 80 characters, for error details."""
    text = json.dumps(value, ensure_ascii=False, default=str).encode(errors="replace").decode()
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 3]}..."


async def _on_http(request: Request, error: Exception) -> Response:
    http_error = cast(HTTPException, error)
    body = ProblemBody(
        title=http_error.detail,
        status=http_error.status_code,
        code=_HTTP_CODES.get(http_error.status_code, "http-error"),
        detail=http_error_detail(request, http_error),
    )
    return problem_response(body, {**(http_error.headers or {}), **allow_header(request, http_error)})
