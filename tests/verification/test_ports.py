"""Ports for the servers of tests and benchmarks."""

from __future__ import annotations

import socket

import pytest

from verification.ports import HOST, free_port


def test_a_free_port_is_given_only_to_a_server_that_names_it() -> None:
    port = free_port()
    with socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind((HOST, port))
    socket.create_server((HOST, port)).close()
