"""The history of a vendor's bank details: how long ago they changed, and which accounts were given up."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from companyos_gateway.scenarios.vendor_bank_change.case import Ground, Shape
from companyos_gateway.world.calendar import office_moment
from companyos_gateway.world.documents.datahub import BankChangeRow, VendorRow
from companyos_gateway.world.draft import World
from companyos_gateway.world.pools import pool
from companyos_gateway.world.vendors import draw_iban
from companyos_shared.streams import Stream

OLD_DAYS = (90, 300)
"""How many days ago usual changes of bank details were."""

SOON_DAYS = (4, 16)
"""How many days ago one was after which another comes too soon."""


def add_history(
    world: World, stream: Stream, vendor: VendorRow, shape: Shape, ground: Ground | None
) -> tuple[int | None, BankChangeRow | None]:
    """Add earlier changes; return how many days ago the last was, and the one that gave up the account asked for."""
    old, soon = stream.integer(*OLD_DAYS), stream.integer(*SOON_DAYS)
    has_one, has_two = stream.chance(0.6), stream.chance(0.4)
    last_days = soon if ground is Ground.TOO_SOON else old
    if not (has_one or shape is Shape.FORMER or ground is Ground.TOO_SOON):
        return None, None
    before = draw_iban(stream, vendor.country)
    changes = [(before, vendor.bank_iban, last_days)]
    if has_two:
        changes.insert(0, (draw_iban(stream, vendor.country), before, last_days + stream.integer(*OLD_DAYS)))
    rows = [_bank_change(world, stream, vendor, *change) for change in changes]
    former = stream.choice(rows)
    return last_days, former if shape is Shape.FORMER else None


def _bank_change(
    world: World, stream: Stream, vendor: VendorRow, old_iban: str, new_iban: str, days_ago: int
) -> BankChangeRow:
    wording: dict[str, Any] = pool("vendors")["wording"]
    changed_at = office_moment(stream, world.today - timedelta(days=days_ago))
    row = BankChangeRow(
        id=world.ids.take("BC"),
        vendor_id=vendor.id,
        changed_at=changed_at,
        old_iban=old_iban,
        new_iban=new_iban,
        requested_by=stream.choice(wording["bank_requesters"]),
        channel=stream.choice(wording["channels"]),
    )
    world.hub.bank_changes.append(row)
    return row
