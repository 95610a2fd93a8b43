"""Rubrics, which judge episodes by their Evidence alone.

`evidence` stores the reports of the services and `row_views` parses their rows. `change_policy`, `approval_requests`
and the goals are the components of task rubrics. `rubric` computes the verdict.
"""

from companyos_gateway.evaluation.evidence import Evidence, NetChange
from companyos_gateway.evaluation.milestones import Milestone
from companyos_gateway.evaluation.mismatch import Mismatch
from companyos_gateway.evaluation.rubric import (
    Check,
    CheckResult,
    FinishDeclaration,
    RubricError,
    Standing,
    TaskRubric,
    Verdict,
)

__all__ = [
    "Check",
    "CheckResult",
    "Evidence",
    "FinishDeclaration",
    "Milestone",
    "Mismatch",
    "NetChange",
    "RubricError",
    "Standing",
    "TaskRubric",
    "Verdict",
]
