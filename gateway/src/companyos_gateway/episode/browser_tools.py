"""The tools of the browser, which episodes of the modality `screenshot` have besides: where to click, what to type."""

from __future__ import annotations

from typing import Any, Final

import fastjsonschema

from companyos.contract import Modality, ResetOptions
from companyos_gateway.episode.toolbox import Tool
from companyos_shared.wire.problem import ProblemBody

CLICK: Final = "browser_click"
TYPE: Final = "browser_type"
PRESS: Final = "browser_press"
SCROLL: Final = "browser_scroll"
GOTO: Final = "browser_goto"

LOOKS_PER_STEP = 20
"""Looks that an episode has for each step that it may take."""

LONGEST_TEXT = 20_000
LONGEST_ADDRESS = 2_000
FARTHEST_SCROLL = 20_000
"""Pixels."""

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

NO_LOOKS_LEFT = ProblemBody(
    type="about:blank",
    title="No look is left",
    status=429,
    code="no-looks-left",
    detail="Every action of the browser is a step of the episode from here on, and none is carried out.",
    errors=None,
)
"""What the steps answer that an agent takes by looking on and on."""


def _shape(required: tuple[str, ...] = (), /, **properties: dict[str, Any]) -> dict[str, Any]:
    shape: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**shape, "required": list(required)} if required else shape


_PIXEL = {"type": "number"}
_DISTANCE = {"type": "integer", "minimum": -FARTHEST_SCROLL, "maximum": FARTHEST_SCROLL}
_POINT = {"x": _PIXEL, "y": _PIXEL}

_SHAPES: dict[str, tuple[str, dict[str, Any]]] = {
    CLICK: (
        (
            "Click in the window: at `x` and `y`, in pixels of the picture, or on the element of a `testid`. A click "
            "that sends a form is the step of that form. A list takes the focus and stays shut: type what to choose."
        ),
        _shape(**_POINT, testid={"type": "string", "minLength": 1, "maxLength": 200}),
    ),
    TYPE: (
        (
            "Type into what has the focus; with `replace` in place of what it holds. On a list, choose the option "
            "of that name."
        ),
        _shape(("text",), text={"type": "string", "maxLength": LONGEST_TEXT}, replace={"type": "boolean"}),
    ),
    PRESS: (
        "Press a key. Enter in a field sends its form.",
        _shape(("key",), key={"type": "string", "enum": list(KEYS)}),
    ),
    SCROLL: (
        "Scroll down by `dy` pixels, or up where it is negative; what lies under `x` and `y`, or the page.",
        _shape(("dy",), dy=_DISTANCE, dx=_DISTANCE, **_POINT),
    ),
    GOTO: (
        "Open an address of the apps, such as `/` for the desk or `/ticketdesk/`.",
        _shape(("address",), address={"type": "string", "minLength": 1, "maxLength": LONGEST_ADDRESS}),
    ),
}

BROWSER_TOOLS: dict[str, Tool] = {
    name: Tool(name, description, shape, fastjsonschema.compile(shape, use_default=False))
    for name, (description, shape) in _SHAPES.items()
}


def is_browser_tool(options: ResetOptions, name: str) -> bool:
    """Say whether an episode of these options has a tool of the browser of that name."""
    return options.modality is Modality.SCREENSHOT and name in BROWSER_TOOLS
