"""The certificates of a vendor: what is on file, and the papers that show more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from companyos_gateway.scenarios.contract_renewal.case import Paper
from companyos_gateway.scenarios.parts.filing import file_record
from companyos_gateway.world.calendar import working_days_from
from companyos_gateway.world.documents.datahub import CertificateRow, HubHappening, RecordRow, VendorRow
from companyos_gateway.world.draft import World
from companyos_gateway.world.pools import pool
from companyos_gateway.world.vendors import CERTIFICATE_DAYS
from companyos_shared.streams import Stream

PAPER_MINUTES = (120, 960)
"""Office minutes until a paper that is still to come is filed."""


@dataclass(frozen=True, kw_only=True)
class Certified:
    """The certificate that the policy asks for."""

    on_file: CertificateRow
    paper: Paper
    """The one that is in force once everything is on file; an expired one where there is no other."""
    document: RecordRow | None
    """The paper among the documents, where there is one."""


def add_certificates(
    world: World,
    stream: Stream,
    vendor: VendorRow,
    *,
    is_expired: bool,
    is_awaited: bool,
    is_lacking: bool,
    words: Mapping[str, Any],
) -> Certified:
    """Add the certificate that the policy asks for and one that it does not, and papers that show more."""
    kind, other_kind = stream.sample(pool("vendors")["wording"]["certificates"], 2)
    over, left = stream.integer(5, 60), stream.integer(60, 330)
    ends_on = world.today + timedelta(days=-over if is_expired or is_lacking else left)
    on_file = _file(world, vendor, kind, ends_on)
    _file(world, vendor, other_kind, world.today + timedelta(days=stream.integer(-90, 300)))
    held = Paper(kind=kind, issued_on=on_file.issued_on, expires_on=ends_on)
    if is_lacking:
        return Certified(on_file=on_file, paper=held, document=_document(world, stream, vendor, held, words))
    if not is_expired:
        return Certified(on_file=on_file, paper=held, document=None)
    new_end = ends_on + timedelta(days=CERTIFICATE_DAYS)
    new = Paper(kind=kind, issued_on=ends_on - timedelta(days=stream.integer(0, 3)), expires_on=new_end)
    document = _document(world, stream, vendor, new, words)
    if is_awaited:
        _await(world, stream, document)
    return Certified(on_file=on_file, paper=new, document=document)


def _file(world: World, vendor: VendorRow, kind: str, ends_on: date) -> CertificateRow:
    issued_on = ends_on - timedelta(days=CERTIFICATE_DAYS)
    row = CertificateRow(
        id=world.ids.take("CRT"), vendor_id=vendor.id, kind=kind, issued_on=issued_on, expires_on=ends_on
    )
    world.hub.certificates.append(row)
    return row


def _document(world: World, stream: Stream, vendor: VendorRow, paper: Paper, words: Mapping[str, Any]) -> RecordRow:
    return file_record(
        world,
        stream,
        "document",
        title=stream.choice(words["papers"]).format(vendor=vendor.name),
        state="published",
        day=working_days_from(world.today, -stream.integer(1, 4)),
        vendor_id=vendor.id,
        fields={"document_type": "certificate", "certificate_kind": paper.kind, **_dates(paper)},
    )


def _await(world: World, stream: Stream, document: RecordRow) -> None:
    """Let the paper be an empty draft that a colleague completes."""
    shown = {name: document.fields[name] for name in ("issued_on", "expires_on")}
    document.fields |= dict.fromkeys(shown, "")
    document.state = "draft"
    due_at = world.company().add_office_minutes(world.started_at, stream.integer(*PAPER_MINUTES))
    data = {"record_id": document.id, "state": "published", "fields": shown}
    world.hub.happenings.append(HubHappening(due_at=due_at, kind="record", data=data))


def _dates(paper: Paper) -> dict[str, str]:
    return {"issued_on": paper.issued_on.isoformat(), "expires_on": paper.expires_on.isoformat()}
