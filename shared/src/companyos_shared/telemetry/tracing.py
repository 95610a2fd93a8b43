"""Tracing interface: spans and tracers that record nothing; `trace_export` provides the ones that do."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any

_API = "opentelemetry.trace"

Headers = Iterable[tuple[bytes, bytes]]


class Span(AbstractContextManager["Span", None]):
    """A span; this base class records nothing."""

    __slots__ = ()

    def __enter__(self) -> Span:
        return self

    def __exit__(self, *_error: object) -> None:
        return None

    def set(self, **attributes: str | int | None) -> None:
        """Add attributes; None values are ignored."""

    def rename(self, name: str) -> None:
        """Change the name of the span."""

    def fail(self, reason: str) -> None:
        """Mark the span as failed by a server error."""


_NO_SPAN = Span()
_NO_HEADERS: Mapping[str, str] = {}


class Traces:
    """Tracer of one process; this base class creates no spans."""

    enabled = False

    def span(self, name: str) -> Span:
        """Return a child span of the current span."""
        return _NO_SPAN

    def client_span(self, name: str) -> Span:
        """Return a client span around a request to another process; send `headers` with the request."""
        return _NO_SPAN

    def server_span(self, name: str, headers: Headers) -> Span:
        """Return a server span around a received request, as a child of the span in its headers."""
        return _NO_SPAN

    def headers(self) -> Mapping[str, str]:
        """Return the W3C Trace Context headers of the current span."""
        return _NO_HEADERS

    def close(self) -> None:
        """Flush pending spans for at most one second."""


NO_TRACES = Traces()


def current_trace_id() -> str | None:
    """Return the id of the current trace without importing OpenTelemetry."""
    api: Any = sys.modules.get(_API)
    if api is None:
        return None
    context = api.get_current_span().get_span_context()
    return f"{context.trace_id:032x}" if context.is_valid else None
