"""Selection of the Chromium executable."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from companyos_gateway.browser.errors import NO_CHROMIUM
from companyos_gateway.engine.errors import BrowserMissingError

EXECUTABLE_NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
"""Names of Chromium executables on the PATH."""


def find_chromium(configured: Path | None, bundled: Path) -> Path:
    """Return the configured Chromium, else Playwright's `bundled` one, else one on the PATH.

    Raises BrowserMissingError (409).
    """
    if configured is not None:
        if not configured.is_file():
            raise BrowserMissingError(f"COMPANYOS_CHROMIUM must be the path of a file; got {configured}")
        return configured
    if bundled.is_file():
        return bundled
    on_path = next(filter(None, map(shutil.which, EXECUTABLE_NAMES)), None)
    if on_path is None:
        raise BrowserMissingError(NO_CHROMIUM)
    return Path(on_path)
