"""Refusals over HTTP: application/problem+json with a stable code, whoever refuses."""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.routing import compile_path
from starlette.types import Receive, Scope, Send

from companyos_gateway.engine.errors import GatewayError, InternalError
from companyos_shared.web import problems as web
from companyos_shared.wire.problem import ProblemBody

RETRY_AFTER_S = 5

_CODES = {400: "bad-request", 404: "not-found", 405: "method-not-allowed", 422: "invalid-request", 501: "not-supported"}
_BUSY = frozenset({429, 503})
_NOBODY_YET = 401


def problem_response(problem: GatewayError) -> Response:
    """Return the refusal as an HTTP answer."""
    return body_response(problem.body(), _headers(problem))


async def refuse(problem: GatewayError, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a connection with a refusal before anybody serves it; a socket is refused before it opens."""
    await web.refuse(problem.body(), scope, receive, send, headers=_headers(problem))


def _headers(problem: GatewayError) -> dict[str, str]:
    headers = {}
    if problem.status in _BUSY:
        headers["Retry-After"] = str(RETRY_AFTER_S)
    if problem.status == _NOBODY_YET:
        headers["WWW-Authenticate"] = "Bearer"
    return headers


def body_response(body: ProblemBody, headers: dict[str, str] | None = None) -> Response:
    """Return a problem body as an HTTP answer; absent members are left out."""
    return web.problem_response(body, headers)


def install_problem_handlers(app: FastAPI) -> None:
    """Make every refusal of the app, the framework's own too, a problem+json answer."""
    app.add_exception_handler(GatewayError, _on_problem)
    app.add_exception_handler(RequestValidationError, _on_invalid)
    app.add_exception_handler(HTTPException, _on_http)
    app.add_exception_handler(Exception, _on_bug)


async def _on_problem(_request: Request, error: Exception) -> Response:
    assert isinstance(error, GatewayError)
    return problem_response(error)


async def _on_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    places = [
        {"place": ".".join(str(part) for part in found["loc"][1:]) or str(found["loc"][0]), "reason": found["msg"]}
        for found in error.errors()
    ]
    named = "; ".join([*(f"{place['place']}: {place['reason']}" for place in places), *_not_json(request, error)])
    title = "The request does not fit"
    return body_response(
        ProblemBody(type="about:blank", title=title, status=422, code="invalid-request", detail=named, errors=places)
    )


def _not_json(request: Request, error: RequestValidationError) -> list[str]:
    """Return what is wrong with a body that was read as no JSON because it does not say that it is."""
    given = request.headers.get("content-type", "")
    if any(found["loc"] == ("body",) for found in error.errors()) and "json" not in given:
        return [f"the Content-Type is {given or 'missing'}, not application/json"]
    return []


async def _on_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = _CODES.get(error.status_code, "http-error")
    body = ProblemBody(
        type="about:blank", title=str(error.detail), status=error.status_code, code=code, detail=None, errors=None
    )
    return body_response(body, {**(error.headers or {}), **_allowed(request, error)})


def _allowed(request: Request, refused: HTTPException) -> dict[str, str]:
    """Return the Allow header of a 405: every documented method of the path, not only those of its first route."""
    if refused.status_code == 405:
        for template, operations in request.app.openapi()["paths"].items():
            if compile_path(template)[0].match(request.url.path):
                return {"Allow": ", ".join(sorted(map(str.upper, operations)))}
    return {}


async def _on_bug(_request: Request, _error: Exception) -> Response:
    return problem_response(InternalError())
