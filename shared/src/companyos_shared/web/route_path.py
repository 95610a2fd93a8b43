"""The path of a request below the root path of the app."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def route_path(scope: Mapping[str, Any]) -> str:
    """Return the path that routes match: ASGI's `path` without `root_path`."""
    path: str = scope["path"]
    root_path: str = scope.get("root_path", "").rstrip("/")
    if root_path and (path == root_path or path.startswith(f"{root_path}/")):
        return path[len(root_path) :]
    return path
