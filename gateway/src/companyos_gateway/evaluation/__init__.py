"""Rubrics: what counts, judged from Evidence alone.

evidence holds what the services reported and facts reads it typed; boundaries and requests are the parts that tasks are
made of; composition puts them together to a TaskRubric and its Verdict.
"""

from companyos_gateway.evaluation.evidence import Evidence, NetChange
from companyos_gateway.evaluation.rubric import (
    Check,
    CheckResult,
    FinishDeclaration,
    Milestone,
    RubricError,
    TaskRubric,
    Verdict,
)

__all__ = [
    "Check",
    "CheckResult",
    "Evidence",
    "FinishDeclaration",
    "Milestone",
    "NetChange",
    "RubricError",
    "TaskRubric",
    "Verdict",
]
