"""Operations of included routers document the errors of the framework as well."""

from __future__ import annotations

from dataclasses import replace

from fastapi import APIRouter, FastAPI

from tests.shared.conftest import LIBRARY


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
