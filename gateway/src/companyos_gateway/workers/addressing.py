"""Names in requests that decide which worker serves them: episodes, snapshots, sessions, tokens and the like."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from urllib.parse import parse_qs

import orjson

from companyos_gateway.engine.tokens import TOKEN_LENGTH
from companyos_gateway.page_paths import CONSOLE_START, accepts_form

Headers = Sequence[tuple[bytes, bytes]]


class NameKind(StrEnum):
    """Kinds of names."""

    EPISODE = "episode"
    SNAPSHOT = "snapshot"
    ITEM = "item"
    SESSION = "session"
    TOKEN = "token"  # noqa: S105 - a kind of name


@dataclass(frozen=True, slots=True)
class Name:
    """A name in a request."""

    kind: NameKind
    value: str


_KINDS = {
    "episodes": NameKind.EPISODE,
    "finished": NameKind.EPISODE,
    "snapshots": NameKind.SNAPSHOT,
    "quarantine": NameKind.ITEM,
}
_IN_PATH = re.compile(r"/(?:v1|console)/(episodes|finished|snapshots|quarantine)/([^/]+)")
_RESTORING = re.compile(r"/v1/episodes/[^/]+/restore")
_IN_ANSWER = re.compile(rb'"(?:episode_id|session_id|token|id)"\s*+:\s*+"([^"\\]{1,128})"')
_UNKNOWN_SESSION = re.compile(rb'\A\{"jsonrpc":"2\.0",.{0,200}?"message":"Unknown session_id:', re.DOTALL)
_CODES = {
    NameKind.EPISODE: frozenset({"unknown-episode", "unknown-token"}),
    NameKind.SNAPSHOT: frozenset({"unknown-snapshot", "unknown-token"}),
    NameKind.ITEM: frozenset({"unknown-quarantine-item", "unknown-token"}),
    NameKind.SESSION: frozenset({"unknown-token"}),
    NameKind.TOKEN: frozenset({"unknown-episode", "unknown-token"}),
}
"""Error codes with which a worker reports that it does not know a name."""

_CREATING = frozenset({"/reset", "/v1/episodes", CONSOLE_START})


def find_name(
    method: str, path: str, query: bytes, headers: Headers, body: bytes, trainer_token: str | None
) -> Name | None:
    """Return the name that decides which worker serves a request, None if any worker can.

    The trainer token is ignored, because every worker accepts it.
    """
    if (in_path := _IN_PATH.match(path)) is not None:
        return Name(_KINDS[in_path[1]], in_path[2])
    if not creates_episode(method, path):  # a new episode has the id in the body
        if episode_id := _header(headers, b"x-companyos-episode").decode("latin-1"):
            return Name(NameKind.EPISODE, episode_id)
        if b"episode_id=" in query and (values := parse_qs(query.decode("latin-1")).get("episode_id")):
            return Name(NameKind.EPISODE, values[0])
    if method == "POST" and (in_body := _name_in_body(path, body)) is not None:
        return in_body
    token = _header(headers, b"authorization").partition(b" ")[2].strip().decode("latin-1")
    return Name(NameKind.TOKEN, token) if len(token) == TOKEN_LENGTH and token != trainer_token else None


def creates_episode(method: str, path: str) -> bool:
    """Return whether a request starts an episode."""
    return method == "POST" and path in _CREATING


def new_episode_id(method: str, path: str, body: bytes) -> str | None:
    """Return the id that a request chooses for the episode that it starts, None if it chooses none."""
    if not creates_episode(method, path):
        return None
    value = _episode_id_in_form(body) if accepts_form(path) else _parsed(body).get("episode_id")
    return value if isinstance(value, str) and value else None


def restored_snapshot(method: str, path: str, body: bytes) -> str | None:
    """Return the snapshot to which a request restores an episode, None for other requests."""
    value = _parsed(body).get("snapshot") if method == "POST" and _RESTORING.fullmatch(path) else None
    return value if isinstance(value, str) and value else None


def attached_session(head: bytes) -> str | None:
    """Return the session to which the request for a WebSocket attaches it, None if it gets one of its own."""
    target = head.partition(b"\r\n")[0].split(b" ")[1:2]
    query = b"".join(target).partition(b"?")[2].decode("latin-1")
    return parse_qs(query).get("session_id", [None])[0]


def names_in_answer(method: str, path: str, body: bytes) -> Iterator[str]:
    """Yield the ids and tokens in the response to a request that creates episodes, snapshots or sessions."""
    if creates_episode(method, path) or path == "/mcp" or path.endswith(("/fork", "/snapshots")):
        yield from (match.decode("utf-8", "replace") for match in _IN_ANSWER.findall(body))


def is_unknown(name: Name, problem: str | None, body: bytes) -> bool:
    """Return whether a worker does not know the name and therefore has done nothing.

    `problem` is the code in the header that the gateway adds to its own errors, and never to those of a service.
    """
    return problem in _CODES[name.kind] or (name.kind is NameKind.SESSION and _UNKNOWN_SESSION.match(body) is not None)


def _name_in_body(path: str, body: bytes) -> Name | None:
    """Return the name in a form or a JSON object."""
    if accepts_form(path):
        episode_id = _episode_id_in_form(body)
        return None if episode_id is None else Name(NameKind.EPISODE, episode_id)
    fields = _parsed(body)
    candidates = (
        (NameKind.TOKEN, fields.get("resume")),
        (NameKind.SNAPSHOT, _member(fields.get("injected_state"), "snapshot")),
        (NameKind.EPISODE, fields.get("episode_id")),
        (NameKind.SESSION, _member(fields.get("params"), "session_id")),
    )
    return next((Name(kind, value) for kind, value in candidates if isinstance(value, str) and value), None)


def _episode_id_in_form(body: bytes) -> str | None:
    return parse_qs(body.decode("latin-1")).get("episode_id", [None])[0]


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        fields = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return fields if isinstance(fields, dict) else {}


def _member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _header(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> bytes:
    return next((value for key, value in headers if key.lower() == name), b"")
