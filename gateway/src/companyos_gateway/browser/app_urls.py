"""URLs of an episode's apps, the only pages that its window may open."""

from __future__ import annotations

from typing import Final
from urllib.parse import unquote, urlsplit

from companyos_gateway.browser.errors import ActionRejectedError
from companyos_gateway.page_paths import DOT_SEGMENTS, desk_root
from companyos_shared.pages import MOUNT

ORIGIN: Final = "http://companyos"
"""Origin of the gateway inside the window. The name does not exist in DNS and is never looked up."""

DESK: Final = "/"


class AppUrls:
    """Converts between URLs in the window and the addresses that the agent sees, which have no prefix."""

    def __init__(self, episode_id: str) -> None:
        self.root = desk_root(episode_id, "")

    def to_url(self, address: str) -> str:
        """Return the URL of an address; raises ActionRejectedError if it is outside the apps."""
        full = address.removeprefix(ORIGIN)
        is_full = full == self.root or full.startswith(f"{self.root}/")
        relative_url = (full.removeprefix(self.root) or DESK) if is_full else address
        if not _is_safe_path(relative_url):
            raise ActionRejectedError(
                "foreign-address",
                "Address outside the episode's apps",
                f'address must start with a single / and stay below the apps, / is the desk; got "{address}"',
            )
        return f"{ORIGIN}{self.root}{'' if relative_url == DESK else relative_url}"

    def to_address(self, url: str) -> str:
        """Return the address of a URL, or the desk's if the URL is outside the apps."""
        relative_url = url.removeprefix(ORIGIN)
        return (relative_url.removeprefix(self.root) or DESK) if self.contains(url) else DESK

    def contains(self, url: str) -> bool:
        """Return whether a URL is a page of the episode's apps."""
        parts = urlsplit(url)
        is_below = parts.path == self.root or parts.path.startswith(f"{self.root}/")
        return f"{parts.scheme}://{parts.netloc}" == ORIGIN and is_below and _is_safe_path(parts.path)

    def is_asset(self, url: str) -> bool:
        """Return whether a URL is a static file of the pages."""
        parts = urlsplit(url)
        return f"{parts.scheme}://{parts.netloc}" == ORIGIN and parts.path.startswith(f"{MOUNT}/")

    def strip_root(self, text: str) -> str:
        """Return the text without the prefix of the app addresses."""
        return text.replace(f"{self.root}/", "/").replace(self.root, "/")


def _is_safe_path(relative_url: str) -> bool:
    path = relative_url.partition("?")[0].partition("#")[0]
    is_plain = (
        relative_url.isprintable()
        and "\\" not in relative_url
        and relative_url.startswith("/")
        and not relative_url.startswith("//")
    )
    return is_plain and DOT_SEGMENTS.isdisjoint(unquote(path).split("/"))
