"""Episodes as a trainer holds them: snapshotted, restored, forked, compared, copied. No agent is given these."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query
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
from companyos_gateway.api.openapi import ERROR_RESPONSES
from companyos_gateway.api.query_params import STRICT_QUERY
from companyos_gateway.engine import inspection
from companyos_gateway.engine.inspection import compute_diff
from companyos_gateway.middleware.fair_share import charge_episode
from companyos_gateway.runtime import GatewayRuntime

MAX_FORKS = 64
SQLITE_MEDIA_TYPE = "application/vnd.sqlite3"

EpisodeId = Annotated[str, Path(description="The id that the reset answered.", max_length=128)]
SnapshotId = Annotated[str, Path(description="The id of a snapshot.", pattern=SNAPSHOT_ID)]
ServiceName = Annotated[str, Path(description="The name of a service.", max_length=64)]


class ForkRequest(BaseModel):
    """The number of episodes to start."""

    model_config = ConfigDict(extra="forbid", strict=True)

    count: int = Field(1, ge=1, le=MAX_FORKS)


def trainer_episodes_router(runtime: GatewayRuntime) -> APIRouter:
    """Return the routes of live episodes that are the trainer's alone."""
    router = APIRouter(prefix="/v1/episodes", tags=["Trainer"], responses=ERROR_RESPONSES, dependencies=STRICT_QUERY)

    @router.get("")
    async def list_episodes() -> list[CompanyOSState]:
        """List the live episodes."""
        return [episode.state() for episode in runtime.engine().store]

    @router.get("/{episode_id}")
    async def get_episode(episode_id: EpisodeId) -> CompanyOSState:
        """Read where an episode stands."""
        return runtime.engine().store.get(episode_id).state()

    @router.delete("/{episode_id}", status_code=204)
    async def delete_episode(episode_id: EpisodeId) -> None:
        """End an episode and free what is held of it. Its snapshots stay."""
        store = runtime.engine().store
        store.free(store.get(episode_id))

    @router.post("/{episode_id}/snapshots", status_code=201)
    async def take_snapshot(episode_id: EpisodeId) -> SnapshotInfo:
        """Keep the episode as it stands: three databases, score, clock, and where its chaos is."""
        return await runtime.snapshots().take(runtime.engine().store.get(episode_id))

    @router.post("/{episode_id}/restore")
    async def restore_episode(episode_id: EpisodeId, body: InjectedState) -> CompanyOSState:
        """Let the episode stand where one of its snapshots was taken, or one of an episode that it was forked from."""
        episode = runtime.engine().store.get(episode_id)
        await runtime.snapshots().restore(episode, body.snapshot)
        return episode.state()

    @router.get("/{episode_id}/diff")
    async def diff_episode(
        episode_id: EpisodeId,
        first: Annotated[int, Query(alias="from", ge=0, description="A step; 0 is the start.")] = 0,
        last: Annotated[int | None, Query(alias="to", ge=0, description="A later step; without it, now.")] = None,
    ) -> EpisodeDiff:
        """Compare two steps of an episode, row by row."""
        return compute_diff(runtime.engine().store.get(episode_id), first, last)

    @router.get(
        "/{episode_id}/databases/{service}",
        response_class=Response,
        responses={200: {"content": {SQLITE_MEDIA_TYPE: {}}, "description": "A SQLite database."}},
    )
    async def copy_database(episode_id: EpisodeId, service: ServiceName) -> Response:
        """Copy the database of the episode in one service, as it stands between two steps."""
        engine = runtime.engine()
        content = await inspection.copy_database(engine.service_clients, engine.store.get(episode_id), service)
        return Response(content, media_type=SQLITE_MEDIA_TYPE)

    return router


def snapshots_router(runtime: GatewayRuntime) -> APIRouter:
    """Return the routes of snapshots."""
    router = APIRouter(prefix="/v1/snapshots", tags=["Trainer"], responses=ERROR_RESPONSES, dependencies=STRICT_QUERY)

    @router.get("")
    async def list_snapshots() -> list[SnapshotInfo]:
        """List the snapshots, the oldest first."""
        return runtime.snapshots().list_all()

    @router.get("/{snapshot_id}")
    async def get_snapshot(snapshot_id: SnapshotId) -> SnapshotInfo:
        """Read what a snapshot is of."""
        return runtime.snapshots().info(snapshot_id)

    @router.delete("/{snapshot_id}", status_code=204)
    async def delete_snapshot(snapshot_id: SnapshotId) -> None:
        """Forget a snapshot. Episodes that began from it go on."""
        await runtime.snapshots().delete(snapshot_id)

    @router.post("/{snapshot_id}/fork", status_code=201)
    async def fork_snapshot(snapshot_id: SnapshotId, body: ForkRequest) -> list[OpenedEpisode]:
        """Begin episodes where a snapshot was taken, all of them or none."""
        episodes = await runtime.snapshots().fork(snapshot_id, body.count)
        charge_episode(episodes[0].id)
        return [OpenedEpisode(episode_id=episode.id, token=episode.token) for episode in episodes]

    return router
