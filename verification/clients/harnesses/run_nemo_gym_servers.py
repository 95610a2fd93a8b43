"""Runs `gym env start` and `gym eval run`: Gym's servers, its simple agent and a model stub play exported rows."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path

URL = sys.argv[1]
TASKS = 3
SERVERS = ("resources_servers/companyos", "responses_api_agents/simple_agent", "responses_api_models/openai_model")
INTEGRATION = Path(__file__).resolve().parents[3] / "integrations" / "nemo-gym"
CALLS = (("ticketdesk_list_tickets", {"limit": 1}), ("finish", {"outcome": "impossible", "summary": "No more."}))
READY_WITHIN_S = 400.0


class Stub(BaseHTTPRequestHandler):
    """A model stub: one read, the end of the work, and a final message."""

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        turn = sum(item.get("type") == "function_call_output" for item in request["input"])
        if turn < len(CALLS):
            name, arguments = CALLS[turn]
            reply = {"type": "function_call", "id": f"f{turn}", "call_id": f"c{turn}", "status": "completed"}
            reply |= {"name": name, "arguments": json.dumps(arguments)}
        else:
            text = {"type": "output_text", "text": "Done.", "annotations": []}
            reply = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [text]}
        head = {"id": "r", "created_at": 0, "model": "stub", "object": "response", "parallel_tool_calls": True}
        body = json.dumps(head | {"output": [reply], "tool_choice": "auto", "tools": []}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Suppress request logs."""


def prepare_folder(folder):
    """Prepare the servers' folder as its README describes, with this environment for every server."""
    shutil.copytree(INTEGRATION / "resources_servers", folder / "resources_servers")
    settings = folder / "resources_servers" / "companyos" / "configs" / "companyos.yaml"
    settings.write_text(settings.read_text().replace("http://127.0.0.1:8000", URL))
    for server in SERVERS:
        (folder / "environments" / server).mkdir(parents=True)
        (folder / "environments" / server / ".venv").symlink_to(sys.prefix)
    command = [os.environ["COMPANYOS"], "tasks", "export", "--format", "nemo-gym", "--split", "test", "-n", str(TASKS)]
    data = folder / "resources_servers" / "companyos" / "data"
    subprocess.run([*command, "--out", str(data), "--url", URL], capture_output=True, check=True)


def start(folder, model):
    """Start Gym's servers and return their process once all are ready; otherwise exit with their last output."""
    model_options = ["--model", "stub", "--model-url", model, "--model-api-key", "none"]
    model_options += ["+skip_venv_if_present=true", f"+uv_venv_dir={folder / 'environments'}"]
    log = folder / "servers.log"
    with log.open("w") as reply:
        servers = subprocess.Popen(
            [GYM, "env", "start", "--resources-server", "companyos", "--model-type", "openai_model", *model_options],
            cwd=folder,
            env=ENVIRONMENT,
            stdout=reply,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    deadline = time.monotonic() + READY_WITHIN_S
    while f"All {len(SERVERS)} / {len(SERVERS)} servers ready" not in log.read_text():
        if servers.poll() is not None or time.monotonic() > deadline:
            stop(servers)
            sys.exit(log.read_text()[-2000:])
        time.sleep(0.5)
    return servers


def stop(servers):
    """Interrupt the servers, and kill them after 30 seconds."""
    if servers.poll() is None:
        servers.send_signal(signal.SIGINT)
    try:
        servers.wait(30)
    except subprocess.TimeoutExpired:
        os.killpg(servers.pid, signal.SIGKILL)
        servers.wait()


GYM = str(Path(sys.prefix) / "bin" / "gym")
PATH = f"{Path(sys.prefix) / 'bin'}{os.pathsep}{os.environ['PATH']}"
ENVIRONMENT = os.environ | {"PATH": PATH, "RAY_AUTH_MODE": "disabled"}

stub = ThreadingHTTPServer(("127.0.0.1", 0), Stub)
threading.Thread(target=stub.serve_forever, daemon=True).start()
with tempfile.TemporaryDirectory() as out:
    here = Path(out)
    prepare_folder(here)
    servers = start(here, f"http://127.0.0.1:{stub.server_port}/v1")
    try:
        rows = here / "resources_servers" / "companyos" / "data" / "test.jsonl"
        command = [GYM, "eval", "run", "--no-serve", "--agent", "companyos_simple_agent", "--input", str(rows)]
        command += ["--output", str(here / "played.jsonl")]
        completed = subprocess.run(command, cwd=here, env=ENVIRONMENT, capture_output=True, text=True, check=False)
        if completed.returncode:
            sys.exit(completed.stdout[-2000:] + completed.stderr[-2000:])
    finally:
        stop(servers)
    played = [json.loads(line) for line in (here / "played.jsonl").read_bytes().splitlines()]
assert len(played) == TASKS, len(played)
for episode in played:
    assert episode["steps"] == len(CALLS), episode["steps"]
    assert episode["success"] == 0.0
    assert -1 <= episode["reward"] < 0, episode["reward"]
    assert sum(item["type"] == "function_call_output" for item in episode["response"]["output"]) == len(CALLS)
print(json.dumps({"version": version("nemo-gym"), "episodes": TASKS, "steps": TASKS * len(CALLS)}))
