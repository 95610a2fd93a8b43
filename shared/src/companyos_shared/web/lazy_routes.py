"""Routes that FastAPI analyzes at their first use: an app has a hundred of them, and few processes use them all."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.routing import compile_path


class LazyRoute(APIRoute):
    """A route that knows its path and methods at once, and everything else when it is first asked for.

    An invalid signature therefore raises at the first request or when the OpenAPI document is generated.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        self.path = path
        self.endpoint = endpoint
        self.methods = {method.upper() for method in options.get("methods") or ["GET"]}
        self.include_in_schema = options.get("include_in_schema", True)
        self.path_regex, self.path_format, self.param_convertors = compile_path(path)
        self._analyze = partial(super().__init__, path, endpoint, **options)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute that is set by FastAPI's analysis."""
        if (analyze := self.__dict__.pop("_analyze", None)) is None:
            raise AttributeError(name)
        try:
            analyze()
        except Exception:
            self._analyze = analyze  # the next use raises the same error
            raise
        return getattr(self, name)


class LazyRouter(APIRouter):
    """A router whose routes are lazy."""

    def __init__(self, **options: Any) -> None:
        super().__init__(route_class=LazyRoute, **options)
