"""A server that streams an episode to the viewer step by step."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from companyos.viewer import SCRIPTS, SERVER_POLICY, STYLE, EpisodeDocument, server_page, static_file


class LiveServer(ThreadingHTTPServer):
    """Streams the first two steps of an episode, and one further step for each release of `more`."""

    daemon_threads = True

    def __init__(self, whole: EpisodeDocument) -> None:
        super().__init__(("127.0.0.1", 0), _LiveHandler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}/"
        self.whole = whole.model_dump(mode="json")
        self.more = threading.Semaphore(0)
        self.requested: list[str] = []

    def __enter__(self) -> LiveServer:
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    def begun(self) -> dict[str, Any]:
        """Return the initial episode."""
        facts = {**self.whole["facts"], "outcome": None, "success": None}
        return {**self.whole, "facts": facts, "steps": self.whole["steps"][:2], "verdict": None, "judged": None}


class _LiveHandler(BaseHTTPRequestHandler):
    server: LiveServer

    def do_GET(self) -> None:
        if self.path.startswith("/live/events"):
            self._events()
            return
        name = self.path.rpartition("/")[2]
        if self.path == "/live/episode":
            kind, text = "application/json", json.dumps(self.server.begun())
        elif name in (*SCRIPTS, STYLE):
            kind, text = "text/css" if name == STYLE else "text/javascript", static_file(name)
        else:
            source = {"episode": "/live/episode", "events": "/live/events"}
            kind, text = "text/html", server_page("Live", static="/static", source=source)
        self._send_head(kind)
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def _events(self) -> None:
        self.server.requested.append(self.path)
        self._send_head("text/event-stream")
        for step in self.server.whole["steps"][2:]:
            self.server.more.acquire(timeout=60)
            self._send_event("step", step, step["number"])
        fields = {name: value for name, value in self.server.whole.items() if name not in ("steps", "format")}
        self._send_event("end", fields, len(self.server.whole["steps"]))

    def _send_event(self, event: str, data: Any, number: int) -> None:
        self.wfile.write(f"id: {number}\nevent: {event}\ndata: {json.dumps(data)}\n\n".encode())
        self.wfile.flush()

    def _send_head(self, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Security-Policy", SERVER_POLICY)
        self.end_headers()
