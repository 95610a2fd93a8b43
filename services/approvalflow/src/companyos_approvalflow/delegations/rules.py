"""Rules of delegations: validity, creation and revocation."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from companyos_approvalflow.delegations.model import Delegation
from companyos_shared.chassis import Problem
from companyos_shared.chassis.columns import time_text
from companyos_shared.wire.company import Company


class DelegationNotFound(Problem):
    status, code, title = 404, "delegation-not-found", "Delegation not found"


class DelegationRevoked(Problem):
    status, code, title = 409, "delegation-revoked", "Delegation revoked"


class DelegationEnded(Problem):
    status, code, title = 409, "delegation-ended", "Delegation ended"


class DelegationNotStarted(Problem):
    status, code, title = 409, "delegation-not-started", "Delegation not started"


class DelegationOutOfScope(Problem):
    status, code, title = 403, "delegation-out-of-scope", "Approval type not covered by the delegation"


class DelegationLimitTooLow(Problem):
    status, code, title = 403, "delegation-limit-too-low", "Amount above the delegation's limit"


class DelegationNotYours(Problem):
    status, code, title = 403, "delegation-not-yours", "Authority of another person"


class NothingToDelegate(Problem):
    status, code, title = 403, "nothing-to-delegate", "No authority to delegate"


class DelegateUnknown(Problem):
    status, code, title = 422, "delegate-unknown", "Delegate not employed"


class DelegationToSelf(Problem):
    status, code, title = 422, "delegation-to-self", "Delegation to self"


class DelegationPeriod(Problem):
    status, code, title = 422, "delegation-period", "Invalid delegation period"


OUT_OF_FORCE: tuple[type[Problem], ...] = (
    DelegationRevoked,
    DelegationEnded,
    DelegationNotStarted,
    DelegationOutOfScope,
    DelegationLimitTooLow,
)
"""Problems of a delegation that does not cover a decision; later ones come closer to covering it."""


def delegation_refusal(
    delegation: Delegation, type_key: str, *, amount_cents: int, now: datetime
) -> type[Problem] | None:
    """Return the problem of a delegation that does not cover the amount at `now`, or None."""
    if delegation.revoked_at is not None and delegation.revoked_at <= now:
        return DelegationRevoked
    if delegation.ends_at <= now:
        return DelegationEnded
    if now < delegation.starts_at:
        return DelegationNotStarted
    if delegation.type_keys and type_key not in delegation.type_keys:
        return DelegationOutOfScope
    if delegation.limit_cents is not None and amount_cents > delegation.limit_cents:
        return DelegationLimitTooLow
    return None


def check_may_delegate(
    company: Company, *, giver_id: str, delegate_id: str, caller_id: str, roles: Collection[str], now: datetime
) -> None:
    """Raise a Problem if the caller may not delegate the giver's authority to the delegate.

    `roles` are the roles that decide the approval types.
    """
    if giver_id != caller_id:
        raise DelegationNotYours(f'from_id must be {caller_id}, the caller; got "{giver_id}"')
    if delegate_id == giver_id:
        raise DelegationToSelf(f"to_id must differ from from_id; got {giver_id} for both")
    if not company.is_active(delegate_id, now.date()):
        raise DelegateUnknown(f'to_id must be the id of a current employee; got "{delegate_id}"')
    giver = company.person(giver_id)
    giver_roles = giver.roles if giver is not None and giver.is_employed(now.date()) else ()
    if not any(role.holds_on(now.date()) and role.role.value in roles for role in giver_roles):
        raise NothingToDelegate(f"{giver_id} has none of the roles {', '.join(sorted(roles))} today.")


def check_period(starts_at: datetime, ends_at: datetime, now: datetime) -> None:
    """Raise DelegationPeriod (422) for a period that begins in the past or does not end after its start."""
    if starts_at < now:
        raise DelegationPeriod(f"starts_at must not be before {time_text(now)}; got {time_text(starts_at)}")
    if ends_at <= starts_at:
        raise DelegationPeriod(f"ends_at must be after starts_at ({time_text(starts_at)}); got {time_text(ends_at)}")


def check_may_revoke(delegation: Delegation, now: datetime) -> None:
    """Raise DelegationRevoked or DelegationEnded (409) for a delegation that has ended."""
    if delegation.revoked_at is not None:
        raise DelegationRevoked(f"{delegation.id} was revoked at {time_text(delegation.revoked_at)}.")
    if delegation.ends_at <= now:
        raise DelegationEnded(f"{delegation.id} ended at {time_text(delegation.ends_at)}.")
