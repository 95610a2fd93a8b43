"""Middleware around every request: authentication, transaction, injected faults, changes, audit and stored response.

Reads run without a transaction and write nothing; their audit line is part of the report. A write commits its effect,
audit line and response together. A rejected write commits only its audit line and response.
"""

from __future__ import annotations

import logging

from starlette.types import ASGIApp, Receive, Scope, Send

from companyos_shared.chassis import applied, audit, due
from companyos_shared.chassis.answers import HeldAnswer, read_body, replay, run_held, send_held
from companyos_shared.chassis.call import SCOPE_KEY, Call
from companyos_shared.chassis.changes import Stamp, stamp_changes
from companyos_shared.chassis.driver import commit, driver_of, rollback
from companyos_shared.chassis.episodes import Episodes
from companyos_shared.chassis.errors import InternalError, MalformedBody, NotSigned, Problem, StepMovedOn
from companyos_shared.chassis.faults import fault_response, is_outage, strikes_before
from companyos_shared.chassis.hindsight import before_step
from companyos_shared.chassis.identity import check_signature
from companyos_shared.chassis.pages import PAGES_PREFIX
from companyos_shared.chassis.replays import Replays
from companyos_shared.chassis.sessions import Session
from companyos_shared.chassis.standalone import Standalone
from companyos_shared.chassis.storage import STORAGE_ERRORS, storage_problem
from companyos_shared.failpoints import failpoint
from companyos_shared.streams import digest
from companyos_shared.telemetry.ops import working_on
from companyos_shared.telemetry.traces import NO_TRACES, Span, Traces
from companyos_shared.wire.context import CallContext, op_id
from companyos_shared.wire.control import AuditLine, Report
from companyos_shared.wire.strict_json import MAX_BODY_BYTES, MalformedJson, parse_object

CONTEXT_SCOPE_KEY = "companyos.context"
CONTROL_PREFIX = "/control/"
LEASE_PATH = "/control/lease"
MAX_CONTROL_BYTES = 32 * 1024 * 1024

OPEN_PATHS = frozenset({"/", "/livez", "/readyz", "/-/metrics", "/docs", "/openapi.json"})
_OPEN_PREFIX = "/static/"
_SERVER_ERROR = 500
_READS = frozenset({"GET", "HEAD", "OPTIONS"})
_CONDITIONS = frozenset({b"if-match", b"idempotency-key"})
_logger = logging.getLogger(__name__)


class Edge:
    """ASGI middleware around the app of a service. Without a key it serves the standalone episode."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        episodes: Episodes,
        key: bytes | None = None,
        standalone: Standalone | None = None,
        traces: Traces = NO_TRACES,
        replays: Replays | None = None,
    ) -> None:
        self._app = app
        self._episodes = episodes
        self._key = key
        self._standalone = standalone
        self._traces = traces
        self._replays = replays or Replays()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; public paths are passed to the app unchanged."""
        path = scope.get("path", "")
        if scope["type"] != "http" or path in OPEN_PATHS or path.startswith(_OPEN_PREFIX):
            await self._app(scope, receive, send)
            return
        try:
            await self._serve(scope, receive, send)
        except Problem as problem:
            await problem.response()(scope, receive, send)
        except STORAGE_ERRORS as error:
            if (refused := storage_problem(error)) is None:
                raise
            await refused.response()(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_control = scope["path"].startswith(CONTROL_PREFIX)
        body = await read_body(receive, MAX_CONTROL_BYTES if is_control else MAX_BODY_BYTES)
        context = self._identify(scope, body)
        with (
            working_on(context.episode, context.epoch, context.step),
            self._traces.served(scope["method"], scope["headers"]) as span,
        ):
            if is_control:
                if self._traces.on:
                    _mark(span, context, scope["path"].removeprefix(CONTROL_PREFIX))
                scope[CONTEXT_SCOPE_KEY] = context
                await self._app(scope, replay(body), send)
                return
            answer, report = await self._agent_call(scope, body, context)
            if self._traces.on:
                _mark(span, context, _operation(scope), answer=answer, report=report)
            failpoint("service.reply.before")
            await send_held(send, answer, with_report=self._key is not None)

    def _identify(self, scope: Scope, body: bytes) -> CallContext:
        if self._standalone is not None:
            _check_strict(body)
            return self._standalone.context(is_write=not _is_read(scope))
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
        if self._key is None:
            raise NotSigned("The service has no key to verify signatures.")
        context = check_signature(
            self._key,
            audience=self._episodes.service.name,
            method=scope["method"],
            target=_target(scope),
            body=body,
            headers=headers,
        )
        if scope["path"].startswith(CONTROL_PREFIX):
            self._replays.check(context)
        if scope["path"] != LEASE_PATH:
            self._episodes.lease.check(context.generation)
        return context

    async def _agent_call(self, scope: Scope, body: bytes, context: CallContext) -> tuple[HeldAnswer, Report]:
        async with self._episodes.turn(context) as session:
            _check_step(session, context)
            if _is_read(scope):
                return await self._read(scope, body, context, session)
            return await self._write(scope, body, context, session)

    async def _read(
        self, scope: Scope, body: bytes, context: CallContext, session: Session
    ) -> tuple[HeldAnswer, Report]:
        answer = await self._read_answer(scope, body, context, session)
        line = audit.audit_line(scope, b"", context, answer)
        report = Report(audit=line, next_due_at=session.next_due_at, planned=line.planned)
        answer.attach(report)
        return answer, report

    async def _read_answer(self, scope: Scope, body: bytes, context: CallContext, session: Session) -> HeldAnswer:
        fault, call = context.fault, self._call(context, session)
        if fault is not None and is_outage(fault):
            return HeldAnswer.of(fault_response(fault))
        if fault is None or fault.hides_step is None or session.reader is not None:
            return await self._run(scope, body, call)
        with before_step(session.db, self._episodes.service.metadata, fault.hides_step):
            return await self._run(scope, body, call)

    async def _write(
        self, scope: Scope, body: bytes, context: CallContext, session: Session
    ) -> tuple[HeldAnswer, Report]:
        request = digest([scope["method"], _target(scope), _conditions(scope), body.decode("utf-8", "replace")])
        self._episodes.begin(session, context)
        try:
            if context.step and context.step <= session.applied_step:
                rollback(session.db)
                return _repeated(session, context, request)
            driver_of(session.db).execute("SAVEPOINT effect")
            answer = await self._effect(scope, body, context, session)
            report = _finish_write(session, context, audit.audit_line(scope, body, context, answer))
            answer.attach(report)
            if context.step:
                applied.store_op(session.db, step=context.step, request=request, answer=answer)
            failpoint("service.commit.before")
            commit(session.db)
        except BaseException:
            rollback(session.db)
            raise
        failpoint("service.commit.after")
        session.move_on(report, step=context.step)
        return answer, report

    async def _effect(self, scope: Scope, body: bytes, context: CallContext, session: Session) -> HeldAnswer:
        if context.fault is not None and strikes_before(context.fault):
            return HeldAnswer.of(fault_response(context.fault))
        call = self._call(context, session)
        answer = await self._run(scope, body, call)
        if answer.status >= 400:
            driver_of(session.db).execute("ROLLBACK TO effect")
        else:
            applied.store_idempotent(call, answer)
        if context.fault is not None and is_outage(context.fault):
            return HeldAnswer.of(fault_response(context.fault))
        return answer

    async def _run(self, scope: Scope, body: bytes, call: Call) -> HeldAnswer:
        scope[SCOPE_KEY] = call
        try:
            return await run_held(self._app, scope, body)
        except Exception as error:
            if storage_problem(error) is not None:
                raise
            _logger.exception("%s failed", _operation(scope))
            return HeldAnswer.of(InternalError().response())

    def _call(self, context: CallContext, session: Session) -> Call:
        return Call(
            db=session.db,
            now=context.now,
            company=session.premise.company,
            service=self._episodes.service.name,
            draw_seed=session.premise.draw_seed,
            actor=context.actor,
            cause=op_id(context),
        )


def _check_step(session: Session, context: CallContext) -> None:
    if context.step < session.applied_step:
        raise StepMovedOn(f"step must be at least {session.applied_step}, the last applied step; got {context.step}")


def _repeated(session: Session, context: CallContext, request: str) -> tuple[HeldAnswer, Report]:
    """Return the stored response of an applied step; raises StepMovedOn (409) or OpReused (422)."""
    _check_step(session, context)
    return applied.stored_op(session.db, request)


def _is_read(scope: Scope) -> bool:
    """Return whether a request only reads. Pages only read, also with POST."""
    return scope["method"] in _READS or scope["path"].startswith(f"{PAGES_PREFIX}/")


def _operation(scope: Scope) -> str:
    """Return the operation id, or the method, as a label without arguments."""
    return getattr(scope.get("route"), "operation_id", None) or str(scope["method"])


def _mark(
    span: Span, context: CallContext, name: str, *, answer: HeldAnswer | None = None, report: Report | None = None
) -> None:
    span.rename(name)
    span.set(episode=context.episode, epoch=context.epoch, step=context.step)
    if answer is not None and report is not None:
        span.set(status=answer.status, planned_fault=report.planned)
        if answer.status >= _SERVER_ERROR and report.planned is None:
            span.fail(str(answer.status))


def _finish_write(session: Session, context: CallContext, line: AuditLine) -> Report:
    stamp = Stamp(step=context.step, at=context.now, actor=context.actor, cause=op_id(context))
    changes = stamp_changes(session.db, session.last_seq, stamp)
    audit.write_line(session.db, line)
    return Report(changes=changes, audit=line, next_due_at=due.next_due_at(session.db), planned=line.planned)


def _check_strict(body: bytes) -> None:
    try:
        if body:
            parse_object(body)
    except MalformedJson as error:
        raise MalformedBody(f"{error.code}: {error}") from error


def _conditions(scope: Scope) -> list[str]:
    """Return the values of the headers that affect a write."""
    return [value.decode("latin-1") for name, value in scope["headers"] if name in _CONDITIONS]


def _target(scope: Scope) -> str:
    path = str((scope.get("raw_path") or scope["path"].encode()).decode("latin-1"))
    query = scope.get("query_string", b"").decode("latin-1")
    return f"{path}?{query}" if query else path
