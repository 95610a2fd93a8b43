"""Runs `vf-eval` on the tasks of a split, with a model stub that lists the tickets and gives up, or is cut off."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path

URL = sys.argv[1]
TASKS = 3
RETURN = -5.2
"""Return of an episode with one read and a `finish` that gives up. A cut-off episode is ended with the same return."""

LOOK = {"type": "call_tool", "tool_name": "ticketdesk_list_tickets", "arguments": {"limit": 1}}
GIVES_UP = {"outcome": "impossible", "summary": "Nothing more to see."}
FINISH = {"type": "call_tool", "tool_name": "finish", "arguments": GIVES_UP}


class Stub(BaseHTTPRequestHandler):
    """A chat completion stub: the first turn reads, the second ends the episode."""

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        turns = sum(message["role"] == "assistant" for message in request["messages"])
        reply = {"role": "assistant", "content": json.dumps(FINISH if turns else LOOK)}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        head = {"id": "1", "created": 0, "model": "stub"}
        end = {"index": 0, "finish_reason": "stop"}
        if request.get("stream"):
            chunk = head | {"object": "chat.completion.chunk", "choices": [end | {"delta": reply}], "usage": usage}
            payload, kind = f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode(), "text/event-stream"
        else:
            body = head | {"object": "chat.completion", "choices": [end | {"message": reply}], "usage": usage}
            payload, kind = json.dumps(body).encode(), "application/json"
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, *_):
        """Suppress request logs."""


stub = ThreadingHTTPServer(("127.0.0.1", 0), Stub)
threading.Thread(target=stub.serve_forever, daemon=True).start()


def evaluate(limits):
    """Return the traces of an evaluation, one per task."""
    with tempfile.TemporaryDirectory() as out:
        command = [str(Path(sys.executable).parent / "vf-eval"), "companyos_verifiers"]
        options = {
            "env.taskset.base-url": URL,
            "env.taskset.split": "test",
            "env.taskset.count": TASKS,
            "client.base-url": f"http://127.0.0.1:{stub.server_port}/v1",
            "client.api-key-var": "STUB_KEY",
            "env.player.runtime.type": "subprocess",
            "model": "stub",
            "output-dir": out,
        } | limits
        command += [word for name, value in options.items() for word in (f"--{name}", str(value))]
        command += ["--no-rich", "--no-push"]
        completed = subprocess.run(
            command, env=os.environ | {"STUB_KEY": "none"}, capture_output=True, text=True, check=False
        )
        if completed.returncode:
            sys.exit(completed.stdout[-2000:] + completed.stderr[-2000:])
        (traces,) = Path(out).rglob("traces.jsonl")
        episodes = [json.loads(line) for line in traces.read_bytes().splitlines()]
    assert len(episodes) == TASKS, len(episodes)
    assert all(episode["ok"] for episode in episodes), [episode["errors"] for episode in episodes]
    return [episode["traces"][0] for episode in episodes]


for limits, turns in (({}, 2), ({"env.player.max-turns": 1}, 1)):
    for trace in evaluate(limits):
        assert abs(trace["rewards"]["openenv_reward"]["score"] - RETURN) < 1e-9, trace["rewards"]
        assert len([node for node in trace["nodes"] if node["message"]["role"] == "assistant"]) == turns
print(json.dumps({"version": version("verifiers"), "episodes": 2 * TASKS, "steps": 4 * TASKS}))
