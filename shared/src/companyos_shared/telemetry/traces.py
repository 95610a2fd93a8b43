"""Traces: spans that nobody pays for until the environment asks for them.

Switched on by the variables that OpenTelemetry gives a meaning to: `OTEL_TRACES_EXPORTER` (`otlp` or `console`) or an
`OTEL_EXPORTER_OTLP_ENDPOINT`, unless `OTEL_SDK_DISABLED` is true. Until then nothing of OpenTelemetry is imported.
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
    """One piece of work while it is entered; this one is kept by nobody."""

    __slots__ = ()

    def __enter__(self) -> Span:
        return self

    def __exit__(self, *_error: object) -> None:
        return None

    def set(self, **attributes: str | int | None) -> None:
        """Add attributes; None adds nothing."""

    def rename(self, name: str) -> None:
        """Give the span the name that is known by now."""

    def fail(self, reason: str) -> None:
        """Mark the work as failed by the house's own fault."""


_NO_SPAN = Span()
_NO_HEADERS: Mapping[str, str] = {}


class Traces:
    """The spans of one process; this one makes none."""

    on = False

    def span(self, name: str) -> Span:
        """Return a span inside the current one."""
        return _NO_SPAN

    def call(self, name: str) -> Span:
        """Return a span around a request to another process; `headers` inside it tells that one."""
        return _NO_SPAN

    def served(self, name: str, headers: Headers) -> Span:
        """Return a span around a request that came, inside the caller's where the headers name one."""
        return _NO_SPAN

    def headers(self) -> Mapping[str, str]:
        """Return what tells another process of the current span (W3C Trace Context)."""
        return _NO_HEADERS

    def close(self) -> None:
        """Send what has not been sent, for a second at most."""


NO_TRACES = Traces()


def traces_of(process: str, environment: Mapping[str, str] = os.environ) -> Traces:
    """Return the traces that the environment asks for, under the name `companyos-<process>` unless it gives another."""
    exporters = _exporters(environment)
    if not exporters:
        return NO_TRACES
    try:
        from companyos_shared.telemetry.otel import OpenTelemetryTraces
    except ImportError as missing:
        _log.warning("traces are asked for, but %s is not installed: companyos-shared[traces] brings it", missing.name)
        return NO_TRACES
    return OpenTelemetryTraces.exporting(f"companyos-{process}", exporters)


def current_trace_id() -> str | None:
    """Return the id of the trace that is being recorded here, without importing anything for it."""
    api: Any = sys.modules.get(_API)
    if api is None:
        return None
    context = api.get_current_span().get_span_context()
    return f"{context.trace_id:032x}" if context.is_valid else None


def _exporters(environment: Mapping[str, str]) -> list[str]:
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return []
    asked = [name.strip().lower() for name in environment.get("OTEL_TRACES_EXPORTER", "").split(",") if name.strip()]
    if not asked and any(environment.get(name) for name in _ENDPOINTS):
        return ["otlp"]
    unknown = sorted(set(asked) - {*_KNOWN_EXPORTERS, "none"})
    if unknown:
        _log.warning("OTEL_TRACES_EXPORTER names %s; known are console, otlp and none", ", ".join(unknown))
    return [name for name in _KNOWN_EXPORTERS if name in asked]
