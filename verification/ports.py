"""Helpers for local ports."""

from __future__ import annotations

import socket
import time

HOST = "127.0.0.1"
DEADLINE_S = 30.0


def free_port() -> int:
    """Return an unused port that the system gives no other process for a minute.

    A closed connection keeps its port in use for that long. Only a server that sets SO_REUSEADDR can listen on it, and
    the system does not choose it for others.
    """
    with socket.create_server((HOST, 0)) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        accepted.close()  # the side that closes first is the one that waits
        port: int = listener.getsockname()[1]
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
