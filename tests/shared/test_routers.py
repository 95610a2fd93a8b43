"""Lazy and included routes answer and are documented as other routes are."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import pytest
from fastapi import APIRouter, FastAPI
from fastapi.exceptions import FastAPIError
from fastapi.testclient import TestClient
from pydantic import BaseModel
from starlette.routing import BaseRoute

from companyos_shared.web.lazy_routes import LazyRouter
from tests.shared.conftest import LIBRARY


class Note(BaseModel):
    """Body of a request."""

    text: str


class Filters:
    """A type that FastAPI accepts for no parameter."""


def _app(router: APIRouter) -> FastAPI:
    @router.get("/notes/{number}", tags=["notes"])
    async def read_note(number: int, short: bool = False) -> dict[str, int | bool]:
        return {"number": number, "short": short}

    @router.post("/notes", status_code=201, responses={409: {"description": "exists"}})
    async def create_note(note: Note) -> Note:
        return note

    @router.get("/hidden", include_in_schema=False, name="secret")
    async def hidden() -> str:
        return "hidden"

    app = FastAPI()
    app.router.routes.extend(router.routes)
    return app


@pytest.fixture
def switch_often() -> Iterator[None]:
    """Let threads take turns every few microseconds."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(5e-6)
    yield
    sys.setswitchinterval(before)


def test_lazy_routes_give_the_same_replies_and_document_as_other_routes() -> None:
    lazy, usual = TestClient(_app(LazyRouter())), TestClient(_app(APIRouter()))
    for method, path, body in [
        ("GET", "/notes/3?short=true", None),
        ("GET", "/notes/three", None),
        ("POST", "/notes", {"text": "a"}),
        ("POST", "/notes", {}),
        ("PUT", "/notes", {}),
        ("GET", "/hidden", None),
        ("GET", "/missing", None),
    ]:
        replies = [client.request(method, path, json=body) for client in (lazy, usual)]
        assert replies[0].status_code == replies[1].status_code
        assert replies[0].text == replies[1].text
    assert _app(LazyRouter()).openapi() == _app(APIRouter()).openapi()
    assert _app(LazyRouter()).url_path_for("secret") == "/hidden"


def test_a_lazy_route_is_analyzed_at_its_first_use() -> None:
    router = LazyRouter()

    @router.get("/notes")
    async def read_notes(filters: Filters) -> None:
        """Never run."""

    app = FastAPI()
    app.router.routes.extend(router.routes)
    client = TestClient(app)
    assert client.get("/missing").status_code == 404
    for _ in range(2):
        with pytest.raises(FastAPIError, match="Filters"):
            client.get("/notes")


def test_threads_that_use_a_lazy_route_first_all_find_it_analyzed(switch_often: None) -> None:
    for _ in range(50):
        app = _app(LazyRouter())
        route = app.router.routes[-1]
        start = Barrier(4)

        def name_of(_thread: int, route: BaseRoute = route, start: Barrier = start) -> str:
            start.wait()
            return str(route.unique_id)  # type: ignore[attr-defined]

        with ThreadPoolExecutor(4) as threads:
            assert set(threads.map(name_of, range(4))) == {"secret_hidden_get"}


def test_an_attribute_that_no_route_has_raises_attribute_error() -> None:
    router = LazyRouter()
    router.get("/hidden")(lambda: None)
    with pytest.raises(AttributeError, match="color"):
        _ = router.routes[0].color  # type: ignore[attr-defined]


def test_routes_of_included_routers_document_the_errors_of_the_framework() -> None:
    inner, outer, including = APIRouter(), APIRouter(), APIRouter()

    @inner.get("/inner")
    def read_inner() -> str:
        return "inner"

    @outer.get("/outer")
    def read_outer() -> str:
        return "outer"

    including.include_router(inner)
    app = FastAPI()
    app.router.routes.extend(replace(LIBRARY, routers=[including, outer]).router.routes)
    for path in ("/inner", "/outer"):
        assert app.openapi()["paths"][path]["get"]["responses"].keys() == {"200", "400", "413", "422"}
