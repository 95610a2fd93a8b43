"""Middleware that rejects strings and booleans where OpenEnv's Task API expects integers."""

from __future__ import annotations

from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from companyos_gateway.middleware.body_limit import JSON_SCOPE_KEY
from companyos_gateway.middleware.error_responses import problem_response_of
from companyos_shared.web.route_path import route_path
from companyos_shared.wire.problem import ProblemBody

_SUFFIXES = ("/task", "/task_range")
_NUMBERS = ("index", "start", "stop")


class TaskApiValidationMiddleware:
    """ASGI middleware inside BodyLimitMiddleware; OpenEnv would accept `false` as 0 and `"1"` as 1."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        names: list[str] = []
        if scope["type"] == "http" and scope["method"] == "POST" and route_path(scope).endswith(_SUFFIXES):
            names = _non_integers(scope.get(JSON_SCOPE_KEY, {}))
        await (_error_response(names) if names else self._app)(scope, receive, send)


def _non_integers(body: dict[str, Any]) -> list[str]:
    return [name for name in _NUMBERS if isinstance(body.get(name), bool | str)]


def _error_response(names: list[str]) -> ASGIApp:
    errors = [{"place": name, "reason": "must be an integer"} for name in names]
    return problem_response_of(
        ProblemBody(
            title="Invalid request",
            status=422,
            code="invalid-request",
            detail="; ".join(f"{name}: must be an integer" for name in names),
            errors=errors,
        )
    )
