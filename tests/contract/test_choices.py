"""Contract of enum values: every service accepts them in any letter case, with unchanged schemas."""

from __future__ import annotations

from typing import Any

from companyos_gateway.engine.openapi_operations import Argument, ArgumentLocation, Operation
from companyos_shared.framework.testing import ServiceHarness


def _choices(argument: Argument) -> list[str]:
    return [one for one in argument.public_schema.get("enum", ()) if isinstance(one, str)]


async def test_a_choice_is_accepted_in_any_letter_case(harness: ServiceHarness, operations: list[Operation]) -> None:
    count = 0
    for operation in operations:
        for argument in operation.arguments.values():
            for choice in _choices(argument):
                for spelled in (choice.upper(), choice.title(), choice.replace("_", " ").capitalize()):
                    answer = await _call(harness, operation, argument, spelled)
                    assert argument.wire_name not in _refused(answer), (operation.tool_name, argument.name, spelled)
                    count += 1
                wrong = await _call(harness, operation, argument, f"{choice}x")
                assert argument.wire_name in _refused(wrong), (operation.tool_name, argument.name)
    assert count


async def _call(harness: ServiceHarness, operation: Operation, argument: Argument, value: str) -> Any:
    path = operation.path
    if argument.location is ArgumentLocation.PATH:
        return await harness.get(path.replace(f"{{{argument.wire_name}}}", value))
    if argument.location is ArgumentLocation.QUERY:
        return await harness.get(path, params={argument.wire_name: value})
    send = {"POST": harness.post, "PATCH": harness.patch, "PUT": harness.put}[operation.method]
    return await send(path, json={argument.wire_name: value})


def _refused(answer: Any) -> str:
    """Return the places of a body or query that failed validation."""
    problem = answer.json() if answer.status_code == 422 else {}
    return " ".join(str(error["place"]) for error in problem.get("errors") or ()) if problem else ""
