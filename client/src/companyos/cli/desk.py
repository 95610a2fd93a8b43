"""The desk of an episode: the company's pages in a browser, with the token that opens them."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import quote

from companyos.cli.terminal import OUT, has_screen, shown


@dataclass(frozen=True)
class Desk:
    """Where an episode's pages are."""

    url: str
    episode_id: str
    token: str | None = field(repr=False)

    @property
    def address(self) -> str:
        """The address that opens the desk once and for all: the browser keeps the token."""
        asked = "" if self.token is None else f"?token={quote(self.token, safe='')}"
        return f"{self.url}/v1/episodes/{quote(self.episode_id, safe='')}/apps{asked}"

    def open(self) -> None:
        """Print the address, and open it where there is a screen."""
        OUT.print(shown(self.address), soft_wrap=True)
        if has_screen():
            import webbrowser

            webbrowser.open(self.address)
