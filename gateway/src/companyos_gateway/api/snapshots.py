"""Trainer routes: list, end, snapshot, restore, fork and compare episodes."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from companyos.contract import (
    SNAPSHOT_ID,
    CompanyOSState,
    EpisodeDiff,
    InjectedState,
    OpenedEpisode,
    SnapshotInfo,
)
from companyos_gateway.api.episodes import EpisodeId
from companyos_gateway.api.openapi import ERROR_RESPONSES
from companyos_gateway.api.query_params import STRICT_QUERY
from companyos_gateway.engine import inspection
from companyos_gateway.engine.inspection import compute_diff
from companyos_gateway.middleware.fair_share import charge_episode
from companyos_gateway.runtime import GatewayRuntime
from companyos_shared.web.lazy_routes import LazyRouter

MAX_FORKS = 64
SQLITE_MEDIA_TYPE = "application/vnd.sqlite3"

SnapshotId = Annotated[str, Path(description="ID of the snapshot.", pattern=SNAPSHOT_ID)]
ServiceName = Annotated[str, Path(description="Name of the service.", max_length=64)]


class ForkRequest(BaseModel):
    """The number of episodes to start."""

    model_config = ConfigDict(extra="forbid", strict=True)

    count: int = Field(1, ge=1, le=MAX_FORKS)


def trainer_episodes_router(runtime: GatewayRuntime) -> LazyRouter:
    """Return the episode routes that require the trainer token."""
    router = LazyRouter(prefix="/v1/episodes", tags=["Trainer"], responses=ERROR_RESPONSES, dependencies=STRICT_QUERY)

    @router.get("")
    async def list_episodes() -> list[CompanyOSState]:
        """List the live episodes."""
        return [episode.state() for episode in runtime.engine().store]

    @router.get("/{episode_id}")
    async def get_episode(episode_id: EpisodeId) -> CompanyOSState:
        """Get the state of an episode."""
        return runtime.engine().store.get(episode_id).state()

    @router.delete("/{episode_id}", status_code=204)
    async def delete_episode(episode_id: EpisodeId) -> None:
        """Delete an episode and free its resources. Its snapshots are kept."""
        runtime.engine().store.delete(episode_id)

    @router.post("/{episode_id}/snapshots", status_code=201)
    async def take_snapshot(episode_id: EpisodeId) -> SnapshotInfo:
        """Take a snapshot of an episode.

        It contains the databases, the score, the simulated time and the state of the chaos.
        """
        return await runtime.snapshots().take(runtime.engine().store.get(episode_id))

    @router.post("/{episode_id}/restore")
    async def restore_episode(episode_id: EpisodeId, body: InjectedState) -> CompanyOSState:
        """Restore an episode to a snapshot.

        The snapshot must be of this episode or of one that it was forked from.
        """
        episode = runtime.engine().store.get(episode_id)
        await runtime.snapshots().restore(episode, body.snapshot)
        return episode.state()

    @router.get("/{episode_id}/diff")
    async def diff_episode(
        episode_id: EpisodeId,
        first: Annotated[int, Query(alias="from", ge=0, description="Number of the first step; 0 is the start.")] = 0,
        last: Annotated[
            int | None, Query(alias="to", ge=0, description="Number of the last step; default: current.")
        ] = None,
    ) -> EpisodeDiff:
        """Compare the databases of an episode at two steps, row by row."""
        return compute_diff(runtime.engine().store.get(episode_id), first, last)

    @router.get(
        "/{episode_id}/databases/{service}",
        response_class=Response,
        responses={200: {"content": {SQLITE_MEDIA_TYPE: {}}, "description": "A SQLite database."}},
    )
    async def copy_database(episode_id: EpisodeId, service: ServiceName) -> Response:
        """Download the current database of the episode in a service."""
        engine = runtime.engine()
        content = await inspection.copy_database(engine.service_clients, engine.store.get(episode_id), service)
        return Response(content, media_type=SQLITE_MEDIA_TYPE)

    return router


def snapshots_router(runtime: GatewayRuntime) -> LazyRouter:
    """Return the snapshot routes."""
    router = LazyRouter(prefix="/v1/snapshots", tags=["Trainer"], responses=ERROR_RESPONSES, dependencies=STRICT_QUERY)

    @router.get("")
    async def list_snapshots() -> list[SnapshotInfo]:
        """List the snapshots, oldest first."""
        return runtime.snapshots().list_all()

    @router.get("/{snapshot_id}")
    async def get_snapshot(snapshot_id: SnapshotId) -> SnapshotInfo:
        """Get the details of a snapshot."""
        return runtime.snapshots().info(snapshot_id)

    @router.delete("/{snapshot_id}", status_code=204)
    async def delete_snapshot(snapshot_id: SnapshotId) -> None:
        """Delete a snapshot. Episodes started from it continue."""
        await runtime.snapshots().delete(snapshot_id)

    @router.post("/{snapshot_id}/fork", status_code=201)
    async def fork_snapshot(snapshot_id: SnapshotId, body: ForkRequest) -> list[OpenedEpisode]:
        """Start episodes from a snapshot. Either all of them start or none."""
        episodes = await runtime.snapshots().fork(snapshot_id, body.count)
        charge_episode(episodes[0].id)
        return [OpenedEpisode(episode_id=episode.id, token=episode.token) for episode in episodes]

    return router
