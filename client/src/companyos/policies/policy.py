"""What a policy is: it sees the task as an agent does, and acts by calling tools."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from companyos_shared.streams import Stream

if TYPE_CHECKING:
    from companyos.contract import ToolSpec
    from companyos.schemas import AgentUsage


class EpisodeOverError(Exception):
    """Raised by `call` once the episode has ended; a policy may let it pass."""


class InfrastructureError(Exception):
    """Raised by a policy where what it stands on failed, not it: the episode ends as `infra_error`."""


class PolicyUnavailableError(Exception):
    """Raised by a policy before its first call where it could play no episode at all: the run stops."""


@dataclass(frozen=True, kw_only=True)
class TaskView:
    """The task as an agent is shown it: the first observation and the tools, nothing hidden."""

    scenario: str
    brief: str
    company: str
    acting_as: str
    now: datetime
    steps_left: int
    tools: tuple[ToolSpec, ...]
    stream: Stream
    """The policy's own chance: named by policy, scenario, seed and chaos, so that an episode can be repeated."""

    def tool(self, name: str) -> ToolSpec | None:
        """Return the offered tool of that name."""
        return next((tool for tool in self.tools if tool.name == name), None)


@dataclass(frozen=True, kw_only=True)
class StepView:
    """What one call brought. `result` is the service's payload, or its problem body when the call was refused."""

    result: Any
    error: str | None
    """The environment's own refusal, `tool_not_found` or `invalid_args`; None when the call reached its service."""
    reward: float
    done: bool
    now: datetime
    steps_left: int
    message: str | None = None
    """What the environment says of its own refusal."""

    @property
    def problem(self) -> str | None:
        """The code of the problem with which a service refused the call, such as `ticket-locked`."""
        match self.result:
            case {"code": str(code), "title": str(), "status": int(status)} if status >= 400:
                return code
        return None

    @property
    def is_refused(self) -> bool:
        """Say whether the call had no answer but a refusal, by the environment or by a service."""
        return self.error is not None or self.problem is not None


class Call(Protocol):
    """Take one step: call a tool by its name. Raises EpisodeOverError once the episode has ended."""

    async def __call__(self, tool: str, arguments: dict[str, Any], /) -> StepView:
        """Call the tool and return what the step brought."""
        ...


class Policy(Protocol):
    """Plays episodes. One instance plays one episode at a time and starts each anew in `play`."""

    name: str

    async def play(self, task: TaskView, call: Call) -> None:
        """Play until the episode is done, or return earlier, which gives it up."""
        ...


@runtime_checkable
class Accountable(Protocol):
    """A policy that costs something: it tells what its last episode took, and how its runs are told apart."""

    usage: AgentUsage | None
    transcript: list[dict[str, Any]]
    """What went to and fro between the policy and whom it asks, a JSON object each."""

    @property
    def settings(self) -> dict[str, Any]:
        """Return what shapes its episodes, as JSON; nothing secret."""
        ...
