"""A scenario over the three demo companies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from companyos_gateway.chaos import FaultPlan
from companyos_gateway.evaluation import Check, Evidence, FinishDeclaration, Milestone, Mismatch, TaskRubric
from companyos_gateway.scenarios import Instance
from verification.in_process import installed_services

NAME = "desk_work"
SERVICES = ("approvalflow", "datahub", "ticketdesk")
STARTED_AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
MAX_STEPS = 12


@dataclass(frozen=True)
class DemoScenario:
    """A task without an end: players write and read until no steps are left."""

    name: str = NAME
    held_out: frozenset[str] = frozenset()

    def plan(self, seed: int, chaos: int, overrides: Mapping[str, float] | None = None) -> Instance:
        documents = {name: _document(name, seed) for name in SERVICES}
        return Instance(
            scenario=NAME,
            seed=seed,
            chaos=chaos,
            brief="Write and read.",
            company_name="Three demo companies",
            acting_as="p-nora",
            started_at=STARTED_AT,
            max_steps=MAX_STEPS,
            documents=documents,
            task_tools=(),
            variant="endless",
            faults=FaultPlan((), {}, 0, 0),
            rubric=_rubric(),
            injections=(),
        )


def _document(name: str, seed: int) -> dict[str, Any]:
    document: dict[str, Any] = installed_services()[name].demo_seed().model_dump(mode="json")
    assert document["started_at"] == STARTED_AT.isoformat().replace("+00:00", "Z")
    return {**document, "draw_seed": str(seed)}


def _rubric() -> TaskRubric:
    return TaskRubric(
        checks=[Check("never", False, lambda _evidence: Mismatch("notes", "an end", "there is none"))],
        milestones=[
            Milestone("wrote", 1.0, lambda evidence: bool(evidence.agent_changes())),
            Milestone("wrote much", 2.0, lambda evidence: len(evidence.agent_changes()) > 4),
        ],
        declaration=_declared,
        damage=lambda _evidence: [],
        rejections=lambda _evidence: 0,
        is_closed=lambda _evidence: False,
    )


def _declared(_evidence: Evidence, finish: FinishDeclaration | None) -> Mismatch | None:
    return None if finish is None else Mismatch("finish", "no declaration", "a declaration")
