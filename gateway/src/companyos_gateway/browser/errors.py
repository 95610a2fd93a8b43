"""Errors of screenshots and browser windows."""

from __future__ import annotations

from typing import Final

from companyos_gateway.engine.errors import BrowserMissingError
from companyos_shared.wire.problem import ProblemBody

INSTALL: Final = 'pip install "companyos[browser]"'
INSTALL_CHROMIUM: Final = "playwright install --with-deps chromium"

_NO_PLAYWRIGHT = f"Playwright is not installed: {INSTALL}"
_NO_CHROMIUM = f"No Chromium was found: {INSTALL_CHROMIUM}, or COMPANYOS_CHROMIUM names one."


def missing_extra_error() -> BrowserMissingError:
    """Return what says that the extra is missing."""
    return BrowserMissingError(_NO_PLAYWRIGHT)


def missing_chromium_error() -> BrowserMissingError:
    """Return what says that there is no Chromium."""
    return BrowserMissingError(_NO_CHROMIUM)


class WindowError(Exception):
    """A window that is good for nothing any more: the browser died, or did not answer in time."""


class ActionRejectedError(Exception):
    """An action that the window does not take; it is told to whoever acts, under a stable code."""

    def __init__(self, code: str, title: str, detail: str, status: int = 422) -> None:
        super().__init__(f"{code}: {detail}")
        self.body = ProblemBody(type="about:blank", title=title, status=status, code=code, detail=detail, errors=None)


BROWSER_RESTARTED: Final = ProblemBody(
    type="about:blank",
    title="The browser failed, not you",
    status=503,
    code="browser-restarted",
    detail="The window is open again at the same address; what was typed and not sent is gone. No look was taken.",
    errors=None,
)
"""What is told of an action that the browser did not live to carry out."""
