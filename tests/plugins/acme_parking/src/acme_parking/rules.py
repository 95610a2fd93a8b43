"""The rules by which the gateway seeds the service and judges changes of its rows."""

from __future__ import annotations

from typing import Any

from companyos_gateway.services import ServiceRules
from companyos_gateway.world import WorldBuilder
from companyos_shared.streams import Stream
from companyos_shared.wire.control import Row

ISSUED_PERMITS = 3


def seed(world: WorldBuilder, stream: Stream) -> dict[str, Any]:
    """Return permits of employees for the seed document."""
    people = stream.sample(world.staff.active(), ISSUED_PERMITS)
    return {"permits": [{"id": world.ids.take("PRM"), "person_id": one.id, "status": "issued"} for one in people]}


def is_irreversible(table: str, before: Row, after: Row | None) -> bool:
    """Say whether a permit was revoked."""
    return table == "permits" and after is not None and after["status"] == "revoked" != before["status"]


RULES = ServiceRules(seed=seed, protected_tables=frozenset({"permits"}), is_irreversible=is_irreversible)
