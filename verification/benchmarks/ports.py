"""Helpers for local ports."""

from __future__ import annotations

import socket
import time

HOST = "127.0.0.1"
DEADLINE_S = 30.0


def free_port() -> int:
    """Return an unused port."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def wait_for_port(port: int) -> None:
    """Wait until the port accepts connections; raises TimeoutError."""
    deadline = time.monotonic() + DEADLINE_S
    while True:
        with socket.socket() as probe:
            if probe.connect_ex((HOST, port)) == 0:
                return
        if time.monotonic() > deadline:
            raise TimeoutError(f"Port {port} does not accept connections")
        time.sleep(0.02)
