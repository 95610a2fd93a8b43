"""Rules of delegations: validity, creation and revocation."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from companyos_approvalflow.delegations.model import Delegation
from companyos_shared.framework import ServiceError
from companyos_shared.framework.columns import format_time
from companyos_shared.wire.company import Company


class DelegationNotFoundError(ServiceError):
    status, code, title = 404, "delegation-not-found", "Delegation not found"


class DelegationRevokedError(ServiceError):
    status, code, title = 409, "delegation-revoked", "Delegation revoked"


class DelegationEndedError(ServiceError):
    status, code, title = 409, "delegation-ended", "Delegation ended"


class DelegationNotStartedError(ServiceError):
    status, code, title = 409, "delegation-not-started", "Delegation not started"


class DelegationOutOfScopeError(ServiceError):
    status, code, title = 403, "delegation-out-of-scope", "Approval type not covered by the delegation"


class DelegationLimitTooLowError(ServiceError):
    status, code, title = 403, "delegation-limit-too-low", "Amount above the delegation's limit"


class DelegationNotYoursError(ServiceError):
    status, code, title = 403, "delegation-not-yours", "Authority of another person"


class NothingToDelegateError(ServiceError):
    status, code, title = 403, "nothing-to-delegate", "No authority to delegate"


class UnknownDelegateError(ServiceError):
    status, code, title = 422, "unknown-delegate", "Delegate not employed"


class DelegationToSelfError(ServiceError):
    status, code, title = 422, "delegation-to-self", "Delegation to self"


class InvalidDelegationPeriodError(ServiceError):
    status, code, title = 422, "delegation-period", "Invalid delegation period"


OUT_OF_FORCE: tuple[type[ServiceError], ...] = (
    DelegationRevokedError,
    DelegationEndedError,
    DelegationNotStartedError,
    DelegationOutOfScopeError,
    DelegationLimitTooLowError,
)
"""Errors for a delegation that does not cover a decision; later ones are closer to covering it."""


def delegation_refusal(
    delegation: Delegation, type_key: str, *, amount_cents: int, now: datetime
) -> type[ServiceError] | None:
    """Return the error for a delegation that does not cover the type and amount at `now`, or None if it covers them."""
    if delegation.revoked_at is not None and delegation.revoked_at <= now:
        return DelegationRevokedError
    if delegation.ends_at <= now:
        return DelegationEndedError
    if now < delegation.starts_at:
        return DelegationNotStartedError
    if delegation.type_keys and type_key not in delegation.type_keys:
        return DelegationOutOfScopeError
    if delegation.limit_cents is not None and amount_cents > delegation.limit_cents:
        return DelegationLimitTooLowError
    return None


def check_may_delegate(
    company: Company, *, giver_id: str, delegate_id: str, caller_id: str, roles: Collection[str], now: datetime
) -> None:
    """Raise an error if the caller may not delegate the giver's authority to the delegate.

    `roles` are the roles that decide the approval types. Raises DelegationNotYoursError or NothingToDelegateError
    (403), DelegationToSelfError or UnknownDelegateError (422).
    """
    if giver_id != caller_id:
        raise DelegationNotYoursError(f'from_id must be {caller_id}, the caller; got "{giver_id}"')
    if delegate_id == giver_id:
        raise DelegationToSelfError(f"to_id must differ from from_id; got {giver_id} for both")
    if not company.is_active(delegate_id, now.date()):
        raise UnknownDelegateError(f'to_id must be the id of a current employee; got "{delegate_id}"')
    giver = company.person(giver_id)
    giver_roles = giver.roles if giver is not None and giver.is_employed(now.date()) else ()
    if not any(role.holds_on(now.date()) and role.role.value in roles for role in giver_roles):
        raise NothingToDelegateError(f"{giver_id} has none of the roles {', '.join(sorted(roles))} today.")


def check_period(starts_at: datetime, ends_at: datetime, now: datetime) -> None:
    """Raise InvalidDelegationPeriodError (422) for a period that starts in the past or does not end after it starts."""
    if starts_at < now:
        raise InvalidDelegationPeriodError(
            f"starts_at must not be before {format_time(now)}; got {format_time(starts_at)}"
        )
    if ends_at <= starts_at:
        raise InvalidDelegationPeriodError(
            f"ends_at must be after starts_at ({format_time(starts_at)}); got {format_time(ends_at)}"
        )


def check_may_revoke(delegation: Delegation, now: datetime) -> None:
    """Raise DelegationRevokedError or DelegationEndedError (409) for a delegation that has ended."""
    if delegation.revoked_at is not None:
        raise DelegationRevokedError(f"{delegation.id} was revoked at {format_time(delegation.revoked_at)}.")
    if delegation.ends_at <= now:
        raise DelegationEndedError(f"{delegation.id} ended at {format_time(delegation.ends_at)}.")
