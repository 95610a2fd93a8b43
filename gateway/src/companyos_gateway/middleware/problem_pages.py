"""Refusals as pages, for whoever looks through a browser."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import HTMLResponse, Response

from companyos_gateway.engine.errors import GatewayError
from companyos_shared.pages import HEADERS, Shell, Templates
from companyos_shared.wire.problem import ProblemBody

_TEMPLATES = Templates("companyos_shared.pages")


def problem_page(problem: GatewayError, status: int | None = None) -> Response:
    """Return a refusal as a page; whoever may not come in is told so with 403."""
    return problem_body_page(problem.body(), status=status)


def problem_body_page(
    problem: ProblemBody, headers: Mapping[str, str] | None = None, *, status: int | None = None
) -> Response:
    """Return a problem body as a page."""
    text = _TEMPLATES.write("problem.html", Shell(title="CompanyOS"), problem=problem)
    return HTMLResponse(text, status_code=status or problem.status, headers={**HEADERS, **(headers or {})})
