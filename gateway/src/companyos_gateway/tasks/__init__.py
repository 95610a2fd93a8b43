"""The task set: which instance stands at which position of which split, and what is published of it.

`positions` names tasks, `task_set` answers for all of them, `fingerprint` tells whether two instances are the same and
`collisions` looks for two that are.
"""

from companyos_gateway.tasks.fingerprint import fingerprint
from companyos_gateway.tasks.positions import COPIES, TaskPosition, TaskRef
from companyos_gateway.tasks.task_set import CANARY, TaskNotFoundError, TaskSet

__all__ = ["CANARY", "COPIES", "TaskNotFoundError", "TaskPosition", "TaskRef", "TaskSet", "fingerprint"]
