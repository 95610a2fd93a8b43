"""Policies: what plays an episode, found by the entry-point group `companyos.policies`."""

from companyos.policies.policy import Call, EpisodeOver, Policy, StepView, TaskView
from companyos.policies.registry import UnknownPolicy, load_policy, policy_names

__all__ = [
    "Call",
    "EpisodeOver",
    "Policy",
    "StepView",
    "TaskView",
    "UnknownPolicy",
    "load_policy",
    "policy_names",
]
