"""A resources server of NeMo Gym that plays the tasks of a house: each row names its task, each tool call is a step."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, HTTPException, Request
from nemo_gym.base_resources_server import (
    BaseResourcesServerConfig,
    BaseSeedSessionRequest,
    BaseSeedSessionResponse,
    BaseVerifyRequest,
    BaseVerifyResponse,
    SimpleResourcesServer,
)
from nemo_gym.server_utils import request as ask
from pydantic import BaseModel, ConfigDict

EPISODE = "companyos_episode"
"""Where the session's signed cookie holds the episode's id, so that any worker of this server can go on with it."""

GIVE_UP = {"outcome": "impossible", "summary": "The policy gave up."}
EPISODE_DONE = "episode-done"
"""The refusal of a call after the end, whose detail says how the episode ended: that is no model's business."""

_OUTCOMES_WITHOUT_VERDICT = (None, "infra_error")


class CompanyOSConfig(BaseResourcesServerConfig):
    """Where the house is, and the trainer's token where it asks for one."""

    url: str = "http://127.0.0.1:8000"
    token: str | None = None


class TaskReference(BaseModel):
    """What of a row's `verifier_metadata` this server reads."""

    model_config = ConfigDict(extra="allow")

    task_id: str


class SeedRequest(BaseSeedSessionRequest):
    """A row, as the agent sends it before the first call of the model."""

    verifier_metadata: TaskReference


class VerifyRequest(BaseVerifyRequest):
    """The row again, with what the model answered."""

    verifier_metadata: TaskReference


class VerifyResponse(BaseVerifyResponse):
    """How the episode ended: `reward` is its whole return between -1 and 1, `success` is 1 or 0."""

    model_config = ConfigDict(extra="allow")

    success: float
    steps: int


class CompanyOSResourcesServer(SimpleResourcesServer):
    """An episode for each session, begun by `/seed_session` and judged by `/verify`; the model sees no reward."""

    config: CompanyOSConfig

    def setup_webserver(self) -> FastAPI:
        """Return the app: beside Gym's own routes one for every tool, whichever a house has."""
        app = super().setup_webserver()
        app.post("/{tool}")(self.call)
        return app

    async def seed_session(self, request: Request, body: SeedRequest) -> BaseSeedSessionResponse:
        """Begin the row's task."""
        options = {"task_id": body.verifier_metadata.task_id, "toolset": "task", "reward_scale": "unit"}
        started = await self._request_json("POST", "/reset", options)
        request.session[EPISODE] = started["episode_id"]
        return BaseSeedSessionResponse()

    async def call(self, request: Request, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Take one step, and return what the model is told of it; a refused step is an answer too."""
        action = {"type": "call_tool", "tool_name": tool, "arguments": arguments}
        answer = await self._send("POST", f"/v1/episodes/{_episode(request)}/step", {"action": action})
        payload = await answer.json()
        if answer.status >= 400:
            code = payload.get("code", "refused")
            return {
                "error": {"error_type": code, "message": payload.get("title" if code == EPISODE_DONE else "detail", "")}
            }
        observation = payload["observation"]
        outcome = (
            {"result": observation.get("result")}
            if observation.get("error") is None
            else {"error": observation["error"]}
        )
        return {**outcome, "now": observation["now"], "steps_left": observation["steps_left"], "done": payload["done"]}

    async def verify(self, request: Request, body: VerifyRequest) -> VerifyResponse:
        """Judge the episode; one that goes on is given up. 500 where the house broke it, which is no failure."""
        episode = _episode(request)
        state = await self._request_json("GET", f"/v1/episodes/{episode}/state")
        if not state["done"]:
            finish_action = {"type": "call_tool", "tool_name": "finish", "arguments": GIVE_UP}
            await self._request_json("POST", f"/v1/episodes/{episode}/step", {"action": finish_action})
            state = await self._request_json("GET", f"/v1/episodes/{episode}/state")
        await self._send("DELETE", f"/v1/episodes/{episode}")
        if state["outcome"] in _OUTCOMES_WITHOUT_VERDICT:
            raise HTTPException(500, "the house broke the episode")
        return VerifyResponse(
            **body.model_dump(),
            reward=state["return"],
            success=float(bool(state["success"])),
            steps=state["step_count"],
        )

    async def _request_json(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return what the house answers; 502 with its words where it refuses."""
        answer = await self._send(method, path, body)
        if answer.status >= 400:
            raise HTTPException(502, f"{path}: {answer.status} {await answer.text()}")
        payload: dict[str, Any] = await answer.json()
        return payload

    async def _send(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        headers = {} if self.config.token is None else {"Authorization": f"Bearer {self.config.token}"}
        return await ask(method, f"{self.config.url}{path}", headers=headers, json=body)


def _episode(request: Request) -> str:
    """Return the session's episode; 409 where none was begun."""
    if EPISODE not in request.session:
        raise HTTPException(409, "no task was begun: /seed_session comes first")
    return str(request.session[EPISODE])


if __name__ == "__main__":
    CompanyOSResourcesServer.run_webserver()
