"""The two stories of the house: a reset, and a step."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from typing import Any

import orjson
from openenv.core.env_server.mcp_types import ToolError, ToolErrorType

from companyos.contract import Outcome, ResetOptions, Toolset
from companyos_gateway.episode.cluster import Cluster
from companyos_gateway.episode.episode import Episode, LastStep, TrailLine
from companyos_gateway.episode.errors import EpisodeClosed, HouseFault, ServicesDown, StepConflict
from companyos_gateway.episode.link import ServiceCall
from companyos_gateway.episode.observations import StepObservation
from companyos_gateway.episode.operations import Operation
from companyos_gateway.episode.outcome import StepKind, ending
from companyos_gateway.episode.store import EpisodeStore
from companyos_gateway.episode.task import TaskKey, TaskShelf
from companyos_gateway.episode.toolbox import WAIT, ArgumentsMisfit, Tool, Toolbox
from companyos_gateway.rubrics import FinishDeclaration
from companyos_gateway.scenarios import Scenario
from companyos_shared.wire.context import Actor
from companyos_shared.wire.control import Report

LARGEST_DRAWN_SEED = 2**31 - 1

_log = logging.getLogger(__name__)


class Stage:
    """The whole environment, free of any framework: episodes are reset and stepped here."""

    def __init__(self, cluster: Cluster, toolbox: Toolbox, shelf: TaskShelf, store: EpisodeStore) -> None:
        self.cluster = cluster
        self.toolbox = toolbox
        self.store = store
        self._shelf = shelf

    @property
    def scenarios(self) -> Mapping[str, Scenario]:
        """The scenarios that can be played, by name."""
        return self._shelf.scenarios

    async def reset(self, options: ResetOptions, previous: Episode | None = None) -> Episode:
        """Start an episode, as the next epoch of `previous` where one is given.

        No service is called for a task that was seen before. Raises UnknownScenario, InvalidReset (422), EpisodeExists
        (409), AtCapacity or ServicesDown (503); `previous` then goes on untouched.
        """
        seed = secrets.randbelow(LARGEST_DRAWN_SEED + 1) if options.seed is None else options.seed
        overrides = tuple(sorted(options.chaos_overrides.items()))
        try:
            task = await self._shelf.task(TaskKey(options.scenario, seed, options.chaos, overrides))
        except HouseFault as fault:
            _log.error("%s, seed %d: %s", options.scenario, seed, fault)
            raise ServicesDown("A service did not take the task.") from fault
        return self.store.open(options, task, previous)

    async def step(
        self, episode: Episode, tool_name: str, arguments: dict[str, Any], *, number: int | None = None
    ) -> StepObservation:
        """Take one step; the last step's own `number` with the same action answers what it answered.

        Raises EpisodeDone, EpisodeClosed, StepConflict (409) or TooManyWaiting (429) where no step is taken.
        """
        async with episode.turn():
            repeated = _repeated(episode, tool_name, arguments, number)
            if repeated is not None:
                return repeated
            episode.check_may_step()
            episode.step += 1
            try:
                observation = await self._carry(episode, tool_name, arguments)
            except Exception as fault:  # noqa: BLE001 - a bug ends this episode and no other
                _log.exception("episode %s, step %d", episode.internal_id, episode.step)
                observation = self._broken(episode, tool_name, fault)
            episode.last_step = LastStep(tool_name, arguments, observation)
            return observation

    def tools(self, episode: Episode | None) -> list[Tool]:
        """Return the tools that the episode offers; all of them outside an episode."""
        if episode is None or episode.options.toolset is Toolset.ALL:
            return self.toolbox.offered(None)
        return self.toolbox.offered(episode.task.instance.task_tools)

    def _offered(self, episode: Episode, tool_name: str) -> Tool | None:
        tool = self.toolbox.tool(tool_name)
        if tool is None or episode.options.toolset is Toolset.ALL or tool.operation is None:
            return tool
        return tool if tool_name in episode.task.instance.task_tools else None

    async def _carry(self, episode: Episode, tool_name: str, arguments: dict[str, Any]) -> StepObservation:
        tool = self._offered(episode, tool_name)
        if tool is None:
            return await self._refuse(episode, tool_name, ToolErrorType.TOOL_NOT_FOUND, "There is no such tool.")
        try:
            tool.check(arguments)
        except ArgumentsMisfit as misfit:
            return await self._refuse(episode, tool_name, ToolErrorType.INVALID_ARGS, str(misfit))
        if tool.operation is not None:
            call = tool.operation.call_of(arguments)
            if not call.fits:
                return await self._refuse(
                    episode, tool_name, ToolErrorType.INVALID_ARGS, "The arguments are too large."
                )
            return await self._call(episode, tool.operation, arguments, call)
        if tool.name == WAIT:
            return await self._wait(episode, arguments)
        episode.finish = FinishDeclaration.model_validate(arguments)
        episode.verdict = episode.task.instance.rubric.judge(episode.evidence, episode.finish)
        result = {"outcome": episode.finish.outcome.value}
        return await self._judged(episode, tool.name, StepKind.CARRIED_OUT, result=result)

    async def _refuse(self, episode: Episode, tool_name: str, kind: ToolErrorType, message: str) -> StepObservation:
        error = ToolError(error_type=kind, message=message)
        return await self._judged(episode, tool_name, StepKind.MISFIT, error=error)

    async def _wait(self, episode: Episode, arguments: dict[str, Any]) -> StepObservation:
        started = episode.now
        if "minutes" in arguments:
            episode.now += timedelta(minutes=int(arguments["minutes"]))
        else:
            episode.now = episode.task.company.next_working_morning(episode.now)
        if await self._settle(episode):
            episode.verdict = episode.task.instance.rubric.judge(episode.evidence, None)
        waited = int((episode.now - started).total_seconds()) // 60
        return await self._judged(episode, WAIT, StepKind.CARRIED_OUT, result={"waited_minutes": waited})

    async def _call(
        self, episode: Episode, operation: Operation, arguments: dict[str, Any], call: ServiceCall
    ) -> StepObservation:
        service, faults = operation.service, episode.task.instance.faults
        asked = (service, operation.operation_id, operation.entity(arguments))
        episode.calls[asked] += 1
        nth = episode.calls[asked]
        episode.now += timedelta(minutes=operation.minutes + faults.slow_minutes(*asked, nth))
        settled = await self._settle(episode)
        context = episode.context(service, Actor.AGENT, faults.fault_for(*asked, nth))
        episode.touched.add(service)
        answer = await self.cluster.call(service, call, context, partial(episode.task.document, service))
        report = answer.report
        episode.record(service, report)
        if settled or report.changes or not operation.is_read:
            episode.verdict = episode.task.instance.rubric.judge(episode.evidence, None)
        kind = StepKind.CARRIED_OUT
        if answer.status >= 400:
            kind = StepKind.PROBLEM if report.planned is None else StepKind.PLANNED_FAULT
        result = orjson.loads(answer.payload) if answer.payload else None
        if answer.retry_after_s is not None and isinstance(result, dict):
            result["retry_after_s"] = answer.retry_after_s
        return await self._judged(episode, operation.tool_name, kind, result=result)

    async def _settle(self, episode: Episode) -> bool:
        """Let what is due happen in every service; say whether anything changed."""
        now = episode.now
        due = [service for service, at in episode.next_due_at.items() if at is not None and at <= now]
        if not due:
            return False
        episode.touched.update(due)
        reports = await asyncio.gather(*(self._settle_one(episode, service) for service in due))
        for service, report in zip(due, reports, strict=True):
            episode.record(service, report)
        return any(report.changes for report in reports)

    async def _settle_one(self, episode: Episode, service: str) -> Report:
        context = episode.context(service, Actor.CLOCK)
        document = partial(episode.task.document, service)
        return await self.cluster.settle(service, context, document, after=episode.last_seq[service])

    async def _judged(
        self, episode: Episode, tool_name: str, kind: StepKind, *, result: Any = None, error: ToolError | None = None
    ) -> StepObservation:
        end = ending(
            episode.verdict,
            episode.options.completion,
            finished=episode.finish is not None,
            steps_left=episode.steps_left,
        )
        if end is not None:
            await self._check_evidence(episode)
        if episode.closed:
            raise EpisodeClosed
        reward = episode.ledger.enter(kind, episode.verdict, end)
        note = _note(kind, result, error)
        return self._observed(episode, tool_name, reward, end, note=note, result=result, error=error)

    async def _check_evidence(self, episode: Episode) -> None:
        """Raise HouseFault where initial rows and changes do not fold to what a service holds."""
        services = sorted(episode.touched)
        replies = await asyncio.gather(
            *(self.cluster.digest(service, episode.context(service, Actor.TRAINER)) for service in services)
        )
        for service, reply in zip(services, replies, strict=True):
            if episode.evidence.fold_digest(service) != reply.digest:
                raise HouseFault(f"The evidence of {service} does not fold to what it holds.")

    def _broken(self, episode: Episode, tool_name: str, fault: Exception) -> StepObservation:
        if episode.closed:
            raise EpisodeClosed from fault
        reward = episode.ledger.enter_house_fault()
        error = ToolError(error_type=ToolErrorType.EXECUTION_ERROR, message="infra-error: The house failed, not you.")
        return self._observed(episode, tool_name, reward, Outcome.INFRA_ERROR, note="infra_error", error=error)

    def _observed(
        self,
        episode: Episode,
        tool_name: str,
        reward: float,
        end: Outcome | None,
        *,
        note: str,
        result: Any = None,
        error: ToolError | None = None,
    ) -> StepObservation:
        if end is not None:
            episode.outcome = end
            self.store.outcomes[end] += 1
        episode.trail.append(TrailLine(episode.step, episode.now, tool_name, note, reward))
        return StepObservation(
            tool_name=tool_name,
            result=result,
            error=error,
            done=end is not None,
            reward=reward,
            now=episode.now,
            steps_left=episode.steps_left,
        )


def _repeated(
    episode: Episode, tool_name: str, arguments: dict[str, Any], number: int | None
) -> StepObservation | None:
    if number is None or number == episode.step + 1:
        return None
    last = episode.last_step
    if last is None or number != episode.step:
        raise StepConflict(f"The next step is {episode.step + 1}.")
    if not last.is_same(tool_name, arguments):
        raise StepConflict(f"Step {number} was another action.")
    return last.observation


def _note(kind: StepKind, result: Any, error: ToolError | None) -> str:
    if error is not None:
        return error.error_type.value
    code = result.get("code") if isinstance(result, dict) and kind is not StepKind.CARRIED_OUT else None
    return str(code or kind.value)
