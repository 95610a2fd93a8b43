"""HTML pages of a service below `/pages`. Pages read the data of the tools, and their forms call the tools.

A page is requested by GET, or by POST with a Shell as body if another server embeds it. Pages never write. A form is
posted to `/pages/-/<operation id>`. The gateway handles posted forms as steps of the episode; a standalone service
handles them in its own middleware, FormMiddleware.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import BaseModel, ValidationError

from companyos_shared.framework.call import Call, CallDep
from companyos_shared.framework.errors import InvalidArgumentsError, MalformedBodyError, ServiceError
from companyos_shared.framework.schemas import PageParams
from companyos_shared.pages import HEADERS, Shell, Templates, result_of_query
from companyos_shared.pages.rendering import url
from companyos_shared.pages.shown_objects import ShownObjects

PAGES_PREFIX = "/pages"
FORMS_PREFIX = f"{PAGES_PREFIX}/-/"

PAGE_ROWS = 20
"""Rows of a list per page."""

ALL_ROWS = PageParams(100_000, None)
"""Page parameters of a complete list."""

PageText = Annotated[str, Query(max_length=200)]
"""A text filter of a page."""

PageCursor = Annotated[str | None, Query(max_length=512)]
"""The cursor of a page."""

_METHODS = ["GET", "POST"]

T = TypeVar("T")


def page_params(cursor: str | None) -> PageParams:
    """Return the page parameters for a cursor."""
    return PageParams(PAGE_ROWS, cursor or None)


def parse_choice(choices: Iterable[T], text: str) -> T | None:
    """Return the choice that equals `text`, or None if it is empty; raises InvalidArgumentsError (422) for others."""
    if not text:
        return None
    accepted = list(choices)
    for choice in accepted:
        if choice == text:
            return choice
    raise InvalidArgumentsError(f'value must be one of {", ".join(map(str, accepted))}; got "{text}"')


class UnknownObjectError(ServiceError):
    status, code, title = 404, "unknown-object", "Object not found"


class PageView:
    """Rendering context of a page: the request's call and the surrounding shell."""

    def __init__(self, call: Call, shell: Shell, templates: Templates) -> None:
        self.call = call
        self.shell = shell
        self._templates = templates
        self._shown = ShownObjects()

    def page(self, template: str, **values: Any) -> HTMLResponse:
        """Render a template; `now`, `company` and `name_of` are available besides the values."""
        values = {"now": self.call.now, "company": self.call.company, "name_of": self.name_of, **values}
        text = self._templates.write(template, self.shell, self._shown, **values)
        self.call.shown.extend(self._shown.rows())
        return HTMLResponse(text, headers=HEADERS)

    def shows(self, model: BaseModel, *names: str) -> None:
        """Record that the page shows attributes that its template does not read from the model itself."""
        self._shown.add(model, *names)

    def shows_values(self, models: Iterable[BaseModel], **identity: str) -> None:
        """Record that the page shows values of the entity that `identity` names."""
        self._shown.add_values(models, **identity)

    def problem(self, problem: ServiceError) -> HTMLResponse:
        """Render an error page."""
        text = self._templates.write("problem.html", self.shell, problem=problem.body())
        return HTMLResponse(text, status_code=problem.status, headers=HEADERS)

    def name_of(self, person_id: str | None) -> str:
        """Return the name of a person, the id if it is unknown, or `-` for None."""
        person = None if person_id is None else self.call.company.person(person_id)
        return person.name if person is not None else person_id or "-"


class Pages:
    """Registry of a service's pages: routes below `/pages` that render its templates."""

    def __init__(self, package: str, *, app: str, title: str) -> None:
        self.router = APIRouter(prefix=PAGES_PREFIX, include_in_schema=False)
        self._templates = Templates(package)
        self._standalone_shell = Shell(app=app, title=title, prefix=PAGES_PREFIX)

    def page(self, path: str) -> Callable[[Callable[..., Response]], Callable[..., Any]]:
        """Register a page. Its first parameter is a PageView; a ServiceError is rendered as a page."""

        def register(render: Callable[..., Response]) -> Callable[..., Any]:
            parameters = list(inspect.signature(render, eval_str=True).parameters.values())
            _, *rest = parameters

            @wraps(render)
            async def handler(*, view_: PageView, **values: Any) -> Response:
                try:
                    return render(view_, **values)
                except ServiceError as problem:
                    return view_.problem(problem)

            dependency = inspect.Parameter(
                "view_", inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[PageView, Depends(self._build_view)]
            )
            keywords = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in rest]
            handler.__signature__ = inspect.Signature([dependency, *keywords])  # type: ignore[attr-defined]
            handler.__annotations__ = {}
            self.router.add_api_route(path, handler, methods=_METHODS, response_class=HTMLResponse)
            return handler

        return register

    def opens(self, locate: Callable[[Call, str], tuple[str, ...] | None]) -> None:
        """Register the page `/open/{object_id}`, which redirects to the page of the object with that id.

        `locate` returns the parts of its path, or None if there is no such object. The body also contains the path.
        """

        @self.page("/open/{object_id}")
        def open_object(view: PageView, object_id: str) -> Response:
            parts = locate(view.call, object_id)
            if parts is None:
                raise UnknownObjectError(f'no object has the id "{object_id}"')
            path = url(view.shell.prefix, *parts)
            return Response(path, status_code=303, headers={**HEADERS, "Location": path}, media_type="text/plain")

    async def _build_view(self, request: Request, call: CallDep) -> PageView:
        person = call.company.person(call.person)
        facts = {"now": call.now, "person": person.name if person is not None else call.person}
        return PageView(call, (await self._shell(request)).model_copy(update=facts), self._templates)

    async def _shell(self, request: Request) -> Shell:
        if request.method != "POST":
            result = result_of_query(request.query_params)
            return self._standalone_shell.model_copy(update={"form_result": result})
        try:
            return Shell.model_validate_json(await request.body())
        except ValidationError as error:
            raise MalformedBodyError("The body must be a page shell.") from error
