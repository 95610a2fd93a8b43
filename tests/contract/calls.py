"""Random calls generated from a service's manifest."""

from __future__ import annotations

from typing import Any

from companyos.policies.arguments import SamplingContext, sample_arguments
from companyos_gateway.engine.openapi_operations import Operation
from companyos_gateway.engine.toolbox import Tool
from companyos_shared.framework.testing import ServiceHarness
from companyos_shared.streams import Stream
from companyos_shared.wire.control import EvidenceReply, Rows
from companyos_shared.wire.problem import PROBLEM_MEDIA_TYPE

_HEADERS = {"Content-Type": "application/json"}


async def carry(harness: ServiceHarness, operation: Operation, arguments: dict[str, Any]) -> Any:
    call = operation.build_call(arguments)
    headers = _HEADERS | dict(call.headers or {})
    return await harness.request(call.method, call.target, content=call.body, headers=headers)


def ids_of(rows: Rows) -> list[str]:
    return sorted({key for table in rows.values() for key in table})


def folded(evidence: EvidenceReply) -> Rows:
    """Return the initial rows with all changes applied."""
    rows = {table: dict(found) for table, found in evidence.initial.items()}
    for change in evidence.changes:
        before = rows[change.table].pop(change.key, None)
        assert before == change.before
        if change.after is not None:
            rows[change.table][change.key] = change.after
    return rows


async def random_calls(
    harness: ServiceHarness, tools: list[Tool], calls: int, name: str, ids: list[str] | None = None
) -> list[tuple[str, int, str]]:
    """Make schema-valid random calls, about half of them to existing rows, and advance the time between them.

    Return the tool, the status and the text of each response.
    """
    stream = Stream("contract", name)
    ids = ids_of((await harness.evidence()).initial) if ids is None else ids
    answers = []
    for n in range(calls):
        tool = stream.choice(tools)
        assert tool.operation is not None
        around = SamplingContext(ids=stream.sample(ids, min(12, len(ids))), now=harness.now)
        arguments = sample_arguments(tool.input_schema, stream.child(n), around)
        answer = await carry(harness, tool.operation, arguments)
        assert answer.status_code < 500, (tool.name, arguments, answer.text)
        if answer.status_code >= 400:
            assert answer.headers["content-type"] == PROBLEM_MEDIA_TYPE
            assert answer.json()["code"]
        answers.append((tool.name, answer.status_code, answer.text))
        if stream.chance(0.2):
            await harness.advance(minutes=stream.integer(1, 600))
    return answers
