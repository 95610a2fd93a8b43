"""In-process clients: the oracle over HTTP, and a client of an episode's event stream."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import httpx

from companyos.contract import ToolSpec
from companyos.policies import EpisodeOverError, StepView, TaskView, load_policy
from companyos_shared.streams import Stream

CALM: dict[str, Any] = {"scenario": "handbook_update", "seed": 7, "chaos": 0}


async def begin(client: httpx.AsyncClient, **options: Any) -> dict[str, Any]:
    """Start an episode and return its first observation and id."""
    answer = await client.post("/reset", json={**CALM, **options})
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


async def step(client: httpx.AsyncClient, episode_id: str, tool: str, **arguments: Any) -> dict[str, Any]:
    """Take one step."""
    action = {"tool_name": tool, "arguments": arguments}
    answer = await client.post("/step", json={"episode_id": episode_id, "action": action})
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


async def solve(
    client: httpx.AsyncClient,
    begun: dict[str, Any],
    scenario: str,
    max_steps: int = 200,
    on_step: Callable[[str, dict[str, Any], StepView], None] | None = None,
    type_in: Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]] | None = None,
) -> list[dict[str, Any]]:
    """Play at most `max_steps` steps with the oracle and return them as trajectory lines; call `on_step` after each.

    `type_in` returns the arguments that a call is made with instead of the oracle's.
    """
    first, episode_id = begun["observation"], begun["episode_id"]
    tools = (await client.get("/v1/tools", params={"episode_id": episode_id})).json()
    lines: list[dict[str, Any]] = []

    async def call(tool: str, arguments: dict[str, Any], /) -> StepView:
        if len(lines) == max_steps or (lines and lines[-1]["done"]):
            raise EpisodeOverError
        if type_in is not None:
            arguments = await type_in(tool, arguments)
        answered = await step(client, episode_id, tool, **arguments)
        observation = answered["observation"]
        shared = {"result": observation["result"], "reward": answered["reward"], "done": answered["done"]}
        error = observation["error"]
        lines.append(
            {
                "step": len(lines) + 1,
                "tool": tool,
                "arguments": arguments,
                "error": error,
                "now": observation["now"],
                **shared,
            }
        )
        now, kind = datetime.fromisoformat(observation["now"]), error["error_type"] if error else None
        view = StepView(**shared, error=kind, now=now, steps_left=observation["steps_left"])
        if on_step is not None:
            on_step(tool, arguments, view)
        return view

    task = TaskView(
        scenario=scenario,
        brief=first["brief"],
        company=first["company"],
        acting_as=first["acting_as"],
        now=datetime.fromisoformat(first["now"]),
        steps_left=first["steps_left"],
        tools=tuple(ToolSpec(**{name: tool[name] for name in ToolSpec.model_fields}) for tool in tools),
        stream=Stream("policy", "oracle"),
    )
    with suppress(EpisodeOverError):
        await load_policy("oracle").play(task, call)
    return lines


@dataclass
class StreamViewer:
    """A client of an episode's event stream."""

    status: int = 0
    events: list[tuple[str, str, Any]] = field(default_factory=list)
    """Kind, id and data of each event."""
    received: asyncio.Queue[tuple[str, str, Any]] = field(default_factory=asyncio.Queue)
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def next(self, kind: str) -> Any:
        """Return the data of the next event of a kind and skip all others."""
        async with asyncio.timeout(10):
            while True:
                name, _, data = await self.received.get()
                if name == kind:
                    return data

    @property
    def kinds(self) -> list[str]:
        """The kinds of the received events, without consecutive repetitions."""
        return [kind for at, (kind, _, _) in enumerate(self.events) if at == 0 or self.events[at - 1][0] != kind]

    @property
    def steps(self) -> list[int]:
        """The numbers of the received steps."""
        return [data["number"] for kind, _, data in self.events if kind == "step"]

    def receive_message(self, message: Any) -> None:
        """Process an ASGI message of the app."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            return
        blocks = message.get("body", b"").decode().split("\n\n") if self.status == 200 else []
        for block in blocks:
            fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
            if "event" in fields:
                event = fields["event"], fields["id"], json.loads(fields["data"])
                self.events.append(event)
                self.received.put_nowait(event)


@asynccontextmanager
async def open_stream(app: Any, path: str, query: str = "", **headers: str) -> AsyncIterator[StreamViewer]:
    """Open a stream for the duration of the context."""
    viewer, gone = StreamViewer(), asyncio.Event()
    sent = False

    async def receive() -> Any:
        nonlocal sent
        if not sent:
            sent = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        viewer.receive_message(message)

    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [
            (b"host", b"desk"),
            *((name.replace("_", "-").encode(), text.encode()) for name, text in headers.items()),
        ],
        "client": ("127.0.0.1", 1),
        "server": ("desk", 80),
    }
    task = asyncio.create_task(app(scope, receive, send))
    task.add_done_callback(lambda _done: viewer.ended.set())
    try:
        yield viewer
    finally:
        gone.set()
        async with asyncio.timeout(5):
            await task
