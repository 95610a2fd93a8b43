"""Thousands of players: each has its own episode, and a canary that no other player may ever see.

`python -m tests.promises.load_players URL COUNT` opens sockets in a separate process, which can be stopped or killed.
"""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Protocol

import aiohttp
import orjson
from websockets.asyncio.client import ClientConnection, connect

CANARY = re.compile(rb"canary\d{5}[0-9a-f]{8}")
STEPS = 20
SEEDS = 16
OPENING_AT_ONCE = 64
HTTP_CONNECTIONS = 32
PATIENCE_S = 300.0
READY = "ready"
"""What a client in a separate process prints once its sockets are open."""


class GatewayClient(Protocol):
    """One protocol of the gateway."""

    async def reset(self, label: str, seed: int) -> dict[str, Any]:
        """Begin an episode with that id."""
        ...

    async def step(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Take a step."""
        ...


@dataclass
class Observations:
    """Combined observations of all players."""

    answers: Counter[str] = field(default_factory=Counter)
    steps: int = 0
    foreign: list[str] = field(default_factory=list)
    unclear: list[str] = field(default_factory=list)
    written: dict[str, Counter[str]] = field(default_factory=dict)


class RequestRefusedError(Exception):
    """Raised for an unexpected response; the message contains it."""


@dataclass
class WebSocketClient:
    """A WebSocket for one player."""

    socket: ClientConnection
    seen: Observations

    async def reset(self, label: str, seed: int) -> dict[str, Any]:
        """Begin an episode with that id."""
        return await self._exchange("reset", {"seed": seed, "chaos": 0, "episode_id": label, "prefetch": seed % 2})

    async def step(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Take a step."""
        return await self._exchange("step", {"type": "call_tool", "tool_name": tool, "arguments": arguments})

    async def _exchange(self, kind: str, data: dict[str, Any]) -> dict[str, Any]:
        await self.socket.send(orjson.dumps({"type": kind, "data": data}).decode())
        answer = orjson.loads(await self.socket.recv())
        self.seen.answers[f"socket {answer['type']}"] += 1
        if answer["type"] != "observation":
            raise RequestRefusedError(str(answer))
        payload: dict[str, Any] = answer["data"]
        return payload


@dataclass
class HttpClient:
    """Plain HTTP over connections that many players share."""

    http: aiohttp.ClientSession
    url: str
    seen: Observations
    label: str = ""

    async def reset(self, label: str, seed: int) -> dict[str, Any]:
        """Begin an episode with that id."""
        self.label = label
        return await self._post("reset", {"seed": seed, "chaos": 0, "episode_id": label, "prefetch": seed % 2})

    async def step(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Take a step."""
        action = {"tool_name": tool, "arguments": arguments}
        return await self._post("step", {"episode_id": self.label, "action": action})

    async def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        headers = {"Content-Type": "application/json"}
        async with self.http.post(f"{self.url}/{path}", data=orjson.dumps(body), headers=headers) as answer:
            content = await answer.read()
            self.seen.answers[f"http {answer.status // 100}xx"] += 1
            if answer.status != 200:
                raise RequestRefusedError(f"{answer.status}: {content.decode()}")
            payload: dict[str, Any] = orjson.loads(content)
            return payload


@dataclass
class Player:
    """One player: reads, writes its canary, and checks all responses for other canaries."""

    number: int
    client: GatewayClient
    seen: Observations
    ticket: str = ""
    team: str = ""
    metric: str = ""

    @property
    def canary(self) -> str:
        """The canary of this player."""
        return canary_of(self.number)

    @property
    def label(self) -> str:
        """The episode's id."""
        return label_of(self.number)

    async def begin(self) -> None:
        """Reset, and find a ticket, its team and a metric for the writes."""
        brief = self._check_answer(await self.client.reset(self.label, self.number % SEEDS))["brief"]
        found = re.search(r"\b[A-Z]{2,4}-\d+\b", brief)
        assert found is not None, brief
        self.ticket = found[0]
        self.team = (await self.call("ticketdesk_get_ticket", key=self.ticket))["team_id"]
        self.metric = (await self.call("datahub_list_metrics", limit=1))["items"][0]["id"]

    async def play(self) -> None:
        """Take the remaining steps, a third of which write."""
        written: Counter[str] = Counter()
        self.seen.written[self.label] = written
        for number in range(STEPS - 2):
            match number % 6:
                case 0:
                    await self.call("ticketdesk_add_comment", key=self.ticket, body=f"{number}: {self.canary}")
                    written["comments"] += 1
                case 1:
                    listed = await self.call("ticketdesk_list_comments", key=self.ticket, limit=50)
                    mine = sum(self.canary in row["body"] for row in listed["items"])
                    assert mine == written["comments"], f"{mine} of {written['comments']} comments of {self.label}"
                case 2:
                    new = {"title": f"{number}: {self.canary}", "type": "task", "team_id": self.team}
                    await self.call("ticketdesk_create_ticket", **new)
                    written["tickets"] += 1
                case 3:
                    await self.call("ticketdesk_list_tickets", limit=20)
                case 4:
                    about = {"subject": self.metric, "kind": "stale", "description": f"{number}: {self.canary}"}
                    await self.call("datahub_report_data_issue", **about)
                    written["data_issues"] += 1
                case _:
                    await self.call("approvalflow_list_approvals")

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Take a step that must succeed, and return its result."""
        observation = self._check_answer(await self.client.step(tool, arguments))
        self.seen.steps += 1
        result: dict[str, Any] | None = observation["result"]
        if observation["error"] is not None or result is None or "code" in result:
            raise RequestRefusedError(f"{tool}: {observation}")
        return result

    def _check_answer(self, answer: dict[str, Any]) -> dict[str, Any]:
        words = {word.decode() for word in CANARY.findall(orjson.dumps(answer))}
        self.seen.foreign += sorted(words - {self.canary})
        observation: dict[str, Any] = answer["observation"]
        return observation


def canary_of(number: int) -> str:
    """Return the canary of a player."""
    return f"canary{number:05d}{sha256(str(number).encode()).hexdigest()[:8]}"


def label_of(number: int) -> str:
    """Return the episode id of a player."""
    return f"load-{number}"


@asynccontextmanager
async def all_begun(url: str, socket_url: str, count: int, seen: Observations) -> AsyncIterator[list[Player]]:
    """Give so many players whose episodes have begun: half on sockets of their own, half over shared HTTP."""
    connector = aiohttp.TCPConnector(limit=HTTP_CONNECTIONS)
    timeout = aiohttp.ClientTimeout(total=PATIENCE_S)
    sockets: list[ClientConnection] = []
    places = asyncio.Semaphore(OPENING_AT_ONCE)

    async def begun(number: int) -> Player:
        async with places:
            if number % 2:
                client: GatewayClient = HttpClient(http, url, seen)
            else:
                sockets.append(await open_socket(socket_url))
                client = WebSocketClient(sockets[-1], seen)
            player = Player(number, client, seen)
            await player.begin()
            return player

    async with aiohttp.ClientSession(connector=connector, timeout=timeout, trust_env=False) as http:
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(begun(number)) for number in range(count)]
            yield [task.result() for task in tasks]
        finally:
            await asyncio.gather(*(socket.close() for socket in sockets))
            await asyncio.gather(*(_delete(http, url, label_of(number)) for number in range(count)))


async def _delete(http: aiohttp.ClientSession, url: str, label: str) -> None:
    async with http.delete(f"{url}/v1/episodes/{label}") as answer:
        assert answer.status in (204, 404), answer.status


async def open_socket(socket_url: str) -> ClientConnection:
    """Open a WebSocket without proxy and pings."""
    return await connect(
        socket_url, proxy=None, compression=None, ping_interval=None, max_size=None, open_timeout=PATIENCE_S
    )


async def abandon(socket_url: str, numbers: range) -> Counter[str]:
    """Begin an episode for each number, write in each, then abort all connections; return the failures."""
    places = asyncio.Semaphore(OPENING_AT_ONCE)
    seen, wrong = Observations(), Counter[str]()

    async def opened(number: int) -> ClientConnection:
        async with places:
            socket = await open_socket(socket_url)
            try:
                player = Player(number, WebSocketClient(socket, seen), seen)
                await player.begin()
                await player.call("ticketdesk_add_comment", key=player.ticket, body=player.canary)
            except (RequestRefusedError, OSError) as error:
                wrong[str(error)[:200]] += 1
            return socket

    for socket in await asyncio.gather(*(opened(number) for number in numbers)):
        socket.transport.abort()
    wrong.update(f"foreign {word}" for word in seen.foreign)
    return wrong


@contextmanager
def client_process(*command: str) -> Iterator[subprocess.Popen[str]]:
    """Run a client in a separate process and yield it once it is ready."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as client:
        try:
            assert client.stdout is not None
            assert client.stdout.readline().strip() == READY, "a slot was not there"
            yield client
        finally:
            client.kill()


async def _hold_sockets(socket_url: str, count: int) -> None:
    """Reset an episode on each of so many sockets, and keep them open until this process is stopped or killed."""
    sockets = [await open_socket(socket_url) for _ in range(count)]
    for socket in sockets:
        await socket.send(orjson.dumps({"type": "reset", "data": {"seed": 1, "chaos": 0}}).decode())
        await socket.recv()
    sys.stdout.write(f"{READY}\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_hold_sockets(sys.argv[1], int(sys.argv[2])))
