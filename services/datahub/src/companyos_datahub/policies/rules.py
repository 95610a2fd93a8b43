"""Rules of policies."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from companyos_datahub.policies.schemas import PolicyDetail
from companyos_shared.framework import ServiceError


class PolicyNotFoundError(ServiceError):
    status, code, title = 404, "policy-not-found", "Policy or version not found"


class PolicyNotInForceError(ServiceError):
    status, code, title = 404, "policy-not-in-force", "Policy not in force"


def is_in_force(version: PolicyDetail, day: date) -> bool:
    """Return whether a version is in force on that day."""
    return version.effective_from <= day and (version.effective_to is None or day <= version.effective_to)


def version_in_force(policy_id: str, versions: Sequence[PolicyDetail], day: date) -> PolicyDetail:
    """Return the newest version in force on that day; raises PolicyNotFoundError or PolicyNotInForceError (404)."""
    if not versions:
        raise PolicyNotFoundError(f'no policy has the id "{policy_id}"')
    holding = [version for version in versions if is_in_force(version, day)]
    if not holding:
        raise PolicyNotInForceError(f"no version of {policy_id} is in force on {day}")
    return max(holding, key=lambda version: version.version)
