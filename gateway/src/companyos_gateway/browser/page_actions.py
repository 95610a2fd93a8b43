"""Actions of an agent in a window: click, key press, text input, scroll, navigation."""

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
"""Testids that a refusal names at most."""

_POINT_FIELDS: Final = frozenset({"x", "y"})

_IS_SELECT_FOCUSED_JS = "() => document.activeElement?.tagName === 'SELECT'"
_FOCUS_SELECT_AT_JS = """([x, y]) => {
  const list = document.elementFromPoint(x, y)?.closest("select");
  if (list && !list.disabled) list.focus();
  return Boolean(list);
}"""
_FIND_TESTID_JS = """(testid) => {
  const found = [...document.querySelectorAll("[data-testid]")].filter((one) => one.dataset.testid === testid);
  const isSeen = (one) => one.getClientRects().length > 0 && getComputedStyle(one).visibility === "visible";
  if (found.length === 1 && isSeen(found[0])) {
    found[0].scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
    const box = found[0].getClientRects()[0];
    return { at: [box.left + box.width / 2, box.top + box.height / 2] };
  }
  const others = [...document.querySelectorAll("[data-testid]")].filter(isSeen).map((one) => one.dataset.testid);
  return { count: found.length, others: [...new Set(others)] };
}"""
_PREPARE_INPUT_JS = """({ text, replace }) => {
  const one = document.activeElement;
  if (one?.tagName === "SELECT") {
    const normalize = (label) => label.replace(/\\s+/g, " ").trim();
    const expected = normalize(text);
    const options = [...one.options];
    const chosen = options.find((option) => normalize(option.label) === expected || option.value === expected);
    if (!chosen) return { options: options.map((option) => normalize(option.label)) };
    chosen.selected = true;
    for (const name of ["input", "change"]) one.dispatchEvent(new Event(name, { bubbles: true }));
    return { done: true };
  }
  const takesText = one && !one.readOnly && (one.tagName === "TEXTAREA" || (one.tagName === "INPUT" &&
    !["button", "checkbox", "file", "image", "radio", "range", "reset", "submit"].includes(one.type)));
  if (!takesText) return { focus: false };
  if (!["text", "search", "url", "tel", "password", "textarea", "email", "number"].includes(one.type)) {
    one.value = text;
    for (const name of ["input", "change"]) one.dispatchEvent(new Event(name, { bubbles: true }));
    return { done: true };
  }
  if (replace) one.select();
  return {};
}"""
_SCROLL_JS = """({ x, y, dx, dy }) => {
  let one = x === undefined ? null : document.elementFromPoint(x, y);
  const scrolls = (at) => {
    const style = getComputedStyle(at);
    return (dy && at.scrollHeight > at.clientHeight && /auto|scroll/.test(style.overflowY)) ||
      (dx && at.scrollWidth > at.clientWidth && /auto|scroll/.test(style.overflowX));
  };
  while (one && !scrolls(one)) one = one.parentElement;
  (one || document.scrollingElement).scrollBy({ left: dx, top: dy, behavior: "instant" });
}"""


@dataclass(frozen=True, slots=True)
class PageActions:
    """Runs actions in a Playwright page of a known size, restricted to the URLs of one episode."""

    page: Any
    viewport: Viewport
    app_urls: AppUrls

    async def act(self, tool: str, arguments: Arguments) -> None:
        """Carry an action out; raises Refused where the window does not take it."""
        await _ACTIONS[tool](self, arguments)

    async def click(self, arguments: Arguments) -> None:
        """Click at a point or on an element; a list is focused, since the picture would not show it open."""
        x, y = (
            (arguments["x"], arguments["y"])
            if set(arguments) >= _POINT_FIELDS
            else await self._locate_testid(arguments["testid"])
        )
        self._check_point(x, y)
        if not await self.page.evaluate(_FOCUS_SELECT_AT_JS, [x, y]):
            await self.page.mouse.click(x, y)

    async def type(self, arguments: Arguments) -> None:
        """Type into what has the focus, or choose from the list that has it."""
        text, replace = str(arguments["text"]), bool(arguments.get("replace", False))
        result = await self.page.evaluate(_PREPARE_INPUT_JS, {"text": text, "replace": replace})
        if "focus" in result:
            raise ActionRejectedError(
                "nothing-focused", "Nothing takes the text", "Nothing that takes text has the focus.", 409
            )
        if "options" in result:
            option_list = ", ".join(result["options"][:MAX_LISTED_TESTIDS])
            raise ActionRejectedError(
                "unknown-option", "The list has no such option", f"The options are: {option_list}."
            )
        if "done" in result:
            return
        if text:
            await self.page.keyboard.insert_text(text)
        elif replace:
            await self.page.keyboard.press("Delete")

    async def press(self, arguments: Arguments) -> None:
        """Press a key; those that would open a list do nothing."""
        key = arguments["key"]
        if key in ("Enter", "Space") and await self.page.evaluate(_IS_SELECT_FOCUSED_JS):
            return
        await self.page.keyboard.press(key)

    async def scroll(self, arguments: Arguments) -> None:
        """Scroll what lies under a point, or the page."""
        point = {name: arguments[name] for name in _POINT_FIELDS & set(arguments)}
        if point:
            self._check_point(point["x"], point["y"])
        await self.page.evaluate(_SCROLL_JS, {"dx": arguments.get("dx", 0), "dy": arguments["dy"], **point})

    async def goto(self, arguments: Arguments) -> None:
        """Open an address of the apps."""
        await self.page.goto(self.app_urls.to_url(arguments["address"]))

    def _check_point(self, x: float, y: float) -> None:
        width, height = self.viewport.width, self.viewport.height
        if not (0 <= x < width and 0 <= y < height):
            detail = f"({x:g}, {y:g}) is not within 0 to {width - 1} and 0 to {height - 1}."
            raise ActionRejectedError("outside-viewport", "The point is outside of the window", detail)

    async def _locate_testid(self, testid: str) -> tuple[float, float]:
        result = await self.page.evaluate(_FIND_TESTID_JS, testid)
        if "at" in result:
            x, y = result["at"]
            return x, y
        if result["count"] > 1:
            detail = f"{result['count']} elements have that testid; click at a point."
            raise ActionRejectedError("ambiguous-testid", "The testid is not of one element alone", detail)
        visible_testids = ", ".join(result["others"][:MAX_LISTED_TESTIDS])
        raise ActionRejectedError(
            "unknown-testid", "No element that is shown has that testid", f"Those that are shown: {visible_testids}."
        )


def check_arguments(tool: str, arguments: Arguments) -> None:
    """Raise InvalidArgumentsError where the arguments do not fit a tool of the browser."""
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
