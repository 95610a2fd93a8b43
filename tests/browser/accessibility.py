"""Accessibility problems of a page, found by axe in light and dark."""

from __future__ import annotations

from typing import Any

from tests.browser.conftest import WIDE

SERIOUS = ("serious", "critical")
SCHEMES: dict[str, dict[str, Any]] = {
    "light": {"resultTypes": ["violations"]},
    "dark": {"resultTypes": ["violations"], "runOnly": ["color-contrast"]},
}
"""Color schemes with axe's options: in dark mode, only the colors differ."""


def faults_of(page: Any, width: int, place: str) -> list[str]:
    """Return the serious problems of the current page, and whether it is wider than its window.

    Dark mode is checked only at WIDE.
    """
    from axe_playwright_python.sync_playwright import Axe

    faults = []
    for scheme in SCHEMES if width == WIDE else ("light",):
        page.emulate_media(color_scheme=scheme)
        faults += [
            f"{place}, {scheme}: {violation['id']} at {violation['nodes'][0]['target']}"
            for violation in Axe().run(page, options=SCHEMES[scheme]).response["violations"]
            if violation["impact"] in SERIOUS
        ]
    page.emulate_media(color_scheme="light")
    if page.evaluate("document.documentElement.scrollWidth") > width:
        faults.append(f"{place}: wider than {width}")
    return faults
