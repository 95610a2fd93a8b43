"""Paths of the console and the desk."""

from __future__ import annotations

from urllib.parse import quote

from starlette.routing import compile_path

DOT_SEGMENTS = frozenset({".", ".."})
"""Segments that a URL library resolves, so that the path would leave its root."""

CONSOLE_ROOT = "/console"
CONSOLE_START = f"{CONSOLE_ROOT}/-/start"
CONSOLE_END = f"{CONSOLE_ROOT}/-/end"
CONSOLE_SIGN_OUT = f"{CONSOLE_ROOT}/-/sign-out"
CONSOLE_STATIC = f"{CONSOLE_ROOT}/static"
CONSOLE_EPISODE = f"{CONSOLE_ROOT}/episodes/{{episode_id}}"
CONSOLE_COMPARE = f"{CONSOLE_ROOT}/compare"
CONSOLE_RESULTS = f"{CONSOLE_ROOT}/results"
CONSOLE_RUN = f"{CONSOLE_RESULTS}/{{run}}"
CONSOLE_SCENARIOS = f"{CONSOLE_ROOT}/scenarios"
CONSOLE_SCENARIO = f"{CONSOLE_SCENARIOS}/{{name}}"

TRAINER_COOKIE = "companyos_trainer"
"""Cookie of the trainer's browser session."""

CONSOLE_FORMS = frozenset({CONSOLE_START, CONSOLE_END, CONSOLE_SIGN_OUT})


def is_console_path(path: str) -> bool:
    """Return whether a path belongs to the console."""
    return path == CONSOLE_ROOT or path.startswith(f"{CONSOLE_ROOT}/")


def viewer_path(episode_id: str) -> str:
    """Return the path at which the console shows an episode, while it is stored."""
    return CONSOLE_EPISODE.format(episode_id=quote(episode_id, safe=""))


DESK_ROOT = "/v1/episodes/{episode_id}/apps"
DESK_APP = f"{DESK_ROOT}/{{service}}"
DESK_OPEN = f"{DESK_ROOT}/-/open"
DESK_FORM = f"{DESK_ROOT}/-/{{tool}}"
APP_PAGE = f"{DESK_ROOT}/{{service}}/{{path:path}}"
APP_FORM = f"{DESK_ROOT}/{{service}}/-/{{operation}}"

DESK_ROUTES = frozenset(
    {
        ("GET", DESK_ROOT),
        ("GET", f"{DESK_ROOT}/"),
        ("GET", DESK_OPEN),
        ("GET", DESK_APP),
        ("POST", DESK_FORM),
        ("GET", APP_PAGE),
        ("POST", APP_FORM),
    }
)
"""Routes of pages that accept an episode token."""

FORM_ROUTES = frozenset({DESK_FORM, APP_FORM})
"""Routes that accept a form; all others accept JSON."""

STEPS_SCOPE_KEY = "companyos.taken"
"""Scope key of a list from an in-process caller, to which the steps of a page request are appended."""

EPISODE_COOKIE = "companyos_episode"
"""Cookie of a browser session for the apps of an episode."""

_DESK_PATTERNS = tuple(compile_path(path)[0] for _, path in sorted(DESK_ROUTES))
_FORM_PATTERNS = tuple(compile_path(path)[0] for path in sorted(FORM_ROUTES | CONSOLE_FORMS))


def is_desk_path(path: str) -> bool:
    """Return whether a path belongs to the apps of an episode."""
    return any(pattern.match(path) for pattern in _DESK_PATTERNS)


def accepts_form(path: str) -> bool:
    """Return whether a path accepts a form."""
    return any(pattern.match(path) for pattern in _FORM_PATTERNS)


def desk_root(episode_id: str, root_path: str) -> str:
    """Return the path prefix of an episode's apps."""
    return f"{root_path}{DESK_ROOT.format(episode_id=quote(episode_id, safe=''))}"
