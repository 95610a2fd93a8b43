"""Clients in a separate process, so that they can be stopped or killed: `python -m tests.promises.load_clients`."""

from __future__ import annotations

import asyncio
import sys

import orjson

from tests.promises.load_players import open_socket

READY = "playing"


async def _play(socket_url: str, count: int) -> None:
    sockets = [await open_socket(socket_url) for _ in range(count)]
    for socket in sockets:
        await socket.send(orjson.dumps({"type": "reset", "data": {"seed": 1, "chaos": 0}}).decode())
        await socket.recv()
    sys.stdout.write(f"{READY}\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_play(sys.argv[1], int(sys.argv[2])))
