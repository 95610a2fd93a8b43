"""The solver: an episode for each sample, with what became of it in the sample's store."""

from __future__ import annotations

from inspect_ai.log import transcript
from inspect_ai.model import get_model
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import StoreModel

from companyos.client import CompanyOSEnv
from companyos.contract import EpisodeRecord, Outcome
from companyos.integrations.house import House
from companyos.integrations.inspect.asking import AskingPolicy
from companyos.policies import StepView
from companyos.runner import EpisodePlan, StepLine, play_episode


class PlayedSample(StoreModel):
    """What became of a sample's episode; `record` is the line that `companyos eval` writes of one."""

    episode_id: str | None = None
    record: EpisodeRecord | None = None


class HouseFailed(Exception):
    """The house broke an episode: the sample is an error, and no failure of the model's."""


@solver
def play(url: str | None = None, token: str | None = None) -> Solver:
    """Let the model play the sample's task; its rewards stand in the transcript, and the model is not told them."""
    house = House(url)

    async def solve(state: TaskState, _: Generate) -> TaskState:
        policy = AskingPolicy(get_model())
        named = state.metadata
        plan = EpisodePlan(
            scenario=named["scenario"], chaos=named["chaos"], policy=policy.name, task_id=str(state.sample_id)
        )
        async with CompanyOSEnv(base_url=house.url, token=token) as env:
            played = await play_episode(env, plan, policy, on_step=_tell)
        state.messages = policy.messages
        sample = state.store_as(PlayedSample)
        sample.episode_id, sample.record = played.episode_id, played.record
        if policy.failure is not None:
            raise policy.failure
        if played.record.outcome is Outcome.INFRA_ERROR:
            raise HouseFailed(played.trouble)
        state.completed = True
        return state

    return solve


def _tell(line: StepLine, _: StepView) -> None:
    transcript().info(
        {"step": line.step, "tool": line.tool, "reward": line.reward, "done": line.done}, source="companyos"
    )
