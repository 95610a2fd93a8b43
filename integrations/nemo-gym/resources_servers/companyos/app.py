"""NeMo Gym resources server for CompanyOS tasks: each row is a task, each tool call a step."""

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
"""Session key of the episode id. The session is a signed cookie, so any worker can serve it."""

GIVE_UP = {"outcome": "impossible", "summary": "The policy gave up."}
EPISODE_DONE = "episode-done"
"""Error code of a call after the end of the episode; its detail contains the outcome, which the model must not see."""

_OUTCOMES_WITHOUT_VERDICT = (None, "infra_error")


class CompanyOSConfig(BaseResourcesServerConfig):
    """URL of the CompanyOS server, and the trainer token if required."""

    url: str = "http://127.0.0.1:8000"
    token: str | None = None


class TaskReference(BaseModel):
    """Fields of a row's `verifier_metadata` that this server reads."""

    model_config = ConfigDict(extra="allow")

    task_id: str


class SeedRequest(BaseSeedSessionRequest):
    """A row, sent by the agent before the first model call."""

    verifier_metadata: TaskReference


class VerifyRequest(BaseVerifyRequest):
    """The row with the model's output."""

    verifier_metadata: TaskReference


class VerifyResponse(BaseVerifyResponse):
    """Result of the episode: `reward` is its return between -1 and 1, `success` is 1 or 0."""

    model_config = ConfigDict(extra="allow")

    success: float
    steps: int


class CompanyOSResourcesServer(SimpleResourcesServer):
    """One episode per session: `/seed_session` starts it, `/verify` scores it; the model sees no reward."""

    config: CompanyOSConfig

    def setup_webserver(self) -> FastAPI:
        """Return the app with Gym's routes and one generic route for tools."""
        app = super().setup_webserver()
        app.post("/{tool}")(self.call)
        return app

    async def seed_session(self, request: Request, body: SeedRequest) -> BaseSeedSessionResponse:
        """Start the task of the row."""
        options = {"task_id": body.verifier_metadata.task_id, "toolset": "task", "reward_scale": "unit"}
        started = await self._request_json("POST", "/reset", options)
        request.session[EPISODE] = started["episode_id"]
        return BaseSeedSessionResponse()

    async def call(self, request: Request, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Take one step and return the result for the model; a rejected step is also a result."""
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
        """Score the episode; abandon it first if it is live. Returns 500 after an infrastructure error, which is not a
        failure.
        """
        episode = _episode(request)
        state = await self._request_json("GET", f"/v1/episodes/{episode}/state")
        if not state["done"]:
            finish_action = {"type": "call_tool", "tool_name": "finish", "arguments": GIVE_UP}
            await self._request_json("POST", f"/v1/episodes/{episode}/step", {"action": finish_action})
            state = await self._request_json("GET", f"/v1/episodes/{episode}/state")
        await self._send("DELETE", f"/v1/episodes/{episode}")
        if state["outcome"] in _OUTCOMES_WITHOUT_VERDICT:
            raise HTTPException(500, "the episode ended with an infrastructure error")
        return VerifyResponse(
            **body.model_dump(),
            reward=state["return"],
            success=float(bool(state["success"])),
            steps=state["step_count"],
        )

    async def _request_json(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the server's JSON response; raise 502 with its text if the request is rejected."""
        answer = await self._send(method, path, body)
        if answer.status >= 400:
            raise HTTPException(502, f"{path}: {answer.status} {await answer.text()}")
        payload: dict[str, Any] = await answer.json()
        return payload

    async def _send(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        headers = {} if self.config.token is None else {"Authorization": f"Bearer {self.config.token}"}
        return await ask(method, f"{self.config.url}{path}", headers=headers, json=body)


def _episode(request: Request) -> str:
    """Return the episode of the session; raise 409 if none was started."""
    if EPISODE not in request.session:
        raise HTTPException(409, "no task was started; call /seed_session first")
    return str(request.session[EPISODE])


if __name__ == "__main__":
    CompanyOSResourcesServer.run_webserver()
