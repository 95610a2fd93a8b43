"""Dependency that rejects unknown query parameters, as unknown fields of a body are rejected."""

from __future__ import annotations

from fastapi import Depends, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute

from companyos_shared.web.query_params import unknown_query_params


async def reject_unknown_query_params(request: Request) -> None:
    """Raise RequestValidationError for query parameters that the route does not declare."""
    route = request.scope["route"]
    assert isinstance(route, APIRoute)
    unknown = unknown_query_params(route, request.query_params)
    if unknown:
        raise RequestValidationError(
            [{"type": "extra_forbidden", "loc": ("query", name), "msg": reason} for name, reason in unknown]
        )


STRICT_QUERY = [Depends(reject_unknown_query_params)]
"""Dependencies of every API route."""
