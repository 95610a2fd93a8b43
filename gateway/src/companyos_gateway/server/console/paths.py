"""Where the console is."""

from __future__ import annotations

from urllib.parse import quote

ROOT = "/console"
START = f"{ROOT}/-/start"
END = f"{ROOT}/-/end"
SIGN_OUT = f"{ROOT}/-/sign-out"
STATIC = f"{ROOT}/static"
EPISODE = f"{ROOT}/episodes/{{episode_id}}"
COMPARE = f"{ROOT}/compare"
RESULTS = f"{ROOT}/results"
RUN = f"{RESULTS}/{{run}}"
SCENARIOS = f"{ROOT}/scenarios"
SCENARIO = f"{SCENARIOS}/{{name}}"

COOKIE = "companyos_trainer"
"""The cookie of the trainer's session in a browser."""

FORMS = frozenset({START, END, SIGN_OUT})


def is_console(path: str) -> bool:
    """Say whether a path is one of the console's."""
    return path == ROOT or path.startswith(f"{ROOT}/")


def viewer_of(episode_id: str) -> str:
    """Return the path at which the console shows an episode, as long as it is kept."""
    return EPISODE.format(episode_id=quote(episode_id, safe=""))
