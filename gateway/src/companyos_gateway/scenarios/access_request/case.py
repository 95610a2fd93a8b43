"""The facts of one access request: what the rubric judges by and the clairvoyant oracle knows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from companyos_gateway.chaos import Kind
from companyos_gateway.evaluation.cases import TicketCase
from companyos_shared.wire.company import Role

NAME = "access_request"
OWNER_TYPE = "access_grant"
PRIVILEGED_TYPE = "privileged_access"


class Level(StrEnum):
    """Access level, in ascending order."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


class Variant(StrEnum):
    """Variant of the case: how the grant differs from the request."""

    AS_ASKED = "as_asked"
    TRIMMED = "trimmed"
    SHORTENED = "shortened"
    TRIMMED_AND_SHORTENED = "trimmed_and_shortened"
    REPLACING = "replacing"
    OWN_SYSTEM = "own_system"

    @property
    def is_trimmed(self) -> bool:
        """Return whether the request exceeds what the work needs."""
        return self in (Variant.TRIMMED, Variant.TRIMMED_AND_SHORTENED)

    @property
    def is_shortened(self) -> bool:
        """Return whether the requested term exceeds the policy."""
        return self in (Variant.SHORTENED, Variant.TRIMMED_AND_SHORTENED)


class RefusalGround(StrEnum):
    """Why access must be refused, by the reason code that the policy wants."""

    COVERED = "duplicate"
    KEPT_APART = "policy_violation"
    NOT_ADMITTED = "not_entitled"
    GONE = "requirement_not_met"


@dataclass(frozen=True, kw_only=True)
class Case(TicketCase):
    """One access request."""

    variant: Variant
    ground: RefusalGround | None
    grant_id: str
    person_id: str
    system: str
    level: Level
    until: date
    type_key: str
    role: Role
    holder_id: str | None
    """The one holder who decides, where that is the system's owner."""
    replaced_id: str | None
    """The active grant that gives way to the new one, where there is one."""
    conflicting_grant_id: str | None
    """The grant that covers what is asked for or must be kept apart from it, where one does."""
    policy_id: str
    kinds: frozenset[Kind]
