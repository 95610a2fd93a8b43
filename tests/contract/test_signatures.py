"""Contract of signatures: services reject unsigned and altered calls."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import Any

import httpx
from fastapi import APIRouter
from starlette.routing import BaseRoute, Mount, Route

from companyos.policies.arguments import SamplingContext, sample_arguments
from companyos_gateway.engine.openapi_operations import Operation
from companyos_gateway.engine.toolbox import Tool
from companyos_shared.framework.testing import ServiceHarness
from companyos_shared.streams import Stream
from companyos_shared.wire.context import CONTEXT_HEADER, REPORT_HEADER, SIGNATURE_HEADER, Actor, CallContext, sign
from companyos_shared.wire.control import Report
from tests.contract.calls import ids_of

OPEN = frozenset({"/", "/livez", "/readyz", "/-/metrics", "/docs", "/openapi.json"})
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
MAX_TRIES = 400

Forge = Callable[[httpx.Request], httpx.Request]


def _routes(routes: Iterable[BaseRoute]) -> Iterator[Route]:
    for route in routes:
        if isinstance(included := getattr(route, "original_router", None), APIRouter):
            yield from _routes(included.routes)
        elif isinstance(route, Route):
            yield route
        else:
            assert isinstance(route, Mount), route


def _request(harness: ServiceHarness, operation: Operation, arguments: dict[str, Any]) -> httpx.Request:
    """Return a signed call of the agent, as the next step."""
    harness.step += 1
    call = operation.build_call(arguments)
    headers = {"Content-Type": "application/json"} | dict(call.headers or {})
    return harness.signed(harness.client.build_request(call.method, call.target, content=call.body, headers=headers))


async def _write(harness: ServiceHarness, tools: list[Tool]) -> None:
    """Make a write that changes rows."""
    stream, ids = Stream("contract", "writes"), ids_of((await harness.evidence()).initial)
    writes = [tool for tool in tools if tool.operation is not None and not tool.operation.is_read]
    for n in range(MAX_TRIES):
        tool = stream.choice(writes)
        assert tool.operation is not None
        around = SamplingContext(ids=stream.sample(ids, min(12, len(ids))), now=harness.now)
        request = _request(harness, tool.operation, sample_arguments(tool.input_schema, stream.child(n), around))
        answer = await harness.client.send(request)
        if answer.is_success and _report(answer).changes:
            return
    raise AssertionError("no write was carried out")


def _report(answer: httpx.Response) -> Report:
    return Report.model_validate_json(answer.content[-int(answer.headers[REPORT_HEADER]) :])


def _copy(
    request: httpx.Request,
    headers: Mapping[str, str | None] = MappingProxyType({}),
    *,
    method: str | None = None,
    target: str = "",
    content: bytes | None = None,
) -> httpx.Request:
    """Return the request altered as in transit; headers with the value None are removed."""
    sent: dict[str, str | None] = {**request.headers, "content-length": None, **headers}
    return httpx.Request(
        method or request.method,
        str(request.url) + target,
        headers={name: value for name, value in sent.items() if value is not None},
        content=request.content if content is None else content,
    )


def _with_altered_context(**altered: Any) -> Forge:
    """Return a function that alters the context and leaves the signature unchanged."""

    def forge(request: httpx.Request) -> httpx.Request:
        context = CallContext.model_validate_json(request.headers[CONTEXT_HEADER])
        fields = {name: change(getattr(context, name)) for name, change in altered.items()}
        forged = context.model_copy(update=fields).model_dump_json(exclude_none=True)
        return _copy(request, {CONTEXT_HEADER: forged})

    return forge


def _signed_with_another_key(request: httpx.Request) -> httpx.Request:
    signature = sign(
        b"another key",
        audience="x",
        method=request.method,
        target=request.url.raw_path.decode(),
        body=request.content,
        context=request.headers[CONTEXT_HEADER],
        headers=list(request.headers.multi_items()),
    )
    return _copy(request, {SIGNATURE_HEADER: signature})


def _with_a_changed_digit(request: httpx.Request) -> httpx.Request:
    signature = request.headers[SIGNATURE_HEADER]
    return _copy(request, {SIGNATURE_HEADER: signature[:-1] + format(int(signature[-1], 16) ^ 1, "x")})


FORGERIES: dict[str, Forge] = {
    "without both headers": lambda call: _copy(call, {CONTEXT_HEADER: None, SIGNATURE_HEADER: None}),
    "without a context": lambda call: _copy(call, {CONTEXT_HEADER: None}),
    "without a signature": lambda call: _copy(call, {SIGNATURE_HEADER: None}),
    "an empty signature": lambda call: _copy(call, {SIGNATURE_HEADER: ""}),
    "a signature with one digit changed": _with_a_changed_digit,
    "a signature of somebody else": _signed_with_another_key,
    "another method": lambda call: _copy(call, method="DELETE" if call.method != "DELETE" else "POST"),
    "another path": lambda call: _copy(call, target="x"),
    "another query": lambda call: _copy(call, target="?more=1"),
    "another body": lambda call: _copy(call, content=call.content + b" "),
    "no body": lambda call: _copy(call, content=b"") if call.content else _copy(call, content=b"{}"),
    "another episode": _with_altered_context(episode=lambda name: f"{name}x"),
    "another epoch": _with_altered_context(epoch=lambda epoch: epoch + 1),
    "another source": _with_altered_context(source=lambda source: source[::-1]),
    "another step": _with_altered_context(step=lambda step: step + 1),
    "another actor": _with_altered_context(actor=lambda _actor: Actor.TRAINER),
    "another time": _with_altered_context(now=lambda now: now + timedelta(days=1)),
    "a version to match": lambda call: _copy(call, {"if-match": '"1"'}),
    "an idempotency key": lambda call: _copy(call, {"idempotency-key": "mine"}),
}


async def test_every_path_except_the_open_ones_requires_a_signature(harness: ServiceHarness) -> None:
    before = await harness.evidence()
    paths = {re.sub(r"\{[^}]*\}", "x", route.path) for route in _routes(harness.app.routes)} | {"/no/such/path"}
    assert {path for path in paths if path.startswith("/control/")}
    for path in sorted(paths - OPEN):
        for method in METHODS:
            answer = await harness.client.request(method, path, json={} if method != "GET" else None)
            assert (answer.status_code, answer.json()["code"]) == (401, "not-signed"), f"{method} {path}"
    assert await harness.evidence() == before


async def test_an_altered_call_is_rejected_and_has_no_effect(harness: ServiceHarness, tools: list[Tool]) -> None:
    await _write(harness, tools)
    read = next(tool.operation for tool in tools if tool.operation is not None and tool.operation.is_read)
    for call in (_request(harness, read, {}), _unsent_write(harness, tools)):
        before = await harness.evidence()
        for what, forge in FORGERIES.items():
            answer = await harness.client.send(forge(call))
            assert (answer.status_code, answer.json()["code"]) == (401, "not-signed"), what
            assert await harness.evidence() == before, what
        assert (await harness.client.send(call)).headers[REPORT_HEADER], "the original call must be accepted"


async def test_an_altered_control_call_is_rejected_and_has_no_effect(
    harness: ServiceHarness, tools: list[Tool]
) -> None:
    await _write(harness, tools)
    before = await harness.evidence()
    for verb in ("settle", "drop", "snapshot", "inventory", "export"):
        call = harness.signed(harness.client.build_request("POST", f"/control/{verb}", json={}))
        for forge in (
            FORGERIES["another episode"],
            FORGERIES["another body"],
            FORGERIES["a signature of somebody else"],
        ):
            answer = await harness.client.send(forge(call))
            assert (answer.status_code, answer.json()["code"]) == (401, "not-signed"), verb
        call.url = call.url.copy_with(path="/control/drop" if verb != "drop" else "/control/settle")
        assert (await harness.client.send(call)).status_code == 401
    assert await harness.evidence() == before


def _unsent_write(harness: ServiceHarness, tools: list[Tool]) -> httpx.Request:
    """Return a write for the next step. The service may reject its content, but not its signature."""
    write = next(tool for tool in tools if tool.operation is not None and not tool.operation.is_read)
    assert write.operation is not None
    around = SamplingContext(ids=["x"], now=harness.now)
    return _request(
        harness, write.operation, sample_arguments(write.input_schema, Stream("contract", "unsent"), around)
    )
