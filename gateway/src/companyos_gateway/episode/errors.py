"""What the gateway refuses before a step happens, and what it says when the house itself is broken.

GatewayProblem             a refusal with a status and a stable code
|- InvalidReset      422   the reset options do not fit
|- UnknownScenario   422   no scenario has that name
|- InvalidAction     422   the action is none
|- UnknownEpisode    404   no live episode has that id
|- EpisodeExists     409   a live episode has that id already
|- NotReset          409   a step before the first reset
|- EpisodeDone       409   a step after the end
|- EpisodeClosed     409   a step on an episode that was dropped
|- StepConflict      409   the step number belongs to another step
|- TooManyWaiting    429   the episode's queue is full
|- AtCapacity        503   no room for another episode
|- ServicesDown      503   a service does not answer
`- InternalError     500   a bug of the house
HouseFault                 a bug of the house: the episode ends as infra_error
"""

from __future__ import annotations

from typing import Any, ClassVar

from companyos_shared.wire.problem import ProblemBody


class GatewayProblem(Exception):
    """A refusal before any step; its text starts with the stable code."""

    status: ClassVar[int] = 400
    code: ClassVar[str] = "bad-request"
    title: ClassVar[str] = "The request was refused"

    def __init__(self, detail: str | None = None, *, errors: list[dict[str, Any]] | None = None) -> None:
        super().__init__(f"{self.code}: {detail or self.title}")
        self.detail = detail
        self.errors = errors

    def body(self) -> ProblemBody:
        """Return the problem as it travels over HTTP."""
        return ProblemBody(
            type="about:blank",
            title=self.title,
            status=self.status,
            code=self.code,
            detail=self.detail,
            errors=self.errors,
        )


class InvalidReset(GatewayProblem):
    status, code, title = 422, "invalid-reset", "The reset options do not fit"


class UnknownScenario(GatewayProblem):
    status, code, title = 422, "unknown-scenario", "There is no such scenario"


class InvalidAction(GatewayProblem):
    status, code, title = 422, "invalid-action", "The action does not fit"


class UnknownEpisode(GatewayProblem):
    status, code, title = 404, "unknown-episode", "There is no such episode"


class EpisodeExists(GatewayProblem):
    status, code, title = 409, "episode-exists", "An episode of that id is live"


class NotReset(GatewayProblem):
    status, code, title = 409, "not-reset", "No episode was started here"


class EpisodeDone(GatewayProblem):
    status, code, title = 409, "episode-done", "The episode is over"


class EpisodeClosed(GatewayProblem):
    status, code, title = 409, "episode-closed", "The episode was closed"


class StepConflict(GatewayProblem):
    status, code, title = 409, "step-conflict", "The step number belongs to another step"


class TooManyWaiting(GatewayProblem):
    status, code, title = 429, "too-many-waiting", "Too many calls wait for this episode"


class AtCapacity(GatewayProblem):
    status, code, title = 503, "at-capacity", "There is no room for another episode"


class ServicesDown(GatewayProblem):
    status, code, title = 503, "services-unavailable", "A service does not answer"


class InternalError(GatewayProblem):
    status, code, title = 500, "internal-error", "The house failed"


class HouseFault(Exception):
    """A bug or a real outage of the house in the middle of an episode; never the agent's fault."""
