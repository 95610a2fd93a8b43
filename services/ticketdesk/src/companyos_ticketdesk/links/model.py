"""Links, their relations from both ends, and their queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, bindparam, case, or_, select

from companyos_shared.choices import Choice
from companyos_shared.framework import FixedSelect, number_order
from companyos_ticketdesk.tables import links, tickets
from companyos_ticketdesk.tickets.model import SETTLED, Status


class LinkKind(Choice):
    """Relation of the first ticket to the second."""

    BLOCKS = "blocks"
    DUPLICATES = "duplicates"
    RELATES_TO = "relates_to"


class Relation(Choice):
    """Relation between linked tickets, seen from either end."""

    BLOCKS = "blocks"
    IS_BLOCKED_BY = "is_blocked_by"
    DUPLICATES = "duplicates"
    IS_DUPLICATED_BY = "is_duplicated_by"
    RELATES_TO = "relates_to"


_FROM_THE_OTHER_END = {
    LinkKind.BLOCKS: Relation.IS_BLOCKED_BY,
    LinkKind.DUPLICATES: Relation.IS_DUPLICATED_BY,
    LinkKind.RELATES_TO: Relation.RELATES_TO,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A row of the table `links`: `from_key` blocks, duplicates or relates to `to_key`."""

    id: str
    kind: LinkKind
    from_key: str
    to_key: str
    created_at: datetime
    created_by: str

    def touches(self, key: str) -> bool:
        """Return whether the ticket is an end of the link."""
        return key in (self.from_key, self.to_key)

    def other(self, key: str) -> str:
        """Return the other end."""
        return self.to_key if key == self.from_key else self.from_key

    def relation(self, key: str) -> Relation:
        """Return the relation of `key` to the other end."""
        return Relation(self.kind.value) if key == self.from_key else _FROM_THE_OTHER_END[self.kind]


_OTHER_KEY = case((links.c.from_key == bindparam("key"), links.c.to_key), else_=links.c.from_key)
_OF_TICKET = FixedSelect(
    select(links, tickets.c.status)
    .join(tickets, tickets.c.key == _OTHER_KEY)
    .where(or_(links.c.from_key == bindparam("key"), links.c.to_key == bindparam("key")))
    .order_by(links.c.created_at, *number_order(links.c.id))
)


def link_of(row: Mapping[str, Any]) -> Link:
    """Return the link of a row."""
    return Link(**{**row, "kind": LinkKind(row["kind"])})


def find_link(db: Connection, link_id: str) -> Link | None:
    """Return the link with that id, or None."""
    row = db.execute(select(links).where(links.c.id == link_id)).one_or_none()
    return None if row is None else link_of(row._asdict())


def list_links(db: Connection, key: str) -> list[tuple[Link, Status | None]]:
    """Return the links of a ticket, oldest first, each with the status of the other ticket."""
    rows = _OF_TICKET.rows(db, key=key)
    statuses = [row.pop("status") for row in rows]
    return [(link_of(row), status and Status(status)) for row, status in zip(rows, statuses, strict=True)]


def list_blocks(db: Connection) -> list[Link]:
    """Return all blocking links."""
    statement = select(links).where(links.c.kind == LinkKind.BLOCKS)
    return [
        link_of(row._asdict()) for row in db.execute(statement.order_by(links.c.created_at, *number_order(links.c.id)))
    ]


def list_blockers(db: Connection, key: str) -> list[str]:
    """Return the keys of the unsettled tickets that block this one."""
    return unsettled_blockers(key, list_links(db, key))


def unsettled_blockers(key: str, links: Iterable[tuple[Link, Status | None]]) -> list[str]:
    """Return the keys of the unsettled tickets that block a ticket, from its links."""
    return sorted(
        {
            link.from_key
            for link, status in links
            if link.kind is LinkKind.BLOCKS and link.to_key == key and status not in SETTLED
        }
    )
