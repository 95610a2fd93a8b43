"""Cache of planned tasks: an instance with the initial rows of its sources, shared by all its episodes."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from pydantic import BaseModel

from companyos_gateway.engine.errors import InvalidResetError, ServicesUnavailableError, UnknownScenarioError
from companyos_gateway.engine.service_clients import ServiceClients
from companyos_gateway.evaluation import Evidence, Standing
from companyos_gateway.scenarios import Instance, Scenario
from companyos_gateway.scenarios.shifts import SizedScenario, find_scenario
from companyos_gateway.world.base_company import find_base_company
from companyos_shared.wire.company import Company
from companyos_shared.wire.context import Actor, CallContext
from companyos_shared.wire.control import LoadReply, Rows, source_of

_LOAD_EPISODE = "planting"


@dataclass(frozen=True, slots=True)
class TaskKey:
    """Identity of a task in the cache."""

    scenario: str
    seed: int
    chaos: int
    overrides: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Task:
    """One planned task, whose source is loaded in every service."""

    key: TaskKey
    instance: Instance
    company: Company
    sources: Mapping[str, str]
    initial: Mapping[str, Rows]
    next_due_at: Mapping[str, datetime | None]
    first_standing: Standing

    def seed_document(self, service: str) -> bytes:
        """Return the seed document of a service as JSON."""
        return self.instance.seed_document(service)


class _CompanyPart(BaseModel):
    """The company in a seed document."""

    company: Company


class TaskCache:
    """LRU cache of planned tasks. Concurrent requests for a task plan and load it once."""

    def __init__(self, scenarios: Mapping[str, Scenario], service_clients: ServiceClients, *, max_size: int) -> None:
        self.scenarios = scenarios
        self._service_clients = service_clients
        self.max_size = max_size
        self._tasks: OrderedDict[TaskKey, Task] = OrderedDict()
        self._in_flight: dict[TaskKey, asyncio.Task[Task]] = {}
        self._planning = asyncio.Lock()
        """Plans run in a thread, one at a time: that of a month takes seconds, while other episodes continue."""

    async def task(self, key: TaskKey) -> Task:
        """Return the task; raises UnknownScenarioError, InvalidResetError (422) or ServicesUnavailableError (503)."""
        cached = self._tasks.get(key)
        if cached is not None:
            self._tasks.move_to_end(key)
            return cached
        in_flight = self._in_flight.get(key)
        if in_flight is None:
            in_flight = self._in_flight[key] = asyncio.create_task(self._prepare(key))
            in_flight.add_done_callback(lambda _done: self._in_flight.pop(key, None))
        return await asyncio.shield(in_flight)

    async def _prepare(self, key: TaskKey) -> Task:
        scenario = self._find_scenario(key)
        if isinstance(scenario, SizedScenario):
            await asyncio.to_thread(find_base_company, scenario.size)  # the first time takes seconds
        services = list(self._service_clients.clients)
        async with self._planning:
            instance, documents = await asyncio.to_thread(_plan, scenario, key, services)
        missing = sorted(set(instance.documents) - set(services))
        if missing:
            raise ServicesUnavailableError(
                f"The scenario needs services that are not configured: {', '.join(missing)}."
            )
        sources = {service: source_of(service, content) for service, content in documents.items()}
        replies = await asyncio.gather(
            *(
                self._load(service, sources[service], instance.started_at, content)
                for service, content in documents.items()
            )
        )
        initial = {service: reply.rows for service, reply in zip(services, replies, strict=True)}
        task = Task(
            key=key,
            instance=instance,
            company=_CompanyPart.model_validate_json(next(iter(documents.values()))).company,
            sources=sources,
            initial=initial,
            next_due_at={service: reply.next_due_at for service, reply in zip(services, replies, strict=True)},
            first_standing=instance.rubric.standing(Evidence(initial)),
        )
        self._tasks[key] = task
        if len(self._tasks) > self.max_size:
            self._tasks.popitem(last=False)
        return task

    def _find_scenario(self, key: TaskKey) -> Scenario:
        try:
            scenario = find_scenario(self.scenarios, key.scenario)
        except ValueError as error:
            raise InvalidResetError(str(error)) from error
        if scenario is None:
            raise UnknownScenarioError(f"No scenario is named {key.scenario!r}.")
        return scenario

    async def _load(self, service: str, source: str, now: datetime, content: bytes) -> LoadReply:
        context = CallContext(episode=_LOAD_EPISODE, epoch=1, source=source, step=0, actor=Actor.TRAINER, now=now)
        return await self._service_clients.load(service, context, content)


def _plan(scenario: Scenario, key: TaskKey, services: Sequence[str]) -> tuple[Instance, dict[str, bytes]]:
    """Return the instance, and the seed document of each service as JSON.

    Raises InvalidResetError (422) for invalid overrides. It runs in a thread, where a StopIteration would never reach
    the caller.
    """
    try:
        instance = scenario.plan(key.seed, key.chaos, dict(key.overrides))
    except ValueError as error:
        raise InvalidResetError(str(error)) from error
    except StopIteration as error:
        raise RuntimeError(f"The scenario {key.scenario} raised StopIteration.") from error
    if not instance.documents:
        raise RuntimeError(f"The scenario {key.scenario} planned no seed documents.")
    return instance, {name: instance.seed_document(name) for name in services}
