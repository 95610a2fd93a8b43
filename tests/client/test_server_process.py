"""Servers as child processes of the client."""

from __future__ import annotations

import socket

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
