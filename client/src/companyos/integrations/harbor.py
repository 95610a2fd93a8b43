"""Company container of a Harbor trial: a server, one episode, and a proxy for the agent's MCP requests.

`python -m companyos.integrations.harbor serve TASK` runs in a container beside the agent's. The gateway listens on
loopback and requires a random token that is generated at the start and not stored. The agent's network reaches only
the proxy, which forwards MCP requests of this episode. `verdict`, in the same container, ends and scores the episode.

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
from companyos.runner.episode import GIVE_UP
from companyos.trainer import bearer

AGENT_PORT = 8000
VERDICT_PORT = 8001
MCP = "/mcp"
READY = "/readyz"
VERDICT = "/verdict"
MAX_BODY_BYTES = 64 * 1024
"""Size limit of a message, as in the gateway."""

START_TIMEOUT_S = 240.0
"""Generous start timeout: many trials may start at once on one machine."""

_MAX_LENGTH_DIGITS = 10
"""Maximum number of digits of a content length."""

_LOOPBACK = "127.0.0.1"
_TIMEOUT_S = 60.0
_FORWARDED_HEADERS = ("Accept", "Content-Type", "MCP-Protocol-Version")
_LIMITS = {"COMPANYOS_IDLE_LIMIT_S": "86400"}
"""Agents may be slow, so the idle timeout equals the maximum lifetime of an episode."""


class VerdictUnavailableError(Exception):
    """Raised if the episode has no verdict because of an infrastructure error."""


class Verdict(BaseModel):
    """Rewards that Harbor stores for the trial."""

    reward: float
    """1 for success, 0 otherwise."""
    return_: float
    """Total reward on CompanyOS's scale."""
    steps: int


class TrialEpisode:
    """One episode of a task: forwards the agent's requests and computes the verdict.

    Raises httpx.HTTPStatusError if the server rejects the task.
    """

    def __init__(self, url: str, task: str, *, token: str | None = None) -> None:
        self._trainer = httpx.Client(base_url=url, headers=bearer(token), timeout=_TIMEOUT_S, trust_env=False)
        started = self._trainer.post("/reset", json={"task_id": task, "toolset": "task"}).raise_for_status().json()
        self.episode: str = started["episode_id"]
        self._path = f"/v1/episodes/{self.episode}"
        self._agent = httpx.Client(base_url=url, headers=bearer(started["token"]), timeout=_TIMEOUT_S, trust_env=False)

    def forward(self, message: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
        """Return status and body of one MCP response, without the fields for trainers."""
        answer = self._agent.post(f"{self._path}/mcp", content=message, headers=headers)
        return answer.status_code, _strip_meta(answer.content)

    def fetch_verdict(self) -> Verdict:
        """Return the result of the episode; end it first if it is live.

        Raises VerdictUnavailableError after an infrastructure error.
        """
        state = self._state()
        if not state.done:
            finish_action = {"type": "call_tool", "tool_name": "finish", "arguments": GIVE_UP}
            self._trainer.post(f"{self._path}/step", json={"action": finish_action}).raise_for_status()
            state = self._state()
        if state.outcome in (None, Outcome.INFRA_ERROR):
            raise VerdictUnavailableError("the episode ended with an infrastructure error")
        return Verdict(reward=float(bool(state.success)), return_=state.return_, steps=state.step_count)

    def close(self) -> None:
        """Close the connections; the episode stays live."""
        self._agent.close()
        self._trainer.close()

    def _state(self) -> CompanyOSState:
        answer = self._trainer.get("/state", params={"episode_id": self.episode})
        return CompanyOSState.model_validate(answer.raise_for_status().json())


def agent_server(trial: TrialEpisode, *, host: str = "0.0.0.0", port: int = AGENT_PORT) -> ThreadingHTTPServer:  # noqa: S104
    """Return the server for the agent's network, with only `POST /mcp` and `GET /readyz`."""

    class AgentHandler(_JsonHandler):
        """Handler of the agent's requests."""

        def do_GET(self) -> None:
            self.answer(200 if self.path == READY else 405 if self.path == MCP else 404, b"{}")

        def do_POST(self) -> None:
            headers = {name: value for name in _FORWARDED_HEADERS if (value := self.headers.get(name)) is not None}
            if self.path != MCP:
                self.send_status(404)
            elif (error_status := _header_error_status(self.headers)) is not None:
                self.send_status(error_status)
            else:
                try:
                    self.answer(*trial.forward(self.rfile.read(int(self.headers["Content-Length"])), headers))
                except httpx.HTTPError:
                    self.send_status(502)

    return ThreadingHTTPServer((host, port), AgentHandler)


def verdict_server(trial: TrialEpisode, *, port: int = VERDICT_PORT) -> ThreadingHTTPServer:
    """Return the server for `GET /verdict`, on loopback only."""

    class VerdictHandler(_JsonHandler):
        """Handler of verdict requests."""

        def do_GET(self) -> None:
            if self.path != VERDICT:
                self.send_status(404)
                return
            try:
                verdict = trial.fetch_verdict()
            except (VerdictUnavailableError, httpx.HTTPError):
                self.send_status(503)
                return
            rewards = {"reward": verdict.reward, "return": verdict.return_, "steps": verdict.steps}
            self.answer(200, json.dumps(rewards).encode())

    return ThreadingHTTPServer((_LOOPBACK, port), VerdictHandler)


class _JsonHandler(BaseHTTPRequestHandler):
    """Handler that sends JSON without identifying headers and without log output."""

    protocol_version = "HTTP/1.1"
    timeout = _TIMEOUT_S

    def answer(self, status: int, body: bytes) -> None:
        self.send_response_only(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send_status(self, status: int) -> None:
        """Send a status without content and close the connection, since the request may be unread."""
        self.close_connection = True
        self.answer(status, b"{}")

    def log_message(self, *_: Any) -> None:
        """Suppress the log."""


def _header_error_status(headers: Message) -> int | None:
    """Return the error status for a message with invalid headers, or None if they are valid."""
    lengths = headers.get_all("Content-Length", [])
    if len(lengths) > 1 or "Transfer-Encoding" in headers or not all(map(str.isascii, headers.values())):
        return 400
    length = "".join(lengths)
    if not length.isdecimal():
        return 411
    return 413 if len(length) > _MAX_LENGTH_DIGITS or int(length) > MAX_BODY_BYTES else None


def _strip_meta(answer: bytes) -> bytes:
    """Return an MCP response without its `_meta`, which contains the reward."""
    try:
        response = json.loads(answer)
    except ValueError:
        return answer
    if isinstance(response, dict) and isinstance(response.get("result"), dict):
        response["result"].pop("_meta", None)
    return json.dumps(response, ensure_ascii=False).encode()


def serve(task: str) -> None:
    """Start the gateway and the task, and serve both ports until the process ends."""
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
    """Fetch the verdict from the server of this container. Raises OSError."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"http://{_LOOPBACK}:{VERDICT_PORT}{VERDICT}", timeout=_TIMEOUT_S) as answer:
        return str(answer.read().decode())


def main() -> None:
    """Run the command line; exit with status 1 for an unknown task or an episode without a verdict."""
    parser = argparse.ArgumentParser(prog="python -m companyos.integrations.harbor", description=__doc__)
    what = parser.add_subparsers(dest="what", required=True)
    what.add_parser("serve", help="run the company of a task").add_argument("task", help="the id of the task")
    what.add_parser("verdict", help="end the episode and print its rewards as JSON")
    args = parser.parse_args()
    try:
        if args.what == "serve":
            serve(args.task)
        else:
            sys.stdout.write(_read_verdict() + "\n")
    except httpx.HTTPStatusError as error:
        sys.exit(f"cannot start the task: {error.response.text}")
    except urllib.error.HTTPError:
        sys.exit("no verdict: the episode ended with an infrastructure error")
    except (EnterpriseError, OSError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
