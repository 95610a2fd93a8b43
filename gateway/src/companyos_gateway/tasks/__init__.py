"""The task set: the instance at each position of each split, and its published description.

`positions` names tasks, `task_set` finds and describes them, and `collisions` searches for duplicate instances.
"""

from companyos_gateway.tasks.collisions import fingerprint
from companyos_gateway.tasks.positions import COPIES, TaskPosition, TaskRef
from companyos_gateway.tasks.task_set import CANARY, TaskNotFoundError, TaskSet

__all__ = ["CANARY", "COPIES", "TaskNotFoundError", "TaskPosition", "TaskRef", "TaskSet", "fingerprint"]
