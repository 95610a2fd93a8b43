"""What a request says about the worker that it belongs to: the episode, snapshot, session or token that it names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import parse_qsl, unquote

from companyos_gateway.engine.tokens import TOKEN_LENGTH

Headers = Sequence[tuple[bytes, bytes]]

_IN_PATH = re.compile(r"/(?:v1/(?:episodes|snapshots|quarantine)|console/(?:episodes|finished))/([^/]+)")
_IN_JSON = re.compile(rb'"(?:episode_id|session_id)"\s*+:\s*+"([^"\\]{1,128})"')
_IN_FORM = re.compile(rb"(?:^|&)episode_id=([^&]{1,384})")
_IN_ANSWER = re.compile(rb'"(?:episode_id|session_id|token|snapshot)"\s*+:\s*+"([^"\\]{1,128})"')
_EPISODE_HEADER = b"x-companyos-episode"
_CREATING = frozenset({"/reset", "/v1/episodes"})
_MESSAGE_START = 512
"""Bytes in which an error says what it is."""

_UNKNOWN_STATUSES = frozenset({401, 404})
_UNKNOWN_MESSAGE = re.compile(
    rb"""
    (?: \A \{"jsonrpc":"2\.0","id":(?:null|-?\d+|"[^"\\]*"),"error":\{"code":-?\d+,   # JSON-RPC
      | \{"type":"error","data":\{                                                   # a frame of OpenEnv's socket
    )
    "message":"(?:unknown-episode:|unknown-snapshot:|Unknown[ ]session_id:)
    """,
    re.VERBOSE,
)


def named_key(method: str, path: str, query: bytes, headers: Headers, body: bytes, trainer: str | None) -> str | None:
    """Return the id or episode token that says whose request it is, None if any worker can answer it.

    `trainer` is the trainer's token, which belongs to no episode.
    """
    if (in_path := _IN_PATH.match(path)) is not None:
        return in_path[1]
    if (header := _header(headers, _EPISODE_HEADER)) is not None:
        return header.decode("latin-1")
    if b"episode_id=" in query:
        found = next((value for name, value in parse_qsl(query.decode("latin-1")) if name == "episode_id"), None)
        if found is not None:
            return found
    if method == "POST" and (in_json := _IN_JSON.search(body)) is not None:
        return in_json[1].decode("utf-8", "replace")
    if method == "POST" and (in_form := _IN_FORM.search(body)) is not None:
        return unquote(in_form[1].decode("latin-1"))
    token = (_header(headers, b"authorization") or b"").partition(b" ")[2].strip().decode("latin-1")
    return token if len(token) == TOKEN_LENGTH and token != trainer else None


def creates_episode(method: str, path: str) -> bool:
    """Say whether the request starts an episode, whose id it may choose."""
    return method == "POST" and path in _CREATING


def keys_in_answer(body: bytes) -> Iterable[str]:
    """Yield the ids and tokens that a worker has given out in a JSON answer."""
    return (match.decode("utf-8", "replace") for match in _IN_ANSWER.findall(body))


def is_unknown(status: int, body: bytes) -> bool:
    """Say whether a worker answered that it does not know what the request names, and so has done nothing."""
    return status in _UNKNOWN_STATUSES or names_unknown(body)


def names_unknown(message: bytes) -> bool:
    """Say whether a JSON-RPC response or a frame of the socket is the error of a name that is not known."""
    return _UNKNOWN_MESSAGE.search(message, 0, _MESSAGE_START) is not None


def client_headers(peer: str, headers: Headers, environment: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """Return the headers that tell a worker the address and the scheme of a client.

    What a client says of itself counts only if `FORWARDED_ALLOW_IPS` names its address, as in uvicorn: then it is a
    proxy, and the last address that it forwards is the client's.
    """
    trusted = {name.strip() for name in environment.get("FORWARDED_ALLOW_IPS", "").split(",")}
    is_proxy = "*" in trusted or peer in trusted
    forwarded_for = _header(headers, b"x-forwarded-for") if is_proxy else None
    scheme = _header(headers, b"x-forwarded-proto") if is_proxy else None
    address = peer.encode("latin-1") if forwarded_for is None else forwarded_for.rpartition(b",")[2].strip()
    return [(b"x-forwarded-for", address), (b"x-forwarded-proto", scheme or b"http")]


def _header(headers: Headers, name: bytes) -> bytes | None:
    return next((value for key, value in headers if key.lower() == name), None)
