"""The scorer: what the house judged; no model and no text has a say."""

from __future__ import annotations

from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState

from companyos.integrations.inspect.solving import PlayedSample


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
            explanation=record.outcome.value,
            metadata={"digest": record.digest, "task_set": record.task_set, "seed": record.seed},
        )

    return score
