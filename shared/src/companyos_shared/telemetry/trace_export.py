"""Creates the tracer that the environment configures.

The standard OpenTelemetry variables enable tracing: `OTEL_TRACES_EXPORTER` (`otlp` or `console`) or
`OTEL_EXPORTER_OTLP_ENDPOINT`, unless `OTEL_SDK_DISABLED` is true. OpenTelemetry is imported only if it is enabled.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping

from companyos_shared.telemetry.tracing import NO_TRACES, Traces

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_KNOWN_EXPORTERS = ("console", "otlp")
_log = logging.getLogger(__name__)


def create_traces(process: str, environment: Mapping[str, str] = os.environ) -> Traces:
    """Return the traces that the environment configures. The default service name is `companyos-<process>`."""
    exporters = _exporters(environment)
    if not exporters:
        return NO_TRACES
    try:
        from companyos_shared.telemetry.otel import OpenTelemetryTraces
    except ImportError as missing:
        _log.warning("tracing is enabled, but %s is not installed; companyos-shared[traces] requires it", missing.name)
        return NO_TRACES
    return OpenTelemetryTraces.with_exporters(f"companyos-{process}", exporters)


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
