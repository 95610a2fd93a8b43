"""Implements `reset` and `step`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import orjson
from openenv.core.env_server.mcp_types import ToolErrorType

from companyos.contract import Modality, Outcome, ResetOptions, Toolset
from companyos_gateway.engine.argument_errors import describe_unknown_tool
from companyos_gateway.engine.browser_tools import BROWSER_TOOLS, NO_FREE_ACTIONS_LEFT, is_browser_tool
from companyos_gateway.engine.concurrency import start_task
from companyos_gateway.engine.episode import Episode
from companyos_gateway.engine.errors import (
    EpisodeClosedError,
    InfrastructureError,
    ServiceRefusalError,
    ServicesUnavailableError,
    UnknownEpisodeError,
)
from companyos_gateway.engine.journal import StepIntent
from companyos_gateway.engine.metrics import EngineMetrics, StepMeasurement
from companyos_gateway.engine.observations import StepObservation
from companyos_gateway.engine.openapi_operations import Operation
from companyos_gateway.engine.pending_step import PendingStep
from companyos_gateway.engine.prefetcher import Prefetcher
from companyos_gateway.engine.progress import RETRY_AFTER
from companyos_gateway.engine.reset_request import resolve_reset_request
from companyos_gateway.engine.reward import StepKind, determine_outcome, is_ended_by_agent
from companyos_gateway.engine.service_client import INVALID_SEED, STALE_GENERATION, ReceivedReport, ServiceCall
from companyos_gateway.engine.service_clients import ServiceClients
from companyos_gateway.engine.store import EpisodeStore, find_replaceable
from companyos_gateway.engine.task_cache import TaskCache
from companyos_gateway.engine.toolbox import WAIT, InvalidArgumentsError, Tool, Toolbox
from companyos_gateway.evaluation import FinishDeclaration
from companyos_gateway.scenarios import Scenario
from companyos_gateway.tasks import TaskSet
from companyos_shared.failpoints import failpoint
from companyos_shared.wire.context import Actor

_log = logging.getLogger(__name__)


class EpisodeEngine:
    """Resets and steps episodes, independently of any web framework."""

    def __init__(
        self,
        service_clients: ServiceClients,
        toolbox: Toolbox,
        task_cache: TaskCache,
        store: EpisodeStore,
        metrics: EngineMetrics | None = None,
    ) -> None:
        self.service_clients = service_clients
        self.toolbox = toolbox
        self.store = store
        self.task_cache = task_cache
        self.task_set = TaskSet(task_cache.scenarios)
        self.prefetcher = Prefetcher(task_cache, self.task_set)
        self.metrics = metrics or EngineMetrics()
        self._step_tasks: set[asyncio.Task[StepObservation]] = set()

    @property
    def is_idle(self) -> bool:
        """Return whether no step is running."""
        return not self._step_tasks

    @property
    def scenarios(self) -> Mapping[str, Scenario]:
        """The available scenarios by name."""
        return self.task_cache.scenarios

    async def reset(self, options: ResetOptions, previous: Episode | None = None) -> Episode:
        """Start an episode, as the next epoch of `previous` if one is given.

        No service is called for a cached task. Raises UnknownScenarioError, InvalidResetError (422),
        EpisodeExistsError (409), EpisodeQuarantinedError (410), AtCapacityError, ServicesUnavailableError (503) or
        StorageFullError (507); `previous` then continues unchanged.
        """
        self.prefetcher.record_request()
        with self.metrics.measure_operation("reset", previous) as span:
            episode = await self._reset(options, previous)
            span.set(episode=episode.internal_id, epoch=episode.epoch, step=episode.step)
            return episode

    async def _reset(self, options: ResetOptions, previous: Episode | None) -> Episode:
        holder = previous and previous.holder
        self.service_clients.check_lease()
        reset_request = await resolve_reset_request(options, self.task_set)
        try:
            task = await self.task_cache.task(reset_request.key)
        except InfrastructureError as fault:
            _log.error("%s: %s", reset_request.key, fault)
            is_refused = isinstance(fault, ServiceRefusalError) and fault.code == INVALID_SEED
            reason = f" {fault}" if is_refused else ""
            raise ServicesUnavailableError(f"A service failed to load the task.{reason}") from fault
        episode = self.store.open(reset_request, task, find_replaceable(previous, holder))
        if options.prefetch:
            self.prefetcher.plan_after(options)
        return episode

    async def resume(self, token: str, holder: object | None) -> Episode:
        """Assign the live episode of a token to a connection, and return it when its step in progress has completed.

        Raises UnknownEpisodeError (404) or EpisodeQueueFullError (429); the episode then keeps its previous holder.
        """
        episode = self.store.get_by_token(token)
        with self.store.holding(episode, holder):
            async with episode.call_lock():
                if episode.closed:
                    raise UnknownEpisodeError
        return episode

    async def step(
        self, episode: Episode, tool_name: str, arguments: dict[str, Any], *, number: int | None = None
    ) -> StepObservation:
        """Take one step; if `number` and the action are those of the last step, return its observation again.

        A step that has begun is completed even if its caller stops waiting. Raises EpisodeDoneError,
        EpisodeClosedError, StepConflictError (409), EpisodeQueueFullError (429), ServicesUnavailableError (503) or
        StorageFullError (507) if no step is taken.
        """
        self.prefetcher.record_request()
        return await asyncio.shield(start_task(self._step_tasks, self._step(episode, tool_name, arguments, number)))

    async def _step(
        self, episode: Episode, tool_name: str, arguments: dict[str, Any], number: int | None
    ) -> StepObservation:
        async with episode.call_lock():
            if (repeated := episode.find_repeated(tool_name, arguments, number)) is not None:
                return repeated
            async with self.service_clients.step_slot(self.toolbox.service_of(tool_name)):
                episode.check_can_step()
                intent = StepIntent(step=episode.step + 1, tool=tool_name, arguments=arguments)
                episode.journal.record_intent(intent)
                return await self.run_step(episode, intent)

    async def run_step(self, episode: Episode, intent: StepIntent) -> StepObservation:
        """Take a step whose intent is journaled, or repeat it in a recovery; the caller holds the episode's lock."""
        with self.metrics.measure_step(episode, intent.step, intent.tool) as measurement:
            return await self._run_step(episode, intent, measurement)

    async def _run_step(self, episode: Episode, intent: StepIntent, measurement: StepMeasurement) -> StepObservation:
        progress = episode.progress
        progress.step = intent.step
        pending = PendingStep(intent.tool, intent.arguments)
        try:
            async with asyncio.timeout(self.service_clients.step_timeout_s):
                await self._execute(episode, pending)
                end, solved_share = await self._check_end(episode)
            reward = progress.ledger.add_step(pending.kind, progress.standing, end, solved_share=solved_share)
        except Exception as fault:
            _log.exception("episode %s, step %d", episode.internal_id, episode.step)
            if episode.closed:
                raise EpisodeClosedError from fault
            end, reward = Outcome.INFRA_ERROR, progress.ledger.add_infrastructure_error()
            pending.fail(_error_message(fault))
        if episode.closed:
            raise EpisodeClosedError
        if end is not None:
            self.store.outcomes[end] += 1
        measurement.outcome = end.value if end is Outcome.INFRA_ERROR else pending.kind.value
        completed = pending.complete(progress, reward, end)
        episode.journal.record_step(completed, pending.reports)
        return progress.complete_step(completed, episode.task.instance.max_steps)

    def tools(self, episode: Episode | None) -> list[Tool]:
        """Return the tools of an episode with its drifted descriptions, or every tool if there is no episode."""
        if episode is None:
            return self.toolbox.select(None)
        instance = episode.task.instance
        names = None if episode.options.toolset is Toolset.ALL else instance.task_tools
        tools = [tool.with_drift(instance.drift) for tool in self.toolbox.select(names)]
        return tools + (list(BROWSER_TOOLS.values()) if episode.options.modality is Modality.SCREENSHOT else [])

    def _find_tool(self, episode: Episode, tool_name: str) -> Tool | None:
        tool = self.toolbox.tool(tool_name)
        if tool is None or episode.options.toolset is Toolset.ALL or tool.operation is None:
            return tool
        return tool if tool_name in episode.task.instance.task_tools else None

    async def _execute(self, episode: Episode, pending: PendingStep) -> None:
        if is_browser_tool(episode.options, pending.tool):  # reached only if no free actions are left
            pending.kind, pending.result = (
                StepKind.PROBLEM,
                NO_FREE_ACTIONS_LEFT.model_dump(mode="json", exclude_none=True),
            )
            return
        tool = self._find_tool(episode, pending.tool)
        if tool is None:
            message = describe_unknown_tool(pending.tool, [tool.name for tool in self.tools(episode)])
            pending.reject(ToolErrorType.TOOL_NOT_FOUND, message)
            return
        arguments = tool.normalize_choices(pending.arguments)
        try:
            tool.check(arguments)
        except InvalidArgumentsError as error:
            pending.reject(ToolErrorType.INVALID_ARGS, str(error))
            return
        if tool.operation is not None:
            call = tool.operation.build_call(arguments)
            if call.is_within_limits:
                await self._call(episode, tool.operation, tool.operation.entity(arguments), call, pending)
            else:
                pending.reject(ToolErrorType.INVALID_ARGS, "The arguments are too large.")
        elif tool.name == WAIT:
            await self._wait(episode, pending)
        else:
            self._finish(episode, pending, arguments)

    def _finish(self, episode: Episode, pending: PendingStep, arguments: dict[str, Any]) -> None:
        pending.finish = finish = FinishDeclaration.model_validate(arguments)
        episode.progress.declare(finish)
        pending.judge(episode)
        pending.result = {"outcome": finish.outcome.value}

    async def _wait(self, episode: Episode, pending: PendingStep) -> None:
        progress = episode.progress
        started = progress.now
        if "minutes" in pending.arguments:
            progress.now += timedelta(minutes=int(pending.arguments["minutes"]))
        else:
            progress.now = episode.task.company.next_working_morning(started)
        if await self._settle(episode, pending):
            pending.judge(episode)
        pending.result = {"waited_minutes": int((progress.now - started).total_seconds()) // 60}

    async def _call(
        self, episode: Episode, operation: Operation, entity: str, call: ServiceCall, pending: PendingStep
    ) -> None:
        service, faults, progress = operation.service, episode.task.instance.faults, episode.progress
        pending.call_key = call_key = (service, operation.operation_id, entity)
        nth = progress.count_call(call_key)
        began_at, is_read = progress.now, operation.is_read
        slow_minutes = faults.slow_minutes(*call_key, nth, began_at=began_at, is_read=is_read)
        progress.now += timedelta(minutes=operation.minutes + slow_minutes)
        settled = await self._settle(episode, pending)
        fault = faults.fault_for(*call_key, nth, began_at=began_at, now=progress.now, is_read=is_read)
        if fault is None and is_read:
            fault = progress.stale_read_fault(service)
        context = episode.context(service, Actor.AGENT, fault)
        progress.touch(service, writes=not is_read)
        response = await self.service_clients.call(service, call, context, episode.seed_document(service))
        failpoint("gateway.sent.after")
        report = response.received_report.report
        if report.planned is not None:
            self.metrics.planned_faults[report.planned.value] += 1
        result, recorded = (orjson.loads(response.payload) if response.payload else None for _ in range(2))
        pending.record(episode, service, response.received_report, recorded)  # a copy that no caller can change
        progress.add_stale_window(call_key, nth, report, faults)
        if settled or report.changes or not is_read:
            pending.judge(episode)
        if response.status >= 400:
            pending.kind = StepKind.PROBLEM if report.planned is None else StepKind.PLANNED_FAULT
        pending.result = (
            result if response.status >= 400 else episode.task.instance.drift.rename_response_fields(service, result)
        )
        if response.retry_after_s is not None and isinstance(pending.result, dict):
            pending.result[RETRY_AFTER] = response.retry_after_s

    async def _settle(self, episode: Episode, pending: PendingStep) -> bool:
        """Apply the events that are due in every service; return whether any row changed."""
        progress = episode.progress
        due = [service for service, at in progress.next_due_at.items() if at is not None and at <= progress.now]
        if not due:
            return False
        for service in due:
            progress.touch(service, writes=True)
        received_reports = await asyncio.gather(*(self._settle_service(episode, service) for service in due))
        for service, received_report in zip(due, received_reports, strict=True):
            pending.record(episode, service, received_report)
        return any(received_report.report.changes for received_report in received_reports)

    async def _settle_service(self, episode: Episode, service: str) -> ReceivedReport:
        context = episode.context(service, Actor.CLOCK)
        after = episode.progress.last_seq[service]
        return await self.service_clients.settle(service, context, episode.seed_document(service), after=after)

    async def _check_end(self, episode: Episode) -> tuple[Outcome | None, float]:
        """Return the outcome after this step, None if the episode continues, and the solved share of the task."""
        progress = episode.progress
        finished = progress.finish is not None
        is_ended = is_ended_by_agent(progress.standing, episode.options.completion, finished=finished)
        verdict = episode.verdict() if is_ended else None
        end = determine_outcome(None if verdict is None else verdict.success, steps_left=episode.steps_left)
        if end is not None:
            await self._check_evidence(episode)
        return end, 0.0 if verdict is None else verdict.solved_share

    async def _check_evidence(self, episode: Episode) -> None:
        """Raise InfrastructureError if the initial rows and changes do not fold to the rows of a service."""
        progress = episode.progress
        changed = sorted(service for service in progress.touched if progress.may_have_changed(service))
        await asyncio.gather(*(self._check_digest(episode, service) for service in changed))

    async def _check_digest(self, episode: Episode, service: str) -> None:
        context = episode.context(service, Actor.TRAINER)
        reply, expected = await asyncio.gather(
            self.service_clients.digest(service, context, episode.seed_document(service)),
            _fold_digest(episode, service),
        )
        if reply.digest != expected:
            raise InfrastructureError(f"The evidence of {service} does not match its database.")


async def _fold_digest(episode: Episode, service: str) -> str:
    """Return the digest of a service's rows according to the evidence, computed while the service computes its own."""
    await asyncio.sleep(0)  # the request of the service's digest is sent first
    return episode.evidence.fold_digest(service)


def _error_message(fault: Exception) -> str:
    if isinstance(fault, TimeoutError):
        return "infra-error: The step timed out in the environment; the agent did not cause it."
    if isinstance(fault, ServiceRefusalError) and fault.code == STALE_GENERATION:
        return "infra-error: another gateway has taken over the services; the agent did not cause it."
    return "infra-error: Internal error of the environment; the agent did not cause it."
