"""Reads databases and pages of an episode between steps, and compares two steps row by row."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from enum import StrEnum

from companyos.contract import EpisodeDiff, RowDiff
from companyos_gateway.engine.episode import FREE_PAGE_VIEWS, Episode
from companyos_gateway.engine.errors import (
    EpisodeClosedError,
    InfrastructureError,
    InvalidStepError,
    NoPageViewsLeftError,
    ServicesUnavailableError,
    UnknownServiceError,
)
from companyos_gateway.engine.service_client import ServiceCall, ServiceResponse
from companyos_gateway.engine.service_clients import ServiceClients
from companyos_shared.wire.context import Actor


class PageAccess(StrEnum):
    """Kind of access to a page, which determines whether the view is recorded and counted."""

    AGENT = "agent"
    """A page view of the agent: recorded and counted."""
    PAID = "paid"
    """Part of a step or a browser action, which has its own cost or limit: recorded, not counted."""
    TRAINER = "trainer"
    """A view with the trainer token: neither recorded nor counted."""


async def copy_database(service_clients: ServiceClients, episode: Episode, service: str) -> bytes:
    """Return a copy of an episode's database in one service.

    Raises UnknownServiceError (404), EpisodeClosedError (409), EpisodeQueueFullError (429) or
    ServicesUnavailableError (503).
    """
    async with _between_steps(episode, service):
        return await service_clients.export(
            service, episode.context(service, Actor.TRAINER), episode.seed_document(service)
        )


async def fetch_page(
    service_clients: ServiceClients,
    episode: Episode,
    service: str,
    call: ServiceCall,
    access: PageAccess = PageAccess.AGENT,
) -> ServiceResponse:
    """Return a page of a service, and record the objects that it shows in the evidence.

    Pages for the agent lag behind its writes like tools that read; those for the trainer are current. Raises
    NoPageViewsLeftError (409), and the errors of `copy_database`. Page views of an ended episode are not limited.
    """
    async with _between_steps(episode, service), service_clients.step_slot(service):
        is_counted = access is PageAccess.AGENT and not episode.done
        if is_counted and not episode.page_views_left:
            raise NoPageViewsLeftError(f"An agent may open {FREE_PAGE_VIEWS} pages per episode, and one more per step.")
        is_recorded = access is not PageAccess.TRAINER and not episode.done
        lag = episode.progress.stale_read_fault(service) if is_recorded else None
        context = episode.context(service, Actor.AGENT, lag)
        response = await service_clients.call(service, call, context, episode.seed_document(service))
        if is_recorded:
            episode.record_view(response.received_report.report.shown, is_counted=is_counted)
        return response


@asynccontextmanager
async def _between_steps(episode: Episode, service: str) -> AsyncIterator[None]:
    if service not in episode.sources:
        raise UnknownServiceError(f"The services are {', '.join(sorted(episode.sources))}.")
    async with episode.inspection_lock():
        if episode.closed:
            raise EpisodeClosedError
        episode.progress.touched.add(service)
        try:
            yield
        except InfrastructureError as fault:
            raise ServicesUnavailableError(f"The service {service} did not respond.") from fault


def compute_diff(episode: Episode, first: int, last: int | None) -> EpisodeDiff:
    """Return every row that differs between the states after steps `first` and `last`; 0 is the start, None is now.

    Raises InvalidStepError (422) for a step that has not been taken, or if `last` is less than `first`.
    """
    end = episode.step if last is None else last
    if not 0 <= first <= end <= episode.step:
        raise InvalidStepError(
            f"from and to must satisfy 0 <= from <= to <= {episode.step}; got from={first} and to={end}."
        )
    evidence = episode.evidence
    services: dict[str, dict[str, dict[str, RowDiff]]] = {}
    for service in evidence.services():
        for table in sorted({change.table for change in evidence.changes(service)}):
            for key in sorted(evidence.changed_keys(service, table)):
                before = evidence.row(service, table, key, first)
                after = evidence.row(service, table, key, end)
                if before != after:
                    rows = services.setdefault(service, {}).setdefault(table, {})
                    rows[key] = RowDiff(before=before, after=after)
    return EpisodeDiff(from_=first, to=end, services=services)
