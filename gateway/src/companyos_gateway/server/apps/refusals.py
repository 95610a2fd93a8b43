"""Refusals as pages, for whoever looks through a browser."""

from __future__ import annotations

from fastapi.responses import HTMLResponse, Response

from companyos_gateway.episode.errors import GatewayProblem
from companyos_shared.pages import HEADERS, Shell, Templates

TEMPLATES = Templates("companyos_gateway.server.apps")


def refusal_page(problem: GatewayProblem, status: int | None = None) -> Response:
    """Return a refusal as a page; whoever may not come in is told so with 403."""
    text = TEMPLATES.write("problem.html", Shell(title="CompanyOS"), problem=problem.body())
    return HTMLResponse(text, status_code=status or problem.status, headers=HEADERS)
