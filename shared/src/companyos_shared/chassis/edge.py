"""The edge of every request: identity, one transaction, planned faults, change set, audit line, stored answer.

Reads run without a transaction and write nothing; their audit line travels in the report. A write's effect, audit
line and answer are committed together or not at all; a refused write keeps only its audit line and answer.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from fastapi.responses import Response
from sqlalchemy import insert, select
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from companyos_shared.chassis import due, tables
from companyos_shared.chassis.call import SCOPE_KEY, Call
from companyos_shared.chassis.changes import read_changes, stamp_changes
from companyos_shared.chassis.database import begin
from companyos_shared.chassis.episodes import Episodes, Session
from companyos_shared.chassis.errors import Problem
from companyos_shared.chassis.faults import fault_problem, fault_response, strikes_before
from companyos_shared.chassis.identity import check_signature
from companyos_shared.chassis.standalone import Standalone
from companyos_shared.streams import digest
from companyos_shared.wire.context import REPORT_HEADER, CallContext
from companyos_shared.wire.control import AuditLine, Report
from companyos_shared.wire.strict_json import MAX_BODY_BYTES, MalformedJson, parse_object

CONTEXT_SCOPE_KEY = "companyos.context"
CONTROL_PREFIX = "/control/"
MAX_CONTROL_BYTES = 32 * 1024 * 1024

_OPEN_PATHS = frozenset({"/", "/livez", "/readyz", "/docs", "/openapi.json"})
_OPEN_PREFIX = "/static/"
_READS = frozenset({"GET", "HEAD", "OPTIONS"})
_HEADER_ARGUMENTS = {"if-match": "if_match", "idempotency-key": "idempotency_key"}
_logger = logging.getLogger(__name__)


class InternalError(Problem):
    status, code, title = 500, "internal-error", "The service failed"


class BodyTooLarge(Problem):
    status, code, title = 413, "body-too-large", "The body is too large"


class MalformedBody(Problem):
    status, code, title = 400, "malformed-json", "The body is no JSON object"


class OpReused(Problem):
    status, code, title = 422, "op-reused", "The step was already applied with another request"


class StepMovedOn(Problem):
    status, code, title = 409, "step-moved-on", "A later step was already applied"


@dataclass(slots=True)
class Captured:
    """An answer of the inner app, held until its transaction is decided."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes

    @classmethod
    def of(cls, response: Response) -> Captured:
        """Take over a ready answer."""
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in response.raw_headers]
        return cls(response.status_code, headers, bytes(response.body))

    def header(self, name: str) -> str | None:
        """Return the value of a header."""
        return next((value for known, value in self.headers if known == name), None)


class Edge:
    """ASGI middleware around the whole app of a service."""

    def __init__(self, app: ASGIApp, *, episodes: Episodes, key: bytes | None, standalone: Standalone | None) -> None:
        self._app = app
        self._episodes = episodes
        self._key = key
        self._standalone = standalone

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; what is open to everybody passes straight through."""
        path = scope.get("path", "")
        if scope["type"] != "http" or path in _OPEN_PATHS or path.startswith(_OPEN_PREFIX):
            await self._app(scope, receive, send)
            return
        try:
            await self._serve(scope, receive, send)
        except Problem as problem:
            await problem.response()(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_control = scope["path"].startswith(CONTROL_PREFIX)
        body = await _read_body(receive, MAX_CONTROL_BYTES if is_control else MAX_BODY_BYTES)
        context = self._identify(scope, body)
        if is_control:
            scope[CONTEXT_SCOPE_KEY] = context
            await self._app(scope, _replay(body), send)
            return
        answer, report = await self._agent_call(scope, body, context)
        await _send(send, answer, report if self._key is not None else None)

    def _identify(self, scope: Scope, body: bytes) -> CallContext:
        if self._key is None:
            assert self._standalone is not None
            _check_strict(scope, body)
            return self._standalone.context(is_write=scope["method"] not in _READS)
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        return check_signature(self._key, method=scope["method"], target=_target(scope), body=body, headers=headers)

    async def _agent_call(self, scope: Scope, body: bytes, context: CallContext) -> tuple[Captured, Report]:
        while True:
            session = self._episodes.session(context)
            async with session.lock:
                if self._episodes.session(context) is not session:
                    continue
                if context.step < session.applied_step:
                    raise StepMovedOn(f"Step {session.applied_step} was applied.")
                if scope["method"] in _READS:
                    return await self._read(scope, context, session)
                return await self._write(scope, body, context, session)

    async def _read(self, scope: Scope, context: CallContext, session: Session) -> tuple[Captured, Report]:
        if context.fault is not None:
            answer = Captured.of(fault_response(context.fault))
        else:
            answer = await self._run(scope, b"", self._call(context, session))
        line = _audit_line(scope, b"", context, answer)
        return answer, Report(audit=line, next_due_at=session.next_due_at, planned=line.planned)

    async def _write(
        self, scope: Scope, body: bytes, context: CallContext, session: Session
    ) -> tuple[Captured, Report]:
        asked = digest([scope["method"], _target(scope), body.decode("utf-8", "replace")])
        if context.step and context.step == session.applied_step:
            return _stored_answer(session, asked)
        begin(session.db)
        try:
            answer = await self._effect(scope, body, context, session)
            line = _audit_line(scope, body, context, answer)
            report = _finish(session, context, line)
            _store(session, context, asked, answer, report)
            session.db.commit()
        except BaseException:
            session.db.rollback()
            session.recall()
            raise
        session.recall()
        return answer, report

    async def _effect(self, scope: Scope, body: bytes, context: CallContext, session: Session) -> Captured:
        if strikes_before(context.fault):
            assert context.fault is not None
            return Captured.of(fault_response(context.fault))
        call = self._call(context, session)
        answer = await self._run(scope, body, call)
        if answer.status >= 400:
            session.db.rollback()
            begin(session.db)
        elif call.idempotency is not None:
            _remember(call, answer)
        return answer if context.fault is None else Captured.of(fault_response(context.fault))

    def _call(self, context: CallContext, session: Session) -> Call:
        return Call(
            db=session.db,
            now=context.now,
            company=session.premise.company,
            service=self._episodes.service.name,
            draw_seed=session.premise.draw_seed,
            actor=context.actor,
            cause=_op_id(context),
        )

    async def _run(self, scope: Scope, body: bytes, call: Call) -> Captured:
        scope[SCOPE_KEY] = call
        captured = Captured(500, [], b"")

        async def capture(message: Message) -> None:
            if message["type"] == "http.response.start":
                captured.status = message["status"]
                captured.headers = [(n.decode("latin-1"), v.decode("latin-1")) for n, v in message.get("headers", ())]
            elif message["type"] == "http.response.body":
                captured.body += message.get("body", b"")

        try:
            await self._app(scope, _replay(body), capture)
        except Exception:  # noqa: BLE001 - the one broad except: a bug becomes a 500 and rolls back
            _logger.exception("%s %s failed", scope["method"], scope["path"])
            return Captured.of(InternalError().response())
        return captured


def _finish(session: Session, context: CallContext, line: AuditLine) -> Report:
    stamp_changes(
        session.db,
        session.last_seq,
        step=context.step,
        at=context.now,
        actor=context.actor,
        cause=_op_id(context),
    )
    session.db.execute(insert(tables.audit).values(step=context.step, line=line.model_dump_json()))
    return Report(
        changes=read_changes(session.db, session.last_seq),
        audit=line,
        next_due_at=due.next_due_at(session.db),
        planned=line.planned,
    )


def _store(session: Session, context: CallContext, asked: str, answer: Captured, report: Report) -> None:
    if context.step == 0:
        return
    session.db.execute(
        insert(tables.applied).prefix_with("OR REPLACE"),
        {
            "id": 1,
            "step": context.step,
            "request": asked,
            "status": answer.status,
            "headers": [list(header) for header in answer.headers],
            "body": answer.body.decode(),
            "report": report.model_dump_json(),
        },
    )


def _stored_answer(session: Session, asked: str) -> tuple[Captured, Report]:
    row = session.db.execute(select(tables.applied)).one()
    if row.request != asked:
        raise OpReused
    report = Report.model_validate_json(row.report).model_copy(update={"replayed": True})
    return Captured(row.status, [(name, value) for name, value in row.headers], row.body.encode()), report


def _remember(call: Call, answer: Captured) -> None:
    assert call.idempotency is not None
    key, asked = call.idempotency
    call.db.execute(
        insert(tables.idempotency).values(
            key=key,
            request=asked,
            status=answer.status,
            media_type=answer.header("content-type") or "application/json",
            body=answer.body.decode(),
        )
    )


def _audit_line(scope: Scope, body: bytes, context: CallContext, answer: Captured) -> AuditLine:
    planned = context.fault.kind if context.fault is not None else None
    code = fault_problem(context.fault).code if context.fault is not None else _problem_code(answer)
    return AuditLine(
        step=context.step,
        at=context.now,
        actor=context.actor,
        operation=getattr(scope.get("route"), "operation_id", None) or f"{scope['method']} {scope['path']}",
        arguments=_arguments(scope, body),
        status=answer.status,
        code=code,
        planned=planned,
    )


def _problem_code(answer: Captured) -> str | None:
    if answer.status < 400:
        return None
    code = json.loads(answer.body).get("code")
    return code if isinstance(code, str) else None


def _arguments(scope: Scope, body: bytes) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    if body:
        try:
            sent = json.loads(body)
        except ValueError:
            sent = None
        if isinstance(sent, dict):
            arguments.update(sent)
    arguments.update(parse_qsl(scope.get("query_string", b"").decode("latin-1")))
    arguments.update({name: str(value) for name, value in scope.get("path_params", {}).items()})
    for name, value in scope["headers"]:
        if (argument := _HEADER_ARGUMENTS.get(name.decode("latin-1"))) is not None:
            arguments[argument] = value.decode("latin-1")
    return arguments


def _op_id(context: CallContext) -> str:
    return f"{context.episode}:{context.epoch}:{context.step}"


def _check_strict(scope: Scope, body: bytes) -> None:
    if not body:
        return
    try:
        parse_object(body)
    except MalformedJson as error:
        problem = MalformedBody(str(error))
        problem.code = error.code  # type: ignore[misc]
        raise problem from error


def _target(scope: Scope) -> str:
    path = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1")
    query = scope.get("query_string", b"").decode("latin-1")
    return f"{path}?{query}" if query else path


async def _read_body(receive: Receive, limit: int) -> bytes:
    body = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return body
        body += message.get("body", b"")
        if len(body) > limit:
            raise BodyTooLarge(f"The body is larger than {limit} bytes.")
        if not message.get("more_body", False):
            return body


def _replay(body: bytes) -> Receive:
    messages: Iterable[Message] = iter(
        ({"type": "http.request", "body": body, "more_body": False}, {"type": "http.disconnect"})
    )

    async def receive() -> Message:
        return next(messages, {"type": "http.disconnect"})  # type: ignore[call-overload, no-any-return]

    return receive


async def _send(send: Send, answer: Captured, report: Report | None) -> None:
    body, headers = answer.body, [(n, v) for n, v in answer.headers if n not in ("content-length",)]
    if report is not None:
        attached = report.model_dump_json(exclude_defaults=True).encode()
        body += attached
        headers.append((REPORT_HEADER.lower(), str(len(attached))))
    headers.append(("content-length", str(len(body))))
    raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    await send({"type": "http.response.start", "status": answer.status, "headers": raw})
    await send({"type": "http.response.body", "body": body})
