"""`CompanyOSSpec`: which episodes are trained on, as the dataset, the environments and the rewards that TRL takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, cast

from companyos.client import CompanyOSEnv
from companyos.contract import MAX_SEED, RewardScale, Split, Toolset, ToolSpec
from companyos.integrations.enterprise_connection import EnterpriseConnection
from companyos.integrations.session import RECONNECT_WITHIN_S, Session
from companyos.integrations.trl.environment import CompanyOSEnvironment, LanguageFactory, environment_class
from companyos.integrations.trl.language import Language
from companyos.integrations.trl.rewards import RewardFunction, reward_functions
from companyos.options import ResetArguments

if TYPE_CHECKING:
    from datasets import Dataset

SYSTEM = """\
You are an employee of a company. You act through tools and through nothing else.

- Every tool call is one step, and the number of steps is limited.
- A message without a tool call ends your work.
- When the work is done, or when it must not or cannot be done, say so with `finish`."""
"""What every prompt begins with; the task follows when its episode begins."""

_SAMPLED_SEEDS = 8
"""Episodes that are asked for their tools."""

Row = dict[str, Any]
EnvironmentFactory = type[CompanyOSEnvironment]


class CompanyOSSpec:
    """What a GRPOTrainer needs of CompanyOS: `train_dataset`, `environment_factory` and `reward_funcs`.

    The episodes are the tasks of a `split`, or those that `seeds` begin of one or more scenarios; `scenario` and
    `chaos` narrow them to some, `count` to so many of each scenario and level. They come by level, the calmest first,
    so that a trainer that does not shuffle learns by a curriculum. Without a URL an enterprise is started on this
    machine, which ends with `close`, with the `with` block or with the process. `language` is what a model is spoken
    to in. Raises ApiError, and ConnectionError where the server stays away for `within_s` seconds.
    """

    def __init__(
        self,
        url: str | None = None,
        split: Split | str = Split.TRAIN,
        chaos: int | Iterable[int] | None = None,
        *,
        scenario: str | Iterable[str] | None = None,
        seeds: Iterable[int] | None = None,
        count: int | None = None,
        toolset: Toolset | str = Toolset.TASK,
        completion: str = "auto",
        shaping: str = "milestones",
        reward_scale: RewardScale | str = RewardScale.ORIGINAL,
        language: LanguageFactory = Language,
        token: str | None = None,
        within_s: float = RECONNECT_WITHIN_S,
    ) -> None:
        self._enterprise = EnterpriseConnection(url)
        self._split = Split(split)
        self._levels = _as_list(chaos)
        self._scenarios = _as_list(scenario)
        self._seeds = None if seeds is None else list(seeds)
        self._count = count
        self._toolset = Toolset(toolset)
        self._scale = RewardScale(reward_scale)
        self._options: ResetArguments = {
            "toolset": self._toolset.value,
            "completion": completion,
            "shaping": shaping,
            "reward_scale": self._scale.value,
        }
        self._language = language
        self._token = token
        self._within_s = within_s
        self._sessions: list[Session] = []
        if seeds is not None and (self._levels is None or self._scenarios is None):
            raise ValueError("seeds want a scenario and a level of chaos; a split brings its own")

    @property
    def url(self) -> str:
        """The address that is played at. Raises EnterpriseError where an enterprise cannot be started."""
        return self._enterprise.url

    @cached_property
    def rows(self) -> list[Row]:
        """The episodes, one row each, as `reset` of an environment takes them."""
        rows = self._split_rows() if self._seeds is None else self._seed_rows(self._seeds)
        if not rows:
            raise ValueError("no episode fits: see `companyos tasks` for what there is")
        several = isinstance(self.environment_factory, dict)
        return [{**row, "environment": row["scenario"]} for row in rows] if several else rows

    @cached_property
    def train_dataset(self) -> Dataset:
        """The rows as a dataset with the column `prompt`; the task itself follows when its episode begins."""
        from datasets import Dataset

        return Dataset.from_list([{"prompt": prompt(), **row} for row in self.rows])

    @cached_property
    def environment_factory(self) -> EnvironmentFactory | dict[str, EnvironmentFactory]:
        """The class of the environments; where scenarios bring tools of their own, a class for each."""
        scenarios = self._scenarios or self._all_scenarios()
        if self._toolset is Toolset.ALL or len(scenarios) == 1:
            return self._make_class(scenarios[0])
        return {scenario: self._make_class(scenario) for scenario in scenarios}

    @cached_property
    def reward_funcs(self) -> list[RewardFunction]:
        """The return of the episode, and a cost for calls of tools that there are not, which no episode hears of."""
        return reward_functions(self._scale)

    def environment(self, row: Row) -> CompanyOSEnvironment:
        """Return a new environment for a row, which is not reset yet."""
        return self._factory(row)()

    def tools(self, row: Row) -> list[Callable[..., str]]:
        """Return the tools that a prompt describes for a row, as TRL takes them."""
        factory = self._factory(row)
        return [getattr(factory, tool.name) for tool in factory._offered]

    @cached_property
    def max_tool_calling_iterations(self) -> int:
        """How many turns a rollout needs at most: an episode's steps, and one to end with."""
        session = Session(self.url, token=self._token, within_s=self._within_s)
        try:
            first = [session.reset(scenario=one, seed=0, chaos=0) for one in sorted({r["scenario"] for r in self.rows})]
            return max(one.steps_left for one in first) + 1
        finally:
            session.close()

    def close(self) -> None:
        """Close every connection, and stop the enterprise where it is our own."""
        for session in self._sessions:
            session.close()
        self._sessions.clear()
        self._enterprise.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _factory(self, row: Row) -> EnvironmentFactory:
        factory = self.environment_factory
        return factory[row["scenario"]] if isinstance(factory, dict) else factory

    def _open_session(self) -> Session:
        session = Session(self.url, token=self._token, within_s=self._within_s)
        self._sessions.append(session)
        return session

    def _split_rows(self) -> list[Row]:
        with CompanyOSEnv(base_url=self.url, token=self._token).sync() as env:
            tasks = env.list_tasks(self._split.value)
        matching = [
            {"task_id": task.id, "scenario": task.scenario, "chaos": task.chaos}
            for task in tasks
            if task.scenario in (self._scenarios or (task.scenario,)) and task.chaos in (self._levels or (task.chaos,))
        ]
        return self._limit_count(sorted(matching, key=lambda row: cast(int, row["chaos"])))

    def _seed_rows(self, seeds: Sequence[int]) -> list[Row]:
        return self._limit_count(
            [
                {"scenario": scenario, "chaos": level, "seed": seed % (MAX_SEED + 1)}
                for level in self._levels or ()
                for seed in seeds
                for scenario in self._scenarios or ()
            ]
        )

    def _limit_count(self, rows: list[Row]) -> list[Row]:
        counts: dict[tuple[str, int], int] = {}
        kept = []
        for row in rows:
            group = (row["scenario"], row["chaos"])
            counts[group] = counts.get(group, 0) + 1
            if self._count is None or counts[group] <= self._count:
                kept.append(row)
        return kept

    def _all_scenarios(self) -> list[str]:
        return sorted({row["scenario"] for row in self._split_rows()})

    def _make_class(self, scenario: str) -> EnvironmentFactory:
        return environment_class(
            "CompanyOS" if self._toolset is Toolset.ALL else f"CompanyOS_{scenario}",
            self._common_tools(scenario),
            open_session=self._open_session,
            options=self._options,
            language=self._language,
        )

    def _common_tools(self, scenario: str) -> list[ToolSpec]:
        """Return the tools that calm episodes have in common, by name, as TRL finds them on the class.

        A task's own tools come with distractors that change from seed to seed.
        """
        session = Session(self.url, token=self._token, within_s=self._within_s)
        try:
            offered = []
            for seed in range(_SAMPLED_SEEDS if self._toolset is Toolset.TASK else 1):
                session.reset(scenario=scenario, seed=seed, chaos=0, toolset=self._toolset.value)
                offered.append({tool.name: tool for tool in session.tools()})
            return [tool for name, tool in sorted(offered[0].items()) if all(name in others for others in offered)]
        finally:
            session.close()


def prompt() -> list[dict[str, str]]:
    """Return what a conversation begins with, before its task is known."""
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": ""}]


def _as_list(value: Any) -> list[Any] | None:
    if value is None:
        return None
    values = [value] if isinstance(value, str | int) else sorted(value)
    return values or None
