"""Shared parts of the console pages: rendering, the viewer page and paginated lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse, Response
from pydantic import BaseModel

from companyos.contract import Split, Toolset
from companyos.viewer import SERVER_POLICY, server_page
from companyos_gateway.chaos import Kind, levels
from companyos_gateway.engine.engine import EpisodeEngine
from companyos_gateway.middleware.error_responses import PROBLEM_HEADER
from companyos_gateway.page_paths import CONSOLE_ROOT, CONSOLE_STATIC
from companyos_shared.pages import HEADERS, FormResult, Shell, Templates

ROWS_PER_PAGE = 20
"""Maximum number of rows per page of a list."""

_TEMPLATES = Templates("companyos_gateway.ui.console")
_MENU = (
    ("episodes", "Episodes", ""),
    ("results", "Results", "/results"),
    ("scenarios", "Scenarios", "/scenarios"),
)


def prefix_of(request: Request) -> str:
    """Return the path prefix of the console."""
    return f"{root_path_of(request)}{CONSOLE_ROOT}"


def root_path_of(request: Request) -> str:
    """Return the path prefix of the gateway."""
    return str(request.scope.get("root_path", ""))


def render_page(
    request: Request,
    template: str,
    here: str,
    *,
    form_error: FormResult | None = None,
    status: int = 200,
    **values: Any,
) -> Response:
    """Return a page of the console."""
    prefix = prefix_of(request)
    shell = Shell(app="console", title="CompanyOS console", prefix=prefix, form_result=form_error)
    menu = [(name, title, f"{prefix}{path}") for name, title, path in _MENU]
    text = _TEMPLATES.write(template, shell, menu_places=menu, here=here, **values)
    problem = None if form_error is None else form_error.problem
    headers = HEADERS if problem is None else {**HEADERS, PROBLEM_HEADER: problem.code}
    return HTMLResponse(text, status_code=status, headers=headers)


def render_viewer(
    request: Request, title: str, source: dict[str, Any], links: Sequence[tuple[str, str]] = ()
) -> Response:
    """Return the viewer's page with additional links, given as pairs of title and URL."""
    static = f"{root_path_of(request)}{CONSOLE_STATIC}"
    home = ("CompanyOS console", prefix_of(request))
    text = server_page(title, static=static, source=source, links=[home, *links])
    return HTMLResponse(text, headers={**HEADERS, "Content-Security-Policy": SERVER_POLICY})


def document_response(document: BaseModel) -> Response:
    """Return a document of the viewer as JSON."""
    return Response(document.model_dump_json(), media_type="application/json", headers={"Cache-Control": "no-store"})


def start_options(engine: EpisodeEngine) -> dict[str, Any]:
    """Return the options of the forms that start an episode."""
    return {
        "scenarios": sorted(engine.scenarios),
        "levels": list(levels()),
        "toolsets": list(Toolset),
        "kinds": sorted(Kind),
        "splits": list(Split),
    }


class ListQuery:
    """The filters and the page number in the query of a list page."""

    def __init__(self, request: Request, *names: str) -> None:
        query = request.query_params
        self.filters = {name: query.get(name, "").strip()[:64] for name in names}
        number = query.get("page", "")
        self.number = int(number) if number.isascii() and number.isdecimal() and 0 < len(number) < 6 else 1

    def matches(self, **values: object) -> bool:
        """Return whether a row matches the filters."""
        return all(self.filters[name] in ("", str(value)) for name, value in values.items())


class ListPage:
    """One page of a list."""

    def __init__(self, rows: Sequence[Any], query: ListQuery) -> None:
        self.total = len(rows)
        self.pages = max(1, -(-self.total // ROWS_PER_PAGE))
        self.number = min(max(1, query.number), self.pages)
        self.rows = rows[ROWS_PER_PAGE * (self.number - 1) : ROWS_PER_PAGE * self.number]
        self.filters = query.filters

    @property
    def before(self) -> int | None:
        """Number of the previous page, None on the first one."""
        return self.number - 1 if self.number > 1 else None

    @property
    def next(self) -> int | None:
        """Number of the next page, None on the last one."""
        return self.number + 1 if self.number < self.pages else None
