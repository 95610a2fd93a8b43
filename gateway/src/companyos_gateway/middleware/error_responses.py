"""Error responses: application/problem+json with a stable code, for errors of the gateway and of the framework.

A browser that opens an unknown address gets an HTML page.
"""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse
from starlette.types import Receive, Scope, Send

from companyos_gateway.engine.argument_errors import describe_invalid_value
from companyos_gateway.engine.errors import GatewayError, InternalError
from companyos_shared.pages import HEADERS, Shell, Templates
from companyos_shared.web import problems as web
from companyos_shared.wire.problem import ProblemBody

RETRY_AFTER_S = 5

PROBLEM_HEADER = "X-CompanyOS-Problem"
"""Header with the code of a gateway error, also for HTML pages. Errors of services do not have it."""

_CODES = {400: "bad-request", 404: "not-found", 405: "method-not-allowed", 422: "invalid-request", 501: "not-supported"}
_BUSY = frozenset({429, 503})
_UNAUTHORIZED = 401


def problem_response(problem: GatewayError) -> Response:
    """Return an error as an HTTP response."""
    return problem_response_of(problem.body(), _headers(problem))


async def send_error(problem: GatewayError, scope: Scope, receive: Receive, send: Send) -> None:
    """Reject a connection with an error before the app serves it; a socket is rejected before it opens."""
    await web.send_problem(problem.body(), scope, receive, send, headers=_headers(problem))


def _headers(problem: GatewayError) -> dict[str, str]:
    headers = {PROBLEM_HEADER: problem.code}
    if problem.status in _BUSY:
        headers["Retry-After"] = str(RETRY_AFTER_S)
    if problem.status == _UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    return headers


def problem_response_of(body: ProblemBody, headers: dict[str, str] | None = None) -> Response:
    """Return a problem body as an HTTP response without absent members, with its code in a header."""
    return web.problem_response(body, {PROBLEM_HEADER: body.code, **(headers or {})})


def install_error_handlers(app: FastAPI) -> None:
    """Install handlers that turn errors of the app and of the framework into error responses."""
    app.add_exception_handler(GatewayError, _on_gateway_error)
    app.add_exception_handler(RequestValidationError, _on_validation_error)
    app.add_exception_handler(HTTPException, _on_http_error)
    app.add_exception_handler(Exception, _on_unexpected_error)


async def _on_gateway_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, GatewayError)
    return problem_response(error)


async def _on_validation_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    errors = [
        {
            "place": ".".join(str(part) for part in found["loc"][1:]) or str(found["loc"][0]),
            "reason": describe_invalid_value(found),
        }
        for found in error.errors()
    ]
    detail = "; ".join(
        [*(f"{item['place']}: {item['reason']}" for item in errors), *_content_type_hint(request, error)]
    )
    title = "Invalid request"
    return problem_response_of(
        ProblemBody(title=title, status=422, code="invalid-request", detail=detail, errors=errors)
    )


def _content_type_hint(request: Request, error: RequestValidationError) -> list[str]:
    """Return a hint if a body was not parsed as JSON because of its Content-Type."""
    content_type = request.headers.get("content-type", "")
    if any(found["loc"] == ("body",) for found in error.errors()) and "json" not in content_type:
        return [f"the Content-Type is {content_type or 'missing'}, not application/json"]
    return []


async def _on_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = _CODES.get(error.status_code, "http-error")
    detail = web.http_error_detail(request, error)
    body = ProblemBody(title=str(error.detail), status=error.status_code, code=code, detail=detail)
    headers = {**(error.headers or {}), **web.allow_header(request, error)}
    accepted = request.headers.get("accept", "")
    if request.method == "GET" and "text/html" in accepted and "json" not in accepted:
        return problem_body_page(body, {**headers, "Vary": "Accept"})
    return problem_response_of(body, headers)


async def _on_unexpected_error(_request: Request, _error: Exception) -> Response:
    return problem_response(InternalError())


_TEMPLATES = Templates("companyos_shared.pages")


def problem_page(problem: GatewayError, status: int | None = None) -> Response:
    """Return an error as a page; `status` replaces its status."""
    return problem_body_page(problem.body(), _headers(problem), status=status)


def problem_body_page(
    problem: ProblemBody, headers: Mapping[str, str] | None = None, *, status: int | None = None
) -> Response:
    """Return a problem body as a page, with its code in a header."""
    text = _TEMPLATES.write("problem.html", Shell(title="CompanyOS"), problem=problem)
    all_headers = {**HEADERS, PROBLEM_HEADER: problem.code, **(headers or {})}
    return HTMLResponse(text, status_code=status or problem.status, headers=all_headers)
