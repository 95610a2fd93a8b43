"""Expected refusals as Problems, and how they become application/problem+json.

Problem                  the caller's to read; each feature keeps its own beside its rule
|- of the input          InvalidArguments, InvalidCursor, StaleVersion, IdempotencyKeyReused, BodyTooLarge
|- of the caller         NotSigned, BadContext, CallExpiredError, CallReplayedError
|- of the gateway        LeaseHeldError, StaleGenerationError
|- of the quarantine     UnknownEntryError, QuarantineConflictError
|- of the source         UnknownSource, SourceMismatch, InvalidSeed, SourceCorrupt, SourceOutdated
|- of the episode        StaleEpoch, EpisodeOutdated, EpisodeCorrupt, EpisodeDropped, OpReused, StepMovedOn
|- of the machine        StorageFull
|- planned faults        ServiceUnavailable, TooManyRequests, GatewayTimeout, AccessDenied
`- InternalError         a bug of the house
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, cast

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.routing import compile_path

from companyos_shared.web.problems import problem_response
from companyos_shared.wire.problem import PROBLEM_MEDIA_TYPE, ProblemBody

_MOST_ERRORS_SHOWN = 10
_HTTP_CODES = {404: "not-found", 405: "method-not-allowed"}


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


class InvalidCursor(Problem):
    status, code, title = 422, "invalid-cursor", "The cursor is not one of this list"


class IdempotencyKeyReused(Problem):
    status, code, title = 422, "idempotency-key-reused", "The idempotency key was used with another body"


class StaleVersion(Problem):
    status, code, title = 412, "stale-version", "The version is not the current one"


class MalformedBody(Problem):
    status, code, title = 400, "malformed-body", "The body is no JSON object of the accepted kind"


class BodyTooLarge(Problem):
    status, code, title = 413, "body-too-large", "The body is too large"


class NotSigned(Problem):
    status, code, title = 401, "not-signed", "The call is not signed"


class BadContext(Problem):
    status, code, title = 400, "bad-context", "The call's context is not well formed"


class CallExpiredError(Problem):
    status, code, title = 401, "call-expired", "The control call is not valid at this time"


class CallReplayedError(Problem):
    status, code, title = 401, "call-replayed", "The control call was received before"


class LeaseHeldError(Problem):
    status, code, title = 409, "lease-held", "Another gateway holds the lease of this service"


class StaleGenerationError(Problem):
    status, code, title = 409, "stale-generation", "Another gateway has taken the lease of this service"


class UnknownEntryError(Problem):
    status, code, title = 404, "unknown-entry", "The quarantine has no such entry"


class QuarantineConflictError(Problem):
    status, code, title = 409, "quarantine-conflict", "The entry cannot be restored"


class UnknownSource(Problem):
    status, code, title = 404, "unknown-source", "The source is not here"


class SourceMismatch(Problem):
    status, code, title = 422, "source-mismatch", "The document does not have that digest"


class InvalidSeed(Problem):
    status, code, title = 422, "invalid-seed", "The document is no seed of this service"


class SourceCorrupt(Problem):
    status, code, title = 410, "source-corrupt", "The snapshot is damaged"


class SourceOutdated(Problem):
    status, code, title = 410, "source-outdated", "The snapshot is of another version of the service"


class StaleEpoch(Problem):
    status, code, title = 409, "stale-epoch", "The episode has moved on to a later epoch"


class EpisodeOutdated(Problem):
    status, code, title = 410, "episode-outdated", "The episode is of another version of the service"


class EpisodeCorrupt(Problem):
    status, code, title = 410, "episode-corrupt", "The episode's file is damaged"


class EpisodeDropped(Problem):
    status, code, title = 410, "episode-dropped", "The episode was dropped"


class OpReused(Problem):
    status, code, title = 422, "op-reused", "The step was already applied with another request"


class StepMovedOn(Problem):
    status, code, title = 409, "step-moved-on", "A later step was already applied"


class StorageFull(Problem):
    status, code, title = 507, "storage-full", "The storage takes nothing more"


class ServiceUnavailable(Problem):
    status, code, title = 503, "service-unavailable", "The service is unavailable"


class TooManyRequests(Problem):
    status, code, title = 429, "too-many-requests", "Too many requests"


class GatewayTimeout(Problem):
    status, code, title = 504, "timeout", "The service did not answer in time"


class AccessDenied(Problem):
    status, code, title = 403, "access-denied", "Access was denied"


class InternalError(Problem):
    status, code, title = 500, "internal-error", "The service failed"


def problems(*kinds: type[Problem]) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI `responses` of a route that may raise these Problems; several may share a status.

    InvalidArguments belongs to every route and is always among them.
    """
    by_status: dict[int, list[type[Problem]]] = {}
    every: tuple[type[Problem], ...] = (InvalidArguments, *kinds)
    for kind in dict.fromkeys(every):
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
    return cast(Problem, error).response()


async def _on_invalid(_request: Request, error: Exception) -> Response:
    invalid = cast(RequestValidationError, error)
    places = [
        {"place": ".".join(str(part) for part in found["loc"][1:]) or str(found["loc"][0]), "reason": found["msg"]}
        for found in invalid.errors()[:_MOST_ERRORS_SHOWN]
    ]
    named = "; ".join(f"{place['place']}: {place['reason']}" for place in places)
    return InvalidArguments(named, errors=places).response()


async def _on_http(request: Request, error: Exception) -> Response:
    refused = cast(HTTPException, error)
    body = ProblemBody(
        type="about:blank",
        title=refused.detail,
        status=refused.status_code,
        code=_HTTP_CODES.get(refused.status_code, "http-error"),
        detail=None,
        errors=None,
    )
    return problem_response(body, {**(refused.headers or {}), **_allowed(request, refused)})


def _allowed(request: Request, refused: HTTPException) -> dict[str, str]:
    """Return the Allow header of a 405: every documented method of the path, not only those of its first route."""
    if refused.status_code == 405:
        for template, operations in request.app.openapi()["paths"].items():
            if compile_path(template)[0].match(request.url.path):
                return {"Allow": ", ".join(sorted(map(str.upper, operations)))}
    return {}
