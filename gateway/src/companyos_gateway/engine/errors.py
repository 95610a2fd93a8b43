"""Errors of the gateway as problem details (RFC 9457), each with a stable code."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, ClassVar

import orjson

from companyos_shared.wire.problem import ProblemBody


class GatewayError(Exception):
    """A refused request, for which no step is taken; the text starts with the stable code."""

    status: ClassVar[int] = 400
    code: ClassVar[str] = "bad-request"
    title: ClassVar[str] = "Request refused"
    default_detail: ClassVar[str | None] = None
    """Detail of an error that is raised without one."""

    def __init__(self, detail: str | None = None, *, errors: list[dict[str, Any]] | None = None) -> None:
        self.detail = detail or self.default_detail
        super().__init__(f"{self.code}: {self.detail or self.title}")
        self.errors = errors

    def body(self) -> ProblemBody:
        """Return the body of the HTTP response."""
        return ProblemBody(title=self.title, status=self.status, code=self.code, detail=self.detail, errors=self.errors)


class UnknownTaskError(GatewayError):
    status, code, title = 400, "unknown-task", "Task not found"


class InvalidResetError(GatewayError):
    status, code, title = 422, "invalid-reset", "Invalid reset options"


class UnknownScenarioError(GatewayError):
    status, code, title = 422, "unknown-scenario", "Scenario not found"


class InvalidActionError(GatewayError):
    status, code, title = 422, "invalid-action", "Invalid action"


class InvalidStepError(GatewayError):
    status, code, title = 422, "invalid-step", "Step not found"


class UnknownServiceError(GatewayError):
    status, code, title = 404, "unknown-service", "Service not found"


class UnknownEpisodeError(GatewayError):
    status, code, title = 404, "unknown-episode", "Episode not found"
    default_detail = "No live episode has this id."


class EpisodeExistsError(GatewayError):
    status, code, title = 409, "episode-exists", "Episode already exists"


class EpisodeKeptError(GatewayError):
    status, code, title = 409, "episode-kept", "The episode is always kept"


class NotResetError(GatewayError):
    status, code, title = 409, "not-reset", "No episode started"
    default_detail = "The connection has no episode; a reset starts one."


class EpisodeDoneError(GatewayError):
    status, code, title = 409, "episode-done", "Episode has ended"
    default_detail = "The episode has ended; no further actions are executed."


class EpisodeClosedError(GatewayError):
    status, code, title = 409, "episode-closed", "Episode was closed"
    default_detail = "The episode was closed by its client or replaced by another reset."


class StepConflictError(GatewayError):
    status, code, title = 409, "step-conflict", "Step number does not match"


class NoPageViewsLeftError(GatewayError):
    status, code, title = 409, "no-page-views-left", "No page views left"


class EpisodeQueueFullError(GatewayError):
    status, code, title = 429, "too-many-waiting", "Too many calls of this episode are waiting"


class RateLimitedError(GatewayError):
    status, code, title = 429, "rate-limited", "Too many requests of this client are waiting"


class EpisodeTakenOverError(GatewayError):
    status, code, title = 409, "episode-taken-over", "Episode taken over by another connection"
    default_detail = "Another connection resumed the episode with its token."


class UnknownSnapshotError(GatewayError):
    status, code, title = 404, "unknown-snapshot", "Snapshot not found"


class ForeignSnapshotError(GatewayError):
    status, code, title = 409, "foreign-snapshot", "Snapshot of another episode"

    def __init__(self) -> None:
        super().__init__("The snapshot belongs to another episode. Fork it, or reset with it as injected_state.")


class LostSnapshotError(GatewayError):
    status, code, title = 410, "snapshot-lost", "Snapshot data missing"


class CorruptSnapshotError(GatewayError):
    status, code, title = 410, "snapshot-corrupt", "Snapshot cannot be used"


class EpisodeQuarantinedError(GatewayError):
    status, code, title = 410, "episode-quarantined", "Episode is in quarantine"


class UnknownQuarantineItemError(GatewayError):
    status, code, title = 404, "unknown-quarantine-item", "Quarantine item not found"


class QuarantineConflictError(GatewayError):
    status, code, title = 409, "quarantine-conflict", "Quarantine item cannot be restored"


class SnapshotLimitError(GatewayError):
    status, code, title = 409, "snapshot-limit", "Snapshot limit reached"


class StorageFullError(GatewayError):
    status, code, title = 507, "storage-full", "Storage is full"


class AtCapacityError(GatewayError):
    status, code, title = 503, "at-capacity", "Episode limit reached"


class OracleDemoLimitError(GatewayError):
    status, code, title = 429, "demonstration-limit", "Demonstration limit reached"


class OracleNotInstalledError(GatewayError):
    status, code, title = 501, "oracle-not-installed", "Policy `oracle` not installed"


class BrowserMissingError(GatewayError):
    status, code, title = 409, "browser-missing", "Browser not available"


class WindowLimitError(GatewayError):
    status, code, title = 429, "window-limit", "Window limit reached"


class BrowserUnavailableError(GatewayError):
    status, code, title = 503, "browser-unavailable", "Browser does not respond"
    default_detail = "The browser does not respond; the cause is in the gateway's log."


class ServicesUnavailableError(GatewayError):
    status, code, title = 503, "services-unavailable", "Service unavailable"


class ShuttingDownError(GatewayError):
    status, code, title = 503, "shutting-down", "Gateway is shutting down"


class UnansweredError(GatewayError):
    status, code, title = 504, "unanswered", "Gateway shut down before responding"


class RubricFailedError(GatewayError):
    status, code, title = 500, "rubric-failed", "The rubric of the task raised an exception"
    default_detail = "The rubric raised an exception, which is in the gateway's log."


class InternalError(GatewayError):
    status, code, title = 500, "internal-error", "Internal server error"
    default_detail = "An unexpected error, whose traceback is in the gateway's log."


class InfrastructureError(Exception):
    """A bug or a real outage during an episode, never caused by the agent."""


class ServiceRefusalError(InfrastructureError):
    """A service refused a call of the gateway itself; `code` and `detail` are those of the service's problem."""

    def __init__(self, text: str, *, code: str, detail: str) -> None:
        super().__init__(text)
        self.code = code
        self.detail = detail


class LeaseHeldError(Exception):
    """Another gateway holds the lease of a service."""


def parse_problem(content: bytes) -> tuple[str, str]:
    """Return the code and the detail of a service's problem; the code is `no-problem` if the content has none."""
    try:
        body = orjson.loads(content)
    except orjson.JSONDecodeError:
        return "no-problem", ""
    if not isinstance(body, dict):
        return "no-problem", ""
    return str(body.get("code", "no-problem")), str(body.get("detail") or body.get("title") or "")


class QuarantineReason(StrEnum):
    """Reason for moving files to quarantine."""

    DAMAGED = "damaged"
    FORMAT = "unsupported-format"
    TASK_CHANGED = "task-changed"
    DATABASE_MISMATCH = "database-mismatch"
    DUPLICATE = "duplicate-id"
    UNKNOWN_OWNER = "unknown-owner"


class UnusableFilesError(Exception):
    """Files that this version cannot use: `reason` is a stable code, the text describes the problem."""

    def __init__(self, reason: QuarantineReason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
