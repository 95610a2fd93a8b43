"""Contract of services: deterministic behaviour, consistent evidence and a usable manifest."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import Any

import jsonschema
import pytest

from companyos.policies.arguments import SamplingContext, sample_arguments
from companyos_gateway.engine.openapi_operations import Operation
from companyos_gateway.engine.toolbox import Tool
from companyos_shared.framework import Service, ServiceError
from companyos_shared.framework.middleware import OPEN_PATHS
from companyos_shared.framework.operation_routes import OperationRoute
from companyos_shared.framework.storage import commit
from companyos_shared.framework.testing import ServiceHarness
from companyos_shared.streams import Stream, digest
from companyos_shared.wire.control import DigestReply
from companyos_shared.wire.problem import PROBLEM_MEDIA_TYPE
from tests.contract.calls import carry, folded, ids_of, random_calls

CALLS = 250
_NAME = re.compile(r"^[a-z]+(_[a-z]+)+$")


def test_some_services_are_found() -> None:
    from tests.contract.conftest import SERVICES

    assert len(SERVICES) >= 3


@pytest.mark.sample(1)
async def test_random_calls_cause_no_server_error_and_their_changes_fold_to_the_digest(
    harness: ServiceHarness, tools: list[Tool]
) -> None:
    answers = await random_calls(harness, tools, CALLS, "fold")
    assert any(status < 300 for _, status, _ in answers)
    evidence = await harness.evidence()
    assert evidence.initial == (await harness.load()).rows
    assert digest(folded(evidence)) == evidence.digest
    assert {change.actor.value for change in evidence.changes} <= {"agent", "clock"}


MALFORMED: list[dict[str, Any]] = [
    {"headers": {"If-Match": "x"}},
    {"headers": {"Idempotency-Key": "two words"}},
    {"params": {"limit": "none"}},
    {"params": {"limit": "0"}},
    {"params": {"limit": ["3", "2"], "unknown": "1"}},
    {"params": {"cursor": "x" * 513}},
    {"content": b""},
    {"content": b"[]"},
    {"content": b'{"unknown": 1}'},
    {"headers": {"Content-Type": "text/plain"}},
]
"""Parts of requests that replace those of a random call."""


def test_operation_routes_read_the_parameters_of_every_operation(service: Service[Any]) -> None:
    routes = [route for route in service.router.routes if isinstance(route, OperationRoute)]
    assert routes
    assert not [route.path for route in routes if not route.reads_requests]


@pytest.mark.sample(1)
async def test_operation_routes_answer_as_routes_of_fastapi(
    service: Service[Any], tools: list[Tool], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def answers() -> tuple[list[tuple[int, bytes, str | None]], DigestReply]:
        stream, found = Stream("contract", "routes"), []
        async with ServiceHarness(service) as harness:
            ids = ids_of((await harness.evidence()).initial)
            for n in range(CALLS):
                tool = stream.choice(tools)
                assert tool.operation is not None
                around = SamplingContext(ids=stream.sample(ids, min(12, len(ids))), now=harness.now)
                call = tool.operation.build_call(sample_arguments(tool.input_schema, stream.child(n), around))
                part = stream.choice(MALFORMED) if stream.chance(0.3) else {}
                headers = {"Content-Type": "application/json", **(call.headers or {}), **part.get("headers", {})}
                request = {"content": call.body} | part | {"headers": headers}
                answer = await harness.request(call.method, call.target, **request)
                found.append((answer.status_code, answer.content, answer.headers.get("content-type")))
            return found, await harness.digest()

    own = await answers()
    for name in ("handle", "matches"):
        monkeypatch.delattr(OperationRoute, name)
    assert await answers() == own
    assert {200, 404, 422} <= {status for status, _, _ in own[0]}


@pytest.mark.sample(1)
async def test_the_same_calls_give_the_same_rows(service: Service[Any], tools: list[Tool]) -> None:
    seen = []
    for _ in range(2):
        async with ServiceHarness(service) as fresh:
            await random_calls(fresh, tools, 60, "same")
            seen.append((await fresh.evidence()).model_dump_json())
    assert seen[0] == seen[1]


@pytest.mark.sample(1)
async def test_reads_do_not_write(harness: ServiceHarness, tools: list[Tool]) -> None:
    before = await harness.evidence()
    reads = [tool for tool in tools if tool.operation is not None and tool.operation.is_read]
    await _random_reads(harness, reads)
    assert await harness.evidence() == before


async def _random_reads(harness: ServiceHarness, reads: list[Tool]) -> None:
    stream, ids = Stream("contract", "reads"), ids_of((await harness.evidence()).initial)
    answered = set()
    for n in range(30):
        for tool in reads:
            assert tool.operation is not None
            around = SamplingContext(ids=stream.sample(ids, min(40, len(ids))), now=harness.now)
            arguments = sample_arguments(tool.input_schema, stream.child(tool.name, n), around)
            answered.add((await carry(harness, tool.operation, arguments)).status_code)
    assert 200 in answered


@pytest.mark.sample(1)
async def test_a_second_settle_at_the_same_time_changes_nothing(harness: ServiceHarness, tools: list[Tool]) -> None:
    await random_calls(harness, tools, 80, "settle")
    await harness.advance(minutes=60 * 24 * 20)
    before = await harness.digest()
    assert (await harness.advance(minutes=0)).changes == []
    assert await harness.digest() == before


@pytest.mark.integration
def test_the_demo_seed_is_the_same_in_every_process(service: Service[Any]) -> None:
    module = f"companyos_{service.name}.main"
    script = (
        f"import importlib; s = importlib.import_module({module!r}).SERVICE; print(s.demo_seed().model_dump_json())"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed, "TZ": zone},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed, zone in (("0", "UTC"), ("5", "Pacific/Auckland"))
    }
    assert len(printed) == 1


@pytest.mark.sample(1)
async def test_it_publishes_the_schemas_of_its_seed_and_its_facts(harness: ServiceHarness) -> None:
    request = harness.client.build_request("GET", "/control/schemas")
    answer = await harness.client.send(harness.signed(request))
    schemas = answer.json()
    jsonschema.validate(harness.document, schemas["seed"])
    for table, rows in (await harness.evidence()).initial.items():
        for row in rows.values():
            jsonschema.validate(row, schemas["facts"][table])


def test_no_operation_has_a_path_that_is_open_without_a_signature(manifest: dict[str, Any]) -> None:
    assert OPEN_PATHS.isdisjoint(manifest["paths"])


def test_every_argument_has_a_description(tools: list[Tool]) -> None:
    arguments = [
        (tool.name, name, schema) for tool in tools for name, schema in tool.input_schema["properties"].items()
    ]
    assert [(tool, name) for tool, name, schema in arguments if not schema.get("description")] == []


def test_every_argument_has_only_keywords_of_json_schema(tools: list[Tool]) -> None:
    known = {*jsonschema.Draft202012Validator.VALIDATORS, "description"}
    unknown = {
        (tool.name, name, keyword)
        for tool in tools
        for name, schema in tool.input_schema["properties"].items()
        for part in (schema, *schema.get("anyOf", ()))
        for keyword in part
        if keyword not in known
    }
    assert unknown == set()


def test_operations_have_stable_names_and_short_descriptions(tools: list[Tool]) -> None:
    for tool in tools:
        assert _NAME.match(tool.name), tool.name
        assert 10 <= len(tool.description) <= 120, (tool.name, tool.description)
        assert tool.description.endswith("."), (tool.name, tool.description)
        assert "\n" not in tool.description


def test_every_error_in_the_manifest_is_a_problem_with_codes(manifest: dict[str, Any]) -> None:
    for path, item in manifest["paths"].items():
        for method, operation in item.items():
            assert operation["operationId"]
            for status, response in operation["responses"].items():
                if int(status) >= 400:
                    assert set(response["content"]) == {PROBLEM_MEDIA_TYPE}, (method, path, status)
                    assert response["content"][PROBLEM_MEDIA_TYPE]["examples"], (method, path, status)


def test_every_error_is_documented_by_an_operation(service: Service[Any], manifest: dict[str, Any]) -> None:
    documented = json.dumps(
        [operation["responses"] for item in manifest["paths"].values() for operation in item.values()]
    )
    codes = _error_codes(f"companyos_{service.name}.")
    assert codes
    assert [code for code in sorted(codes) if f'"{code}"' not in documented] == []


def _error_codes(package: str, kind: type[ServiceError] = ServiceError) -> set[str]:
    subclasses = kind.__subclasses__()
    codes = {one.code for one in subclasses if one.__module__.startswith(package)}
    return codes.union(*(_error_codes(package, one) for one in subclasses))


def test_every_operation_with_a_cursor_documents_the_error_of_an_invalid_one(manifest: dict[str, Any]) -> None:
    operations = [operation for item in manifest["paths"].values() for operation in item.values()]
    paged = [one for one in operations if "cursor" in {parameter["name"] for parameter in one.get("parameters", ())}]
    assert paged
    undocumented = [
        operation["operationId"]
        for operation in paged
        if "invalid-cursor" not in operation["responses"]["422"]["content"][PROBLEM_MEDIA_TYPE]["examples"]
    ]
    assert undocumented == []


def test_all_references_in_the_manifest_resolve(manifest: dict[str, Any]) -> None:
    known = manifest["components"]["schemas"]
    for name in re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(manifest)):
        assert name in known


def test_exactly_the_operations_that_create_take_an_idempotency_key(operations: list[Operation]) -> None:
    assert {one.operation_id for one in operations if "idempotency_key" in one.arguments} == {
        one.operation_id for one in operations if one.creates
    }


@pytest.mark.sample(1)
async def test_a_repeated_call_with_the_same_idempotency_key_has_no_second_effect(
    harness: ServiceHarness, operations: list[Operation], tools: list[Tool]
) -> None:
    keyed = [operation for operation in operations if "idempotency_key" in operation.arguments]
    schemas = {tool.operation.operation_id: tool.input_schema for tool in tools if tool.operation}
    repeated = [await _repeat_once(harness, operation, schemas[operation.operation_id]) for operation in keyed]
    assert any(repeated), "no random call of any of these operations succeeds on the demo seed"


async def _repeat_once(harness: ServiceHarness, operation: Operation, schema: dict[str, Any]) -> bool:
    stream, ids = Stream("contract", "repeat", operation.operation_id), ids_of((await harness.evidence()).initial)
    for n in range(400):
        around = SamplingContext(ids=stream.sample(ids, min(40, len(ids))), now=harness.now)
        arguments = sample_arguments(schema, stream.child(n), around)
        arguments.pop("if_match", None)
        arguments["idempotency_key"] = f"{operation.operation_id}-{n}"
        first = await carry(harness, operation, arguments)
        if first.status_code < 300:
            break
    else:
        return False
    before = await harness.digest()
    again = await carry(harness, operation, arguments)
    assert (again.status_code, again.json()) == (first.status_code, first.json())
    assert await harness.digest() == before
    return True


@pytest.mark.sample(1)
async def test_the_order_of_rows_does_not_depend_on_unordered_selects(service: Service[Any], tools: list[Tool]) -> None:
    seen = []
    for reverse in ("OFF", "ON"):
        async with ServiceHarness(service) as fresh:
            session = fresh.session()
            fresh.app.state.episodes.begin(session, fresh.context())
            commit(session.db)
            session.db.exec_driver_sql(f"PRAGMA reverse_unordered_selects={reverse}")
            seen.append(await random_calls(fresh, tools, CALLS, "order"))
    assert seen[0] == seen[1]
