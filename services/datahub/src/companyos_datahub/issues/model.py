"""What can be wrong with data, and why work stopped for it."""

from __future__ import annotations

from companyos_shared.choices import Choice


class IssueKind(Choice):
    """What is wrong."""

    STALE = "stale"
    WRONG = "wrong"
    CONFLICTING = "conflicting"
    MISSING = "missing"
    SUSPICIOUS = "suspicious"
    NOT_ELIGIBLE = "not_eligible"


class ReasonCode(Choice):
    """Why a piece of work ends."""

    COMPLETED = "completed"
    DUPLICATE = "duplicate"
    REQUIREMENT_NOT_MET = "requirement_not_met"
    POLICY_VIOLATION = "policy_violation"
    NOT_ENTITLED = "not_entitled"
    FRAUD_SUSPECTED = "fraud_suspected"
    NO_APPROVER = "no_approver"
    DATA_UNAVAILABLE = "data_unavailable"
    WITHDRAWN = "withdrawn"
