"""What an agent does in a window: a click, a key, a text, a way to scroll or to go."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from companyos.contract import Viewport
from companyos_gateway.episode.browser_tools import BROWSER_TOOLS, CLICK, GOTO, PRESS, SCROLL, TYPE
from companyos_gateway.episode.toolbox import ArgumentsMisfit
from companyos_gateway.server.screens.addresses import Premises
from companyos_gateway.server.screens.errors import Refused

Arguments = Mapping[str, Any]

MOST_NAMED = 60
"""Testids that a refusal names at most."""

_POINT: Final = frozenset({"x", "y"})

_FOCUSED_LIST = "() => document.activeElement?.tagName === 'SELECT'"
_FOCUS_LIST_AT = """([x, y]) => {
  const list = document.elementFromPoint(x, y)?.closest("select");
  if (list && !list.disabled) list.focus();
  return Boolean(list);
}"""
_FIND = """(testid) => {
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
_READY_TO_TYPE = """({ text, replace }) => {
  const one = document.activeElement;
  if (one?.tagName === "SELECT") {
    const words = (told) => told.replace(/\\s+/g, " ").trim();
    const wanted = words(text);
    const options = [...one.options];
    const chosen = options.find((option) => words(option.label) === wanted || option.value === wanted);
    if (!chosen) return { options: options.map((option) => words(option.label)) };
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
_SCROLL = """({ x, y, dx, dy }) => {
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
class Hand:
    """What acts: in a page of Playwright's, of a known size, on the premises of one episode."""

    page: Any
    viewport: Viewport
    premises: Premises

    async def act(self, tool: str, arguments: Arguments) -> None:
        """Carry an action out; raises Refused where the window does not take it."""
        await _ACTIONS[tool](self, arguments)

    async def click(self, asked: Arguments) -> None:
        """Click at a point or on an element; a list is focused, since the picture would not show it open."""
        x, y = (asked["x"], asked["y"]) if set(asked) >= _POINT else await self._find(asked["testid"])
        self._check_point(x, y)
        if not await self.page.evaluate(_FOCUS_LIST_AT, [x, y]):
            await self.page.mouse.click(x, y)

    async def type(self, asked: Arguments) -> None:
        """Type into what has the focus, or choose from the list that has it."""
        text, replace = str(asked["text"]), bool(asked.get("replace", False))
        found = await self.page.evaluate(_READY_TO_TYPE, {"text": text, "replace": replace})
        if "focus" in found:
            raise Refused("nothing-focused", "Nothing takes the text", "Nothing that takes text has the focus.", 409)
        if "options" in found:
            known = ", ".join(found["options"][:MOST_NAMED])
            raise Refused("unknown-option", "The list has no such option", f"The options are: {known}.")
        if "done" in found:
            return
        if text:
            await self.page.keyboard.insert_text(text)
        elif replace:
            await self.page.keyboard.press("Delete")

    async def press(self, asked: Arguments) -> None:
        """Press a key; those that would open a list do nothing."""
        key = asked["key"]
        if key in ("Enter", "Space") and await self.page.evaluate(_FOCUSED_LIST):
            return
        await self.page.keyboard.press(key)

    async def scroll(self, asked: Arguments) -> None:
        """Scroll what lies under a point, or the page."""
        point = {name: asked[name] for name in _POINT & set(asked)}
        if point:
            self._check_point(point["x"], point["y"])
        await self.page.evaluate(_SCROLL, {"dx": asked.get("dx", 0), "dy": asked["dy"], **point})

    async def goto(self, asked: Arguments) -> None:
        """Open an address of the apps."""
        await self.page.goto(self.premises.url_of(asked["address"]))

    def _check_point(self, x: float, y: float) -> None:
        width, height = self.viewport.width, self.viewport.height
        if not (0 <= x < width and 0 <= y < height):
            told = f"({x:g}, {y:g}) is not within 0 to {width - 1} and 0 to {height - 1}."
            raise Refused("outside-viewport", "The point is outside of the window", told)

    async def _find(self, testid: str) -> tuple[float, float]:
        found = await self.page.evaluate(_FIND, testid)
        if "at" in found:
            x, y = found["at"]
            return x, y
        if found["count"] > 1:
            told = f"{found['count']} elements have that testid; click at a point."
            raise Refused("ambiguous-testid", "The testid is not of one element alone", told)
        named = ", ".join(found["others"][:MOST_NAMED])
        raise Refused("unknown-testid", "No element that is shown has that testid", f"Those that are shown: {named}.")


def check_arguments(tool: str, arguments: Arguments) -> None:
    """Raise ArgumentsMisfit where the arguments do not fit a tool of the browser."""
    BROWSER_TOOLS[tool].check(arguments)
    given = set(arguments)
    if tool == CLICK and not (given == _POINT or given == {"testid"}):
        raise ArgumentsMisfit("arguments must contain x and y, or testid alone")
    if tool == SCROLL and len(given & _POINT) == 1:
        raise ArgumentsMisfit("arguments must contain both of x and y, or none")


_ACTIONS: dict[str, Callable[[Hand, Arguments], Awaitable[None]]] = {
    CLICK: Hand.click,
    TYPE: Hand.type,
    PRESS: Hand.press,
    SCROLL: Hand.scroll,
    GOTO: Hand.goto,
}
