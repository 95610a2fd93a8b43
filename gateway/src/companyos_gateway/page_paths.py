"""Paths of the console and the desk."""

from __future__ import annotations

from urllib.parse import quote

from starlette.routing import compile_path

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
"""The cookie of the trainer's session in a browser."""

CONSOLE_FORMS = frozenset({CONSOLE_START, CONSOLE_END, CONSOLE_SIGN_OUT})


def is_console_path(path: str) -> bool:
    """Say whether a path is one of the console's."""
    return path == CONSOLE_ROOT or path.startswith(f"{CONSOLE_ROOT}/")


def viewer_path(episode_id: str) -> str:
    """Return the path at which the console shows an episode, as long as it is kept."""
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
"""What an episode's token opens in a browser."""

FORM_ROUTES = frozenset({DESK_FORM, APP_FORM})
"""Routes that accept a form; all others accept JSON."""

STEPS_SCOPE_KEY = "companyos.taken"
"""Key under which a caller inside the process finds the steps that were taken for a page."""

EPISODE_COOKIE = "companyos_episode"
"""The cookie of a browser's session at the desk of an episode."""

_DESK_PATTERNS = tuple(compile_path(path)[0] for _, path in sorted(DESK_ROUTES))
_FORM_PATTERNS = tuple(compile_path(path)[0] for path in sorted(FORM_ROUTES | CONSOLE_FORMS))


def is_desk_path(path: str) -> bool:
    """Say whether a path leads to a page for a browser."""
    return any(pattern.match(path) for pattern in _DESK_PATTERNS)


def accepts_form(path: str) -> bool:
    """Say whether a path takes a form."""
    return any(pattern.match(path) for pattern in _FORM_PATTERNS)


def desk_root(episode_id: str, root_path: str) -> str:
    """Return the path in front of everything of an episode's apps."""
    return f"{root_path}{DESK_ROOT.format(episode_id=quote(episode_id, safe=''))}"
