"""Routes that FastAPI analyzes at their first use.

An app has up to a hundred routes, and the tests create hundreds of apps, each of which uses a few.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.routing import compile_path

_ANALYSIS = threading.RLock()
"""Held during an analysis: another thread waits for it instead of using a route that is half analyzed."""


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
        with _ANALYSIS:
            if "_analyze" in self.__dict__:
                self._analyze()
                del self._analyze
        if name not in self.__dict__:
            raise AttributeError(name)
        return self.__dict__[name]


class LazyRouter(APIRouter):
    """A router whose routes are lazy."""

    def __init__(self, **options: Any) -> None:
        super().__init__(route_class=LazyRoute, **options)
