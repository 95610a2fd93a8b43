"""Questions in a URL: a name that a door does not know is refused, as it is in a body."""

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
        words = f"unknown; known are {', '.join(sorted(known))}" if known else "unknown; this door takes none"
        raise RequestValidationError(
            [{"type": "extra_forbidden", "loc": ("query", one), "msg": words} for one in unknown]
        )


STRICT_QUERY = [Depends(reject_unknown_query_params)]
"""What every door of the API depends on."""
