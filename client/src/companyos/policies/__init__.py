"""Policies that play episodes, found by the entry-point group `companyos.policies`."""

from companyos.policies.policy import (
    Call,
    EpisodeOverError,
    InfrastructureError,
    Policy,
    PolicyUnavailableError,
    ReportsUsage,
    StepView,
    TaskView,
)
from companyos.policies.registry import UnknownPolicyError, import_policy, load_policy, policy_names

__all__ = [
    "Call",
    "EpisodeOverError",
    "InfrastructureError",
    "Policy",
    "PolicyUnavailableError",
    "ReportsUsage",
    "StepView",
    "TaskView",
    "UnknownPolicyError",
    "import_policy",
    "load_policy",
    "policy_names",
]
