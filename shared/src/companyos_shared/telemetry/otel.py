"""Traces with the OpenTelemetry SDK; imported only if tracing is enabled."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping, Sequence
from contextvars import Token
from typing import Self

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SpanExporter
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from companyos_shared.telemetry.operation import current_op
from companyos_shared.telemetry.tracing import Headers, Span, Traces

FLUSH_DEADLINE_S = 1.0
TRACE_HEADERS = ("traceparent", "tracestate")

_PREFIX = "companyos."
_PROPAGATOR = TraceContextTextMapPropagator()


class OpenTelemetryTraces(Traces):
    """Tracer of one process with its own provider; it does not set the global provider."""

    enabled = True

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("companyos")

    @classmethod
    def with_exporters(cls, name: str, exporters: Sequence[str]) -> Self:
        """Return traces with these exporters; the SDK reads other options from the environment."""
        resource = Resource.create({"service.name": name, "service.namespace": "companyos"})
        resource = resource.merge(OTELResourceDetector().detect())
        provider = TracerProvider(resource=resource, id_generator=StepTraceIds(), shutdown_on_exit=False)
        for exporter in exporters:
            provider.add_span_processor(BatchSpanProcessor(_exporter(exporter)))
        return cls(provider)

    def span(self, name: str) -> Span:
        """Return a span inside the current one."""
        return _RecordedSpan(self._tracer.start_span(name))

    def client_span(self, name: str) -> Span:
        """Return a client span."""
        return _RecordedSpan(self._tracer.start_span(name, kind=trace.SpanKind.CLIENT))

    def server_span(self, name: str, headers: Headers) -> Span:
        """Return a server span."""
        carrier = {key.decode("latin-1"): value.decode("latin-1") for key, value in headers if key in _HEADER_BYTES}
        parent = _PROPAGATOR.extract(carrier, otel_context.Context())
        return _RecordedSpan(self._tracer.start_span(name, parent, trace.SpanKind.SERVER))

    def headers(self) -> Mapping[str, str]:
        """Return the W3C headers of the current span."""
        carrier: dict[str, str] = {}
        _PROPAGATOR.inject(carrier)
        return carrier

    def close(self) -> None:
        """Flush pending spans; wait at most FLUSH_DEADLINE_S."""
        closing = threading.Thread(target=self._provider.shutdown, name="traces-closing", daemon=True)
        closing.start()
        closing.join(FLUSH_DEADLINE_S)


class StepTraceIds(RandomIdGenerator):
    """Trace id generator that uses the current step's trace id, or a random id outside of steps."""

    def generate_trace_id(self) -> int:
        """Return the id of a new trace."""
        op = current_op()
        return super().generate_trace_id() if op is None else int(op.trace_id, 16)


class _RecordedSpan(Span):
    __slots__ = ("_span", "_token")

    def __init__(self, span: trace.Span) -> None:
        self._span = span
        self._token: Token[otel_context.Context] | None = None

    def __enter__(self) -> Span:
        self._token = otel_context.attach(trace.set_span_in_context(self._span))
        return self

    def __exit__(self, *error: object) -> None:
        assert self._token is not None
        otel_context.detach(self._token)
        if isinstance(error[1], Exception):
            self._span.record_exception(error[1])
            self.fail(type(error[1]).__name__)
        self._span.end()

    def set(self, **attributes: str | int | None) -> None:
        self._span.set_attributes({_PREFIX + name: value for name, value in attributes.items() if value is not None})

    def rename(self, name: str) -> None:
        self._span.update_name(name)

    def fail(self, reason: str) -> None:
        self._span.set_status(trace.Status(trace.StatusCode.ERROR, reason))


_HEADER_BYTES = frozenset(name.encode() for name in TRACE_HEADERS)


def _exporter(name: str) -> SpanExporter:
    if name == "console":
        return ConsoleSpanExporter(out=sys.stdout, formatter=lambda span: span.to_json(indent=None) + "\n")
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter()
