"""What a service is asked for a page with: an address in its one spelling, and a shell of a size that it reads."""

from __future__ import annotations

from urllib.parse import parse_qsl, quote, urlencode

from companyos_gateway.episode.errors import GatewayProblem
from companyos_gateway.episode.link import ServiceCall
from companyos_gateway.episode.operations import PATH_SAFE, QUERY_SAFE
from companyos_shared.pages import Shell

_DOTS = frozenset({".", ".."})


class UnknownPage(GatewayProblem):
    status, code, title = 404, "unknown-page", "There is no such page"


def page_call(path: str, query: str, shell: Shell) -> ServiceCall:
    """Return the request for a page; `path` is decoded, `query` is as it came. Raises UnknownPage (404).

    What was typed is left out where a message would not hold it; a token in the address is no service's business.
    """
    if not _DOTS.isdisjoint(path.split("/")):
        raise UnknownPage
    asked = [(name, text) for name, text in parse_qsl(query, keep_blank_values=True) if name != "token"]
    query = urlencode(asked, safe=QUERY_SAFE, quote_via=quote)
    target = f"/pages/{quote(path, safe=f'{PATH_SAFE}/')}{'?' if asked else ''}{query}"
    for shown in (shell, _without_typed(shell)):
        call = ServiceCall("POST", target, shown.model_dump_json().encode())
        if call.fits:
            return call
    raise UnknownPage


def _without_typed(shell: Shell) -> Shell:
    said = None if shell.said is None else shell.said.model_copy(update={"typed": ()})
    return shell.model_copy(update={"said": said})
