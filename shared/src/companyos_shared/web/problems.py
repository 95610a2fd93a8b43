"""HTTP responses of type application/problem+json."""

from __future__ import annotations

from fastapi.responses import Response
from starlette.types import Receive, Scope, Send

from companyos_shared.wire.problem import PROBLEM_MEDIA_TYPE, ProblemBody

_POLICY_VIOLATION = 1008
_DENIAL = "websocket.http.response"


def problem_response(body: ProblemBody, headers: dict[str, str] | None = None) -> Response:
    """Return a ProblemBody as an HTTP response; absent members are omitted."""
    content = body.model_dump_json(exclude_none=True)
    return Response(content, status_code=body.status, media_type=PROBLEM_MEDIA_TYPE, headers=headers)


async def send_problem(
    body: ProblemBody, scope: Scope, receive: Receive, send: Send, *, headers: dict[str, str] | None = None
) -> None:
    """Reject a connection with a problem response; a WebSocket is rejected before it opens."""
    if scope["type"] == "websocket" and _DENIAL not in scope.get("extensions", {}):
        await send({"type": "websocket.close", "code": _POLICY_VIOLATION, "reason": body.code})
    else:
        await problem_response(body, headers)(scope, receive, send)
