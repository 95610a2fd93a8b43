"""What verifying looks at."""

from __future__ import annotations

from dataclasses import dataclass

from companyos_ticketdesk.assignment.model import Candidate


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """What beside the ticket's own fields decides whether it may be verified."""

    assignee: Candidate | None
    open_items: int
