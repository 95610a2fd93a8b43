"""Audit log with one line per call of the agent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from sqlalchemy import Connection
from starlette.routing import compile_path
from starlette.types import Scope

from companyos_shared.framework.buffered_responses import BufferedResponse
from companyos_shared.framework.storage import sqlite_connection
from companyos_shared.wire.context import CallContext
from companyos_shared.wire.control import AuditLine

_HEADER_ARGUMENTS = {b"if-match": "if_match", b"idempotency-key": "idempotency_key"}
_INSERT_LINE = "INSERT INTO _audit (step, line) VALUES (?, ?)"
_SELECT_LINES = "SELECT line FROM _audit ORDER BY seq"


def build_audit_line(scope: Scope, body: bytes, context: CallContext, response: BufferedResponse) -> AuditLine:
    """Return the audit line of a call; its operation is the route's operation id."""
    route_operation = getattr(scope.get("route"), "operation_id", None)
    path_params = scope.get("path_params", {})
    if route_operation is None and context.fault is not None:
        route_operation, path_params = _find_operation(scope)
    return AuditLine(
        step=context.step,
        at=context.now,
        actor=context.actor,
        operation=route_operation or f"{scope['method']} {scope['path']}",
        arguments=_arguments(scope, body, path_params),
        status=response.status,
        code=_problem_code(response),
        planned=context.fault.kind if context.fault is not None else None,
    )


def write_audit_line(db: Connection, line: AuditLine) -> None:
    """Store a line in the transaction of its call."""
    sqlite_connection(db).execute(_INSERT_LINE, (line.step, line.model_dump_json()))


def read_audit_lines(db: Connection) -> list[AuditLine]:
    """Return all stored lines in call order."""
    return [AuditLine.model_validate_json(line) for (line,) in sqlite_connection(db).execute(_SELECT_LINES)]


def _find_operation(scope: Scope) -> tuple[str | None, dict[str, str]]:
    """Return the operation id and the path parameters of a call that a fault prevented from reaching its route."""
    for template, operations in scope["app"].openapi()["paths"].items():
        found = compile_path(template)[0].match(scope["path"])
        operation = operations.get(scope["method"].lower())
        if found is not None and operation is not None:
            return operation["operationId"], found.groupdict()
    return None, {}


def _problem_code(response: BufferedResponse) -> str | None:
    if response.status < 400 or "json" not in response.media_type:
        return None
    code = json.loads(response.body).get("code")
    return code if isinstance(code, str) else None


def _arguments(scope: Scope, body: bytes, path_params: Mapping[str, Any]) -> dict[str, Any]:
    arguments = _members(body)
    arguments.update(parse_qsl(scope.get("query_string", b"").decode("latin-1")))
    arguments.update({name: str(value) for name, value in path_params.items()})
    for name, value in scope["headers"]:
        if (argument := _HEADER_ARGUMENTS.get(name)) is not None:
            arguments[argument] = value.decode("latin-1")
    return arguments


def _members(body: bytes) -> dict[str, Any]:
    try:
        sent = json.loads(body) if body else {}
    except ValueError:
        return {}
    return sent if isinstance(sent, dict) else {}
