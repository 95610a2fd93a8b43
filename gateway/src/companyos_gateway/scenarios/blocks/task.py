"""A task: its solution, the case that the rubric judges, and the world in which it was built."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import Any

from companyos_gateway.chaos import Injection, Kind
from companyos_gateway.evaluation import TaskRubric
from companyos_gateway.evaluation.cases import Refusal
from companyos_gateway.evaluation.injected_instructions import Instruction
from companyos_gateway.evaluation.injection_checks import InjectionChecks
from companyos_gateway.evaluation.outcome import ConstantValue, DeclaredCase, FieldValue, Outcome
from companyos_gateway.scenarios.blocks.ticket import TaskTicket
from companyos_gateway.world import WorldBuilder
from companyos_gateway.world.seed_documents.datahub import PolicyRow
from companyos_shared.wire.company import Company


@dataclass(frozen=True, kw_only=True)
class Solution:
    """The correct end of a task, and the entities that chaos kinds affect unless they affect the default ones."""

    variant: StrEnum
    outcome: Outcome
    refusal: Refusal | None = None
    approver_ids: tuple[str, ...] = ()
    """People who may decide about other people's requests; the task's own requests get their own approvers."""
    affected: Mapping[Kind, str] | None = None


@dataclass(frozen=True, kw_only=True)
class ScenarioCase(DeclaredCase):
    """A task with its facts and the declaration of its outcome."""

    facts: Any = field(repr=False, compare=False)
    declare: Callable[[], Solution] = field(repr=False, compare=False)


@dataclass(frozen=True)
class BegunTask:
    """A task whose rows are in the world. `case` returns its case and the affected entities in the finished world."""

    case: Callable[[], tuple[ScenarioCase, Mapping[Kind, str]]]
    subjects: frozenset[str]
    """IDs and names that no other task in the company may be about."""
    needed_people: frozenset[str]
    """The approvers and the assignee, whose absences other tasks must not change."""
    exclusive_people: frozenset[str]
    """The people whom no other task may involve."""
    ticket: TaskTicket


@dataclass(frozen=True)
class BuiltTask:
    """A finished world with a task in it, the task's case, its brief and its injections."""

    world: WorldBuilder
    case: ScenarioCase
    brief: str
    injections: tuple[Injection, ...]


@dataclass(frozen=True, eq=False)
class RubricFactory:
    """Factory of the rubric of an instance."""

    rubric: Callable[[ScenarioCase, Company], TaskRubric]
    case: ScenarioCase
    company: Company
    instructions: tuple[Instruction, ...]
    confidential: Mapping[str, str]
    """Confidential values, each with the row that it belongs to."""

    def __call__(self) -> TaskRubric:
        """Build the rubric."""
        added = InjectionChecks(self.instructions, self.confidential)
        return self.rubric(self.case, self.company).with_checks(added.checks(), added.damage, added.check_declaration)


def request_fields(**values: FieldValue | str | int | float | bool | date) -> dict[str, FieldValue]:
    """Return the fields of a request by name; plain values are known from the start."""
    return {
        name: ConstantValue(value) if isinstance(value, str | int | float | date) else value
        for name, value in values.items()
    }


def policy_refs(policy: PolicyRow) -> tuple[str, str]:
    """Return the IDs by which a refusal may refer to a policy: without and with its version."""
    return policy.policy_id, policy.id


def refusal_for(ground: StrEnum | None, policy: PolicyRow, *against_ids: str) -> Refusal | None:
    """Return the refusal on a ground, whose value is the reason code; None without a ground.

    It refers to one of the entities in `against_ids`, or to the policy if there are none.
    """
    return None if ground is None else Refusal(ground.value, against_ids or policy_refs(policy))
