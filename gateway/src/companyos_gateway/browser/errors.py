"""Errors of the browser."""

from __future__ import annotations

from typing import Final

from companyos.extras import install_command
from companyos_shared.wire.problem import ProblemBody

INSTALL: Final = install_command("browser")
INSTALL_CHROMIUM: Final = "playwright install --with-deps chromium"

NO_PLAYWRIGHT: Final = f"Playwright is not installed. Run `{INSTALL}`."
NO_CHROMIUM: Final = f"Chromium not found. Run `{INSTALL_CHROMIUM}`, or set COMPANYOS_CHROMIUM to the executable."


class WindowError(Exception):
    """Raised if a window is unusable because the browser crashed or timed out."""


class ActionRejectedError(Exception):
    """Raised for actions that the page rejects. The agent receives `body`, with a stable code."""

    def __init__(self, code: str, title: str, detail: str, status: int = 422) -> None:
        super().__init__(f"{code}: {detail}")
        self.body = ProblemBody(title=title, status=status, code=code, detail=detail)


BROWSER_RESTARTED: Final = ProblemBody(
    title="Browser restarted after a failure",
    status=503,
    code="browser-restarted",
    detail="The window is open again at the same address without unsubmitted text. The action was not counted.",
)
"""The result of an action during which the browser failed."""
