"""Where the apps of an episode are."""

from __future__ import annotations

from urllib.parse import quote

from starlette.routing import compile_path

from companyos_gateway.server.console.paths import FORMS as CONSOLE_FORMS

ROOT = "/v1/episodes/{episode_id}/apps"
APP = f"{ROOT}/{{service}}"
OWN_FORM = f"{ROOT}/-/{{tool}}"
PAGE = f"{ROOT}/{{service}}/{{path:path}}"
FORM = f"{ROOT}/{{service}}/-/{{operation}}"

APP_DOORS = frozenset(
    {("GET", ROOT), ("GET", f"{ROOT}/"), ("GET", APP), ("POST", OWN_FORM), ("GET", PAGE), ("POST", FORM)}
)
"""What an episode's token opens in a browser."""

FORM_DOORS = frozenset({OWN_FORM, FORM})
"""What takes a form, where every other door takes JSON."""

TAKEN_SCOPE_KEY = "companyos.taken"
"""Where whoever asks for a page inside the process finds the steps that were taken for it."""

COOKIE = "companyos_episode"
"""The cookie of a browser's session at the desk of an episode."""

_INSIDE = tuple(compile_path(path)[0] for _, path in sorted(APP_DOORS))
_FORMS = tuple(compile_path(path)[0] for path in sorted(FORM_DOORS | CONSOLE_FORMS))


def is_app(path: str) -> bool:
    """Say whether a path leads to a page for a browser."""
    return any(pattern.match(path) for pattern in _INSIDE)


def takes_form(path: str) -> bool:
    """Say whether a path takes a form."""
    return any(pattern.match(path) for pattern in _FORMS)


def root_of(episode_id: str, root_path: str) -> str:
    """Return the path in front of everything of an episode's apps."""
    return f"{root_path}{ROOT.format(episode_id=quote(episode_id, safe=''))}"
