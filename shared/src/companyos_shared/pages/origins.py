"""Where a form was sent from: what a browser says of the page that it stands on."""

from __future__ import annotations

from urllib.parse import urlsplit

_FOREIGN = frozenset({"cross-site", "same-site"})


def is_foreign(site: str | None, origin: str | None = None, host: str | None = None) -> bool:
    """Say whether a form stands on a page of another site.

    By `Sec-Fetch-Site`, which no page can set; of a browser that does not send it, by whether `Origin` names the host
    that was asked. Whoever sends neither is no browser, and has no cookies of somebody else.
    """
    if site is not None:
        return site in _FOREIGN
    if origin is None:
        return False
    return origin == "null" or urlsplit(origin).netloc.lower() != (host or "").lower()
