"""Metrics, spans and log context of episodes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from companyos_shared.telemetry.histogram import LatencyHistogram
from companyos_shared.telemetry.operation import OperationScope
from companyos_shared.telemetry.tracing import NO_TRACES, Span, Traces

if TYPE_CHECKING:
    from companyos_gateway.engine.episode import Episode

INFRA_ERROR = "infra_error"
DONE = "done"
FAILED = "failed"

_MAX_TOOL_NAME_LENGTH = 64
"""The agent chooses the tool name, so it is truncated to this length in spans."""


class EngineMetrics:
    """Counters and latencies of one process since its start."""

    def __init__(self, traces: Traces = NO_TRACES) -> None:
        self.traces = traces
        self.steps: Counter[str] = Counter()
        self.planned_faults: Counter[str] = Counter()
        self.control: Counter[tuple[str, str]] = Counter()
        self.step_latency = LatencyHistogram()
        self.control_latency: dict[str, LatencyHistogram] = {}

    def measure_step(self, episode: Episode, number: int, tool: str) -> StepMeasurement:
        """Return a context manager that measures a step; set its `outcome` before it exits."""
        return StepMeasurement(self, episode, number, tool)

    @contextmanager
    def measure_operation(self, operation: str, episode: Episode | None = None) -> Iterator[Span]:
        """Measure an operation of the trainer, on an episode if it is known already, and yield its span."""
        result, began_at = DONE, time.perf_counter()
        op = None if episode is None else OperationScope(episode.internal_id, episode.epoch, episode.step)
        with self.traces.span(operation) as span, op or nullcontext():
            if episode is not None:
                span.set(episode=episode.internal_id, epoch=episode.epoch, step=episode.step)
            try:
                yield span
            except BaseException as error:
                result = str(getattr(error, "code", FAILED))
                raise
            finally:
                latency = self.control_latency.setdefault(operation, LatencyHistogram())
                latency.observe(time.perf_counter() - began_at)
                self.control[operation, result] += 1
                span.set(outcome=result)

    def record_step(self, episode: Episode, number: int, milliseconds: float) -> None:
        """Record a committed step; by default, does nothing."""

    def record_screenshot(self, episode: Episode, png: bytes) -> None:
        """Record a new screenshot of an episode's window; by default, does nothing."""


class StepMeasurement:
    """Measures one step."""

    __slots__ = ("_began_at", "_episode", "_metrics", "_number", "_op", "_span", "_tool", "outcome")

    def __init__(self, metrics: EngineMetrics, episode: Episode, number: int, tool: str) -> None:
        self._metrics = metrics
        self._episode = episode
        self._number = number
        self._op = OperationScope(episode.internal_id, episode.epoch, number)
        self._tool = tool
        self._span: Span | None = None
        self.outcome: str | None = None

    def __enter__(self) -> StepMeasurement:
        op = self._op.__enter__()
        if self._metrics.traces.enabled:
            self._span = self._metrics.traces.span("step").__enter__()
            self._span.set(tool=self._tool[:_MAX_TOOL_NAME_LENGTH], episode=op.episode, epoch=op.epoch, step=op.step)
        self._began_at = time.perf_counter()
        return self

    def __exit__(self, *error: object) -> None:
        metrics, outcome = self._metrics, self.outcome
        duration_s = time.perf_counter() - self._began_at
        metrics.step_latency.observe(duration_s)
        if outcome is not None:
            metrics.steps[outcome] += 1
        if self._span is not None:
            self._span.set(outcome=outcome)
            if outcome == INFRA_ERROR:
                self._span.fail(INFRA_ERROR)
            self._span.__exit__(*error)
        self._op.__exit__()
        if error[0] is None:
            metrics.record_step(self._episode, self._number, 1000 * duration_s)
