"""Policies: what plays an episode, found by the entry-point group `companyos.policies`."""

from companyos.policies.policy import (
    Accountable,
    Call,
    CannotPlay,
    EpisodeOver,
    InfrastructureFailed,
    Policy,
    StepView,
    TaskView,
)
from companyos.policies.registry import UnknownPolicy, load_policy, policy_names

__all__ = [
    "Accountable",
    "Call",
    "CannotPlay",
    "EpisodeOver",
    "InfrastructureFailed",
    "Policy",
    "StepView",
    "TaskView",
    "UnknownPolicy",
    "load_policy",
    "policy_names",
]
