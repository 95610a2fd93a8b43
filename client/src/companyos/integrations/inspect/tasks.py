"""The Inspect task: the tasks of a split as samples."""

from __future__ import annotations

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample

from companyos.client import CompanyOSEnv
from companyos.contract import TaskInfo
from companyos.integrations.house import House
from companyos.integrations.inspect.scoring import score_episode
from companyos.integrations.inspect.solving import play


@task(name="tasks")
def tasks(
    split: str = "test",
    scenario: str | None = None,
    chaos: int | None = None,
    count: int | None = None,
    url: str | None = None,
    token: str | None = None,
) -> Task:
    """Return the tasks of a split, of one scenario or level, so many of them; without a URL in a house of their own."""
    house = House(url)
    with CompanyOSEnv(base_url=house.url, token=token).sync() as env:
        listed = env.list_tasks(split)
    wanted = [one for one in listed if scenario in (None, one.scenario) and chaos in (None, one.chaos)][:count]
    if not wanted:
        raise ValueError("no task fits: see `companyos tasks` for what there is")
    return Task(
        dataset=MemoryDataset([_sample(one) for one in wanted], name=f"companyos {split}"),
        solver=play(house.url, token),
        scorer=score_episode(),
        version=wanted[0].version,
        metadata={"task_set": wanted[0].version, "canary": wanted[0].canary},
    )


def _sample(task_info: TaskInfo) -> Sample:
    """Return a sample; its brief comes with the episode."""
    named = task_info.model_dump(mode="json", include={"scenario", "chaos", "difficulty", "held_out", "index"})
    return Sample(id=task_info.id, input=f"{task_info.scenario}, {task_info.difficulty}", metadata=named)
