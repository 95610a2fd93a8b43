"""HTTP responses of type application/problem+json."""

from __future__ import annotations

from fastapi import Request
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.routing import compile_path
from starlette.types import Receive, Scope, Send

from companyos_shared.wire.problem import PROBLEM_MEDIA_TYPE, ProblemBody

_POLICY_VIOLATION = 1008
_DENIAL = "websocket.http.response"


def problem_response(body: ProblemBody, headers: dict[str, str] | None = None) -> Response:
    """Return a ProblemBody as an HTTP response; absent members are omitted."""
    content = body.model_dump_json(exclude_none=True)
    return Response(content, status_code=body.status, media_type=PROBLEM_MEDIA_TYPE, headers=headers)


def http_error_detail(request: Request, error: HTTPException) -> str | None:
    """Return the detail of an error that the framework raises, None if it is neither a 404 nor a 405."""
    path = request.url.path
    details = {404: f"There is no page or operation at {path}.", 405: f"{path} does not accept {request.method}."}
    return details.get(error.status_code)


def allow_header(request: Request, error: HTTPException) -> dict[str, str]:
    """Return the Allow header of a 405 with all documented methods of the path; Starlette lists one route only."""
    if error.status_code == 405:
        for template, operations in request.app.openapi()["paths"].items():
            if compile_path(template)[0].match(request.url.path):
                return {"Allow": ", ".join(sorted(map(str.upper, operations)))}
    return {}


async def send_problem(
    body: ProblemBody, scope: Scope, receive: Receive, send: Send, *, headers: dict[str, str] | None = None
) -> None:
    """Reject a connection with a problem response; a WebSocket is rejected before it opens."""
    if scope["type"] == "websocket" and _DENIAL not in scope.get("extensions", {}):
        await send({"type": "websocket.close", "code": _POLICY_VIOLATION, "reason": body.code})
    else:
        await problem_response(body, headers)(scope, receive, send)
