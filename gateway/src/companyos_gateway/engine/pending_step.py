"""A step in progress: the data collected for the journal and the observation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from openenv.core.env_server.mcp_types import ToolError, ToolErrorType

from companyos.contract import Outcome
from companyos_gateway.engine.episode import Episode
from companyos_gateway.engine.journal import CompletedStep
from companyos_gateway.engine.progress import CallKey, Progress
from companyos_gateway.engine.reward import StepKind
from companyos_gateway.engine.service_client import ReceivedReport
from companyos_gateway.evaluation import FinishDeclaration


@dataclass(slots=True)
class PendingStep:
    """A step in progress."""

    tool: str
    arguments: dict[str, Any]
    kind: StepKind = StepKind.CARRIED_OUT
    call_key: CallKey | None = None
    reports: list[tuple[str, ReceivedReport]] = field(default_factory=list)
    finish: FinishDeclaration | None = None
    is_judged: bool = False
    result: Any = None
    error: ToolError | None = None

    def record(self, episode: Episode, service: str, received_report: ReceivedReport, response: Any = None) -> None:
        """Record the report of a service, and the response that the agent receives."""
        episode.progress.record(service, received_report.report, response)
        self.reports.append((service, received_report))

    def judge(self, episode: Episode) -> None:
        """Judge the episode by its current evidence."""
        episode.progress.judge(episode.task)
        self.is_judged = True

    def reject(self, kind: ToolErrorType, message: str) -> None:
        """Record a step without a call, because the tool or its arguments are invalid."""
        self.kind = StepKind.INVALID_CALL
        self.error = ToolError(error_type=kind, message=message)

    def fail(self, message: str) -> None:
        """Record a step that failed with an infrastructure error."""
        self.result = None
        self.error = ToolError(error_type=ToolErrorType.EXECUTION_ERROR, message=message)

    def complete(self, progress: Progress, reward: float, end: Outcome | None) -> CompletedStep:
        """Return the completed step."""
        return CompletedStep(
            step=progress.step,
            tool=self.tool,
            arguments=self.arguments,
            now=progress.now,
            call_key=self.call_key,
            finish=self.finish,
            is_judged=self.is_judged,
            balance=progress.ledger.balance,
            reward=reward,
            end=end,
            note=self._note(end),
            result=self.result,
            error=self.error,
        )

    def _note(self, end: Outcome | None) -> str:
        if end is Outcome.INFRA_ERROR:
            return end.value
        if self.error is not None:
            return self.error.error_type.value
        is_refused = isinstance(self.result, dict) and self.kind is not StepKind.CARRIED_OUT
        return str((is_refused and self.result.get("code")) or self.kind.value)
