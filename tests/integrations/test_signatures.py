"""Tools as Python methods: their signatures and docstrings, and the arguments that they forward."""

from __future__ import annotations

import inspect
from typing import Any, Literal

import pytest

from companyos.contract import ToolSpec
from companyos.integrations.signatures import tool_method

CALENDAR = ToolSpec(
    name="datahub_get_calendar",
    description="Show absences,\nholidays and office hours.",
    input_schema={
        "type": "object",
        "properties": {
            "from": {"type": "string", "format": "date"},
            "limit": {"type": "integer", "minimum": 1, "maximum": 50},
            "kinds": {"type": "array", "items": {"type": "string"}, "description": "Empty: all."},
            "state": {"enum": ["open", "closed"], "type": "string"},
            "person_id": {"type": "string"},
        },
        "required": ["person_id"],
    },
)


class RecordingTools:
    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []


def called(self: RecordingTools, tool: str, arguments: dict[str, Any]) -> str:
    self.calls.append((tool, arguments))
    return "{}"


@pytest.fixture
def tools() -> Any:
    return type("Made", (RecordingTools,), {CALENDAR.name: tool_method(CALENDAR, called)})()


def test_a_method_has_the_name_types_and_defaults_of_its_tool(tools: Any) -> None:
    shown = inspect.signature(tools.datahub_get_calendar)
    assert tools.datahub_get_calendar.__name__ == "datahub_get_calendar"
    assert list(shown.parameters) == ["person_id", "from_", "limit", "kinds", "state"]
    assert shown.parameters["person_id"].default is inspect.Parameter.empty
    assert shown.parameters["limit"].default is None
    assert tools.datahub_get_calendar.__annotations__ == {
        "person_id": str,
        "from_": str | None,
        "limit": int | None,
        "kinds": list[str] | None,
        "state": Literal["open", "closed"] | None,
        "return": str,
    }


def test_a_docstring_describes_every_argument_in_google_style(tools: Any) -> None:
    assert inspect.getdoc(tools.datahub_get_calendar) == (
        "Show absences, holidays and office hours.\n\n"
        "Args:\n"
        "    person_id: Text.\n"
        "    from_: A date such as 2026-11-20.\n"
        "    limit: A whole number. From 1 to 50.\n"
        "    kinds: Empty: all.\n"
        "    state: One of these."
    )


def test_arguments_are_passed_by_schema_name_without_those_that_are_none(tools: Any) -> None:
    tools.datahub_get_calendar(person_id="E-1", from_="2026-11-20", limit=None)
    assert tools.calls == [("datahub_get_calendar", {"person_id": "E-1", "from": "2026-11-20"})]


def test_arguments_outside_of_the_schema_are_passed(tools: Any) -> None:
    tools.datahub_get_calendar(who="E-1")
    assert tools.calls == [("datahub_get_calendar", {"who": "E-1"})]
