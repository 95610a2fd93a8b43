"""Log lines and spans of steps, and the values that neither contains."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from companyos_shared.telemetry.operation import Operation, current_op
from companyos_shared.telemetry.otel import OpenTelemetryTraces, StepTraceIds
from tests.gateway.conftest import NotesGateway, OpenGateway
from tests.shared.captured_log import Log, keeping_logging


@pytest.fixture
def log() -> Iterator[Log]:
    with keeping_logging():
        yield Log()


@pytest.fixture
def spans(gateway: NotesGateway) -> InMemorySpanExporter:
    """Record the spans of the gateway of this test."""
    kept = InMemorySpanExporter()
    provider = TracerProvider(id_generator=StepTraceIds(), shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(kept))
    gateway.runtime.metrics.traces = OpenTelemetryTraces(provider)
    return kept


def _attributes(span: ReadableSpan) -> dict[str, object]:
    return {name.removeprefix("companyos."): value for name, value in (span.attributes or {}).items()}


async def test_log_lines_on_both_sides_of_a_step_name_episode_step_and_trace(log: Log, gateway: NotesGateway) -> None:
    episode_id = await gateway.begin()
    episode = gateway.runtime.engine().store.get(episode_id)
    await gateway.step(episode_id, "notes_list_notes")
    assert not [line for line in log.lines if line.get("episode")]
    await gateway.step(episode_id, "notes_break_things")
    named = {line["logger"]: line for line in log.lines if line["level"] == "error"}
    assert set(named) == {"companyos_shared.framework.middleware", "companyos_gateway.engine.engine"}
    for line in named.values():
        assert (line["episode"], line["epoch"], line["step"]) == (episode.internal_id, 1, 2)
        assert line["trace"] == Operation(episode.internal_id, 1, 2).trace_id
    assert "RuntimeError: a bug" in named["companyos_shared.framework.middleware"]["exception"]


async def test_neither_tokens_nor_arguments_are_logged(log: Log, gateway: NotesGateway) -> None:
    begun = await gateway.reset()
    await gateway.step(begun["episode_id"], "notes_write_note", text="for your eyes only")
    await gateway.step(begun["episode_id"], "notes_find_word", word="eyes")
    await gateway.step(begun["episode_id"], "notes_get_note", note_id=867_530_931_337)
    await gateway.step(begun["episode_id"], "notes_break_things")
    await gateway.http.post("/reset", json={"resume": begun["token"]})
    message = log.stream.getvalue()
    assert message
    for hidden in (begun["token"], "for your eyes only", "867530931337"):
        assert hidden not in message


async def test_the_operation_context_is_cleared_after_a_step(gateway: NotesGateway) -> None:
    await gateway.step(await gateway.begin(), "notes_list_notes")
    assert current_op() is None


async def test_a_span_records_the_result_of_a_step(
    open_gateway: OpenGateway, spans: InMemorySpanExporter, gateway: NotesGateway
) -> None:
    episode_id = await gateway.begin()
    for tool, arguments in (
        ("notes_list_notes", {}),
        ("notes_get_note", {"note_id": 99}),
        ("notes_get_note", {}),
        ("x" * 500, {}),
        ("notes_break_things", {}),
    ):
        await gateway.step(episode_id, tool, **arguments)
    found = [span for span in spans.get_finished_spans() if span.name == "step"]
    assert [_attributes(span)["outcome"] for span in found] == [
        "carried_out",
        "problem",
        "invalid_call",
        "invalid_call",
        "infra_error",
    ]
    assert [span.status.status_code is StatusCode.ERROR for span in found] == [False, False, False, False, True]
    assert _attributes(found[0])["tool"] == "notes_list_notes"
    assert len(str(_attributes(found[3])["tool"])) == 64
    internal_id = gateway.runtime.engine().store.get(episode_id).internal_id
    ids = [f"{span.context.trace_id:032x}" for span in found]
    assert ids == [Operation(internal_id, 1, number).trace_id for number in range(1, 6)]


async def test_every_trainer_operation_has_a_separate_span(gateway: NotesGateway, spans: InMemorySpanExporter) -> None:
    begun = await gateway.reset()
    episode_id = begun["episode_id"]
    taken = await gateway.snapshot(episode_id)
    await gateway.restore(episode_id, taken)
    await gateway.fork(taken, 2)
    await gateway.http.post("/reset", json={"resume": begun["token"]})
    await gateway.http.post("/reset", json={"scenario": "nowhere"})
    found = {span.name: span for span in spans.get_finished_spans()}
    assert {"reset", "snapshot", "restore", "fork", "resume"} <= set(found)
    assert _attributes(found["reset"])["outcome"] == "unknown-scenario"
    assert _attributes(found["restore"])["episode"] == gateway.runtime.engine().store.get(episode_id).internal_id
    assert len({span.context.trace_id for span in found.values()}) == len(found)
