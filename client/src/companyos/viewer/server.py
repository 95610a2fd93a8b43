"""Read-only HTTP server for the viewer of a stored run, on 127.0.0.1."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from pydantic import BaseModel

from companyos.rescorers import Rescorer, RescorerUnavailableError
from companyos.viewer.document import Judged
from companyos.viewer.page import SERVER_POLICY, STYLE, server_page, static_file
from companyos.viewer.stored_run import NotARunError, StoredRun, UnknownEpisodeError

HOST = "127.0.0.1"
_ALLOWED_HOSTS = frozenset({HOST, "localhost"})
"""Allowed Host headers; other names are rejected to protect against DNS rebinding."""

RescorerLoader = Callable[[], Rescorer]
"""Function that loads the rescorer. Raises RescorerUnavailableError."""


class ViewerServer(ThreadingHTTPServer):
    """Serves a run; a changed list is reloaded, so a page reload shows new episodes of a running evaluation."""

    daemon_threads = True

    def __init__(self, run: StoredRun, *, port: int = 0, load_rescorer: RescorerLoader | None = None) -> None:
        super().__init__((HOST, port), _RequestHandler)
        self._run = run
        self._stamp: tuple[int, int] | None = (0, 0)
        self._load_judge = load_rescorer
        self._rescore_lock = Lock()

    @property
    def url(self) -> str:
        """URL of the server."""
        return f"http://{HOST}:{self.server_address[1]}/"

    def answer(self, path: str) -> tuple[str, str]:
        """Return content type and body of a path. Raises LookupError, NotARunError and OSError."""
        match [unquote(part) for part in path.split("/")[1:]]:
            case [""]:
                return "text/html", server_page(self._run.title, static="static", source={"run": "run.json"})
            case ["static", name]:
                return "text/css" if name == STYLE else "text/javascript", static_file(name)
            case ["run.json"]:
                judged = (lambda name: f"judged/{quote(name, safe='')}") if self._load_judge is not None else None
                return _json(self._read().document(lambda name: f"episodes/{quote(name, safe='')}", judged))
            case ["episodes", name]:
                return _json(self._read().episode(name))
            case ["judged", name] if self._load_judge is not None:
                return _json(self._rescored(name, self._load_judge))
        raise LookupError(path)

    def _read(self) -> StoredRun:
        stamp = self._run.stamp()
        if stamp != self._stamp:
            self._run, self._stamp = StoredRun(self._run.path), stamp
        return self._run

    def _rescored(self, name: str, load_rescorer: RescorerLoader) -> Judged:
        with self._rescore_lock:
            try:
                rescorer = load_rescorer()
            except RescorerUnavailableError as error:
                return Judged(fault=str(error))
            return self._read().judged(name, rescorer)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore closed connections; other errors keep their traceback."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _RequestHandler(BaseHTTPRequestHandler):
    server: ViewerServer
    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_GET(self) -> None:
        """Respond with a page, a file or a document."""
        host = urlsplit(f"//{self.headers.get('Host', '')}").hostname
        if host not in _ALLOWED_HOSTS:
            self._send(HTTPStatus.FORBIDDEN, "text/plain", "Host must be localhost or 127.0.0.1.")
            return
        try:
            kind, text = self.server.answer(urlsplit(self.path).path)
        except (UnknownEpisodeError, NotARunError, OSError) as error:
            self._send(HTTPStatus.NOT_FOUND, "application/json", json.dumps({"title": str(error)}))
        except LookupError:
            self._send(HTTPStatus.NOT_FOUND, "application/json", json.dumps({"title": "Not found."}))
        else:
            self._send(HTTPStatus.OK, kind, text)

    def log_message(self, format: str, *args: Any) -> None:
        """Suppress the log, which would mix with the command's output in the terminal."""

    def _send(self, status: HTTPStatus, kind: str, text: str) -> None:
        body = text.encode("utf-8")
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", SERVER_POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)


def _json(document: BaseModel) -> tuple[str, str]:
    return "application/json", json.dumps(document.model_dump(mode="json"), allow_nan=False, separators=(",", ":"))
