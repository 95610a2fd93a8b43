"""Definition of a service, from which the framework creates its app."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from typing import Any, Generic, TypeVar

from fastapi import APIRouter
from fastapi.routing import APIRoute
from sqlalchemy import MetaData
from starlette.routing import Match
from starlette.types import Scope

from companyos_shared.framework.call import Call
from companyos_shared.framework.errors import (
    BodyTooLargeError,
    InvalidArgumentsError,
    MalformedBodyError,
    error_responses,
)
from companyos_shared.framework.pages import Pages
from companyos_shared.framework.schemas import SeedDocument
from companyos_shared.wire.control import source_of

SeedT = TypeVar("SeedT", bound=SeedDocument)

EventHandler = Callable[[Call, dict[str, Any]], None]
"""Handler of a scheduled event. `call.now` is the due time of the row and the actor is the clock."""

EventHandlers = Mapping[str, EventHandler]


def demo_toml(seed: type[SeedT], package: str) -> Callable[[], SeedT]:
    """Return a function that reads the demo seed from `demo.toml` of a package."""
    return lambda: seed.model_validate(tomllib.loads(files(package).joinpath("demo.toml").read_text("utf-8")))


@dataclass(frozen=True, kw_only=True)
class Service(Generic[SeedT]):
    """A service: name, tables, seed schema, seed loader, routes and event handlers."""

    name: str
    title: str
    description: str
    version: str
    metadata: MetaData
    seed: type[SeedT]
    load_seed: Callable[[Call, SeedT], None]
    demo_seed: Callable[[], SeedT]
    routers: Sequence[APIRouter]
    event_handlers: EventHandlers = field(default_factory=dict)
    pages: Pages | None = None

    @cached_property
    def router(self) -> APIRouter:
        """All operations and pages. The apps of a process share these routes, so FastAPI builds each route once."""
        responses = error_responses(InvalidArgumentsError, MalformedBodyError, BodyTooLargeError)
        router = APIRouter(responses=responses)
        for one in (*self.routers, *([] if self.pages is None else [self.pages.router])):
            routes = [route for route in one.routes if isinstance(route, APIRoute)]
            if len(routes) < len(one.routes):
                router.include_router(one)  # contains other routers
                continue
            for route in routes:
                route.responses = responses | route.responses
            router.routes.extend(routes)  # added directly, because include_router would build them again
        return router

    def find_operation(self, scope: Scope) -> APIRoute | None:
        """Return the operation with the path and the method of a request, if any. A page is not an operation."""
        routes = (route for route in self.router.routes if isinstance(route, APIRoute) and route.include_in_schema)
        return next((route for route in routes if route.matches(scope)[0] is Match.FULL), None)

    def source_of(self, content: bytes) -> str:
        """Return the source id of a seed document, given as JSON."""
        return source_of(self.name, content)
