"""Errors of the gateway as problem details (RFC 9457), each with a stable code.

GatewayError             a refusal with a status and a stable code
|- InvalidResetError      422   the reset options do not fit
|- UnknownScenarioError   422   no scenario has that name
|- InvalidActionError     422   the action is none
|- UnknownTaskError       400   the task set has no such task
|- InvalidStepError       422   the episode has not taken that step
|- UnknownServiceError    404   no service has that name
|- UnknownEpisodeError    404   no live episode has that id
|- EpisodeExistsError     409   a live episode has that id already
|- NotResetError          409   a step before the first reset
|- EpisodeDoneError       409   a step after the end
|- EpisodeClosedError     409   a step on an episode that was dropped
|- StepConflictError      409   the step number belongs to another step
|- NoPageViewsLeftError   409   the agent has opened as many pages as it may
|- EpisodeQueueFullError    429   the episode's queue is full
|- RateLimitedError  429   too many requests of the client wait for its share
|- EpisodeTakenOverError      409   the episode goes on over another connection
|- UnknownSnapshotError   404   no snapshot has that id
|- ForeignSnapshotError   409   the snapshot is of another episode
|- LostSnapshotError      410   what the snapshot names is gone
|- CorruptSnapshotError   410   the snapshot is not what it was
|- EpisodeQuarantinedError 410 the episode is in quarantine
|- UnknownQuarantineItemError 404 nothing in quarantine has that id
|- QuarantineConflictError 409 what is in quarantine cannot go back
|- SnapshotLimitError     409   no more snapshots are kept
|- StorageFullError       507   there is no room on the disk
|- AtCapacityError        503   no room for another episode
|- BrowserMissingError    409   the gateway has no browser
|- WindowLimitError       429   no room for another window
|- BrowserUnavailableError       503   the browser does not answer
|- ServicesUnavailableError      503   a service does not answer
|- ShuttingDownError      503   the gateway is about to end
|- UnansweredError        504   the gateway ended before the answer
`- InternalError     500   a bug of the gateway
InfrastructureError                 a bug or outage: the episode ends as infra_error
`- ServiceRefusalError     a service refused a call of the gateway
LeaseHeldError             another gateway holds the lease of a service
UnusableFilesError              files of an episode or a snapshot that this version cannot go on from
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, ClassVar

import orjson

from companyos_shared.wire.problem import ProblemBody


class GatewayError(Exception):
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


class UnknownTaskError(GatewayError):
    status, code, title = 400, "unknown-task", "The task set has no such task"


class InvalidResetError(GatewayError):
    status, code, title = 422, "invalid-reset", "The reset options do not fit"


class UnknownScenarioError(GatewayError):
    status, code, title = 422, "unknown-scenario", "There is no such scenario"


class InvalidActionError(GatewayError):
    status, code, title = 422, "invalid-action", "The action does not fit"


class InvalidStepError(GatewayError):
    status, code, title = 422, "invalid-step", "The episode has not taken that step"


class UnknownServiceError(GatewayError):
    status, code, title = 404, "unknown-service", "There is no such service"


class UnknownEpisodeError(GatewayError):
    status, code, title = 404, "unknown-episode", "There is no such episode"


class EpisodeExistsError(GatewayError):
    status, code, title = 409, "episode-exists", "An episode of that id is live"


class NotResetError(GatewayError):
    status, code, title = 409, "not-reset", "No episode was started here"


class EpisodeDoneError(GatewayError):
    status, code, title = 409, "episode-done", "The episode is over"


class EpisodeClosedError(GatewayError):
    status, code, title = 409, "episode-closed", "The episode was closed"


class StepConflictError(GatewayError):
    status, code, title = 409, "step-conflict", "The step number belongs to another step"


class NoPageViewsLeftError(GatewayError):
    status, code, title = 409, "no-page-views-left", "No page views are left"


class EpisodeQueueFullError(GatewayError):
    status, code, title = 429, "too-many-waiting", "Too many calls wait for this episode"


class RateLimitedError(GatewayError):
    status, code, title = 429, "rate-limited", "Too many requests of this client are waiting"


class EpisodeTakenOverError(GatewayError):
    status, code, title = 409, "episode-taken", "The episode goes on over another connection"


class UnknownSnapshotError(GatewayError):
    status, code, title = 404, "unknown-snapshot", "There is no such snapshot"


class ForeignSnapshotError(GatewayError):
    status, code, title = 409, "foreign-snapshot", "The snapshot is of another episode"


class LostSnapshotError(GatewayError):
    status, code, title = 410, "snapshot-lost", "What the snapshot names is gone"


class CorruptSnapshotError(GatewayError):
    status, code, title = 410, "snapshot-corrupt", "The snapshot is not what it was"


class EpisodeQuarantinedError(GatewayError):
    status, code, title = 410, "episode-quarantined", "The episode is in quarantine"


class UnknownQuarantineItemError(GatewayError):
    status, code, title = 404, "unknown-quarantine-item", "Nothing in quarantine has that id"


class QuarantineConflictError(GatewayError):
    status, code, title = 409, "quarantine-conflict", "The files cannot be moved back"


class SnapshotLimitError(GatewayError):
    status, code, title = 409, "snapshots-full", "No more snapshots are kept; delete one"


class StorageFullError(GatewayError):
    status, code, title = 507, "storage-full", "There is no room on the disk"


class AtCapacityError(GatewayError):
    status, code, title = 503, "at-capacity", "There is no room for another episode"


class OracleDemoLimitError(GatewayError):
    status, code, title = 429, "demonstrations-full", "Enough demonstrations are running"


class OracleNotInstalledError(GatewayError):
    status, code, title = 501, "oracle-not-installed", "The policy `oracle` is not installed"


class BrowserMissingError(GatewayError):
    status, code, title = 409, "browser-missing", "The gateway has no browser"


class WindowLimitError(GatewayError):
    status, code, title = 429, "windows-full", "There is no room for another window"


class BrowserUnavailableError(GatewayError):
    status, code, title = 503, "browser-unavailable", "The browser does not answer"


class ServicesUnavailableError(GatewayError):
    status, code, title = 503, "services-unavailable", "A service does not answer"


class ShuttingDownError(GatewayError):
    status, code, title = 503, "shutting-down", "The gateway is shutting down"


class UnansweredError(GatewayError):
    status, code, title = 504, "unanswered", "The gateway shut down before the answer"


class InternalError(GatewayError):
    status, code, title = 500, "internal-error", "Internal server error"


class InfrastructureError(Exception):
    """A bug or a real outage during an episode; never caused by the agent."""


class ServiceRefusalError(InfrastructureError):
    """A service refused a call of the gateway itself; `code` is that of its problem."""

    def __init__(self, text: str, *, code: str, detail: str) -> None:
        super().__init__(text)
        self.code = code
        self.detail = detail


class LeaseHeldError(Exception):
    """Another gateway holds the lease of a service."""


def parse_problem(content: bytes) -> tuple[str, str]:
    """Return the code and the detail of a service's refusal; `no-problem` where the content is none."""
    try:
        body = orjson.loads(content)
    except orjson.JSONDecodeError:
        return "no-problem", ""
    if not isinstance(body, dict):
        return "no-problem", ""
    return str(body.get("code", "no-problem")), str(body.get("detail") or body.get("title") or "")


class QuarantineReason(StrEnum):
    """Why files are moved to quarantine."""

    DAMAGED = "damaged"
    FORMAT = "unsupported-format"
    TASK_CHANGED = "task-changed"
    DATABASE_MISMATCH = "databases-disagree"
    DUPLICATE = "duplicate-id"
    UNKNOWN_OWNER = "unknown-owner"


class UnusableFilesError(Exception):
    """Files that this version cannot go on from: `reason` is a stable code, the text says what was found."""

    def __init__(self, reason: QuarantineReason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
