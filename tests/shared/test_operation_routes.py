"""Operation routes read valid requests themselves, and answer every request as FastAPI does."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import pytest
from fastapi import APIRouter, Body, Cookie, Depends, FastAPI, Form, Header, Query, Request, Response
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient
from pydantic import BaseModel, Json

from companyos_shared.framework import OperationRouter

JSON = {"Content-Type": "application/json"}


class Color(StrEnum):
    """Values of a parameter."""

    RED = "red"
    BLUE = "blue"


class Note(BaseModel):
    """Body of requests and responses."""

    text: str
    color: Color = Color.RED


class Filters(BaseModel):
    """Parameters in one model."""

    color: Color | None = None


counted: list[str] = []


async def count(request: Request) -> int:
    counted.append(request.url.path)
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
    return TestClient(app)


@pytest.fixture
def handled_by_fastapi(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Provide the paths of the requests that FastAPI handles."""
    paths: list[str] = []
    handle = APIRoute.handle

    async def recorded(self: APIRoute, scope: Any, receive: Any, send: Any) -> None:
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


def test_operations_with_other_parameters_are_handled_by_fastapi(handled_by_fastapi: list[str]) -> None:
    router = OperationRouter()

    @router.get("/list")
    async def of_list(color: Annotated[list[Color], Query()]) -> list[Color]:
        return color

    @router.get("/model")
    async def of_model(filters: Annotated[Filters, Query()]) -> Filters:
        return filters

    @router.get("/json")
    async def of_json(values: Annotated[Json[int], Query()]) -> int:
        return values

    @router.get("/cookie")
    async def of_cookie(name: Annotated[str, Cookie()] = "none") -> str:
        return name

    @router.get("/headers")
    async def with_headers(response: Response) -> str:
        response.headers["X-Own"] = "yes"
        return "headers"

    @router.post("/form")
    async def of_form(name: Annotated[str, Form()]) -> str:
        return name

    @router.post("/two")
    async def of_two_bodies(first: Annotated[int, Body()], second: Annotated[int, Body()]) -> int:
        return first + second

    client = client_of(router)
    answers = [
        client.get("/list?color=red&color=blue").json() == ["red", "blue"],
        client.get("/model?color=red").json() == {"color": "red"},
        client.get("/json?values=5").json() == 5,
        client.get("/cookie", headers={"Cookie": "name=a"}).json() == "a",
        client.get("/headers").headers["X-Own"] == "yes",
        client.post("/form", data={"name": "a"}).json() == "a",
        client.post("/two", json={"first": 1, "second": 2}).json() == 3,
    ]
    assert all(answers), answers
    assert len(handled_by_fastapi) == len(answers)


def test_operations_with_other_responses_are_handled_by_fastapi(handled_by_fastapi: list[str]) -> None:
    router = OperationRouter()

    @router.get("/thread")
    def in_thread() -> str:
        return "thread"

    @router.delete("/empty", status_code=204)
    async def without_body() -> None:
        return None

    @router.get("/unset", response_model_exclude_unset=True)
    async def without_unset() -> Note:
        return Note(text="a")

    @router.get("/plain", response_class=Response)
    async def without_model() -> Response:
        return Response("plain")

    client = client_of(router)
    answers = [
        client.get("/thread").json() == "thread",
        client.delete("/empty").content == b"",
        client.get("/unset").json() == {"text": "a"},
        client.get("/plain").text == "plain",
    ]
    assert all(answers), answers
    assert len(handled_by_fastapi) == len(answers)


def test_the_dependencies_of_a_router_that_includes_another_one_apply() -> None:
    inner, outer = OperationRouter(), APIRouter(prefix="/outer", dependencies=[Depends(count)])
    define_operations(inner)
    outer.include_router(inner)
    assert ask(outer, ("GET", "/outer/notes/3", {}, b""))[0::3] == (200, ["/outer/notes/3"])


def test_a_response_of_another_type_is_an_error() -> None:
    router = OperationRouter()

    @router.get("/wrong")
    async def wrong() -> Note:
        return 5  # type: ignore[return-value]

    assert TestClient(client_of(router).app, raise_server_exceptions=False).get("/wrong").status_code == 500
