"""The interface of a scenario, and the instance that it plans."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Protocol

from pydantic_core import to_json

from companyos_gateway.chaos import Drift, FaultPlan, Injection
from companyos_gateway.evaluation import TaskRubric
from companyos_gateway.world.seed_documents import SeedDocuments
from companyos_shared.wire.control import source_of

NO_DRIFT = Drift()
_COMPANY_FIELDS = ("company", "draw_seed", "started_at")


@dataclass(frozen=True, kw_only=True)
class Instance:
    """One planned task. Everything but brief, company_name, acting_as and started_at is hidden from the agent."""

    scenario: str
    seed: int
    chaos: int
    brief: str
    company_name: str
    acting_as: str
    started_at: datetime
    max_steps: int
    documents: Mapping[str, dict[str, Any]]
    """Seed documents by service."""
    task_tools: tuple[str, ...]
    variant: str
    """The structure of the task: the required work, apart from figures and names."""
    faults: FaultPlan
    rubric: TaskRubric
    injections: tuple[Injection, ...]
    drift: Drift = NO_DRIFT
    """Renamed fields and tools of the episode."""
    build_rubric: Callable[[], TaskRubric] | None = None
    """Builds the rubric again, for judging with changed code; None if that is not possible."""

    @cached_property
    def source_ids(self) -> dict[str, str]:
        """The ids of the sources that the services create from the documents."""
        return {service: source_of(service, self.seed_document(service)) for service in self.documents}

    def seed_document(self, service: str) -> bytes:
        """Return the seed document of a service as JSON, with only the company if the scenario has none for it."""
        if isinstance(self.documents, SeedDocuments) and service in self.documents:
            return self.documents.contents[service]
        document = self.documents.get(service)
        if document is None:
            any_document = next(iter(self.documents.values()))
            document = {name: any_document[name] for name in _COMPANY_FIELDS}
        return to_json(document)


class Scenario(Protocol):
    """A generator of tasks. The first line of its docstring is its public summary."""

    name: str
    held_out: frozenset[str]
    """Variants that only tasks of the test split have."""

    def plan(self, seed: int, chaos: int, overrides: Mapping[str, float] | None = None) -> Instance:
        """Plan the instance of a seed and chaos level. Raises ValueError for invalid overrides."""
        ...
