"""Contract of services: pages of lists, unknown ids, versions, and responses and examples that an agent can read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import cycle
from typing import Any

import pytest

from companyos.policies.arguments import SamplingContext, sample_arguments
from companyos_gateway.engine.toolbox import Tool
from companyos_shared.framework.testing import ServiceHarness
from companyos_shared.streams import Stream
from tests.contract.calls import carry, ids_of

DEFAULT_ITEMS, MAX_BYTES = 10, 4000
"""The length of a page and the size of a response if an agent does not choose a limit."""

SAMPLES = 40
UNKNOWN = "XX-404"


def _arguments(tool: Tool, ids: list[str], harness: ServiceHarness) -> Iterator[dict[str, Any]]:
    """Yield schema-valid arguments, many of which name rows."""
    stream = Stream("contract", "arguments", tool.name)
    for n in range(SAMPLES):
        around = SamplingContext(ids=stream.sample(ids, min(12, len(ids))), now=harness.now)
        yield sample_arguments(tool.input_schema, stream.child(n), around)


async def _answer(harness: ServiceHarness, tool: Tool, arguments: dict[str, Any]) -> Any:
    assert tool.operation is not None
    return await carry(harness, tool.operation, arguments)


def _path_parameters(tool: Tool) -> list[str]:
    assert tool.operation is not None
    return re.findall(r"{(\w+)}", tool.operation.path)


def _required(tool: Tool) -> list[str]:
    required: list[str] = tool.input_schema.get("required", [])
    return required


async def _words(harness: ServiceHarness) -> list[str]:
    """Return the ids of all rows and the words of their titles and names, which searches find."""
    initial = (await harness.evidence()).initial
    rows = [row for table in initial.values() for row in table.values()]
    texts = [str(row.get("title") or row.get("name") or "") for row in rows]
    return [*ids_of(initial), *sorted({word for text in texts for word in re.findall(r"[A-Za-z]{4,}", text)})]


async def _items(harness: ServiceHarness, tool: Tool, **arguments: Any) -> tuple[list[Any], int]:
    """Return the items of all pages and the stated total; there are none if the call is rejected."""
    items: list[Any] = []
    while True:
        answer = await _answer(harness, tool, arguments)
        if answer.status_code >= 400:
            return [], 0
        page = answer.json()
        assert len(page["items"]) <= arguments.get("limit", DEFAULT_ITEMS)
        items += page["items"]
        arguments["cursor"] = page["next_cursor"]
        if page["next_cursor"] is None:
            return items, page["total"]


@pytest.mark.sample(1)
async def test_every_list_continues_at_its_cursor(
    harness: ServiceHarness, tools: list[Tool], writes: list[Tool]
) -> None:
    ids = ids_of((await harness.evidence()).initial)
    for tool in writes:
        for one, arguments in zip(ids, cycle(_arguments(tool, ids, harness)), strict=False):
            await _answer(harness, tool, arguments | dict.fromkeys(_path_parameters(tool)[:1], one))
    words = await _words(harness)
    for tool in tools:
        if "cursor" not in tool.input_schema["properties"] or len(_required(tool)) > 1:
            continue
        queries = [dict.fromkeys(_required(tool), word) for word in words] if _required(tool) else [{}]
        found = 0
        for query in queries:
            whole, total = await _items(harness, tool, **query, limit=50)
            if len(whole) > 1 and found < 3:
                found += 1
                assert total == len(whole)
                assert await _items(harness, tool, **query, limit=1) == (whole, total)
                assert await _items(harness, tool, **query) == (whole, total)
        assert found, f"{tool.name}: no list of the demo data has two rows"


@pytest.mark.sample(1)
async def test_an_unknown_id_is_not_found(harness: ServiceHarness, tools: list[Tool]) -> None:
    ids = ids_of((await harness.evidence()).initial)
    for tool in tools:
        for name in _path_parameters(tool):
            if "enum" not in tool.input_schema["properties"][name]:
                answers = [
                    await _answer(harness, tool, one | {name: UNKNOWN}) for one in _arguments(tool, ids, harness)
                ]
                assert not [answer.text for answer in answers if answer.status_code < 400], tool.name
                codes = {(answer.status_code, answer.json()["code"]) for answer in answers}
                assert any(status == 404 and code.endswith("-not-found") for status, code in codes), (tool.name, codes)


@pytest.mark.sample(1)
async def test_an_outdated_version_is_rejected(harness: ServiceHarness, tools: list[Tool]) -> None:
    ids = ids_of((await harness.evidence()).initial)
    before = await harness.digest()
    for tool in tools:
        if "if_match" in tool.input_schema["properties"]:
            arguments, (name, *_) = next(_arguments(tool, ids, harness)), _path_parameters(tool)
            answers = [await _answer(harness, tool, arguments | {name: one, "if_match": 999}) for one in ids]
            codes = {answer.json()["code"] for answer in answers if answer.status_code == 412}
            assert codes == {"stale-version"}, tool.name
    assert await harness.digest() == before


@pytest.mark.sample(1)
async def test_responses_are_short_unless_an_agent_sets_a_limit(harness: ServiceHarness, tools: list[Tool]) -> None:
    words = await _words(harness)
    for tool in (tool for tool in tools if tool.operation is not None and tool.operation.is_read):
        for word in words if len(_required(tool)) == 1 else [""]:
            answer = await _answer(harness, tool, dict.fromkeys(_required(tool), word))
            assert len(answer.content) <= MAX_BYTES, (tool.name, word)


def test_every_body_and_response_of_a_tool_has_an_example(manifest: dict[str, Any]) -> None:
    schemas = manifest["components"]["schemas"]
    used: list[Any] = []
    for operation in (operation for item in manifest["paths"].values() for operation in item.values()):
        used += [operation.get("requestBody"), *(operation["responses"].get(status) for status in ("200", "201"))]
    names = set(re.findall(r"#/components/schemas/(\w+)", json.dumps(used)))
    assert [name for name in names if not name.startswith("Page") and not schemas[name].get("examples")] == []
