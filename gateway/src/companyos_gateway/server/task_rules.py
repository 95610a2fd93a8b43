"""What the framework's Task API is not asked: a number that is written as a text or as a truth value."""

from __future__ import annotations

from typing import Any

from starlette._utils import get_route_path
from starlette.types import ASGIApp, Receive, Scope, Send

from companyos_gateway.server.guard import JSON_SCOPE_KEY
from companyos_gateway.server.problems import body_response
from companyos_shared.wire.problem import ProblemBody

_DOORS = ("/task", "/task_range")
_NUMBERS = ("index", "start", "stop")


class TaskRules:
    """ASGI middleware inside the guard; the framework would take `false` for 0 and `"1"` for 1."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        misfits: list[str] = []
        if scope["type"] == "http" and scope["method"] == "POST" and get_route_path(scope).endswith(_DOORS):
            misfits = _misfits(scope.get(JSON_SCOPE_KEY, {}))
        await (_refusal(misfits) if misfits else self._app)(scope, receive, send)


def _misfits(body: dict[str, Any]) -> list[str]:
    return [name for name in _NUMBERS if isinstance(body.get(name), bool | str)]


def _refusal(names: list[str]) -> ASGIApp:
    places = [{"place": name, "reason": "is no integer"} for name in names]
    return body_response(
        ProblemBody(
            type="about:blank",
            title="The request does not fit",
            status=422,
            code="invalid-request",
            detail="; ".join(f"{name}: is no integer" for name in names),
            errors=places,
        )
    )
