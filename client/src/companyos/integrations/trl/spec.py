"""`CompanyOSSpec`: training episodes as the dataset, environments and rewards of TRL."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

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
"""System message of every prompt; the task is added when the episode starts."""

_SAMPLED_SEEDS = 8
"""Number of episodes sampled to determine the common tools."""

Row = dict[str, Any]
EnvironmentFactory = type[CompanyOSEnvironment]
Choice = TypeVar("Choice", bound=StrEnum)


class CompanyOSSpec:
    """Arguments of a GRPOTrainer: `train_dataset`, `environment_factory` and `reward_funcs`.

    The episodes are the tasks of a `split`, or those of `seeds` in one or more scenarios; `scenario` and `chaos` filter
    them, `count` limits them per scenario and level. They are sorted by level, so that a trainer without shuffling
    follows a curriculum. Without a URL a local server is started; it is stopped by `close`, at the end of the `with`
    block or of the process. `language` is the text format of the model. Raises ValueError for an invalid argument,
    ApiError, and ConnectionError if the server is unreachable for `within_s` seconds.
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
        self._split = _choice(Split, "split", split)
        self._levels = _as_list(chaos)
        self._scenarios = _as_list(scenario)
        self._seeds = None if seeds is None else list(seeds)
        self._count = count
        self._toolset = _choice(Toolset, "toolset", toolset)
        self._scale = _choice(RewardScale, "reward_scale", reward_scale)
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
            raise ValueError("seeds require scenario and chaos; a split has its own seeds")
        if self._seeds == []:
            raise ValueError("seeds must not be empty")
        if count is not None and count < 1:
            raise ValueError(f"count must be at least 1; got {count}")

    @property
    def url(self) -> str:
        """URL of the server. Raises EnterpriseError if a local server cannot be started."""
        return self._enterprise.url

    @cached_property
    def rows(self) -> list[Row]:
        """One row per episode, with the reset options of the environment."""
        rows = self._split_rows() if self._seeds is None else self._seed_rows(self._seeds)
        several = isinstance(self.environment_factory, dict)
        return [{**row, "environment": row["scenario"]} for row in rows] if several else rows

    @cached_property
    def train_dataset(self) -> Dataset:
        """The rows as a dataset with the column `prompt`; the task is added when the episode starts."""
        from datasets import Dataset

        return Dataset.from_list([{"prompt": prompt(), **row} for row in self.rows])

    @cached_property
    def environment_factory(self) -> EnvironmentFactory | dict[str, EnvironmentFactory]:
        """The environment class; one class per scenario if scenarios have their own tools."""
        scenarios = self._scenarios or self._all_scenarios()
        if self._toolset is Toolset.ALL or len(scenarios) == 1:
            return self._make_class(scenarios[0])
        return {scenario: self._make_class(scenario) for scenario in scenarios}

    @cached_property
    def reward_funcs(self) -> list[RewardFunction]:
        """Reward functions: the return of the episode, and a cost for calls of unknown tools."""
        return reward_functions(self._scale)

    def environment(self, row: Row) -> CompanyOSEnvironment:
        """Return a new environment for a row, before its reset."""
        return self._factory(row)()

    def tools(self, row: Row) -> list[Callable[..., str]]:
        """Return the tools in the prompt of a row, in TRL's format."""
        factory = self._factory(row)
        return [getattr(factory, tool.name) for tool in factory._offered]

    @cached_property
    def max_tool_calling_iterations(self) -> int:
        """Maximum turns of a rollout: the steps of an episode, and a final message."""
        session = Session(self.url, token=self._token, within_s=self._within_s)
        try:
            observations = [
                session.reset(scenario=scenario, seed=0, chaos=0)
                for scenario in sorted({r["scenario"] for r in self.rows})
            ]
            return max(observation.steps_left for observation in observations) + 1
        finally:
            session.close()

    def close(self) -> None:
        """Close every connection, and stop the local server if it was started here."""
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
        split = self._split.value
        names = [split] if self._scenarios is None else [f"{split}.{scenario}" for scenario in self._scenarios]
        with CompanyOSEnv(base_url=self.url, token=self._token).sync() as env:
            tasks = [task for name in names for task in env.list_tasks(name)]
        levels = sorted({task.chaos for task in tasks})
        if unknown := [level for level in self._levels or () if level not in levels]:
            raise ValueError(
                f"chaos must be among {_listed(levels)}, the levels of {_listed(names)}; got {_listed(unknown)}"
            )
        matching = [
            {"task_id": task.id, "scenario": task.scenario, "chaos": task.chaos}
            for task in tasks
            if task.chaos in (self._levels or levels)
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
        """Return the tools common to episodes without chaos, sorted by name.

        The tools of a single episode include distractors, which differ per seed.
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
    """Return the initial messages of a conversation, without its task."""
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": ""}]


def _as_list(value: Any) -> list[Any] | None:
    if value is None:
        return None
    values = [value] if isinstance(value, str | int) else sorted(set(value))
    return values or None


def _choice(choices: type[Choice], name: str, value: str) -> Choice:
    try:
        return choices(value)
    except ValueError:
        raise ValueError(f"{name} must be one of {_listed(choices)}; got {value!r}") from None


def _listed(values: Iterable[object]) -> str:
    return ", ".join(map(str, values))
