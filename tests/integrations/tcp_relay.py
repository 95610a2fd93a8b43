"""A TCP relay that can lose the server's responses."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

_BLOCK = 65536


class Relay:
    """Forwards bytes between a client and a server; `lose_next_answer` closes the connection instead of a response."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._server = (parts.hostname, parts.port)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._is_dropping = threading.Event()
        self.lost = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listening.getsockname()[1]}"

    def lose_next_answer(self) -> None:
        self._is_dropping.set()

    def __enter__(self) -> Self:
        threading.Thread(target=self._listen, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listening.close()

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                client_socket, _ = self._listening.accept()
                server_socket = socket.create_connection(self._server)
                threading.Thread(target=self._forward, args=(client_socket, server_socket, False), daemon=True).start()
                threading.Thread(target=self._forward, args=(server_socket, client_socket, True), daemon=True).start()

    def _forward(self, source: socket.socket, sink: socket.socket, is_answer: bool) -> None:
        with suppress(OSError):
            while block := source.recv(_BLOCK):
                if is_answer and self._is_dropping.is_set():
                    self._is_dropping.clear()
                    self.lost += 1
                    break
                sink.sendall(block)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
