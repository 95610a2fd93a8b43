"""Contract of bases: an episode has the rows of its base, and its evidence contains those of them that changed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
from pydantic_core import to_json

from companyos_gateway.engine.toolbox import Tool
from companyos_shared.framework.testing import ServiceHarness
from companyos_shared.streams import digest
from companyos_shared.wire.control import Rows
from tests.contract.calls import carry, folded, ids_of, random_calls
from tests.contract.conftest import SERVICES

CALLS = 120
EMPTY = ("company", "draw_seed", "started_at")


@pytest.fixture
async def based(harness: ServiceHarness) -> AsyncIterator[ServiceHarness]:
    """Provide an episode without its own people and rows; its base contains the whole demo seed document."""
    async with await _on_base(harness, harness.document) as made:
        yield made


async def _on_base(harness: ServiceHarness, document: Mapping[str, Any]) -> ServiceHarness:
    """Return an episode without its own people and rows, whose base contains the document."""
    base = {**document, "is_base": True}
    source = harness.service.source_of(to_json(base))
    reply = await harness.load_document(base, is_base=True)
    assert not any(reply.json()["rows"].values())
    own = {name: document[name] for name in EMPTY} | {"base": source}
    own["company"] = {**own["company"], "people": [], "teams": [], "absences": []}
    seed = harness.service.seed.model_validate(own)
    return ServiceHarness(harness.service, seed, episode="based", folder=harness.folder)


async def _rows(harness: ServiceHarness) -> Rows:
    return (await harness.evidence()).initial


async def test_an_episode_requires_its_base(harness: ServiceHarness) -> None:
    document = {name: harness.document[name] for name in EMPTY} | {"base": "0" * 64}
    answer = await harness.load_document(document)
    assert (answer.status_code, answer.json()["code"]) == (404, "unknown-base")


async def test_an_id_of_the_base_cannot_be_used_again(harness: ServiceHarness) -> None:
    base = {**harness.document, "is_base": True}
    source = harness.service.source_of(to_json(base))
    await harness.load_document(base, is_base=True)
    document = {**harness.document, "base": source}
    answer = await harness.load_document(document)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-seed")


@pytest.mark.sample(1)
async def test_evidence_contains_the_changed_rows_of_the_base(
    harness: ServiceHarness, based: ServiceHarness, tools: list[Tool]
) -> None:
    every_row = await _rows(harness)
    await random_calls(based, tools, CALLS, "base", ids_of(every_row))
    evidence = await based.evidence()
    changed = {(change.table, change.key) for change in evidence.changes if change.before is not None}
    assert changed & {(table, key) for table, rows in every_row.items() for key in rows}
    for table, rows in evidence.initial.items():
        for key, row in rows.items():
            assert (table, key) in changed
            assert row == every_row[table][key]
    assert digest(folded(evidence)) == (await based.digest()).digest


@pytest.mark.sample(1)
async def test_an_episode_with_a_base_behaves_like_one_with_the_same_rows(
    harness: ServiceHarness, based: ServiceHarness, tools: list[Tool]
) -> None:
    ids = ids_of(await _rows(harness))
    assert await random_calls(based, tools, CALLS, "same", ids) == await random_calls(
        harness, tools, CALLS, "same", ids
    )
    changes = [
        [change.model_dump(exclude={"cause"}) for change in (await one.evidence()).changes] for one in (based, harness)
    ]
    assert changes[0] == changes[1]


@pytest.mark.sample(1)
async def test_a_snapshot_and_a_restart_preserve_the_base(
    harness: ServiceHarness, based: ServiceHarness, tools: list[Tool]
) -> None:
    ids = ids_of(await _rows(harness))
    await random_calls(based, tools, CALLS, "before", ids)
    source, step, now = await based.snapshot(), based.step, based.now
    based.restart()
    await random_calls(based, tools, CALLS, "after", ids)
    stayed = await based.digest()
    based.source, based.epoch, based.step, based.now = source, 2, step, now
    await random_calls(based, tools, CALLS, "after", ids)
    assert await based.digest() == stayed


@pytest.mark.sample(1)
async def test_a_search_returns_the_same_rows_with_and_without_a_base(
    harness: ServiceHarness, based: ServiceHarness, tools: list[Tool]
) -> None:
    rows = (await _rows(harness)).values()
    texts = [
        value for of_table in rows for row in of_table.values() for value in row.values() if isinstance(value, str)
    ]
    words = sorted({word for text in texts for word in text.split()})
    queries = [*words[::7], *(" ".join(words[at : at + 12])[:200] for at in range(0, len(words), 40))]
    searches = [tool.operation for tool in tools if "query" in tool.input_schema["properties"] and tool.operation]
    for operation in searches:
        for query in queries:
            expected, found = [await carry(one, operation, {"query": query}) for one in (harness, based)]
            assert found.json() == expected.json(), (operation.operation_id, query)


@pytest.mark.parametrize(
    ("query", "total"), [("Kovačić", 1), ("kovacic", 1), ("łódź", 1), ("true", 1), ("counterparty", 0)]
)
async def test_the_values_in_json_columns_of_a_base_are_searched_and_their_names_are_not(
    query: str, total: int
) -> None:
    async with ServiceHarness(SERVICES["datahub"]) as harness:
        contract = next(record for record in harness.document["records"] if record["kind"] == "contract")
        records = [contract | {"fields": {"counterparty": "Kovačić Łódź", "auto_renews": True}}]
        async with await _on_base(harness, {**harness.document, "records": records}) as based:
            assert (await based.get("/records", params={"query": query})).json()["total"] == total
