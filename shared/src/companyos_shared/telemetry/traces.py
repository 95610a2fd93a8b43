"""Tracing interface without cost while tracing is disabled.

The standard OpenTelemetry variables enable it: `OTEL_TRACES_EXPORTER` (`otlp` or `console`) or
`OTEL_EXPORTER_OTLP_ENDPOINT`, unless `OTEL_SDK_DISABLED` is true. OpenTelemetry is imported only if it is enabled.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_KNOWN_EXPORTERS = ("console", "otlp")
_API = "opentelemetry.trace"
_log = logging.getLogger(__name__)

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

    on = False

    def span(self, name: str) -> Span:
        """Return a child span of the current span."""
        return _NO_SPAN

    def call(self, name: str) -> Span:
        """Return a client span around a request to another process; send `headers` with the request."""
        return _NO_SPAN

    def served(self, name: str, headers: Headers) -> Span:
        """Return a server span around a received request, as a child of the span in its headers."""
        return _NO_SPAN

    def headers(self) -> Mapping[str, str]:
        """Return the W3C Trace Context headers of the current span."""
        return _NO_HEADERS

    def close(self) -> None:
        """Flush pending spans for at most one second."""


NO_TRACES = Traces()


def traces_of(process: str, environment: Mapping[str, str] = os.environ) -> Traces:
    """Return the traces that the environment configures. The default service name is `companyos-<process>`."""
    exporters = _exporters(environment)
    if not exporters:
        return NO_TRACES
    try:
        from companyos_shared.telemetry.otel import OpenTelemetryTraces
    except ImportError as missing:
        _log.warning("tracing is enabled, but %s is not installed; companyos-shared[traces] requires it", missing.name)
        return NO_TRACES
    return OpenTelemetryTraces.exporting(f"companyos-{process}", exporters)


def current_trace_id() -> str | None:
    """Return the id of the current trace without importing OpenTelemetry."""
    api: Any = sys.modules.get(_API)
    if api is None:
        return None
    context = api.get_current_span().get_span_context()
    return f"{context.trace_id:032x}" if context.is_valid else None


def _exporters(environment: Mapping[str, str]) -> list[str]:
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return []
    names = [name.strip().lower() for name in environment.get("OTEL_TRACES_EXPORTER", "").split(",") if name.strip()]
    if not names and any(environment.get(name) for name in _ENDPOINTS):
        return ["otlp"]
    unknown = sorted(set(names) - {*_KNOWN_EXPORTERS, "none"})
    if unknown:
        _log.warning("OTEL_TRACES_EXPORTER must be console, otlp or none; got %s", ", ".join(unknown))
    return [name for name in _KNOWN_EXPORTERS if name in names]
