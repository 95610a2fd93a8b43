"""The task set: which instance stands at which place of which split, and what is published of it.

places says where a task stands and what it is called, taskset answers for all of them, fingerprint tells whether two
instances are the same, collisions looks for two that are.
"""

from companyos_gateway.taskset.fingerprint import fingerprint
from companyos_gateway.taskset.places import COPIES, Place, TaskRef
from companyos_gateway.taskset.taskset import CANARY, TaskSet, UnknownPlace

__all__ = ["CANARY", "COPIES", "Place", "TaskRef", "TaskSet", "UnknownPlace", "fingerprint"]
