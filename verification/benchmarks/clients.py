"""Minimal benchmark clients, so that the server dominates the measured time."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, Protocol

import aiohttp
import orjson

from companyos.policies.arguments import ids_in
from companyos_gateway.scenarios.shift_features import QUEUE_TAG

READ, WRITE = "read", "write"
KINDS = (READ, WRITE)
SCENARIO = "vendor_onboarding"


class Player(Protocol):
    """Takes steps of two kinds and returns the duration of each, in seconds."""

    async def step(self, kind: str) -> float:
        """Take one step of a kind."""
        ...


@dataclass
class EchoPlayer:
    """Sends messages to the bare echo."""

    socket: aiohttp.ClientWebSocketResponse

    async def step(self, kind: str) -> float:
        """Send a message of a step's size and await the response."""
        message = {"write": kind == WRITE, "tool_name": "ticketdesk_add_comment", "arguments": {"key": "OPS-1042"}}
        began = time.perf_counter()
        await self.socket.send_str(orjson.dumps(message).decode())
        orjson.loads(await self.socket.receive_str())
        return time.perf_counter() - began


@dataclass
class CompanyPlayer:
    """Plays an episode over a WebSocket or plain HTTP; when it has ended, starts a new one, untimed."""

    client: GatewayClient
    seed: int
    ticket: str = ""
    is_over: bool = True
    comments: int = field(default=0)
    prefetch: int = 0
    """Number of following tasks that the gateway plans ahead at each reset."""

    async def begin(self) -> None:
        """Start an episode with the player's seed."""
        observation = (await self.client.reset(self.seed, self.prefetch))["observation"]
        self.is_over = False
        if named := ids_in(observation["brief"]):
            self.ticket = named[0]
        else:  # a shift names a queue instead
            answer = await self.client.step("ticketdesk_list_tickets", {"tag": QUEUE_TAG})
            self.ticket = answer["observation"]["result"]["items"][0]["key"]

    async def step(self, kind: str) -> float:
        """Read the task's ticket or comment on it, and return the duration in seconds."""
        if self.is_over:
            await self.begin()
        if kind == READ:
            tool, arguments = "ticketdesk_get_ticket", {"key": self.ticket}
        else:
            self.comments += 1
            tool, arguments = "ticketdesk_add_comment", {"key": self.ticket, "body": f"Noted, {self.comments}."}
        return await self.call(tool, arguments)

    async def call(self, tool: str, arguments: dict[str, Any]) -> float:
        """Call a tool and return the duration in seconds. Raises if the call is refused."""
        began = time.perf_counter()
        answer = await self.client.step(tool, arguments)
        duration = time.perf_counter() - began
        observation = answer["observation"]
        if observation["error"] is not None or "code" in (observation["result"] or {}):
            raise RuntimeError(f"{tool} failed: {observation}")
        self.is_over = answer["done"]
        return duration


class GatewayClient(Protocol):
    """A connection to the gateway."""

    async def reset(self, seed: int, prefetch: int = 0) -> dict[str, Any]:
        """Begin an episode."""
        ...

    async def step(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Take a step."""
        ...


async def timed_reset(client: GatewayClient, seed: int) -> float:
    """Return the duration of a reset in seconds."""
    began = time.perf_counter()
    await client.reset(seed)
    return time.perf_counter() - began


def _reset_options(scenario: str, seed: int, prefetch: int) -> dict[str, Any]:
    return {"scenario": scenario, "seed": seed, "chaos": 0, "prefetch": prefetch}


@dataclass
class WebSocketClient:
    """An OpenEnv WebSocket connection."""

    socket: aiohttp.ClientWebSocketResponse
    scenario: str = SCENARIO

    async def reset(self, seed: int, prefetch: int = 0) -> dict[str, Any]:
        """Begin an episode on this connection."""
        return await self._request("reset", _reset_options(self.scenario, seed, prefetch))

    async def step(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Take a step in this connection's episode."""
        return await self._request("step", {"type": "call_tool", "tool_name": tool, "arguments": arguments})

    async def _request(self, kind: str, data: dict[str, Any]) -> dict[str, Any]:
        await self.socket.send_str(orjson.dumps({"type": kind, "data": data}).decode())
        answer: dict[str, Any] = orjson.loads(await self.socket.receive_str())
        if answer["type"] == "error":
            raise RuntimeError(answer["data"]["message"])
        return answer["data"]  # type: ignore[no-any-return]


@dataclass
class HttpClient:
    """Stateful plain HTTP on one persistent connection."""

    session: aiohttp.ClientSession
    url: str
    episode_id: str = ""
    scenario: str = SCENARIO

    async def reset(self, seed: int, prefetch: int = 0) -> dict[str, Any]:
        """Begin an episode and remember its id."""
        answer = await self._post("reset", _reset_options(self.scenario, seed, prefetch))
        self.episode_id = answer["episode_id"]
        return answer

    async def step(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Take a step of the episode."""
        action = {"tool_name": tool, "arguments": arguments}
        return await self._post("step", {"episode_id": self.episode_id, "action": action})

    async def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        headers = {"Content-Type": "application/json"}
        async with self.session.post(f"{self.url}/{path}", data=orjson.dumps(body), headers=headers) as answer:
            content = await answer.read()
            if answer.status != 200:
                raise RuntimeError(content.decode())
            return orjson.loads(content)  # type: ignore[no-any-return]
