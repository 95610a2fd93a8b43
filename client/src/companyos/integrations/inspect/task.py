"""Inspect AI task whose policy calls the evaluated model; each tool call is one step."""

from __future__ import annotations

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import transcript
from inspect_ai.model import ChatMessage, ChatMessageSystem, ChatMessageTool, ChatMessageUser, Model, get_model
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import ToolCall, ToolInfo, ToolParams
from inspect_ai.util import StoreModel

from companyos.client import CompanyOSEnv
from companyos.contract import EpisodeRecord, Outcome, TaskInfo
from companyos.integrations.enterprise_connection import EnterpriseConnection
from companyos.policies import Call, StepView, TaskView
from companyos.policies.llm.calls import MALFORMED
from companyos.policies.llm.policy import REMINDERS
from companyos.policies.llm.prompt import REMINDER, result_text, system_text, task_text
from companyos.runner import EpisodePlan, StepLine, play_episode
from companyos.runner.episode import EnvironmentFailureError


class InspectPolicy:
    """Policy that executes the tool calls of a model, like the policy `llm`.

    `failure` is the error of the model, if any.
    """

    name = "inspect"

    def __init__(self, model: Model) -> None:
        self.messages: list[ChatMessage] = []
        self.failure: Exception | None = None
        self._model = model

    async def play(self, task: TaskView, call: Call) -> None:
        """Play until the episode is done, or until the model stops calling tools."""
        self.messages[:] = [ChatMessageSystem(content=system_text(task)), ChatMessageUser(content=task_text(task))]
        tools = [
            ToolInfo(
                name=tool.name, description=tool.description, parameters=ToolParams.model_validate(tool.input_schema)
            )
            for tool in task.tools
        ]
        reminders = 0
        while reminders <= REMINDERS:
            calls = await self._next_calls(tools)
            for tool_call in calls:
                step = await call(tool_call.function, _call_arguments(tool_call))
                self.messages.append(_tool_message(tool_call, step))
                if step.done:
                    return
            if calls:
                reminders = 0
            else:
                reminders += 1
                self.messages.append(ChatMessageUser(content=REMINDER))

    async def _next_calls(self, tools: list[ToolInfo]) -> list[ToolCall]:
        """Return the tool calls of the model's next message."""
        try:
            output = await self._model.generate(self.messages, tools=tools)
        except Exception as failure:
            self.failure = failure
            raise
        self.messages.append(output.message)
        return output.message.tool_calls or []


def _call_arguments(call: ToolCall) -> dict[str, object]:
    return call.arguments if call.parse_error is None else {MALFORMED: call.parse_error}


def _tool_message(call: ToolCall, step: StepView) -> ChatMessageTool:
    return ChatMessageTool(content=result_text(step, call.parse_error), tool_call_id=call.id, function=call.function)


class PlayedSample(StoreModel):
    """Result of a sample's episode; `record` is the line that `companyos eval` would write."""

    episode_id: str | None = None
    record: EpisodeRecord | None = None


@solver
def play(url: str | None = None, token: str | None = None) -> Solver:
    """Let the model play the sample's task. The transcript contains the rewards; the model does not see them."""
    enterprise = EnterpriseConnection(url)

    async def solve(state: TaskState, _: Generate) -> TaskState:
        policy = InspectPolicy(get_model())
        task_metadata = state.metadata
        plan = EpisodePlan(
            scenario=task_metadata["scenario"],
            chaos=task_metadata["chaos"],
            policy=policy.name,
            task_id=str(state.sample_id),
        )
        async with CompanyOSEnv(base_url=enterprise.url, token=token) as env:
            played = await play_episode(env, plan, policy, on_step=_log_step)
        sample = state.store_as(PlayedSample)
        sample.episode_id, sample.record = played.episode_id, played.record
        state.messages = policy.messages  # raises LimitExceededError beyond a message limit
        if policy.failure is not None:
            raise policy.failure
        if played.record.outcome is Outcome.INFRA_ERROR:
            raise EnvironmentFailureError(played.trouble)  # an error of the sample, not a failure of the model
        state.completed = True
        return state

    return solve


def _log_step(line: StepLine, _: StepView) -> None:
    transcript().info(
        {"step": line.step, "tool": line.tool, "reward": line.reward, "done": line.done}, source="companyos"
    )


@scorer(
    metrics={"success": [mean(), stderr(cluster="scenario")], "return": [mean(), stderr()], "steps": [mean()]},
    name="episode",
)
def score_episode() -> Scorer:
    """Score success (0 or 1), return and steps of the sample's episode."""

    async def score(state: TaskState, _: Target) -> Score | None:
        record = state.store_as(PlayedSample).record
        if record is None:
            return None
        return Score(
            value={"success": float(record.success), "return": record.return_, "steps": record.steps},
            explanation=_explain(record),
            metadata={"digest": record.digest, "task_set": record.task_set, "seed": record.seed},
        )

    return score


def _explain(record: EpisodeRecord) -> str:
    """Return the outcome, and the reason of the primary failure, if any."""
    failed = [check for check in record.verdict.failures_first if not check.passed] if record.verdict else []
    if not failed:
        return record.outcome.value
    return f"{record.outcome.value}: {failed[0].id}, {failed[0].reason}"


@task(name="tasks")
def tasks(
    split: str = "test",
    scenario: str | None = None,
    chaos: int | None = None,
    count: int | None = None,
    url: str | None = None,
    token: str | None = None,
) -> Task:
    """Return an Inspect task with up to `count` tasks of a split, optionally of one scenario or level.

    Without a URL a local server is started.
    """
    enterprise = EnterpriseConnection(url)
    with CompanyOSEnv(base_url=enterprise.url, token=token).sync() as env:
        listed = env.list_tasks(split if scenario is None else f"{split}.{scenario}")
    selected = [listed_task for listed_task in listed if chaos in (None, listed_task.chaos)][:count]
    if not selected:
        raise ValueError("no tasks match; `companyos tasks` lists them")
    return Task(
        dataset=MemoryDataset([_sample(listed_task) for listed_task in selected], name=f"companyos {split}"),
        solver=play(enterprise.url, token),
        scorer=score_episode(),
        version=selected[0].version,
        metadata={"task_set": selected[0].version, "canary": selected[0].canary},
    )


def _sample(task_info: TaskInfo) -> Sample:
    """Return a sample; its brief is filled in when the episode starts."""
    task_fields = task_info.model_dump(mode="json", include={"scenario", "chaos", "difficulty", "held_out", "index"})
    return Sample(id=task_info.id, input=f"{task_info.scenario}, {task_info.difficulty}", metadata=task_fields)
