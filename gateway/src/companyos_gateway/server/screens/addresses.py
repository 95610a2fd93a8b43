"""Where a window may be: below the apps of its own episode, and nowhere else."""

from __future__ import annotations

from typing import Final
from urllib.parse import unquote, urlsplit

from companyos_gateway.server.apps.paths import root_of
from companyos_gateway.server.screens.errors import Refused
from companyos_shared.pages import MOUNT

ORIGIN: Final = "http://companyos"
"""What the window calls the house. No name server knows the name, and none is asked."""

DESK: Final = "/"
_DOTS = frozenset({".", ".."})


class Premises:
    """The addresses of one episode's apps, as the window has them and as its agent is told them."""

    def __init__(self, episode_id: str) -> None:
        self.root = root_of(episode_id, "")

    def url_of(self, address: str) -> str:
        """Return the URL of an address below the apps; raises Refused for one that is elsewhere."""
        full = address.removeprefix(ORIGIN)
        is_full = full == self.root or full.startswith(f"{self.root}/")
        way = (full.removeprefix(self.root) or DESK) if is_full else address
        if not _is_below(way):
            raise Refused(
                "foreign-address",
                "The address is none of the episode's apps",
                "Addresses begin with a single / and stay below the apps: / is the desk.",
            )
        return f"{ORIGIN}{self.root}{'' if way == DESK else way}"

    def address_of(self, url: str) -> str:
        """Return where a URL is below the apps; the desk for one that is elsewhere."""
        way = url.removeprefix(ORIGIN)
        return (way.removeprefix(self.root) or DESK) if self.has(url) else DESK

    def has(self, url: str) -> bool:
        """Say whether a URL is a page of the episode's apps."""
        parts = urlsplit(url)
        is_below = parts.path == self.root or parts.path.startswith(f"{self.root}/")
        return f"{parts.scheme}://{parts.netloc}" == ORIGIN and is_below and _is_below(parts.path)

    def may_load(self, url: str) -> bool:
        """Say whether a URL is what the pages load: style sheets, scripts, pictures."""
        parts = urlsplit(url)
        return f"{parts.scheme}://{parts.netloc}" == ORIGIN and parts.path.startswith(f"{MOUNT}/")

    def told(self, text: str) -> str:
        """Return a text in which the addresses of the apps are as the agent is told them."""
        return text.replace(f"{self.root}/", "/").replace(self.root, "/")


def _is_below(way: str) -> bool:
    path = way.partition("?")[0].partition("#")[0]
    is_plain = way.isprintable() and "\\" not in way and way.startswith("/") and not way.startswith("//")
    return is_plain and _DOTS.isdisjoint(unquote(path).split("/"))
