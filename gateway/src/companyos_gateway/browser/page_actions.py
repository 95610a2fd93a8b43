"""Browser actions of an agent: click, type, press, scroll and goto."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from companyos.contract import Viewport
from companyos_gateway.browser.app_urls import AppUrls
from companyos_gateway.browser.errors import ActionRejectedError
from companyos_gateway.engine.browser_tools import BROWSER_TOOLS, CLICK, GOTO, PRESS, SCROLL, TYPE
from companyos_gateway.engine.toolbox import InvalidArgumentsError

Arguments = Mapping[str, Any]

MAX_LISTED_TESTIDS = 60
"""Maximum number of testids or options in an error message."""

_POINT_FIELDS: Final = frozenset({"x", "y"})

_IS_SELECT_FOCUSED_JS = "() => document.activeElement?.tagName === 'SELECT'"
_FOCUS_SELECT_AT_JS = """([x, y]) => {
  const list = document.elementFromPoint(x, y)?.closest("select");
  if (list && !list.disabled) list.focus();
  return Boolean(list);
}"""
_FIND_TESTID_JS = """(testid) => {
  const elements = [...document.querySelectorAll("[data-testid]")];
  const matches = elements.filter((element) => element.dataset.testid === testid);
  const isVisible = (element) =>
    element.getClientRects().length > 0 && getComputedStyle(element).visibility === "visible";
  if (matches.length === 1 && isVisible(matches[0])) {
    matches[0].scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
    const box = matches[0].getClientRects()[0];
    return { at: [box.left + box.width / 2, box.top + box.height / 2] };
  }
  const others = elements.filter(isVisible).map((element) => element.dataset.testid);
  return { count: matches.length, others: [...new Set(others)] };
}"""
_PREPARE_INPUT_JS = """({ text, replace }) => {
  const element = document.activeElement;
  if (element?.tagName === "SELECT") {
    const normalize = (label) => label.replace(/\\s+/g, " ").trim();
    const expected = normalize(text);
    const options = [...element.options];
    const chosen = options.find((option) => normalize(option.label) === expected || option.value === expected);
    if (!chosen) return { options: options.map((option) => normalize(option.label)) };
    chosen.selected = true;
    for (const name of ["input", "change"]) element.dispatchEvent(new Event(name, { bubbles: true }));
    return { done: true };
  }
  const takesText = element && !element.readOnly && (element.tagName === "TEXTAREA" || (element.tagName === "INPUT" &&
    !["button", "checkbox", "file", "image", "radio", "range", "reset", "submit"].includes(element.type)));
  if (!takesText) return { focus: false };
  if (!["text", "search", "url", "tel", "password", "textarea", "email", "number"].includes(element.type)) {
    element.value = text;
    for (const name of ["input", "change"]) element.dispatchEvent(new Event(name, { bubbles: true }));
    return { done: true };
  }
  if (replace) element.select();
  return {};
}"""
_SCROLL_JS = """({ x, y, dx, dy }) => {
  let element = x === undefined ? null : document.elementFromPoint(x, y);
  const scrolls = (at) => {
    const style = getComputedStyle(at);
    return (dy && at.scrollHeight > at.clientHeight && /auto|scroll/.test(style.overflowY)) ||
      (dx && at.scrollWidth > at.clientWidth && /auto|scroll/.test(style.overflowX));
  };
  while (element && !scrolls(element)) element = element.parentElement;
  (element || document.scrollingElement).scrollBy({ left: dx, top: dy, behavior: "instant" });
}"""


@dataclass(frozen=True, slots=True)
class PageActions:
    """Actions in the Playwright page of an episode's window."""

    page: Any
    viewport: Viewport
    app_urls: AppUrls

    async def act(self, tool: str, arguments: Arguments) -> None:
        """Perform an action; raises ActionRejectedError."""
        await _ACTIONS[tool](self, arguments)

    async def click(self, arguments: Arguments) -> None:
        """Click at a point or on an element. Select lists are only focused, as screenshots do not show them open."""
        x, y = (
            (arguments["x"], arguments["y"])
            if set(arguments) >= _POINT_FIELDS
            else await self._locate_testid(arguments["testid"])
        )
        self._check_point(x, y)
        if not await self.page.evaluate(_FOCUS_SELECT_AT_JS, [x, y]):
            await self.page.mouse.click(x, y)

    async def type(self, arguments: Arguments) -> None:
        """Type into the focused field, or select an option of the focused list."""
        text, replace = str(arguments["text"]), bool(arguments.get("replace", False))
        result = await self.page.evaluate(_PREPARE_INPUT_JS, {"text": text, "replace": replace})
        if "focus" in result:
            raise ActionRejectedError(
                "nothing-focused", "No text field focused", "Focus a text field or a list first.", 409
            )
        if "options" in result:
            option_list = ", ".join(result["options"][:MAX_LISTED_TESTIDS])
            raise ActionRejectedError(
                "unknown-option", "Unknown option", f'text must be one of {option_list}; got "{text}"'
            )
        if "done" in result:
            return
        if text:
            await self.page.keyboard.insert_text(text)
        elif replace:
            await self.page.keyboard.press("Delete")

    async def press(self, arguments: Arguments) -> None:
        """Press a key. Keys that would open a select list do nothing."""
        key = arguments["key"]
        if key in ("Enter", "Space") and await self.page.evaluate(_IS_SELECT_FOCUSED_JS):
            return
        await self.page.keyboard.press(key)

    async def scroll(self, arguments: Arguments) -> None:
        """Scroll the element at a point, or the page."""
        point = {name: arguments[name] for name in _POINT_FIELDS & set(arguments)}
        if point:
            self._check_point(point["x"], point["y"])
        await self.page.evaluate(_SCROLL_JS, {"dx": arguments.get("dx", 0), "dy": arguments["dy"], **point})

    async def goto(self, arguments: Arguments) -> None:
        """Open an address of the apps; raises ActionRejectedError."""
        await self.page.goto(self.app_urls.to_url(arguments["address"]))

    def _check_point(self, x: float, y: float) -> None:
        width, height = self.viewport.width, self.viewport.height
        if not (0 <= x < width and 0 <= y < height):
            detail = f"x must be 0 to {width - 1} and y 0 to {height - 1}; got ({x:g}, {y:g})"
            raise ActionRejectedError("outside-viewport", "Point outside the window", detail)

    async def _locate_testid(self, testid: str) -> tuple[float, float]:
        result = await self.page.evaluate(_FIND_TESTID_JS, testid)
        if "at" in result:
            x, y = result["at"]
            return x, y
        if result["count"] > 1:
            detail = f'{result["count"]} elements have the testid "{testid}". Click at a point instead.'
            raise ActionRejectedError("ambiguous-testid", "Testid not unique", detail)
        visible_testids = ", ".join(result["others"][:MAX_LISTED_TESTIDS])
        raise ActionRejectedError(
            "unknown-testid", "Unknown testid", f'testid must be one of {visible_testids}; got "{testid}"'
        )


def check_arguments(tool: str, arguments: Arguments) -> None:
    """Raise InvalidArgumentsError if the arguments of a browser tool are invalid."""
    BROWSER_TOOLS[tool].check(arguments)
    names = set(arguments)
    if tool == CLICK and not (names == _POINT_FIELDS or names == {"testid"}):
        raise InvalidArgumentsError("arguments must contain x and y, or testid alone")
    if tool == SCROLL and len(names & _POINT_FIELDS) == 1:
        raise InvalidArgumentsError("arguments must contain both of x and y, or none")


_ACTIONS: dict[str, Callable[[PageActions, Arguments], Awaitable[None]]] = {
    CLICK: PageActions.click,
    TYPE: PageActions.type,
    PRESS: PageActions.press,
    SCROLL: PageActions.scroll,
    GOTO: PageActions.goto,
}
