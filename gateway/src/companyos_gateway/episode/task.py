"""Planned tasks: an instance with what its sources hold at rest, shared by every episode of it."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from companyos_gateway.episode.cluster import Cluster
from companyos_gateway.episode.errors import InvalidReset, ServicesDown, UnknownScenario
from companyos_gateway.evaluation import Evidence, Verdict
from companyos_gateway.scenarios import Instance, Scenario
from companyos_shared.streams import digest
from companyos_shared.wire.company import Company
from companyos_shared.wire.context import Actor, CallContext
from companyos_shared.wire.control import LoadReply, Rows

_PREMISE = ("company", "draw_seed", "started_at")
_PLANTING_EPISODE = "planting"


@dataclass(frozen=True, slots=True)
class TaskKey:
    """What makes two tasks the same task."""

    scenario: str
    seed: int
    chaos: int
    overrides: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Task:
    """One planned task, ready in every service."""

    key: TaskKey
    instance: Instance
    company: Company
    sources: Mapping[str, str]
    initial: Mapping[str, Rows]
    next_due_at: Mapping[str, datetime | None]
    first_verdict: Verdict

    def document(self, service: str) -> dict[str, Any]:
        """Return what the service is planted with."""
        return document_for(self.instance, service)


def document_for(instance: Instance, service: str) -> dict[str, Any]:
    """Return the seed document of a service; one that the scenario does not know gets the bare company."""
    found = instance.documents.get(service)
    if found is not None:
        return found
    known = next(iter(instance.documents.values()))
    return {name: known[name] for name in _PREMISE}


def source_of(instance: Instance, service: str) -> str:
    """Return the source id of a service's document."""
    found = instance.source_ids.get(service)
    return found or digest({"service": service, "document": document_for(instance, service)})


class TaskShelf:
    """The planned tasks used last. A task asked for by many at once is planned and planted once."""

    def __init__(self, scenarios: Mapping[str, Scenario], cluster: Cluster, *, most_kept: int) -> None:
        self.scenarios = scenarios
        self._cluster = cluster
        self._most_kept = most_kept
        self._kept: OrderedDict[TaskKey, Task] = OrderedDict()
        self._coming: dict[TaskKey, asyncio.Task[Task]] = {}

    async def task(self, key: TaskKey) -> Task:
        """Return the task; raises UnknownScenario or InvalidReset (422), or ServicesDown (503)."""
        kept = self._kept.get(key)
        if kept is not None:
            self._kept.move_to_end(key)
            return kept
        coming = self._coming.get(key)
        if coming is None:
            coming = self._coming[key] = asyncio.create_task(self._prepare(key))
            coming.add_done_callback(lambda _done: self._coming.pop(key, None))
        return await asyncio.shield(coming)

    async def _prepare(self, key: TaskKey) -> Task:
        instance = self._plan(key)
        services = list(self._cluster.links)
        sources = {service: source_of(instance, service) for service in services}
        missing = sorted(set(instance.documents) - set(services))
        if missing:
            raise ServicesDown(f"The scenario needs services that are not configured: {', '.join(missing)}.")
        replies = await asyncio.gather(*(self._load(instance, service, sources[service]) for service in services))
        initial = {service: reply.rows for service, reply in zip(services, replies, strict=True)}
        task = Task(
            key=key,
            instance=instance,
            company=Company.model_validate(next(iter(instance.documents.values()))["company"]),
            sources=sources,
            initial=initial,
            next_due_at={service: reply.next_due_at for service, reply in zip(services, replies, strict=True)},
            first_verdict=instance.rubric.judge(Evidence.start(initial), None),
        )
        self._kept[key] = task
        if len(self._kept) > self._most_kept:
            self._kept.popitem(last=False)
        return task

    def _plan(self, key: TaskKey) -> Instance:
        scenario = self.scenarios.get(key.scenario)
        if scenario is None:
            raise UnknownScenario(f"No scenario is named {key.scenario!r}.")
        try:
            return scenario.plan(key.seed, key.chaos, dict(key.overrides))
        except ValueError as error:
            raise InvalidReset(str(error)) from error

    async def _load(self, instance: Instance, service: str, source: str) -> LoadReply:
        context = CallContext(
            episode=_PLANTING_EPISODE, epoch=1, source=source, step=0, actor=Actor.TRAINER, now=instance.started_at
        )
        return await self._cluster.load(service, context, lambda: document_for(instance, service))
