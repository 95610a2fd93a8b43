"""Control API of a service, which is not part of the public OpenAPI document.

Episode routes: settle, snapshot, export, digest, evidence. Source routes: load, load-base, check, forget. Service
routes: drop, lease, renew, release, inventory, quarantine. A standalone service has only clock, reset and schemas.
"""

from __future__ import annotations

from typing import Annotated, Any, cast

from fastapi import Depends, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import MetaData

from companyos_shared.failpoints import failpoint
from companyos_shared.framework import audit, scheduled_events
from companyos_shared.framework.call import Call
from companyos_shared.framework.change_capture import (
    ChangeStamp,
    read_changes,
    read_rows,
    revert_changes,
    stamp_changes,
)
from companyos_shared.framework.columns import row_schemas
from companyos_shared.framework.episodes import Episodes
from companyos_shared.framework.middleware import CONTEXT_SCOPE_KEY
from companyos_shared.framework.schemas import UtcTime
from companyos_shared.framework.sessions import Session
from companyos_shared.framework.standalone import StandaloneEpisode
from companyos_shared.framework.storage import commit, rollback
from companyos_shared.streams import digest
from companyos_shared.web.lazy_routes import LazyRouter
from companyos_shared.wire.context import Actor, CallContext, Fault
from companyos_shared.wire.control import (
    DATABASE_MEDIA_TYPE,
    CheckReply,
    CheckRequest,
    DigestReply,
    DropRequest,
    EntriesRequest,
    EvidenceReply,
    ForgetRequest,
    InventoryReply,
    LeaseReply,
    LeaseRequest,
    QuarantineReply,
    QuarantineRequest,
    ReleaseRequest,
    RenewRequest,
    Report,
    SettleRequest,
    SnapshotReply,
)

MAX_CLOCK_MINUTES = 60 * 24 * 365
MAX_FAULTS = 1000


class ClockRequest(BaseModel):
    """Request to advance the standalone clock by simulated minutes."""

    model_config = ConfigDict(extra="forbid")

    minutes: int = Field(ge=1, le=MAX_CLOCK_MINUTES, strict=True)


class ResetRequest(BaseModel):
    """Request to start the episode of a standalone service again."""

    model_config = ConfigDict(extra="forbid")

    document: dict[str, Any] | None = Field(None, description="Seed document. Absent: the demo data.")
    now: UtcTime | None = Field(None, description="Simulated time after the reset. Absent: the document's started_at.")
    faults: list[Fault | None] = Field(
        [], max_length=MAX_FAULTS, description="Faults of the next calls of operations, in their order; null for none."
    )


async def _context(request: Request) -> CallContext:
    return cast(CallContext, request.scope[CONTEXT_SCOPE_KEY])


ContextDep = Annotated[CallContext, Depends(_context)]


def control_router(episodes: Episodes) -> LazyRouter:
    """Return the control routes, which require the gateway's signature."""
    router = LazyRouter(prefix="/control", include_in_schema=False)

    _add_sources(router, episodes)
    _add_lease(router, episodes)
    _add_quarantine(router, episodes)

    @router.post("/settle")
    async def settle_due(body: SettleRequest, context: ContextDep) -> Report:
        async with episodes.locked_session(context) as session:
            return settle(episodes, session, context, after=body.after)

    @router.post("/snapshot")
    async def take_snapshot(context: ContextDep) -> SnapshotReply:
        async with episodes.locked_session(context) as session:
            return SnapshotReply(source=episodes.snapshot(session))

    @router.post("/export")
    async def export(context: ContextDep) -> Response:
        async with episodes.locked_session(context) as session:
            return Response(episodes.export(session), media_type=DATABASE_MEDIA_TYPE)

    @router.post("/drop")
    async def drop(body: DropRequest) -> None:
        for episode in body.episodes:
            episodes.drop(episode)

    @router.post("/digest")
    async def digests(context: ContextDep) -> DigestReply:
        async with episodes.locked_session(context) as session:
            rows = read_rows(session.db, episodes.service.metadata)
        return DigestReply(digest=digest(rows))

    @router.post("/evidence")
    async def evidence(context: ContextDep) -> EvidenceReply:
        async with episodes.locked_session(context) as session:
            return _build_evidence(session, episodes.service.metadata)

    _add_schemas(router, episodes)
    return router


def _add_schemas(router: LazyRouter, episodes: Episodes) -> None:
    @router.get("/schemas")
    async def schemas() -> dict[str, Any]:
        return {
            "seed": episodes.service.seed.model_json_schema(),
            "facts": row_schemas(episodes.service.metadata),
        }


def _add_sources(router: LazyRouter, episodes: Episodes) -> None:
    @router.post("/load")
    async def load(request: Request, context: ContextDep) -> Response:
        return _json_response(episodes.sources.load(context.source, await request.body()))

    @router.post("/load-base")
    async def load_base(request: Request, context: ContextDep) -> Response:
        return _json_response(await episodes.sources.load_base(context.source, await request.body()))

    @router.post("/check")
    async def check(body: CheckRequest) -> CheckReply:
        return CheckReply(source=body.source, bytes=episodes.sources.verified_path(body.source).stat().st_size)

    @router.post("/forget")
    async def forget(body: ForgetRequest) -> None:
        episodes.sources.forget(body.source)


def _json_response(content: bytes) -> Response:
    return Response(content, media_type="application/json")


def _add_lease(router: LazyRouter, episodes: Episodes) -> None:
    @router.post("/lease")
    async def grant(body: LeaseRequest, context: ContextDep) -> LeaseReply:
        return episodes.lease.grant(body.owner, take_over=body.take_over, request=context)

    @router.post("/renew")
    async def renew(body: RenewRequest, context: ContextDep) -> LeaseReply:
        return episodes.lease.renew(body.owner, context.generation)

    @router.post("/release")
    async def release(body: ReleaseRequest) -> dict[str, str]:
        episodes.lease.release(body.owner)
        return {"released": body.owner}


def _add_quarantine(router: LazyRouter, episodes: Episodes) -> None:
    @router.post("/inventory")
    async def inventory() -> InventoryReply:
        return episodes.inventory()

    @router.post("/quarantine")
    async def keep(body: QuarantineRequest) -> QuarantineReply:
        return QuarantineReply(entries=episodes.move_to_quarantine(body))

    @router.post("/quarantine/list")
    async def entries() -> QuarantineReply:
        return QuarantineReply(entries=episodes.quarantine.entries())

    @router.post("/quarantine/restore")
    async def restore(body: EntriesRequest) -> QuarantineReply:
        return QuarantineReply(entries=[episodes.restore_from_quarantine(entry) for entry in body.entries])

    @router.post("/quarantine/remove")
    async def remove(body: EntriesRequest) -> QuarantineReply:
        return QuarantineReply(entries=[episodes.quarantine.remove(entry) for entry in body.entries])


def standalone_router(episodes: Episodes, standalone: StandaloneEpisode) -> LazyRouter:
    """Return the control routes of a standalone service, which are public: clock, reset and schemas."""
    router = LazyRouter(prefix="/control", include_in_schema=False)
    _add_schemas(router, episodes)

    def advance(context: CallContext) -> dict[str, Any]:
        report = settle(episodes, standalone.session(), context)
        return {"now": context.now.isoformat(), "changes": len(report.changes)}

    @router.get("/clock")
    async def read_clock() -> dict[str, str]:
        return {"now": standalone.now().isoformat()}

    @router.post("/clock")
    async def move_clock(body: ClockRequest) -> dict[str, Any]:
        return advance(standalone.move_clock(body.minutes))

    @router.post("/reset")
    async def reset(body: ResetRequest | None = None) -> dict[str, Any]:
        request = body or ResetRequest()
        async with standalone.session().lock:
            return advance(standalone.reset(request.document, request.now, request.faults))

    return router


def settle(episodes: Episodes, session: Session, context: CallContext, *, after: int | None = None) -> Report:
    """Apply all events due at `context.now` in one transaction, each at its due time, in (due_at, id) order."""
    if session.next_due_at is not None and session.next_due_at <= context.now:
        episodes.begin(session, context)
        try:
            after_seq = session.last_seq if after is None else after
            _apply_due(episodes, session, context)
            failpoint("service.commit.before")
            commit(session.db)
            failpoint("service.commit.after")
        except BaseException:
            rollback(session.db)
            raise
    else:
        after_seq = session.last_seq if after is None else after
    session.refresh()
    return Report(changes=read_changes(session.db, after_seq), next_due_at=session.next_due_at)


def _apply_due(episodes: Episodes, session: Session, context: CallContext) -> None:
    seq = session.last_seq
    while (row := scheduled_events.pop_next(session.db, context.now)) is not None:
        due_at, kind, payload, cause = row
        call = Call(
            db=session.db,
            now=due_at,
            company=session.constants.company,
            service=episodes.service.name,
            draw_seed=session.constants.draw_seed,
            actor=Actor.CLOCK,
            cause=cause,
        )
        episodes.service.event_handlers[kind](call, payload)
        changes = stamp_changes(
            session.db, seq, ChangeStamp(step=context.step, at=due_at, actor=Actor.CLOCK, cause=cause)
        )
        seq = changes[-1].seq if changes else seq


def _build_evidence(session: Session, metadata: MetaData) -> EvidenceReply:
    rows, changes = read_rows(session.db, metadata), read_changes(session.db)
    return EvidenceReply(
        initial=revert_changes(rows, changes),
        changes=changes,
        audit=audit.read_audit_lines(session.db),
        digest=digest(rows),
    )
