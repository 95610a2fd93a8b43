"""When a delegation is in force, who may give one and which may be taken back."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from companyos_approvalflow.delegations.model import Delegation
from companyos_shared.chassis import Problem
from companyos_shared.wire.company import Company


class DelegationNotFound(Problem):
    status, code, title = 404, "delegation-not-found", "There is no such delegation"


class DelegationRevoked(Problem):
    status, code, title = 409, "delegation-revoked", "The delegation was revoked"


class DelegationEnded(Problem):
    status, code, title = 409, "delegation-ended", "The delegation has ended"


class DelegationNotStarted(Problem):
    status, code, title = 409, "delegation-not-started", "The delegation has not started"


class DelegationOutOfScope(Problem):
    status, code, title = 403, "delegation-out-of-scope", "The delegation does not cover the approval type"


class DelegationLimitTooLow(Problem):
    status, code, title = 403, "delegation-limit-too-low", "The amount is above the delegation's limit"


class DelegationNotYours(Problem):
    status, code, title = 403, "delegation-not-yours", "The authority belongs to somebody else"


class NothingToDelegate(Problem):
    status, code, title = 403, "nothing-to-delegate", "The person decides about none of the approval types"


class DelegateUnknown(Problem):
    status, code, title = 422, "delegate-unknown", "The delegate does not work for the company"


class DelegationToSelf(Problem):
    status, code, title = 422, "delegation-to-self", "The delegate is the person who delegates"


class DelegationPeriod(Problem):
    status, code, title = 422, "delegation-period", "The period of the delegation does not fit"


OUT_OF_FORCE: tuple[type[Problem], ...] = (
    DelegationRevoked,
    DelegationEnded,
    DelegationNotStarted,
    DelegationOutOfScope,
    DelegationLimitTooLow,
)
"""Why a delegation does not carry a decision; a later one comes closer to carrying it."""


def delegation_refusal(
    delegation: Delegation, type_key: str, *, amount_cents: int, now: datetime
) -> type[Problem] | None:
    """Return why the delegation does not carry a decision about the amount at `now`, or None where it does."""
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
    """Raise the Problem that keeps the caller from handing the giver's authority to the delegate.

    `roles` are those that decide about the approval types in question.
    """
    if giver_id != caller_id:
        raise DelegationNotYours(f"The caller is {caller_id}, the authority is that of {giver_id}.")
    if delegate_id == giver_id:
        raise DelegationToSelf(f"{giver_id} is on both sides.")
    if not company.is_active(delegate_id, now.date()):
        raise DelegateUnknown(f"{delegate_id} is not employed today.")
    giver = company.person(giver_id)
    held = giver.roles if giver is not None and giver.is_employed(now.date()) else ()
    if not any(role.holds_on(now.date()) and role.role.value in roles for role in held):
        raise NothingToDelegate(f"{giver_id} holds no role that decides about these approval types today.")


def check_period(starts_at: datetime, ends_at: datetime, now: datetime) -> None:
    """Raise DelegationPeriod (422) for a period that begins in the past or does not end after its beginning."""
    if starts_at < now:
        raise DelegationPeriod("The period begins in the past.")
    if ends_at <= starts_at:
        raise DelegationPeriod("The period ends before it begins.")


def check_may_revoke(delegation: Delegation, now: datetime) -> None:
    """Raise DelegationRevoked or DelegationEnded (409) for a delegation that is over."""
    if delegation.revoked_at is not None:
        raise DelegationRevoked(f"{delegation.id} was revoked before.")
    if delegation.ends_at <= now:
        raise DelegationEnded(f"{delegation.id} has ended.")
