"""Rules of data issues."""

from __future__ import annotations

from companyos_shared.chassis import Problem


class UnknownSubject(Problem):
    status, code, title = 422, "unknown-subject", "Subject not found"


class ReasonIncomplete(Problem):
    status, code, title = 422, "reason-incomplete", "Reason incomplete"


def check_subject(subject: str, is_known: bool) -> None:
    """Raise UnknownSubject (422) if no object has the id."""
    if not is_known:
        raise UnknownSubject(f'subject must be the id of an object in DataHub; got "{subject}"')


def check_reason(code: str | None, ref: str | None) -> None:
    """Raise ReasonIncomplete (422) if only the code or only the reference is given."""
    if (code is None) != (ref is None):
        raise ReasonIncomplete("reason_code and reason_ref require each other")
