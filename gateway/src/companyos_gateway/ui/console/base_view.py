"""Shared parts of the console's pages: the layout, and the frame of the viewer."""

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
from companyos_gateway.page_paths import CONSOLE_ROOT, CONSOLE_STATIC
from companyos_shared.pages import HEADERS, FormResult, Shell, Templates

ROWS_PER_PAGE = 20
"""Rows of a list on one page."""

_TEMPLATES = Templates("companyos_gateway.ui.console")
_MENU = (
    ("episodes", "Episodes", ""),
    ("results", "Results", "/results"),
    ("scenarios", "Scenarios", "/scenarios"),
)


def prefix_of(request: Request) -> str:
    """Return the path in front of every link of the console."""
    return f"{root_path_of(request)}{CONSOLE_ROOT}"


def root_path_of(request: Request) -> str:
    """Return the path in front of everything of this gateway."""
    return str(request.scope.get("root_path", ""))


def render_page(
    request: Request, template: str, here: str, *, said: FormResult | None = None, status: int = 200, **values: Any
) -> Response:
    """Return a page of the console."""
    prefix = prefix_of(request)
    shell = Shell(app="console", title="CompanyOS console", prefix=prefix, said=said)
    menu = [(name, title, f"{prefix}{path}") for name, title, path in _MENU]
    text = _TEMPLATES.write(template, shell, menu_places=menu, here=here, **values)
    return HTMLResponse(text, status_code=status, headers=HEADERS)


def render_viewer(
    request: Request, title: str, source: dict[str, Any], links: Sequence[tuple[str, str]] = ()
) -> Response:
    """Return the viewer's page; the links lead to where else one may go, by title and address."""
    static = f"{root_path_of(request)}{CONSOLE_STATIC}"
    home = ("CompanyOS console", prefix_of(request))
    text = server_page(title, static=static, source=source, links=[home, *links])
    return HTMLResponse(text, headers={**HEADERS, "Content-Security-Policy": SERVER_POLICY})


def document_response(document: BaseModel) -> Response:
    """Return a document of the viewer."""
    return Response(document.model_dump_json(), media_type="application/json", headers={"Cache-Control": "no-store"})


def start_options(engine: EpisodeEngine) -> dict[str, Any]:
    """Return what the forms that start an episode offer."""
    return {
        "scenarios": sorted(engine.scenarios),
        "levels": list(levels()),
        "toolsets": list(Toolset),
        "kinds": sorted(Kind),
        "splits": list(Split),
    }


class ListQuery:
    """Query of a list page: filters and page number."""

    def __init__(self, request: Request, *names: str) -> None:
        query = request.query_params
        self.filters = {name: query.get(name, "").strip()[:64] for name in names}
        number = query.get("page", "")
        self.number = int(number) if number.isascii() and number.isdecimal() and 0 < len(number) < 6 else 1

    def matches(self, **values: object) -> bool:
        """Say whether a row has what the filters ask for."""
        return all(self.filters[name] in ("", str(value)) for name, value in values.items())


class ListPage:
    """One page of a list: its rows, and which pages there are beside it."""

    def __init__(self, rows: Sequence[Any], query: ListQuery) -> None:
        self.total = len(rows)
        self.pages = max(1, -(-self.total // ROWS_PER_PAGE))
        self.number = min(max(1, query.number), self.pages)
        self.rows = rows[ROWS_PER_PAGE * (self.number - 1) : ROWS_PER_PAGE * self.number]
        self.filters = query.filters

    @property
    def before(self) -> int | None:
        """The page before, if there is one."""
        return self.number - 1 if self.number > 1 else None

    @property
    def next(self) -> int | None:
        """The page after, if there is one."""
        return self.number + 1 if self.number < self.pages else None
