"""Rubrics: what counts, judged from Evidence alone.

`evidence` holds what the services reported and `row_views` reads it typed; `change_policy`, `approval_requests` and the
goals are the parts of which the rubrics of tasks are made; `rubric` judges.
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
