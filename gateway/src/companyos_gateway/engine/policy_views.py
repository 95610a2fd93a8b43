"""Views of an episode for a policy that plays it in this process, without HTTP."""

from __future__ import annotations

from companyos.contract import CompanyOSObservation, ToolSpec
from companyos.policies import StepView, TaskView
from companyos_gateway.engine.engine import EpisodeEngine
from companyos_gateway.engine.episode import Episode
from companyos_shared.streams import Stream


def build_task_view(engine: EpisodeEngine, episode: Episode, stream: Stream) -> TaskView:
    """Return the task of an episode; `stream` is the source of the policy's random draws."""
    tools = (
        ToolSpec(name=tool.name, description=tool.description, input_schema=tool.input_schema)
        for tool in engine.tools(episode)
    )
    return TaskView.from_observation(
        episode.first_observation(), scenario=episode.task.key.scenario, tools=tools, stream=stream
    )


def build_step_view(observation: CompanyOSObservation) -> StepView:
    """Return the response to a step."""
    return StepView(
        result=observation.result,
        error=observation.error.error_type.value if observation.error else None,
        reward=float(observation.reward or 0.0),
        done=observation.done,
        now=observation.now,
        steps_left=observation.steps_left,
    )
