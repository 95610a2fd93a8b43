"""Traces: none unless they are enabled, and one per step if they are."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from companyos_shared.telemetry.operation import Operation, OperationScope
from companyos_shared.telemetry.otel import OpenTelemetryTraces, StepTraceIds
from companyos_shared.telemetry.trace_export import create_traces
from companyos_shared.telemetry.tracing import NO_TRACES, Traces, current_trace_id


class Recorded:
    """Traces of one process, stored in memory."""

    def __init__(self) -> None:
        self._kept = InMemorySpanExporter()
        provider = TracerProvider(id_generator=StepTraceIds(), shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self._kept))
        self.traces: Traces = OpenTelemetryTraces(provider)

    @property
    def spans(self) -> dict[str, ReadableSpan]:
        return {span.name: span for span in self._kept.get_finished_spans()}


@pytest.mark.parametrize(
    ("environment", "on"),
    [
        ({}, False),
        ({"OTEL_TRACES_EXPORTER": "none"}, False),
        ({"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_SDK_DISABLED": "true"}, False),
        ({"OTEL_TRACES_EXPORTER": "console"}, True),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:9/v1/traces"}, True),
    ],
)
def test_traces_are_enabled_by_the_standard_variables_only(environment: dict[str, str], on: bool) -> None:
    traces = create_traces("desk", environment)
    assert traces.enabled is on
    traces.close()


def test_an_unknown_exporter_is_reported_and_ignored(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert create_traces("desk", {"OTEL_TRACES_EXPORTER": "zipkin"}) is NO_TRACES
    assert "zipkin" in caplog.text


def test_without_an_exporter_nothing_is_imported_or_sent() -> None:
    program = (
        "import sys; from companyos_shared.telemetry.trace_export import create_traces;"
        "from companyos_shared.telemetry.tracing import current_trace_id;"
        "traces = create_traces('desk', {})\n"
        "with traces.span('a') as span, traces.client_span('b'), traces.server_span('c', []):\n"
        "    span.set(tool='x'); span.rename('d'); span.fail('e')\n"
        "    assert traces.headers() == {} and current_trace_id() is None\n"
        "traces.close()\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_a_step_is_one_trace_over_two_processes_with_the_id_of_the_step() -> None:
    gateway, service = Recorded(), Recorded()
    with OperationScope("n1-ab", 1, 3) as op, gateway.traces.span("step"), gateway.traces.client_span("desk") as call:
        call.set(service="desk", nothing=None)
        sent = [(name.encode(), value.encode()) for name, value in gateway.traces.headers().items()]
        assert current_trace_id() == op.trace_id
    with service.traces.server_span("POST", [(b"host", b"desk"), *sent]) as served:
        served.rename("desk close_ticket")
    step, client, server = gateway.spans["step"], gateway.spans["desk"], service.spans["desk close_ticket"]
    assert {span.context.trace_id for span in (step, client, server)} == {int(Operation("n1-ab", 1, 3).trace_id, 16)}
    assert server.parent is not None
    assert client.parent is not None
    assert (server.parent.span_id, client.parent.span_id) == (client.context.span_id, step.context.span_id)
    assert (client.kind, server.kind) == (SpanKind.CLIENT, SpanKind.SERVER)
    assert dict(client.attributes or {}) == {"companyos.service": "desk"}


def test_without_a_step_a_trace_has_a_random_id() -> None:
    recorded = Recorded()
    for name in ("one", "two"):
        with recorded.traces.span(name):
            pass
    assert recorded.spans["one"].context.trace_id != recorded.spans["two"].context.trace_id


@pytest.mark.parametrize("header", [b"", b"nonsense", b"00-" + b"0" * 32 + b"-" + b"0" * 16 + b"-01", b"\xff\xfe"])
def test_an_invalid_header_starts_a_new_trace(header: bytes) -> None:
    recorded = Recorded()
    with recorded.traces.server_span("GET", [(b"traceparent", header)]):
        pass
    assert recorded.spans["GET"].parent is None


def test_a_span_records_an_exception() -> None:
    recorded = Recorded()
    with pytest.raises(RuntimeError), recorded.traces.span("step"):
        raise RuntimeError("an error")
    span = recorded.spans["step"]
    assert span.status.status_code is StatusCode.ERROR
    assert [event.name for event in span.events] == ["exception"]
    assert current_trace_id() is None


def test_an_unreachable_collector_does_not_delay_the_exit() -> None:
    program = (
        "import time; from companyos_shared.telemetry.trace_export import create_traces\n"
        "traces = create_traces('desk', {'OTEL_TRACES_EXPORTER': 'otlp'})\n"
        "with traces.span('a'): pass\n"
        "began = time.monotonic(); traces.close(); print(time.monotonic() - began)"
    )
    environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "NO_PROXY": "*"}
    began = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment, timeout=60
    )
    assert float(began.stdout) < 3
