"""Query parameters that a route does not declare, which FastAPI ignores."""

from __future__ import annotations

from collections.abc import Iterable

from fastapi.dependencies.utils import get_flat_params
from fastapi.params import Query
from fastapi.routing import APIRoute


def unknown_query_params(route: APIRoute, names: Iterable[str]) -> list[tuple[str, str]]:
    """Return the names of unknown query parameters, each with what the route accepts, worded to follow the name."""
    known = {param.alias for param in get_flat_params(route.dependant) if isinstance(param.field_info, Query)}
    accepted = f"must be one of {', '.join(sorted(known))}" if known else "this route has no query parameters"
    return [(name, f"unknown; {accepted}") for name in names if name not in known]
