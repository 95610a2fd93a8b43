"""An app whose OpenAPI document omits a status that it returns, which the runs have to find."""

from __future__ import annotations

from fastapi import FastAPI
from fastapi.responses import JSONResponse, Response

app = FastAPI()


@app.get("/readyz", include_in_schema=False)
async def readyz() -> Response:
    return Response()


@app.get("/teapots/{number}")
async def teapot(number: int) -> JSONResponse:
    return JSONResponse({"short": "stout"}, 418 if number % 2 else 200)
