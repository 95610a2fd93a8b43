"""Additional tools of episodes with the modality `screenshot`: clicking, typing and other actions in the browser."""

from __future__ import annotations

from typing import Any, Final

import fastjsonschema

from companyos.contract import Modality, ResetOptions
from companyos_gateway.engine.toolbox import Tool
from companyos_shared.wire.problem import ProblemBody

CLICK: Final = "browser_click"
TYPE: Final = "browser_type"
PRESS: Final = "browser_press"
SCROLL: Final = "browser_scroll"
GOTO: Final = "browser_goto"

FREE_ACTIONS_PER_STEP = 20
"""Number of free browser actions of an episode for each of its `max_steps`."""

MAX_TEXT_LENGTH = 20_000
MAX_ADDRESS_LENGTH = 2_000
MAX_SCROLL_PX = 20_000

KEYS = (
    "Enter",
    "Tab",
    "Shift+Tab",
    "Escape",
    "Space",
    "Backspace",
    "Delete",
    "ArrowUp",
    "ArrowDown",
    "ArrowLeft",
    "ArrowRight",
    "Home",
    "End",
    "PageUp",
    "PageDown",
    "Control+A",
)

NO_FREE_ACTIONS_LEFT = ProblemBody(
    title="No free browser actions left",
    status=429,
    code="no-free-actions-left",
    detail="Each further browser action counts as a step of the episode and is not executed.",
)
"""Result of browser actions after the free ones are used up; each of them is a step."""


def _object_schema(required: tuple[str, ...] = (), /, **properties: dict[str, Any]) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": list(required)} if required else schema


_PIXEL_SCHEMA = {"type": "number"}
_SCROLL_DELTA_SCHEMA = {"type": "integer", "minimum": -MAX_SCROLL_PX, "maximum": MAX_SCROLL_PX}
_POINT_PROPERTIES = {"x": _PIXEL_SCHEMA, "y": _PIXEL_SCHEMA}

_TOOL_SCHEMAS: dict[str, tuple[str, dict[str, Any]]] = {
    CLICK: (
        (
            "Click at `x` and `y`, in pixels of the screenshot, or on the element with a `testid`. A click that "
            "submits a form takes the form's step. A list is focused but not opened: type the option to choose."
        ),
        _object_schema(**_POINT_PROPERTIES, testid={"type": "string", "minLength": 1, "maxLength": 200}),
    ),
    TYPE: (
        ("Type into the focused field; `replace` replaces its content. In a list, choose the option with this text."),
        _object_schema(("text",), text={"type": "string", "maxLength": MAX_TEXT_LENGTH}, replace={"type": "boolean"}),
    ),
    PRESS: (
        "Press a key. Enter in a field submits its form.",
        _object_schema(("key",), key={"type": "string", "enum": list(KEYS)}),
    ),
    SCROLL: (
        "Scroll the element at `x` and `y`, or the page, by `dy` pixels; a negative value scrolls up.",
        _object_schema(("dy",), dy=_SCROLL_DELTA_SCHEMA, dx=_SCROLL_DELTA_SCHEMA, **_POINT_PROPERTIES),
    ),
    GOTO: (
        "Open a page of the apps by its address, such as `/` for the desk or `/ticketdesk/`.",
        _object_schema(("address",), address={"type": "string", "minLength": 1, "maxLength": MAX_ADDRESS_LENGTH}),
    ),
}

BROWSER_TOOLS: dict[str, Tool] = {
    name: Tool(name, description, schema, fastjsonschema.compile(schema, use_default=False))
    for name, (description, schema) in _TOOL_SCHEMAS.items()
}


def is_browser_tool(options: ResetOptions, name: str) -> bool:
    """Return whether episodes with these options have a browser tool of that name."""
    return options.modality is Modality.SCREENSHOT and name in BROWSER_TOOLS
