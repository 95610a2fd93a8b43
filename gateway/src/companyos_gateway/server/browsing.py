"""What everything that a browser is served has in common: forms, cookies, refusals as pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from fastapi import Request
from fastapi.responses import RedirectResponse, Response

from companyos_gateway.episode.errors import GatewayProblem
from companyos_gateway.server.apps.refusals import refusal_page
from companyos_gateway.server.guard import BODY_SCOPE_KEY
from companyos_shared.pages import MalformedForm, SubmittedForm, read_form

SEE_OTHER = 303


class InvalidForm(GatewayProblem):
    status, code, title = 400, "malformed-form", "The form does not fit"


async def shown(show: Callable[[], Awaitable[Response]]) -> Response:
    """Return what is shown, or the refusal as a page."""
    try:
        return await show()
    except GatewayProblem as problem:
        return refusal_page(problem)


def submitted(request: Request) -> SubmittedForm:
    """Return the form that was posted; raises InvalidForm (400). TrustedHosts has refused forms of other sites."""
    try:
        return read_form(request.scope[BODY_SCOPE_KEY])
    except MalformedForm as malformed:
        raise InvalidForm(str(malformed)) from malformed


def remembered(path: str, cookie: str, token: str) -> Response:
    """Let the browser keep a token for a path and all below, and take it out of the address."""
    answer = RedirectResponse(path, SEE_OTHER)
    if token.isascii() and token.isprintable():
        answer.set_cookie(cookie, token, path=path, httponly=True, samesite="strict")
    return answer
