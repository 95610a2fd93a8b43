"""What is refused about data issues."""

from __future__ import annotations

from companyos_shared.chassis import Problem


class UnknownSubject(Problem):
    status, code, title = 422, "unknown-subject", "DataHub holds nothing of that id"


class ReasonIncomplete(Problem):
    status, code, title = 422, "reason-incomplete", "A reason has a code and the id of the fact behind it"


def check_subject(subject: str, is_known: bool) -> None:
    """Raise UnknownSubject where nothing in DataHub has the id."""
    if not is_known:
        raise UnknownSubject(f"Nothing in DataHub has the id {subject}.")


def check_reason(code: str | None, ref: str | None) -> None:
    """Raise ReasonIncomplete where one half of a reason stands alone."""
    if (code is None) != (ref is None):
        raise ReasonIncomplete
