"""Middleware around every request: authentication, transaction, injected faults, changes, audit and stored response.

Reads run without a transaction and write nothing; their audit line is part of the report. A write commits its effect,
audit line and response together. A rejected write commits only its audit line and response.
"""

from __future__ import annotations

import logging

from fastapi.routing import APIRoute
from starlette.datastructures import QueryParams
from starlette.types import ASGIApp, Receive, Scope, Send

from companyos_shared.failpoints import failpoint
from companyos_shared.framework import audit, scheduled_events
from companyos_shared.framework import idempotency as applied
from companyos_shared.framework.authentication import ReplayProtection, check_signature
from companyos_shared.framework.buffered_responses import (
    BufferedResponse,
    read_body,
    replay,
    run_buffered,
    send_buffered,
)
from companyos_shared.framework.call import SCOPE_KEY, Call
from companyos_shared.framework.change_capture import ChangeStamp, stamp_changes
from companyos_shared.framework.episodes import Episodes
from companyos_shared.framework.errors import (
    MAX_ERRORS,
    InternalError,
    InvalidArgumentsError,
    MalformedBodyError,
    ServiceError,
    StepSupersededError,
    UnsignedCallError,
)
from companyos_shared.framework.fault_injection import fault_response, hide_from_step, is_outage, prevents_execution
from companyos_shared.framework.pages import PAGES_PREFIX
from companyos_shared.framework.sessions import Session
from companyos_shared.framework.standalone import StandaloneEpisode
from companyos_shared.framework.storage import STORAGE_ERRORS, commit, rollback, sqlite_connection, storage_full_error
from companyos_shared.streams import digest
from companyos_shared.telemetry.operation import OperationScope
from companyos_shared.telemetry.tracing import Span, Traces
from companyos_shared.web.query_params import unknown_query_params
from companyos_shared.wire.context import CallContext, op_id
from companyos_shared.wire.control import AuditLine, Report
from companyos_shared.wire.strict_json import MAX_BODY_BYTES, MalformedJsonError, parse_object

CONTEXT_SCOPE_KEY = "companyos.context"
CONTROL_PREFIX = "/control/"
LEASE_PATH = "/control/lease"
MAX_CONTROL_BYTES = 32 * 1024 * 1024
MAX_CONTROL_VALUES = 1024 * 1024

OPEN_PATHS = frozenset({"/", "/livez", "/readyz", "/-/metrics", "/docs", "/openapi.json"})
_OPEN_PREFIX = "/static/"
_SERVER_ERROR = 500
_READS = frozenset({"GET", "HEAD", "OPTIONS"})
_CONDITIONAL_HEADERS = frozenset({b"if-match", b"idempotency-key"})
_logger = logging.getLogger(__name__)


class ServiceMiddleware:
    """ASGI middleware around the app of a service. Without a key it serves the standalone episode."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        episodes: Episodes,
        key: bytes | None,
        standalone: StandaloneEpisode | None,
        traces: Traces,
        replay_protection: ReplayProtection,
    ) -> None:
        self._app = app
        self._episodes = episodes
        self._key = key
        self._standalone = standalone
        self._traces = traces
        self._replay_protection = replay_protection

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; public paths are passed to the app unchanged."""
        path = scope.get("path", "")
        if scope["type"] != "http" or path in OPEN_PATHS or path.startswith(_OPEN_PREFIX):
            await self._app(scope, receive, send)
            return
        try:
            await self._serve(scope, receive, send)
        except ServiceError as problem:
            await problem.response()(scope, receive, send)
        except STORAGE_ERRORS as error:
            if (storage_full := storage_full_error(error)) is None:
                raise
            await storage_full.response()(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_control = scope["path"].startswith(CONTROL_PREFIX)
        body = await read_body(receive, MAX_CONTROL_BYTES if is_control else MAX_BODY_BYTES)
        context = self._authenticate(scope, body)
        with (
            OperationScope(context.episode, context.epoch, context.step),
            self._traces.server_span(scope["method"], scope["headers"]) as span,
        ):
            if is_control:
                if self._traces.enabled:
                    _annotate(span, context, scope["path"].removeprefix(CONTROL_PREFIX))
                scope[CONTEXT_SCOPE_KEY] = context
                await self._app(scope, replay(body), send)
                return
            response, report = await self._agent_call(scope, body, context)
            if self._traces.enabled:
                _annotate(span, context, _operation(scope), response=response, report=report)
            failpoint("service.reply.before")
            await send_buffered(send, response, with_report=self._key is not None)

    def _authenticate(self, scope: Scope, body: bytes) -> CallContext:
        if self._standalone is not None:
            is_control = scope["path"].startswith(CONTROL_PREFIX)
            _check_json(body, is_control=is_control)
            operation = self._episodes.service.find_operation(scope)
            if operation is not None:
                _check_query_params(operation, scope)  # the gateway checks those of its calls itself
            return self._standalone.context(is_write=not _is_read(scope), is_operation=operation is not None)
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
        if self._key is None:
            raise UnsignedCallError("The service has no key to verify signatures.")
        context = check_signature(
            self._key,
            audience=self._episodes.service.name,
            method=scope["method"],
            target=_target(scope),
            body=body,
            headers=headers,
        )
        if scope["path"].startswith(CONTROL_PREFIX):
            self._replay_protection.check(context)
        if scope["path"] != LEASE_PATH:
            self._episodes.lease.check(context.generation)
        return context

    async def _agent_call(self, scope: Scope, body: bytes, context: CallContext) -> tuple[BufferedResponse, Report]:
        async with self._episodes.locked_session(context) as session:
            _check_step(session, context)
            if _is_read(scope):
                return await self._read(scope, body, context, session)
            return await self._write(scope, body, context, session)

    async def _read(
        self, scope: Scope, body: bytes, context: CallContext, session: Session
    ) -> tuple[BufferedResponse, Report]:
        call = self._call(context, session)
        response = await self._read_response(scope, body, context, session, call)
        line = audit.build_audit_line(scope, b"", context, response)
        report = Report(audit=line, next_due_at=session.next_due_at, planned=line.planned, shown=call.shown)
        response.attach(report)
        return response, report

    async def _read_response(
        self, scope: Scope, body: bytes, context: CallContext, session: Session, call: Call
    ) -> BufferedResponse:
        fault = context.fault
        if fault is not None and is_outage(fault):
            return BufferedResponse.of(fault_response(fault))
        if fault is None or fault.hides_from_step is None or session.reader is not None:
            return await self._run(scope, body, call)
        with hide_from_step(session.db, self._episodes.service.metadata, fault.hides_from_step):
            return await self._run(scope, body, call)

    async def _write(
        self, scope: Scope, body: bytes, context: CallContext, session: Session
    ) -> tuple[BufferedResponse, Report]:
        request = digest(
            [scope["method"], _target(scope), _conditional_headers(scope), body.decode("utf-8", "replace")]
        )
        self._episodes.begin(session, context)
        try:
            if context.step and context.step <= session.applied_step:
                rollback(session.db)
                return _stored_response(session, context, request)
            sqlite_connection(session.db).execute("SAVEPOINT effect")
            response = await self._apply(scope, body, context, session)
            report = _finish_write(session, context, audit.build_audit_line(scope, body, context, response))
            response.attach(report)
            if context.step:
                applied.store_step_response(session.db, step=context.step, request=request, response=response)
            failpoint("service.commit.before")
            commit(session.db)
        except BaseException:
            rollback(session.db)
            raise
        failpoint("service.commit.after")
        session.record_commit(report, step=context.step)
        return response, report

    async def _apply(self, scope: Scope, body: bytes, context: CallContext, session: Session) -> BufferedResponse:
        if context.fault is not None and prevents_execution(context.fault):
            return BufferedResponse.of(fault_response(context.fault))
        call = self._call(context, session)
        response = await self._run(scope, body, call)
        if response.status >= 400:
            sqlite_connection(session.db).execute("ROLLBACK TO effect")
        else:
            applied.store_idempotent_response(call, response)
        if context.fault is not None and is_outage(context.fault):
            return BufferedResponse.of(fault_response(context.fault))
        return response

    async def _run(self, scope: Scope, body: bytes, call: Call) -> BufferedResponse:
        scope[SCOPE_KEY] = call
        try:
            return await run_buffered(self._app, scope, body)
        except Exception as error:
            if storage_full_error(error) is not None:
                raise
            _logger.exception("%s failed", _operation(scope))
            return BufferedResponse.of(InternalError().response())

    def _call(self, context: CallContext, session: Session) -> Call:
        return Call(
            db=session.db,
            now=context.now,
            company=session.constants.company,
            service=self._episodes.service.name,
            draw_seed=session.constants.draw_seed,
            actor=context.actor,
            cause=op_id(context),
            has_base=session.constants.has_base,
        )


def _check_step(session: Session, context: CallContext) -> None:
    if context.step < session.applied_step:
        raise StepSupersededError(
            f"step must be at least {session.applied_step}, the last applied step; got {context.step}"
        )


def _stored_response(session: Session, context: CallContext, request: str) -> tuple[BufferedResponse, Report]:
    """Return the stored response of an applied step; raises StepSupersededError (409) or StepReusedError (422)."""
    _check_step(session, context)
    return applied.load_step_response(session.db, request)


def _is_read(scope: Scope) -> bool:
    """Return whether a request only reads. Pages only read, also with POST."""
    return scope["method"] in _READS or scope["path"].startswith(f"{PAGES_PREFIX}/")


def _operation(scope: Scope) -> str:
    """Return the operation id, or the method, as a label without arguments."""
    return getattr(scope.get("route"), "operation_id", None) or str(scope["method"])


def _annotate(
    span: Span,
    context: CallContext,
    name: str,
    *,
    response: BufferedResponse | None = None,
    report: Report | None = None,
) -> None:
    span.rename(name)
    span.set(episode=context.episode, epoch=context.epoch, step=context.step)
    if response is not None and report is not None:
        span.set(status=response.status, planned_fault=report.planned)
        if response.status >= _SERVER_ERROR and report.planned is None:
            span.fail(str(response.status))


def _finish_write(session: Session, context: CallContext, line: AuditLine) -> Report:
    stamp = ChangeStamp(step=context.step, at=context.now, actor=context.actor, cause=op_id(context))
    changes = stamp_changes(session.db, session.last_seq, stamp)
    audit.write_audit_line(session.db, line)
    return Report(
        changes=changes, audit=line, next_due_at=scheduled_events.next_due_at(session.db), planned=line.planned
    )


def _check_json(body: bytes, *, is_control: bool) -> None:
    limits = {"max_bytes": MAX_CONTROL_BYTES, "max_values": MAX_CONTROL_VALUES} if is_control else {}
    try:
        if body:
            parse_object(body, **limits)
    except MalformedJsonError as error:
        raise MalformedBodyError(f"{error.code}: {error}") from error


def _check_query_params(operation: APIRoute, scope: Scope) -> None:
    unknown = unknown_query_params(operation, QueryParams(scope["query_string"]))[:MAX_ERRORS]
    if unknown:
        errors = [{"place": name, "reason": reason} for name, reason in unknown]
        raise InvalidArgumentsError("; ".join(f"{name}: {reason}" for name, reason in unknown), errors=errors)


def _conditional_headers(scope: Scope) -> list[str]:
    """Return the values of the headers that affect a write."""
    return [value.decode("latin-1") for name, value in scope["headers"] if name in _CONDITIONAL_HEADERS]


def _target(scope: Scope) -> str:
    path = str((scope.get("raw_path") or scope["path"].encode()).decode("latin-1"))
    query = scope.get("query_string", b"").decode("latin-1")
    return f"{path}?{query}" if query else path
