"""The two stories of the house: a reset, and a step."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import orjson
from openenv.core.env_server.mcp_types import ToolErrorType

from companyos.contract import Modality, Outcome, ResetOptions, Toolset
from companyos_gateway.episode.asked import asked_for
from companyos_gateway.episode.browser_tools import BROWSER_TOOLS, NO_LOOKS_LEFT, is_browser_tool
from companyos_gateway.episode.cluster import Cluster
from companyos_gateway.episode.draft import Draft
from companyos_gateway.episode.episode import Episode
from companyos_gateway.episode.errors import (
    EpisodeClosed,
    HouseFault,
    ServiceRefusalError,
    ServicesDown,
    UnknownEpisodeError,
)
from companyos_gateway.episode.journal import Intent
from companyos_gateway.episode.link import STALE_GENERATION, Reported, ServiceCall
from companyos_gateway.episode.observations import StepObservation
from companyos_gateway.episode.operations import Operation
from companyos_gateway.episode.outcome import StepKind, ending
from companyos_gateway.episode.store import EpisodeStore, still_held
from companyos_gateway.episode.task import TaskShelf
from companyos_gateway.episode.toolbox import WAIT, ArgumentsMisfit, Tool, Toolbox
from companyos_gateway.episode.watch import StepWatch, Watch
from companyos_gateway.evaluation import FinishDeclaration
from companyos_gateway.scenarios import Scenario
from companyos_gateway.taskset import TaskSet
from companyos_shared.failpoints import failpoint
from companyos_shared.wire.context import Actor

STEP_DEADLINE_S = 5.0

_log = logging.getLogger(__name__)


class Stage:
    """The whole environment, free of any framework: episodes are reset and stepped here."""

    def __init__(
        self, cluster: Cluster, toolbox: Toolbox, shelf: TaskShelf, store: EpisodeStore, watch: Watch | None = None
    ) -> None:
        self.cluster = cluster
        self.toolbox = toolbox
        self.store = store
        self.shelf = shelf
        self.task_set = TaskSet(shelf.scenarios)
        self.watch = watch or Watch()
        self._running: set[asyncio.Task[StepObservation]] = set()

    @property
    def is_idle(self) -> bool:
        """Whether no step is being taken, for whoever waits or for nobody."""
        return not self._running

    @property
    def scenarios(self) -> Mapping[str, Scenario]:
        """The scenarios that can be played, by name."""
        return self.shelf.scenarios

    async def reset(self, options: ResetOptions, previous: Episode | None = None) -> Episode:
        """Start an episode, as the next epoch of `previous` where one is given.

        No service is called for a task that was seen before. Raises UnknownScenario, InvalidReset (422), EpisodeExists
        (409), AtCapacity, ServicesDown (503) or StorageFull (507); `previous` then goes on untouched.
        """
        with self.watch.act("reset", previous) as seen:
            episode = await self._reset(options, previous)
            seen.of(episode)
            return episode

    async def _reset(self, options: ResetOptions, previous: Episode | None) -> Episode:
        holder = previous and previous.holder
        self.cluster.check_lease()
        asked = await asked_for(options, self.task_set)
        try:
            task = await self.shelf.task(asked.key)
        except HouseFault as fault:
            _log.error("%s: %s", asked.key, fault)
            raise ServicesDown("A service did not take the task.") from fault
        return self.store.open(asked, task, still_held(previous, holder))

    async def resume(self, token: str, holder: object | None) -> Episode:
        """Return the live episode of a token, held by a connection from here on, once its step in flight is taken.

        Raises UnknownEpisodeError (404) or TooManyWaiting (429); whoever held it before then holds it on.
        """
        episode = self.store.of_token(token)
        with self.store.holding(episode, holder):
            async with episode.turn():
                if episode.closed:
                    raise UnknownEpisodeError
        return episode

    async def step(
        self, episode: Episode, tool_name: str, arguments: dict[str, Any], *, number: int | None = None
    ) -> StepObservation:
        """Take one step; the last step's own `number` with the same action answers what it answered.

        A step that has begun is taken to its end, whoever stops waiting for it. Raises EpisodeDone, EpisodeClosed,
        StepConflict (409), TooManyWaiting (429), ServicesDown (503) or StorageFull (507) where no step is taken.
        """
        taking = asyncio.get_running_loop().create_task(self._step(episode, tool_name, arguments, number))
        self._running.add(taking)
        taking.add_done_callback(self._running.discard)
        return await asyncio.shield(taking)

    async def _step(
        self, episode: Episode, tool_name: str, arguments: dict[str, Any], number: int | None
    ) -> StepObservation:
        async with episode.turn():
            if (repeated := episode.repeated(tool_name, arguments, number)) is not None:
                return repeated
            async with self.cluster.place(self.toolbox.service_of(tool_name)):
                episode.check_may_step()
                intent = Intent.model_construct(step=episode.step + 1, tool=tool_name, arguments=arguments)
                episode.journal.intend(intent)
                return await self.take(episode, intent)

    async def take(self, episode: Episode, intent: Intent) -> StepObservation:
        """Take a step that the journal knows of, in the episode's turn: for the first time, or once more."""
        with self.watch.step(episode, intent.step, intent.tool) as seen:
            return await self._take(episode, intent, seen)

    async def _take(self, episode: Episode, intent: Intent, seen: StepWatch) -> StepObservation:
        progress = episode.progress
        progress.step = intent.step
        draft = Draft(intent.tool, intent.arguments)
        try:
            async with asyncio.timeout(STEP_DEADLINE_S):
                await self._carry(episode, draft)
                end = await self._end(episode)
            reward = progress.ledger.enter(draft.kind, progress.verdict, end)
        except Exception as fault:
            _log.exception("episode %s, step %d", episode.internal_id, episode.step)
            if episode.closed:
                raise EpisodeClosed from fault
            end, reward = Outcome.INFRA_ERROR, progress.ledger.enter_house_fault()
            draft.fail(_reason(fault))
        if episode.closed:
            raise EpisodeClosed
        if end is not None:
            self.store.outcomes[end] += 1
        seen.outcome = end.value if end is Outcome.INFRA_ERROR else draft.kind.value
        taken = draft.taken(progress, reward, end)
        episode.journal.take(taken, draft.reports)
        return progress.take(taken, episode.task.instance.max_steps)

    def tools(self, episode: Episode | None) -> list[Tool]:
        """Return the tools that the episode offers, in its words; all of them outside an episode."""
        if episode is None:
            return self.toolbox.offered(None)
        instance = episode.task.instance
        names = None if episode.options.toolset is Toolset.ALL else instance.task_tools
        found = [tool.drifted(instance.drift) for tool in self.toolbox.offered(names)]
        return found + (list(BROWSER_TOOLS.values()) if episode.options.modality is Modality.SCREENSHOT else [])

    def _offered(self, episode: Episode, tool_name: str) -> Tool | None:
        tool = self.toolbox.tool(tool_name)
        if tool is None or episode.options.toolset is Toolset.ALL or tool.operation is None:
            return tool
        return tool if tool_name in episode.task.instance.task_tools else None

    async def _carry(self, episode: Episode, draft: Draft) -> None:
        if is_browser_tool(episode.options, draft.tool):  # the browser itself has answered it, while looks were left
            draft.kind, draft.result = StepKind.PROBLEM, NO_LOOKS_LEFT.model_dump(mode="json", exclude_none=True)
            return
        tool = self._offered(episode, draft.tool)
        if tool is None:
            draft.refuse(ToolErrorType.TOOL_NOT_FOUND, "There is no such tool.")
            return
        arguments = tool.with_choices(draft.arguments)
        try:
            tool.check(arguments)
        except ArgumentsMisfit as misfit:
            draft.refuse(ToolErrorType.INVALID_ARGS, str(misfit))
            return
        if tool.operation is not None:
            call = tool.operation.call_of(arguments)
            if call.fits:
                await self._call(episode, tool.operation, tool.operation.entity(arguments), call, draft)
            else:
                draft.refuse(ToolErrorType.INVALID_ARGS, "The arguments are too large.")
        elif tool.name == WAIT:
            await self._wait(episode, draft)
        else:
            self._finish(episode, draft, arguments)

    def _finish(self, episode: Episode, draft: Draft, arguments: dict[str, Any]) -> None:
        draft.finish = finish = FinishDeclaration.model_validate(arguments)
        episode.progress.declare(finish)
        draft.judge(episode)
        draft.result = {"outcome": finish.outcome.value}

    async def _wait(self, episode: Episode, draft: Draft) -> None:
        progress = episode.progress
        started = progress.now
        if "minutes" in draft.arguments:
            progress.now += timedelta(minutes=int(draft.arguments["minutes"]))
        else:
            progress.now = episode.task.company.next_working_morning(started)
        if await self._settle(episode, draft):
            draft.judge(episode)
        draft.result = {"waited_minutes": int((progress.now - started).total_seconds()) // 60}

    async def _call(self, episode: Episode, operation: Operation, entity: str, call: ServiceCall, draft: Draft) -> None:
        service, faults, progress = operation.service, episode.task.instance.faults, episode.progress
        draft.asked = asked = (service, operation.operation_id, entity)
        nth = progress.ask(asked)
        progress.now += timedelta(minutes=operation.minutes + faults.slow_minutes(*asked, nth))
        settled = await self._settle(episode, draft)
        fault = faults.fault_for(*asked, nth) or (progress.lagging(asked) if operation.is_read else None)
        context = episode.context(service, Actor.AGENT, fault)
        progress.touch(service, writes=not operation.is_read)
        answer = await self.cluster.call(service, call, context, episode.document(service))
        failpoint("gateway.sent.after")
        report = answer.reported.report
        if report.planned is not None:
            self.watch.planned_faults[report.planned.value] += 1
        draft.record(episode, service, answer.reported)
        progress.lag(asked, nth, report, faults)
        if settled or report.changes or not operation.is_read:
            draft.judge(episode)
        if answer.status >= 400:
            draft.kind = StepKind.PROBLEM if report.planned is None else StepKind.PLANNED_FAULT
        result = orjson.loads(answer.payload) if answer.payload else None
        draft.result = (
            result if answer.status >= 400 else episode.task.instance.drift.rename_response_fields(service, result)
        )
        if answer.retry_after_s is not None and isinstance(draft.result, dict):
            draft.result["retry_after_s"] = answer.retry_after_s

    async def _settle(self, episode: Episode, draft: Draft) -> bool:
        """Let what is due happen in every service; say whether anything changed."""
        progress = episode.progress
        due = [service for service, at in progress.next_due_at.items() if at is not None and at <= progress.now]
        if not due:
            return False
        for service in due:
            progress.touch(service, writes=True)
        found = await asyncio.gather(*(self._settle_one(episode, service) for service in due))
        for service, reported in zip(due, found, strict=True):
            draft.record(episode, service, reported)
        return any(reported.report.changes for reported in found)

    async def _settle_one(self, episode: Episode, service: str) -> Reported:
        context = episode.context(service, Actor.CLOCK)
        after = episode.progress.last_seq[service]
        return await self.cluster.settle(service, context, episode.document(service), after=after)

    async def _end(self, episode: Episode) -> Outcome | None:
        progress = episode.progress
        finished = progress.finish is not None
        end = ending(progress.verdict, episode.options.completion, finished=finished, steps_left=episode.steps_left)
        if end is not None:
            await self._check_evidence(episode)
        return end

    async def _check_evidence(self, episode: Episode) -> None:
        """Raise HouseFault where initial rows and changes do not fold to what a service holds."""
        await asyncio.gather(*(self._check_fold(episode, service) for service in sorted(episode.progress.touched)))

    async def _check_fold(self, episode: Episode, service: str) -> None:
        context = episode.context(service, Actor.TRAINER)
        reply = await self.cluster.digest(service, context, episode.document(service))
        if episode.evidence.fold_digest(service) != reply.digest:
            raise HouseFault(f"The evidence of {service} does not fold to what it holds.")


def _reason(fault: Exception) -> str:
    if isinstance(fault, TimeoutError):
        return f"infra-error: The step was not done within {STEP_DEADLINE_S:g} s, which is not your fault."
    if isinstance(fault, ServiceRefusalError) and fault.code == STALE_GENERATION:
        return "infra-error: another gateway has taken over the services, which is not your fault."
    return "infra-error: The house failed, not you."
