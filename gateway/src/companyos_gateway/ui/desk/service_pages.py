"""The layout around the pages of an app, and the requests for these pages."""

from __future__ import annotations

from urllib.parse import parse_qsl, quote, urlencode

from companyos_gateway.engine.episode import Episode
from companyos_gateway.engine.errors import GatewayError
from companyos_gateway.engine.openapi_operations import PATH_SAFE, QUERY_SAFE
from companyos_gateway.engine.service_client import ServiceCall
from companyos_gateway.engine.toolbox import Toolbox
from companyos_gateway.page_paths import DOT_SEGMENTS
from companyos_shared.pages import AppLink, FormResult, Shell
from companyos_shared.pages.forms import DONE

DESK = "desk"


def build_shell(
    episode: Episode,
    toolbox: Toolbox,
    root: str,
    app: str = "",
    form_error: FormResult | None = None,
    *,
    shows_outcome: bool,
) -> Shell:
    """Return the layout of an app, or of the desk."""
    apps = tuple(AppLink(name=name, title=title, href=f"{root}/{name}/") for name, title in toolbox.page_titles.items())
    return Shell(
        app=app or DESK,
        title=toolbox.page_titles.get(app, "CompanyOS"),
        prefix=f"{root}/{app}" if app else root,
        home=root,
        apps=apps,
        now=episode.now,
        person=_person_name(episode),
        notice=_notice(episode, shows_outcome=shows_outcome),
        form_result=form_error,
    )


def _person_name(episode: Episode) -> str:
    person_id = episode.task.instance.acting_as
    person = episode.task.company.person(person_id)
    return person.name if person is not None else person_id


def _notice(episode: Episode, *, shows_outcome: bool) -> str | None:
    if not episode.done:
        return None
    if not shows_outcome:
        return "The episode is over. Further actions are not executed."
    outcome = str(episode.outcome).replace("_", " ")
    return f"The episode is over. Outcome: {outcome}. Return: {episode.progress.ledger.return_:.1f}."


_NOT_SENT = frozenset({"token", DONE})


class UnknownPageError(GatewayError):
    status, code, title = 404, "unknown-page", "Page not found"
    default_detail = "The address names no page."


def build_page_call(path: str, query: str, shell: Shell) -> ServiceCall:
    """Return the request for a page; raises UnknownPageError (404).

    `path` is decoded, `query` is not. A token and the result of a form are removed from the query. Submitted form
    values are left out if they exceed the size limit of a message.
    """
    if not DOT_SEGMENTS.isdisjoint(path.split("/")):
        raise UnknownPageError
    query_items = [item for item in parse_qsl(query, keep_blank_values=True) if item[0] not in _NOT_SENT]
    query = urlencode(query_items, safe=QUERY_SAFE, quote_via=quote)
    target = f"/pages/{quote(path, safe=f'{PATH_SAFE}/')}{'?' if query_items else ''}{query}"
    for candidate in (shell, _without_typed(shell)):
        call = ServiceCall("POST", target, candidate.model_dump_json().encode())
        if call.is_within_limits:
            return call
    raise UnknownPageError


def _without_typed(shell: Shell) -> Shell:
    form_error = None if shell.form_result is None else shell.form_result.model_copy(update={"typed": ()})
    return shell.model_copy(update={"form_result": form_error})
