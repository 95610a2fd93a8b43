"""Operation routes read valid requests themselves, and answer every request as FastAPI does."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import pytest
from fastapi import APIRouter, Body, Cookie, Depends, FastAPI, Form, Header, Query, Request, Response
from fastapi.exceptions import ResponseValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient
from pydantic import BaseModel, Field, Json

from companyos_shared.framework import OperationRouter
from companyos_shared.framework.operation_routes import OperationRoute

JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


SERVER = ["operations.example", 80]
"""Server of the requests of these tests."""


class Color(StrEnum):
    """Values of a parameter."""

    RED = "red"
    BLUE = "blue"


class Note(BaseModel):
    """Body of requests and responses."""

    text: str
    color: Color = Color.RED
    nickname: str | None = Field(None, serialization_alias="alias")


class Filters(BaseModel):
    """Parameters in one model."""

    color: Color | None = None


counted: list[str] = []


async def count(request: Request) -> int:
    counted.append(request.url.path)
    return len(counted)


async def measure(request: Request) -> int:
    counted.append(str(len(await request.body())))
    return len(counted)


async def double(number: Annotated[int, Depends(count)], factor: int = 2) -> int:
    return factor * number


def define_operations(router: APIRouter) -> None:
    """Add operations whose parameters an operation route reads."""

    @router.get("/notes/{number}")
    async def read_note(
        number: int,
        color: Annotated[Color | None, Query(description="Color.")] = None,
        limit: Annotated[int, Query(ge=1, le=9, alias="max")] = 5,
        version: Annotated[int | None, Header(alias="If-Match")] = None,
        x_trace: Annotated[str, Header()] = "none",
    ) -> dict[str, Any]:
        return {"number": number, "color": color, "limit": limit, "version": version, "trace": x_trace}

    @router.get("/search")
    async def search(query: Annotated[str, Query(max_length=5)]) -> Note:
        return Note(text=query)

    @router.post("/notes", status_code=201)
    async def create_note(body: Note) -> Note:
        return body

    @router.post("/optional")
    async def create_optional(body: Note | None = None) -> Note:
        return body or Note(text="none")

    @router.put("/count")
    async def count_twice(
        number: Annotated[int, Depends(count)], doubled: Annotated[int, Depends(double)]
    ) -> list[int]:
        return [number, doubled]

    @router.get("/body")
    async def read_body(body: Annotated[Note, Body()]) -> Note:
        return body

    @router.get("/length")
    async def read_length(length: Annotated[int, Depends(measure)], number: int) -> list[int]:
        return [length, number]

    @router.get("/json")
    async def read_json(value: Annotated[Json[int], Query()]) -> int:
        return value

    @router.get("/response")
    async def respond() -> Note:
        return Response("own", 202)  # type: ignore[return-value]


REQUESTS: list[tuple[str, str, dict[str, str], bytes]] = [
    ("GET", "/notes/3", {}, b""),
    ("GET", "/notes/3?color=blue&max=9", {"If-Match": "7", "X-Trace": "a"}, b""),
    ("GET", "/notes/3?max=2&max=4&color=red&unknown=1", {}, b""),
    ("GET", "/search?query=caf%C3%A9", {}, b""),
    ("POST", "/notes", JSON, b'{"text": "a"}'),
    ("POST", "/notes", JSON, b'{"text": "a", "color": "blue", "more": 1}'),
    ("POST", "/optional", JSON, b'{"text": "a"}'),
    ("PUT", "/count", {}, b""),
    ("PUT", "/count?factor=5", {}, b""),
    ("GET", "/body", JSON, b'{"text": "a"}'),
    ("GET", "/length?number=1", {}, b"abc"),
    ("GET", "/json?value=5", {}, b""),
    ("GET", "/response", {}, b""),
]
"""Requests that an operation route reads."""

REQUESTS_FOR_FASTAPI: list[tuple[str, str, dict[str, str], bytes]] = [
    ("GET", "/notes/three", {}, b""),
    ("GET", "/notes/3?color=green&max=0", {"If-Match": "x"}, b""),
    ("GET", "/notes/3?color=&max=", {}, b""),
    ("GET", "/search", {}, b""),
    ("GET", "/search?query=longer", {}, b""),
    ("HEAD", "/search?query=a", {}, b""),
    ("DELETE", "/search?query=a", {}, b""),
    ("POST", "/notes", JSON, b'{"color": "green"}'),
    ("POST", "/notes", JSON, b"{"),
    ("POST", "/notes", JSON, b"null"),
    ("POST", "/notes", JSON, b"\xff"),
    ("POST", "/notes", JSON, b""),
    ("POST", "/notes", JSON, b"[" * 5_000),
    ("GET", "/body", JSON, b"{}"),
    ("GET", "/length?number=x", {}, b"abc"),
    ("GET", "/json?value=x", {}, b""),
    ("POST", "/notes", {}, b'{"text": "a"}'),
    ("POST", "/notes", {"Content-Type": "text/plain"}, b'{"text": "a"}'),
    ("POST", "/notes", {"Content-Type": "application/json; charset=utf-8"}, b'{"text": "a"}'),
    ("POST", "/optional", {}, b""),
    ("PUT", "/count?factor=x", {}, b""),
]
"""Requests that are invalid or unusual."""


def client_of(router: APIRouter) -> TestClient:
    app = FastAPI()
    app.router.routes.extend(router.routes)
    return TestClient(app, base_url=f"http://{SERVER[0]}")


@pytest.fixture
def handled_by_fastapi(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Provide the paths of the requests that FastAPI handles.

    Services of other tests may be running in another thread, and their leases are renewed.
    """
    paths: list[str] = []
    handle = APIRoute.handle

    async def recorded(self: APIRoute, scope: Any, receive: Any, send: Any) -> None:
        if scope["server"] == SERVER:
            paths.append(scope["path"])
        await handle(self, scope, receive, send)

    monkeypatch.setattr(APIRoute, "handle", recorded)
    return paths


def ask(router: APIRouter, request: tuple[str, str, dict[str, str], bytes]) -> tuple[Any, ...]:
    counted.clear()
    method, path, headers, body = request
    answer = client_of(router).request(method, path, headers=headers, content=body)
    return answer.status_code, answer.content, answer.headers.multi_items(), list(counted)


@pytest.mark.parametrize("request_", [*REQUESTS, *REQUESTS_FOR_FASTAPI], ids=str)
def test_every_request_is_answered_as_by_fastapi(
    request_: tuple[str, str, dict[str, str], bytes], handled_by_fastapi: list[str]
) -> None:
    own, usual = OperationRouter(), APIRouter()
    define_operations(own)
    define_operations(usual)
    answer = ask(own, request_)
    assert bool(handled_by_fastapi) is (request_ in REQUESTS_FOR_FASTAPI)
    assert answer == ask(usual, request_)
    assert client_of(own).get("/openapi.json").json() == client_of(usual).get("/openapi.json").json()


async def of_list(color: Annotated[list[Color], Query()]) -> list[Color]:
    return color


async def of_model(filters: Annotated[Filters, Query()]) -> Filters:
    return filters


async def of_cookie(name: Annotated[str, Cookie()] = "none") -> str:
    return name


async def of_factory(name: Annotated[str, Query(default_factory=lambda: "made")]) -> str:
    return name


async def of_default(number: Annotated[int, Query(validate_default=True)] = "5") -> int:  # type: ignore[assignment]
    return number


async def of_response(response: Response) -> str:
    response.headers["X-Own"] = "yes"
    return "headers"


async def of_form(filters: Annotated[Filters, Form()]) -> Filters:
    return filters


async def of_two_bodies(first: Annotated[int, Body()], second: Annotated[int, Body()] = 2) -> int:
    return first + second


async def note_of(body: Note) -> Note:
    return body


async def of_body_of_dependency(note: Annotated[Note, Depends(note_of)]) -> Note:
    return note


async def of_dependency_without_cache(
    first: Annotated[int, Depends(count)], second: Annotated[int, Depends(count, use_cache=False)]
) -> list[int]:
    return [first, second]


async def of_dependency_with_scope(
    first: Annotated[int, Depends(count)], second: Annotated[int, Depends(count, scope="function")]
) -> list[int]:
    return [first, second]


def in_thread() -> str:
    return "thread"


@pytest.mark.parametrize(
    "endpoint",
    [
        of_list,
        of_model,
        of_cookie,
        of_factory,
        of_default,
        of_response,
        of_form,
        of_two_bodies,
        of_body_of_dependency,
        of_dependency_without_cache,
        of_dependency_with_scope,
        in_thread,
    ],
)
def test_operations_with_other_parameters_are_handled_by_fastapi(endpoint: Any, handled_by_fastapi: list[str]) -> None:
    own, usual = OperationRouter(), APIRouter()
    for router in (own, usual):
        router.add_api_route("/other", endpoint, methods=["POST"])
    for media_type, body in ((FORM, b"color=red&first=1"), (JSON, b'{"color": "red", "first": 1}')):
        request = ("POST", "/other?color=red&color=blue", {"Cookie": "name=a", **media_type}, body)
        handled_by_fastapi.clear()
        answer = ask(own, request)
        assert handled_by_fastapi == ["/other"]
        assert answer == ask(usual, request)


@pytest.mark.parametrize(
    "options",
    [
        {"response_class": JSONResponse},
        {"response_model": None},
        {"response_model_by_alias": False},
        {"response_model_include": {"text"}},
        {"response_model_exclude": {"text"}},
        {"response_model_exclude_unset": True},
        {"response_model_exclude_defaults": True},
        {"response_model_exclude_none": True},
    ],
    ids=str,
)
def test_operations_with_other_responses_are_handled_by_fastapi(
    options: dict[str, Any], handled_by_fastapi: list[str]
) -> None:
    async def read_note() -> Note:
        return Note(text="a", nickname=None)

    own, usual = OperationRouter(), APIRouter()
    for router in (own, usual):
        router.add_api_route("/note", read_note, **options)
    answer = ask(own, ("GET", "/note", {}, b""))
    assert handled_by_fastapi == ["/note"]
    assert answer == ask(usual, ("GET", "/note", {}, b""))


def test_a_mounted_app_has_the_operations_of_its_router() -> None:
    router, app = OperationRouter(), FastAPI()
    define_operations(router)
    app.mount("/mounted", client_of(router).app)
    assert TestClient(app).get("/mounted/notes/3").json()["number"] == 3
    assert TestClient(app).get("/notes/3").status_code == 404


def test_the_dependencies_of_a_router_that_includes_another_one_apply() -> None:
    inner, outer = OperationRouter(), APIRouter(prefix="/outer", dependencies=[Depends(count)])
    define_operations(inner)
    outer.include_router(inner)
    assert ask(outer, ("GET", "/outer/notes/3", {}, b""))[0::3] == (200, ["/outer/notes/3"])


def test_dependency_overrides_of_an_app_apply_to_its_routes() -> None:
    app = FastAPI()
    app.router.route_class = OperationRoute
    app.dependency_overrides[count] = lambda: 9

    @app.get("/count")
    async def read_count(number: Annotated[int, Depends(count)]) -> int:
        return number

    assert TestClient(app).get("/count").json() == 9


def test_a_response_of_another_type_is_an_error() -> None:
    router = OperationRouter()

    @router.get("/wrong")
    async def wrong() -> Note:
        return 5  # type: ignore[return-value]

    with pytest.raises(ResponseValidationError):
        client_of(router).get("/wrong")
