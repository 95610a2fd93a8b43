"""A tiny environment behind OpenEnv's own server, for client tests that need no company."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
import uvicorn
from fastapi import FastAPI
from openenv.core.env_server.http_server import HTTPEnvServer
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.mcp_types import ListToolsObservation, Tool, ToolError, ToolErrorType
from openenv.core.env_server.types import ConcurrencyConfig

from companyos.contract import (
    ENVIRONMENT,
    CallToolAction,
    CompanyOSObservation,
    CompanyOSResetObservation,
    CompanyOSState,
    ListToolsAction,
    Outcome,
    ScenarioInfo,
    Split,
    SplitInfo,
    TaskInfo,
    VerdictLimits,
)
from companyos.enterprise import Enterprise
from tests.client.builders import NOW

MAX_STEPS = 20
LIMITS = VerdictLimits(wrong_approvers=2, leaked_characters=8, free_page_views=50)
TASK_SET, TASK_SEED = "1.1.tiny", 3
TASKS = [
    TaskInfo(
        id=f"test.tiny.2.0{index}",
        split=Split.TEST,
        index=index,
        difficulty="moderate",
        group="tiny",
        scenario="tiny",
        chaos=2,
        held_out=index % 2 == 1,
        version=TASK_SET,
        canary="c",
    )
    for index in range(3)
]
MAX_CONNECTIONS = 6
TOOLS = [
    Tool(
        name="add",
        description="Add to the total.",
        input_schema={
            "type": "object",
            "properties": {"amount": {"type": "integer", "minimum": 0, "maximum": 3}},
            "required": ["amount"],
        },
    ),
    Tool(name="finish", description="Finish.", input_schema={"type": "object", "properties": {}}),
]


class TinyEnvironment(Environment[Any, Any, Any]):
    """Succeeds if the total equals the seed.

    The unlisted tool `break` raises an unexpected exception, and `fail` ends the episode by an infrastructure error.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self._state = CompanyOSState()
        self._total = 0

    async def reset_async(self, seed: int | None = None, episode_id: str | None = None, **options: Any) -> Any:
        task_id = options.get("task_id")
        if task_id is not None:
            seed, options = TASK_SEED, {"scenario": "tiny", "chaos": 2}
        if options.get("scenario") != "tiny":
            raise ValueError("unknown-scenario: No scenario is called that.")
        self._total = 0
        chaos = options["chaos"]
        self._state = CompanyOSState(
            episode_id=f"tiny-{seed}-{chaos}",
            scenario="tiny",
            seed=seed,
            chaos=chaos,
            now=NOW,
            max_steps=MAX_STEPS,
            task_id=task_id,
            task_set=task_id and TASK_SET,
        )
        brief = "Add up to the number of T-1."
        return CompanyOSResetObservation(brief=brief, company="Tiny", acting_as="E-1", now=NOW, steps_left=MAX_STEPS)

    async def step_async(self, action: Any, timeout_s: float | None = None, **_: Any) -> Any:
        if isinstance(action, ListToolsAction):
            return ListToolsObservation(tools=TOOLS)
        state = self._state
        state.step_count += 1
        state.now = NOW + timedelta(minutes=state.step_count)
        error, reward = None, -0.1
        match action.tool_name:
            case "add":
                self._total += action.arguments["amount"]
                if self._total == state.seed:
                    reward = self._end(Outcome.SUCCESS)
            case "finish":
                reward = self._end(Outcome.FAILED)
            case "break":
                raise RuntimeError("unexpected failure")
            case "fail":
                error = ToolError(error_type=ToolErrorType.EXECUTION_ERROR, message="infra-error: Internal error.")
                reward = self._end(Outcome.INFRA_ERROR)
            case unknown:
                error = ToolError(error_type=ToolErrorType.TOOL_NOT_FOUND, message=f"No tool is called {unknown!r}.")
        if not state.done and state.step_count == MAX_STEPS:
            reward = self._end(Outcome.OUT_OF_STEPS)
        state.return_ += reward
        return CompanyOSObservation(
            tool_name=action.tool_name,
            result={"total": self._total},
            error=error,
            reward=reward,
            done=state.done,
            now=state.now,
            steps_left=MAX_STEPS - state.step_count,
        )

    def list_splits(self) -> list[SplitInfo]:
        size = {Split.TRAIN: 0, Split.VALIDATION: 0, Split.TEST: len(TASKS)}
        return [
            SplitInfo(name=split, type=split, num_tasks=size[split], version=TASK_SET, canary="c") for split in Split
        ]

    def num_tasks(self, split: str) -> int:
        return len(self.list_tasks(split))

    def list_tasks(self, split: str) -> list[TaskInfo]:
        return TASKS if split == "test" else [task for task in TASKS if task.id.startswith(f"{split}.")]

    def get_task(self, split: str, index: int) -> TaskInfo:
        return self.list_tasks(split)[index].model_copy(update={"brief": "Add up to the number of T-1."})

    def get_task_range(self, split: str, start: int | None = None, stop: int | None = None) -> list[TaskInfo]:
        return self.list_tasks(split)[start:stop]

    def _end(self, outcome: Outcome) -> float:
        self._state.done, self._state.outcome = True, outcome
        self._state.success = outcome is Outcome.SUCCESS
        return 15.0 if self._state.success else -5.0

    def reset(self, seed: int | None = None, episode_id: str | None = None, **_: Any) -> Any:
        raise NotImplementedError

    def step(self, action: Any, timeout_s: float | None = None, **_: Any) -> Any:
        raise NotImplementedError

    @property
    def state(self) -> CompanyOSState:
        return self._state


def _tiny_app() -> FastAPI:
    app = FastAPI()
    server = HTTPEnvServer(
        TinyEnvironment,
        CallToolAction,
        CompanyOSObservation,
        env_name=ENVIRONMENT,
        concurrency_config=ConcurrencyConfig(max_concurrent_envs=8),
        state_cls=CompanyOSState,
    )
    server.register_routes(app)

    @app.get("/v1/episodes/{episode_id}/evidence")
    async def evidence(episode_id: str) -> dict[str, Any]:
        return {"episode": episode_id}

    @app.get("/v1/scenarios")
    async def scenarios() -> list[ScenarioInfo]:
        return [ScenarioInfo(name="tiny", summary="Add up to a number.", limits=LIMITS)]

    return app


@contextmanager
def running_tiny() -> Iterator[tuple[str, Callable[[], None]]]:
    """Run a tiny environment in a thread; yield its address and a function that stops it."""
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(_tiny_app(), log_level="error", ws="websockets-sansio", lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)

    def stop() -> None:
        server.should_exit = True
        thread.join(timeout=10)
        listener.close()

    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}", stop
    stop()


@pytest.fixture(scope="session")
def tiny_url() -> Iterator[str]:
    """Give the address of a running tiny environment."""
    with running_tiny() as (url, _):
        yield url


@dataclass(frozen=True)
class SecuredEnterprise:
    """A real enterprise that requires a token and accepts at most MAX_CONNECTIONS."""

    url: str
    token: str


@pytest.fixture(scope="session")
def guarded() -> Iterator[SecuredEnterprise]:
    """Give a real enterprise with both planes closed."""
    token = "for-trainers-only"
    settings = {"COMPANYOS_TRAINER_TOKEN": token, "COMPANYOS_MAX_WEBSOCKETS": str(MAX_CONNECTIONS)}
    with Enterprise(alone=True, settings=settings) as enterprise:
        yield SecuredEnterprise(enterprise.url, token)
