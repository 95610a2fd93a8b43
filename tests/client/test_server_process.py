"""Servers as child processes of the client."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

from companyos.server_process import HOST
from companyos.services import ServiceProcess

pytestmark = pytest.mark.integration


def test_no_other_process_can_take_the_port_of_a_starting_server() -> None:
    process = ServiceProcess("ticketdesk", "companyos_ticketdesk.main:app")
    try:
        port = int(process.start().url.rpartition(":")[2])
        with pytest.raises(OSError, match="in use"):
            socket.create_server((HOST, port))
        process.wait_until_ready()
    finally:
        process.stop()
    socket.create_server((HOST, port)).close()


def test_a_server_starts_although_the_standard_input_of_its_parent_is_closed() -> None:
    code = "from companyos.services import run_services\nwith run_services() as urls: print(*urls)"
    command = f"{sys.executable} -c '{code}' <&-"
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True)
    assert "ticketdesk" in done.stdout, done.stderr
