"""Expected refusals as Problems, and how they become application/problem+json.

Problem                       a refusal that is the caller's to read
|- InvalidArguments  422      the input does not fit the operation
|- StaleVersion      412      If-Match names another version than the row's
|- NotFound          404      no such route or method
`- (each feature's own, beside its rule)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from companyos_shared.wire.problem import PROBLEM_MEDIA_TYPE, ProblemBody

_MOST_ERRORS_SHOWN = 10


class Problem(Exception):
    """A refusal with a status and a stable code; the message states the fact, never the remedy."""

    status: ClassVar[int] = 400
    code: ClassVar[str] = "problem"
    title: ClassVar[str] = "The request was refused"

    def __init__(self, detail: str | None = None, *, errors: list[dict[str, Any]] | None = None) -> None:
        super().__init__(detail or self.title)
        self.detail = detail
        self.errors = errors

    def body(self) -> ProblemBody:
        """Return the problem as it travels."""
        return ProblemBody(
            type="about:blank",
            title=self.title,
            status=self.status,
            code=self.code,
            detail=self.detail,
            errors=self.errors,
        )

    def response(self, headers: dict[str, str] | None = None) -> Response:
        """Return the problem as an HTTP answer."""
        return problem_response(self.body(), headers)


class InvalidArguments(Problem):
    status, code, title = 422, "invalid-arguments", "The arguments do not fit the operation"


class StaleVersion(Problem):
    status, code, title = 412, "stale-version", "The version is not the current one"


class InvalidCursor(Problem):
    status, code, title = 422, "invalid-cursor", "The cursor is not one of this list"


class IdempotencyKeyReused(Problem):
    status, code, title = 422, "idempotency-key-reused", "The idempotency key was used with another body"


def problem_response(body: ProblemBody, headers: dict[str, str] | None = None) -> Response:
    """Return a ProblemBody as an HTTP answer; absent members are left out."""
    content = body.model_dump_json(exclude_none=True)
    return Response(content, status_code=body.status, media_type=PROBLEM_MEDIA_TYPE, headers=headers)


def problems(*kinds: type[Problem]) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI `responses` of a route that may raise these Problems; several may share a status."""
    by_status: dict[int, list[type[Problem]]] = {}
    for kind in kinds:
        by_status.setdefault(kind.status, []).append(kind)
    return {status: _documented(found) for status, found in sorted(by_status.items())}


def _documented(kinds: Sequence[type[Problem]]) -> dict[str, Any]:
    examples = {
        kind.code: {"summary": kind.title, "value": {"title": kind.title, "status": kind.status, "code": kind.code}}
        for kind in kinds
    }
    return {
        "description": "; ".join(f"`{kind.code}`: {kind.title}" for kind in kinds),
        "content": {PROBLEM_MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemBody"}, "examples": examples}},
    }


def install_problem_handlers(app: FastAPI) -> None:
    """Make every expected refusal of the app a problem+json answer."""
    app.add_exception_handler(Problem, _on_problem)
    app.add_exception_handler(RequestValidationError, _on_invalid)
    app.add_exception_handler(HTTPException, _on_http)


async def _on_problem(_request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    return error.response()


async def _on_invalid(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    places = [
        {"place": ".".join(str(part) for part in found["loc"][1:]) or str(found["loc"][0]), "reason": found["msg"]}
        for found in error.errors()[:_MOST_ERRORS_SHOWN]
    ]
    named = "; ".join(f"{place['place']}: {place['reason']}" for place in places)
    return InvalidArguments(named, errors=places).response()


async def _on_http(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    codes = {404: "not-found", 405: "method-not-allowed"}
    body = ProblemBody(
        type="about:blank",
        title=error.detail,
        status=error.status_code,
        code=codes.get(error.status_code, "http-error"),
        detail=None,
        errors=None,
    )
    return problem_response(body, dict(error.headers or {}))
