"""Measures the echo environment that `openenv init` generates, in a server process, with the generated client."""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from timing import READ, SAME_TASK, measure, print_report

CASES = 200
DEADLINE_S = 60.0
HOST = "127.0.0.1"


def serve(folder):
    """Start the server on a free port and wait until it listens; return the process and the port."""
    with socket.create_server((HOST, 0)) as chosen:
        port = chosen.getsockname()[1]
    options = ("--host", HOST, "--port", str(port), "--log-level", "error")
    server = subprocess.Popen([sys.executable, "-m", "uvicorn", "echo.server.app:app", *options], cwd=folder)
    deadline = time.monotonic() + DEADLINE_S
    while socket.socket().connect_ex((HOST, port)) and server.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    return server, port


def step(number):
    """Echo a message."""
    assert env.step(EchoAction(message=str(number))).observation.echoed_message == str(number)


with tempfile.TemporaryDirectory() as folder:
    openenv = Path(sys.executable).with_name("openenv")
    subprocess.run([openenv, "init", "echo", "--output-dir", folder], stdout=subprocess.DEVNULL, check=True)
    sys.path.insert(0, folder)
    from echo.client import EchoEnv
    from echo.models import EchoAction

    server, port = serve(folder)
    try:
        with EchoEnv(base_url=f"http://{HOST}:{port}").sync() as env:
            resets = measure(SAME_TASK, "no data", CASES, lambda _: env.reset())
            steps = measure(READ, "echo a message", CASES, step)
    finally:
        server.terminate()
        server.wait()
print_report("openenv", "WebSocket, one server process", resets, steps)
