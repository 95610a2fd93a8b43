"""The policy interface: a policy sees the task as an agent does, and acts by calling tools."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from companyos_shared.streams import Stream

if TYPE_CHECKING:
    from companyos.contract import CompanyOSResetObservation, ToolSpec
    from companyos.schemas import AgentUsage

_MIN_ERROR_STATUS = 400


class EpisodeOverError(Exception):
    """Raised by `call` after the end of the episode; a policy may let it propagate."""


class InfrastructureError(Exception):
    """Raised by a policy if its infrastructure failed: the episode ends as `infra_error`."""


class PolicyUnavailableError(Exception):
    """Raised by a policy before its first call if it cannot play any episode: the run stops."""


@dataclass(frozen=True, kw_only=True)
class TaskView:
    """The task as visible to an agent: the first observation and the tools."""

    scenario: str
    brief: str
    company: str
    acting_as: str
    now: datetime
    steps_left: int
    tools: tuple[ToolSpec, ...]
    stream: Stream
    """Random stream of the policy, derived from policy, scenario, seed and chaos, so that episodes are reproducible."""

    @classmethod
    def from_observation(
        cls, first: CompanyOSResetObservation, *, scenario: str, tools: Iterable[ToolSpec], stream: Stream
    ) -> TaskView:
        """Return the task of an episode from its first observation."""
        return cls(
            scenario=scenario,
            brief=first.brief,
            company=first.company,
            acting_as=first.acting_as,
            now=first.now,
            steps_left=first.steps_left,
            tools=tuple(tools),
            stream=stream,
        )

    def tool(self, name: str) -> ToolSpec | None:
        """Return the tool with this name."""
        return next((tool for tool in self.tools if tool.name == name), None)


@dataclass(frozen=True, kw_only=True)
class StepView:
    """Result of one call. `result` is the service's payload, or its problem body if the call was rejected."""

    result: Any
    error: str | None
    """Error of the environment, `tool_not_found` or `invalid_args`; None if the call reached its service."""
    reward: float
    done: bool
    now: datetime
    steps_left: int
    message: str | None = None
    """Message of an environment error."""

    @property
    def problem(self) -> str | None:
        """Problem code of a call that a service rejected, such as `ticket-locked`."""
        problem = parse_problem(self.result)
        return None if problem is None else problem[1]

    @property
    def is_refused(self) -> bool:
        """Return whether the environment or a service rejected the call."""
        return self.error is not None or self.problem is not None


def parse_problem(result: Any) -> tuple[int, str] | None:
    """Return status and code if a response is that of a service that rejected the call."""
    match result:
        case {"code": str(code), "title": str(), "status": int(status)} if status >= _MIN_ERROR_STATUS:
            return status, code
    return None


class Call(Protocol):
    """Takes one step by calling a tool. Raises EpisodeOverError after the end of the episode."""

    async def __call__(self, tool: str, arguments: dict[str, Any], /) -> StepView:
        """Call the tool and return the result."""
        ...


class Policy(Protocol):
    """Plays episodes. An instance plays one episode at a time and resets its state in `play`."""

    name: str

    async def play(self, task: TaskView, call: Call) -> None:
        """Play until the episode is done; an earlier return abandons it."""
        ...


@runtime_checkable
class ReportsUsage(Protocol):
    """A policy with costs: it reports the usage of its last episode and the settings of its runs."""

    usage: AgentUsage | None
    transcript: list[dict[str, Any]]
    """Messages between the policy and its model, one JSON object each."""

    @property
    def settings(self) -> dict[str, Any]:
        """Return the settings that shape its episodes as JSON, without secrets."""
        ...
