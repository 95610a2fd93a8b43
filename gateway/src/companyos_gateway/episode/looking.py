"""Looking at what a service holds of an episode, between two of its steps: no step, no fault, no trace."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from companyos_gateway.episode.cluster import Cluster
from companyos_gateway.episode.episode import Episode
from companyos_gateway.episode.errors import EpisodeClosed, HouseFault, ServicesDown, UnknownService
from companyos_gateway.episode.link import ServiceAnswer, ServiceCall
from companyos_shared.wire.context import Actor


async def copy_database(cluster: Cluster, episode: Episode, service: str) -> bytes:
    """Return a copy of an episode's database in one service.

    Raises UnknownService (404), EpisodeClosed (409), TooManyWaiting (429) or ServicesDown (503).
    """
    async with _between_steps(episode, service):
        return await cluster.export(service, episode.context(service, Actor.TRAINER), episode.document(service))


async def ask_page(cluster: Cluster, episode: Episode, service: str, call: ServiceCall) -> ServiceAnswer:
    """Ask a service for a page; raises as `copy_database` does."""
    async with _between_steps(episode, service), cluster.place(service):
        return await cluster.call(service, call, episode.context(service, Actor.AGENT), episode.document(service))


@asynccontextmanager
async def _between_steps(episode: Episode, service: str) -> AsyncIterator[None]:
    if service not in episode.sources:
        raise UnknownService(f"The services are {', '.join(sorted(episode.sources))}.")
    async with episode.look():
        if episode.closed:
            raise EpisodeClosed
        episode.progress.touched.add(service)
        try:
            yield
        except HouseFault as fault:
            raise ServicesDown(f"The service {service} did not answer.") from fault
