"""Query parameters: unknown names are rejected, as they are in request bodies."""

from __future__ import annotations

from fastapi import Depends, Request
from fastapi.dependencies.utils import get_flat_params
from fastapi.exceptions import RequestValidationError
from fastapi.params import Query
from fastapi.routing import APIRoute


async def reject_unknown_query_params(request: Request) -> None:
    """Raise RequestValidationError for query parameters that the route does not declare."""
    route = request.scope["route"]
    assert isinstance(route, APIRoute)
    known = {one.alias for one in get_flat_params(route.dependant) if isinstance(one.field_info, Query)}
    unknown = [name for name in request.query_params if name not in known]
    if unknown:
        words = (
            f"unknown parameter; accepted: {', '.join(sorted(known))}"
            if known
            else "unknown parameter; none is accepted"
        )
        raise RequestValidationError(
            [{"type": "extra_forbidden", "loc": ("query", one), "msg": words} for one in unknown]
        )


STRICT_QUERY = [Depends(reject_unknown_query_params)]
"""Dependency of every API route."""
