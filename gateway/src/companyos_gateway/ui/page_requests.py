"""Forms, session cookies and error pages of the routes for browsers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from fastapi import Request
from fastapi.responses import RedirectResponse, Response

from companyos_gateway.engine.episode import Episode
from companyos_gateway.engine.errors import GatewayError
from companyos_gateway.middleware.auth import AGENT_SCOPE_KEY, TRAINER_SCOPE_KEY
from companyos_gateway.middleware.body_limit import BODY_SCOPE_KEY
from companyos_gateway.middleware.browser_sessions import SESSION_LIFETIME_S, BrowserSessions
from companyos_gateway.middleware.error_responses import problem_page, problem_response
from companyos_shared.pages import MalformedFormError, SubmittedForm, parse_form

SEE_OTHER = 303


class InvalidFormError(GatewayError):
    status, code, title = 400, "malformed-form", "Invalid form"


async def page_or_error(show: Callable[[], Awaitable[Response]], request: Request | None = None) -> Response:
    """Return the response of `show`, or an error page for a GatewayError.

    If the request accepts JSON and no HTML, the error is `application/problem+json`.
    """
    try:
        return await show()
    except GatewayError as problem:
        accepted = "" if request is None else request.headers.get("Accept", "")
        if "json" in accepted and "text/html" not in accepted:
            return problem_response(problem)
        return problem_page(problem)


def submitted(request: Request) -> SubmittedForm:
    """Return the submitted form; raises InvalidFormError (400). The middleware rejects forms of other sites."""
    try:
        return parse_form(request.scope[BODY_SCOPE_KEY])
    except MalformedFormError as malformed:
        raise InvalidFormError(str(malformed)) from malformed


def begin_session(request: Request, sessions: BrowserSessions, path: str, cookie: str) -> Response:
    """Begin a session for a path and its subpaths, and redirect to the path without the token."""
    response = RedirectResponse(path, SEE_OTHER)
    agent: Episode | None = request.scope.get(AGENT_SCOPE_KEY)
    if agent is not None or TRAINER_SCOPE_KEY in request.scope:
        response.set_cookie(
            cookie,
            sessions.begin(None if agent is None else agent.internal_id),
            max_age=SESSION_LIFETIME_S,
            path=path,
            secure=request.url.scheme == "https",
            httponly=True,
            samesite="strict",
        )
    return response


def end_session(request: Request, sessions: BrowserSessions, path: str, cookie: str) -> Response:
    """End the session of a browser and redirect to the sign-in page."""
    sessions.end(request.cookies.get(cookie, ""))
    response = RedirectResponse(path, SEE_OTHER)
    response.delete_cookie(cookie, path=path, httponly=True, samesite="strict")
    return response
