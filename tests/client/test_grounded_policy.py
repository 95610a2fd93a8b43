"""The grounded random policy refers to values that it has seen, by the names under which it has seen them."""

from __future__ import annotations

from typing import Any

from companyos.contract import ToolSpec
from companyos.policies import StepView, load_policy
from companyos.policies.arguments import SamplingContext, sample_arguments
from companyos_shared.streams import Stream
from tests.client.builders import NOW, a_step, a_task

LIST = ToolSpec(name="desk_list_vendors", description="", input_schema={"type": "object", "properties": {}})
RENAME = ToolSpec(
    name="desk_rename_vendor",
    description="",
    input_schema={
        "type": "object",
        "properties": {"vendor_id": {"type": "string", "maxLength": 8}},
        "required": ["vendor_id"],
    },
)
ANSWER = {
    "vendor": {"id": "VEN-1"},
    "items": [{"vendor_id": "VEN-2", "title": "A vendor with much too long a name" * 4}],
}


async def _played(steps: int) -> list[tuple[str, dict[str, Any]]]:
    made: list[tuple[str, dict[str, Any]]] = []

    async def call(tool: str, arguments: dict[str, Any], /) -> StepView:
        made.append((tool, arguments))
        return a_step(result=ANSWER if tool == LIST.name else None, done=len(made) == steps)

    await load_policy("grounded").play(a_task(LIST, RENAME), call)
    return made


async def test_a_seen_value_is_usually_used_for_the_argument_of_that_name() -> None:
    made = await _played(80)
    named = [arguments["vendor_id"] for tool, arguments in made[10:] if tool == RENAME.name]
    assert sum(one in ("VEN-1", "VEN-2") for one in named) > 0.7 * len(named) > 5


async def test_an_episode_is_reproducible() -> None:
    assert await _played(30) == await _played(30)


def test_a_seen_value_is_used_only_if_it_matches_the_schema() -> None:
    around = SamplingContext([], NOW, {"vendor_id": ["VEN-123456789", 7, "VEN-3"]})
    drawn = {sample_arguments(RENAME.input_schema, Stream("a", n), around)["vendor_id"] for n in range(40)}
    assert "VEN-3" in drawn
    assert all(len(one) <= 8 for one in drawn)
