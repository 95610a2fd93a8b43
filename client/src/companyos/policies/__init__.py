"""Policies that play episodes, found by the entry-point group `companyos.policies`."""

from companyos.policies.policy import (
    Accountable,
    Call,
    EpisodeOverError,
    InfrastructureError,
    Policy,
    PolicyUnavailableError,
    StepView,
    TaskView,
)
from companyos.policies.registry import UnknownPolicyError, load_policy, policy_names

__all__ = [
    "Accountable",
    "Call",
    "EpisodeOverError",
    "InfrastructureError",
    "Policy",
    "PolicyUnavailableError",
    "StepView",
    "TaskView",
    "UnknownPolicyError",
    "load_policy",
    "policy_names",
]
