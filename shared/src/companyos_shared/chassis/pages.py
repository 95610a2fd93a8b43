"""Pages of a service, below `/pages`: they read what tools read, and their forms call the tools.

A page is asked for by GET, or by POST with a Shell as its body where somebody else serves it; it never writes. A form
is posted to `/pages/-/<operation id>`. Behind a gateway nothing comes in there: the gateway takes the form as a step of
the episode. A service on its own takes it itself (FormDoor).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import ValidationError

from companyos_shared.chassis.call import Call, CallDep
from companyos_shared.chassis.errors import InvalidArguments, MalformedBody, Problem
from companyos_shared.chassis.schemas import PageParams
from companyos_shared.pages import HEADERS, Shell, Templates

PAGES_PREFIX = "/pages"
FORMS_PREFIX = f"{PAGES_PREFIX}/-/"

ROWS = 20
"""Rows of a list on a page."""

EVERYTHING = PageParams(100_000, None)
"""A list as a whole, where a page shows it at once or chooses from it."""

PageText = Annotated[str, Query(max_length=200)]
"""What a page is asked for in words."""

PageCursor = Annotated[str | None, Query(max_length=512)]
"""Where the rows of a page begin."""

_METHODS = ["GET", "POST"]

T = TypeVar("T")


def rows_from(cursor: str | None) -> PageParams:
    """Return how much of a list a page shows."""
    return PageParams(ROWS, cursor or None)


def chosen(choices: Iterable[T], text: str) -> T | None:
    """Return the choice that was made, None where none was; raises InvalidArguments (422) for another."""
    if not text:
        return None
    for choice in choices:
        if choice == text:
            return choice
    raise InvalidArguments(f"{text!r} is none of the choices.")


class Showing:
    """What a page is shown with: the call that it reads in, and the shell around it."""

    def __init__(self, call: Call, shell: Shell, templates: Templates) -> None:
        self.call = call
        self.shell = shell
        self._templates = templates

    def page(self, template: str, **values: Any) -> HTMLResponse:
        """Return a page; templates see `now` and `company` beside the values."""
        values = {"now": self.call.now, "company": self.call.company, "name_of": self.name_of, **values}
        return HTMLResponse(self._templates.write(template, self.shell, **values), headers=HEADERS)

    def problem(self, problem: Problem) -> HTMLResponse:
        """Return the page of a refusal."""
        text = self._templates.write("problem.html", self.shell, problem=problem.body())
        return HTMLResponse(text, status_code=problem.status, headers=HEADERS)

    def name_of(self, person_id: str | None) -> str:
        """Return the name of a person, or the id where the company knows nobody of that id."""
        person = None if person_id is None else self.call.company.person(person_id)
        return person.name if person is not None else person_id or "-"


class Pages:
    """The pages of a service: routes below `/pages` that show its templates."""

    def __init__(self, package: str, *, app: str, title: str) -> None:
        self.router = APIRouter(prefix=PAGES_PREFIX, include_in_schema=False)
        self._templates = Templates(package)
        self._alone = Shell(app=app, title=title, prefix=PAGES_PREFIX)

    def page(self, path: str) -> Callable[[Callable[..., HTMLResponse]], Callable[..., Any]]:
        """Register a page. Its first parameter is a Showing; a Problem that it raises is shown as a page."""

        def register(show: Callable[..., HTMLResponse]) -> Callable[..., Any]:
            parameters = list(inspect.signature(show, eval_str=True).parameters.values())
            _, *rest = parameters

            @wraps(show)
            async def shown(*, showing_: Showing, **values: Any) -> Response:
                try:
                    return show(showing_, **values)
                except Problem as problem:
                    return showing_.problem(problem)

            wanted = inspect.Parameter(
                "showing_", inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[Showing, Depends(self._showing)]
            )
            keywords = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in rest]
            shown.__signature__ = inspect.Signature([wanted, *keywords])  # type: ignore[attr-defined]
            shown.__annotations__ = {}
            self.router.add_api_route(path, shown, methods=_METHODS, response_class=HTMLResponse)
            return shown

        return register

    async def _showing(self, request: Request, call: CallDep) -> Showing:
        person = call.company.person(call.person)
        facts = {"now": call.now, "person": person.name if person is not None else call.person}
        return Showing(call, (await self._shell(request)).model_copy(update=facts), self._templates)

    async def _shell(self, request: Request) -> Shell:
        if request.method != "POST":
            return self._alone
        try:
            return Shell.model_validate_json(await request.body())
        except ValidationError as error:
            raise MalformedBody("The body is no shell of a page.") from error
