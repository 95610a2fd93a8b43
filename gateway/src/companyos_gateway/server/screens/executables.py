"""Which Chromium is started."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from companyos_gateway.episode.errors import BrowserMissing
from companyos_gateway.server.screens.errors import chromium_missing

NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
"""What a Chromium on the path is called."""


def executable(named: Path | None, own: Path) -> Path:
    """Return the Chromium to start: the one that is named, Playwright's `own`, or one on the path.

    Raises BrowserMissing (409).
    """
    if named is not None:
        if not named.is_file():
            raise BrowserMissing(f"COMPANYOS_CHROMIUM names {named}, which is no file.")
        return named
    if own.is_file():
        return own
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        raise chromium_missing()
    return Path(found)
