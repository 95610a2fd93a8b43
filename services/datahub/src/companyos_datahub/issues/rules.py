"""Rules of data issues."""

from __future__ import annotations

from companyos_shared.framework import ServiceError


class UnknownSubjectError(ServiceError):
    status, code, title = 422, "unknown-subject", "Subject not found"


class ReasonIncompleteError(ServiceError):
    status, code, title = 422, "reason-incomplete", "Reason incomplete"


def check_subject(subject: str, is_known: bool) -> None:
    """Raise UnknownSubjectError (422) if no object has the id."""
    if not is_known:
        raise UnknownSubjectError(
            f'subject must be the id of a metric, source, record, vendor, person or policy; got "{subject}"'
        )


def check_reason(code: str | None, ref: str | None) -> None:
    """Raise ReasonIncompleteError (422) if only the code or only the reference is given."""
    if (code is None) != (ref is None):
        raise ReasonIncompleteError("reason_code and reason_ref must be given together")
