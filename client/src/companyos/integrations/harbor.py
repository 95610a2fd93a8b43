"""The company of one Harbor trial: an enterprise, one episode in it, and the one door through which its agent acts.

`python -m companyos.integrations.harbor serve TASK` runs in a container beside the agent's. The gateway listens on the
container's own loopback and asks for a token that is drawn at the start and written nowhere; the agent's network
reaches the door alone, which passes MCP on for this episode. `verdict`, in the same container, ends and judges it.
"""

from __future__ import annotations

import argparse
import json
import secrets
import sys
import threading
import urllib.error
import urllib.request
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
from pydantic import BaseModel

from companyos.contract import CompanyOSState, Outcome
from companyos.enterprise import Enterprise, EnterpriseError
from companyos.integrations.session import GIVE_UP
from companyos.trainer import bearer

AGENT_PORT = 8000
VERDICT_PORT = 8001
MCP = "/mcp"
READY = "/readyz"
VERDICT = "/verdict"
MAX_BODY_BYTES = 64 * 1024
"""What a message may hold, as at the gateway itself."""

START_TIMEOUT_S = 240.0
"""Many trials may start at once on one machine."""

_MAX_LENGTH_DIGITS = 10
"""Digits."""

_LOOPBACK = "127.0.0.1"
_TIMEOUT_S = 60.0
_FORWARDED_HEADERS = ("Accept", "Content-Type", "MCP-Protocol-Version")
_LIMITS = {"COMPANYOS_IDLE_LIMIT_S": "86400"}
"""An agent may think for long: the episode waits for as long as an episode may live at all."""


class VerdictUnavailableError(Exception):
    """The house broke the episode, so there is nothing to judge."""


class Verdict(BaseModel):
    """What Harbor keeps as the trial's rewards."""

    reward: float
    """1 for success, 0 for anything else."""
    return_: float
    """The whole reward by the house's scale."""
    steps: int


class TrialEpisode:
    """One episode of a task in an enterprise: what its agent may do, and what its trainer asks in the end.

    Raises httpx.HTTPStatusError where the house refuses the task.
    """

    def __init__(self, url: str, task: str, *, token: str | None = None) -> None:
        self._trainer = httpx.Client(base_url=url, headers=bearer(token), timeout=_TIMEOUT_S, trust_env=False)
        started = self._trainer.post("/reset", json={"task_id": task, "toolset": "task"}).raise_for_status().json()
        self.episode: str = started["episode_id"]
        self._path = f"/v1/episodes/{self.episode}"
        self._agent = httpx.Client(base_url=url, headers=bearer(started["token"]), timeout=_TIMEOUT_S, trust_env=False)

    def forward(self, message: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
        """Return the status and the answer of one MCP message, without what is meant for the trainer."""
        answer = self._agent.post(f"{self._path}/mcp", content=message, headers=headers)
        return answer.status_code, _strip_meta(answer.content)

    def fetch_verdict(self) -> Verdict:
        """Return how the episode ended; one that goes on is given up. Raises VerdictUnavailableError where the house
        broke it.
        """
        state = self._state()
        if not state.done:
            finish_action = {"type": "call_tool", "tool_name": "finish", "arguments": GIVE_UP}
            self._trainer.post(f"{self._path}/step", json={"action": finish_action}).raise_for_status()
            state = self._state()
        if state.outcome in (None, Outcome.INFRA_ERROR):
            raise VerdictUnavailableError("the house broke the episode")
        return Verdict(reward=float(bool(state.success)), return_=state.return_, steps=state.step_count)

    def close(self) -> None:
        """Close the connections; the episode lives on."""
        self._agent.close()
        self._trainer.close()

    def _state(self) -> CompanyOSState:
        answer = self._trainer.get("/state", params={"episode_id": self.episode})
        return CompanyOSState.model_validate(answer.raise_for_status().json())


def agent_server(trial: TrialEpisode, *, host: str = "0.0.0.0", port: int = AGENT_PORT) -> ThreadingHTTPServer:  # noqa: S104
    """Return what the agent's network reaches: `POST /mcp`, and `GET /readyz`. Nothing else is there."""

    class AgentHandler(_JsonHandler):
        """The agent's."""

        def do_GET(self) -> None:
            self.answer(200 if self.path == READY else 405 if self.path == MCP else 404, b"{}")

        def do_POST(self) -> None:
            told = {name: value for name in _FORWARDED_HEADERS if (value := self.headers.get(name)) is not None}
            if self.path != MCP:
                self.send_status(404)
            elif (error_status := _header_error_status(self.headers)) is not None:
                self.send_status(error_status)
            else:
                try:
                    self.answer(*trial.forward(self.rfile.read(int(self.headers["Content-Length"])), told))
                except httpx.HTTPError:
                    self.send_status(502)

    return ThreadingHTTPServer((host, port), AgentHandler)


def verdict_server(trial: TrialEpisode, *, port: int = VERDICT_PORT) -> ThreadingHTTPServer:
    """Return what answers `GET /verdict`, on this machine's loopback alone."""

    class VerdictHandler(_JsonHandler):
        """Harbor's."""

        def do_GET(self) -> None:
            if self.path != VERDICT:
                self.send_status(404)
                return
            try:
                verdict = trial.fetch_verdict()
            except (VerdictUnavailableError, httpx.HTTPError):
                self.send_status(503)
                return
            told = {"reward": verdict.reward, "return": verdict.return_, "steps": verdict.steps}
            self.answer(200, json.dumps(told).encode())

    return ThreadingHTTPServer((_LOOPBACK, port), VerdictHandler)


class _JsonHandler(BaseHTTPRequestHandler):
    """Answers JSON, says nothing of itself and nothing on the terminal."""

    protocol_version = "HTTP/1.1"
    timeout = _TIMEOUT_S

    def answer(self, status: int, body: bytes) -> None:
        self.send_response_only(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send_status(self, status: int) -> None:
        """Answer with nothing but a status; what was not read of the request ends with the connection."""
        self.close_connection = True
        self.answer(status, b"{}")

    def log_message(self, *_: Any) -> None:
        """Keep quiet."""


def _header_error_status(headers: Message) -> int | None:
    """Return the status that a message is refused with because of its headers; None where they fit."""
    lengths = headers.get_all("Content-Length", [])
    if len(lengths) > 1 or "Transfer-Encoding" in headers or not all(map(str.isascii, headers.values())):
        return 400
    length = "".join(lengths)
    if not length.isdecimal():
        return 411
    return 413 if len(length) > _MAX_LENGTH_DIGITS or int(length) > MAX_BODY_BYTES else None


def _strip_meta(answer: bytes) -> bytes:
    """Return an answer of MCP without its `_meta`, which holds the reward."""
    try:
        told = json.loads(answer)
    except ValueError:
        return answer
    if isinstance(told, dict) and isinstance(told.get("result"), dict):
        told["result"].pop("_meta", None)
    return json.dumps(told, ensure_ascii=False).encode()


def serve(task: str) -> None:
    """Start the enterprise, begin the task and serve both doors until this process is ended."""
    token = secrets.token_urlsafe(32)
    enterprise = Enterprise(settings={"COMPANYOS_TRAINER_TOKEN": token, **_LIMITS}, alone=True).start()
    try:
        enterprise.wait_until_ready(START_TIMEOUT_S)
        trial = TrialEpisode(enterprise.url, task, token=token)
        threading.Thread(target=verdict_server(trial).serve_forever, daemon=True).start()
        agent_server(trial).serve_forever()
    finally:
        enterprise.stop()


def _read_verdict() -> str:
    """Return what the judge of this container says. Raises OSError."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"http://{_LOOPBACK}:{VERDICT_PORT}{VERDICT}", timeout=_TIMEOUT_S) as answer:
        return str(answer.read().decode())


def main() -> None:
    """Do what the command line says; a task that there is not, and an episode without a verdict, end with status 1."""
    parser = argparse.ArgumentParser(prog="python -m companyos.integrations.harbor", description=__doc__)
    what = parser.add_subparsers(dest="what", required=True)
    what.add_parser("serve", help="run the company of a task").add_argument("task", help="the id of the task")
    what.add_parser("verdict", help="end the episode, and print its rewards as JSON")
    args = parser.parse_args()
    try:
        if args.what == "serve":
            serve(args.task)
        else:
            sys.stdout.write(_read_verdict() + "\n")
    except httpx.HTTPStatusError as error:
        sys.exit(f"the task cannot be begun: {error.response.text}")
    except urllib.error.HTTPError:
        sys.exit("there is no verdict: the house broke the episode")
    except (EnterpriseError, OSError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
