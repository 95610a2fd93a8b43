"""Dependency that rejects unknown query parameters, as unknown fields of a body are rejected."""

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
    known = {param.alias for param in get_flat_params(route.dependant) if isinstance(param.field_info, Query)}
    unknown = [name for name in request.query_params if name not in known]
    if unknown:
        accepted = f"must be one of {', '.join(sorted(known))}" if known else "this route has no query parameters"
        raise RequestValidationError(
            [{"type": "extra_forbidden", "loc": ("query", name), "msg": f"unknown; {accepted}"} for name in unknown]
        )


STRICT_QUERY = [Depends(reject_unknown_query_params)]
"""Dependencies of every API route."""
