"""The observations that the gateway returns; the service's payload is passed on without another model."""

from __future__ import annotations

from typing import Any

from openenv.core.env_server.mcp_types import ListToolsObservation, Tool
from pydantic import Field

from companyos.contract import CompanyOSObservation
from companyos_gateway.engine.journal import CompletedStep
from companyos_gateway.engine.reward import StepKind
from companyos_gateway.engine.toolbox import Tool as OfferedTool
from companyos_shared.wire.problem import ProblemBody


class StepObservation(CompanyOSObservation):
    """Observation of a step, serialized without traversing the payload.

    The framework calls `model_dump(exclude={"reward", "done"})`; `/mcp` calls `model_dump()`, and its clients read the
    payload from `data`. Excluded fields are for the gateway's own routes.
    """

    step: int = Field(exclude=True, description="The number of the step, from 1.")
    is_carried_out: bool = Field(exclude=True, description="Whether the tool call succeeded.")

    def model_dump(self, **options: Any) -> dict[str, Any]:
        """Return the fields as JSON values; `data` equals `result` and is included if nothing is excluded."""
        dumped: dict[str, Any] = {
            "metadata": self.metadata,
            "tool_name": self.tool_name,
            "result": self.result,
            "error": self.error.model_dump(mode="json") if self.error else None,
            "now": self.now.isoformat().replace("+00:00", "Z"),
            "steps_left": self.steps_left,
        }
        if self.screenshot is not None:
            dumped["screenshot"] = self.screenshot.model_dump(mode="json")
        excluded = options.get("exclude") or ()
        if not excluded:
            dumped |= {"done": self.done, "reward": self.reward, "data": self.result}
        return {name: value for name, value in dumped.items() if name not in excluded}


def build_observation(completed: CompletedStep, max_steps: int) -> StepObservation:
    """Return the observation of a completed step."""
    return StepObservation(
        tool_name=completed.tool,
        result=completed.result,
        error=completed.error,
        done=completed.end is not None,
        reward=completed.reward,
        now=completed.now,
        steps_left=max(0, max_steps - completed.step),
        step=completed.step,
        is_carried_out=completed.note == StepKind.CARRIED_OUT,
    )


def problem_of(observation: StepObservation, title: str) -> ProblemBody | None:
    """Return the problem of a step, None if it succeeded. `title` is the title of a tool error."""
    if observation.error is not None:
        return ProblemBody(
            title=title,
            status=422,
            code=observation.error.error_type.value.replace("_", "-"),
            detail=observation.error.message,
        )
    if observation.is_carried_out:
        return None
    fields = observation.result if isinstance(observation.result, dict) else {}
    known_fields = {name: fields[name] for name in ProblemBody.model_fields if name in fields}
    return ProblemBody.model_validate({"title": "Action failed", "status": 500, "code": "refused"} | known_fields)


def build_tools_observation(tools: list[OfferedTool], *, done: bool) -> ListToolsObservation:
    """Return the observation of a tool listing, which does not count as a step."""
    offered = [Tool(name=tool.name, description=tool.description, input_schema=tool.input_schema) for tool in tools]
    return ListToolsObservation(tools=offered, done=done, reward=0.0)
