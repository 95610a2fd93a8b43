"""What is seen of episodes while they are played: counts, latencies, spans, and whose line of the log is whose."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

from companyos_shared.telemetry.figures import Latency
from companyos_shared.telemetry.ops import working_on
from companyos_shared.telemetry.traces import NO_TRACES, Span, Traces

if TYPE_CHECKING:
    from companyos_gateway.episode.episode import Episode

INFRA_ERROR = "infra_error"
DONE = "done"
FAILED = "failed"

_LONGEST_NAME = 64
"""The name of a tool is the agent's; so much of it is kept."""


class Watch:
    """What one process has seen since its start. Counting costs nothing that a step would notice."""

    def __init__(self, traces: Traces = NO_TRACES) -> None:
        self.traces = traces
        self.steps: Counter[str] = Counter()
        self.planned_faults: Counter[str] = Counter()
        self.control: Counter[tuple[str, str]] = Counter()
        self.step_latency = Latency()
        self.control_latency: dict[str, Latency] = {}

    def step(self, episode: Episode, number: int, tool: str) -> StepWatch:
        """Return what to take a step inside of; its `outcome` is to be told."""
        return StepWatch(self, episode, number, tool)

    def act(self, verb: str, episode: Episode | None = None) -> ActWatch:
        """Return what to do a trainer's `verb` inside of, to an episode or to none that is known yet."""
        return ActWatch(self, verb, episode)


class StepWatch:
    """One step, seen from its beginning to its end."""

    __slots__ = ("_began_at", "_op", "_span", "_tool", "_watch", "outcome")

    def __init__(self, watch: Watch, episode: Episode, number: int, tool: str) -> None:
        self._watch = watch
        self._op = working_on(episode.internal_id, episode.epoch, number)
        self._tool = tool
        self._span: Span | None = None
        self.outcome: str | None = None

    def __enter__(self) -> StepWatch:
        op = self._op.__enter__()
        if self._watch.traces.on:
            self._span = self._watch.traces.span("step").__enter__()
            self._span.set(tool=self._tool[:_LONGEST_NAME], episode=op.episode, epoch=op.epoch, step=op.step)
        self._began_at = time.perf_counter()
        return self

    def __exit__(self, *error: object) -> None:
        watch, outcome = self._watch, self.outcome
        watch.step_latency.observe(time.perf_counter() - self._began_at)
        if outcome is not None:
            watch.steps[outcome] += 1
        if self._span is not None:
            self._span.set(outcome=outcome)
            if outcome == INFRA_ERROR:
                self._span.fail(INFRA_ERROR)
            self._span.__exit__(*error)
        self._op.__exit__()


class ActWatch:
    """Something that a trainer does, seen from its beginning to its end."""

    __slots__ = ("_began_at", "_op", "_span", "_verb", "_watch")

    def __init__(self, watch: Watch, verb: str, episode: Episode | None) -> None:
        self._watch = watch
        self._verb = verb
        self._op = None if episode is None else working_on(episode.internal_id, episode.epoch, episode.step)

    def of(self, episode: Episode) -> None:
        """Tell which episode came out of it."""
        self._span.set(episode=episode.internal_id, epoch=episode.epoch, step=episode.step)

    def __enter__(self) -> ActWatch:
        self._span = self._watch.traces.span(self._verb)
        self._span.__enter__()
        if self._op is not None:
            op = self._op.__enter__()
            self._span.set(episode=op.episode, epoch=op.epoch, step=op.step)
        self._began_at = time.perf_counter()
        return self

    def __exit__(self, *error: object) -> None:
        watch, result = self._watch, _result(error[1])
        watch.control_latency.setdefault(self._verb, Latency()).observe(time.perf_counter() - self._began_at)
        watch.control[self._verb, result] += 1
        self._span.set(outcome=result)
        self._span.__exit__(*error)
        if self._op is not None:
            self._op.__exit__()


def _result(error: object) -> str:
    """Return `done`, the code of a refusal, or `failed`."""
    return DONE if error is None else str(getattr(error, "code", FAILED))
