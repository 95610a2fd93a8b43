"""Documents that support or prevent work, such as holds and reports, and records that need an approval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from companyos_gateway.scenarios.blocks.build_context import BuildContext
from companyos_gateway.world.backlog import add_later_comment
from companyos_gateway.world.seed_documents.datahub import DataHubEvent, RecordRow
from companyos_gateway.world.seed_documents.ticketdesk import TicketRow


def file_recent_document(
    build: BuildContext,
    document_type: str,
    title: str,
    fields: Mapping[str, Any],
    *,
    state: str = "published",
    team_id: str = "legal",
) -> RecordRow:
    """Add a document that a member of a team filed some days ago, and return it."""
    day = build.working_day_ago(2, 9)
    return build.file_document(
        document_type, title, day=day, fields=fields, state=state, team_id=team_id, starts_on=day
    )


def reassign_grants(build: BuildContext, person_id: str) -> None:
    """Reassign a person's access grants to others, so that the person has only those that a scenario adds."""
    others = [one.id for one in build.world.staff.active() if one.id != person_id]
    for record in build.world.datahub.records:
        if record.kind == "access_grant" and record.fields["person_id"] == person_id:
            record.fields = {**record.fields, "person_id": build.stream.choice(others)}


INSPECTION_MINUTES = (120, 960)
"""Range of office minutes until an inspected record is accepted."""


def schedule_inspection(build: BuildContext, record: RecordRow, ticket: TicketRow, comments: Sequence[str]) -> None:
    """Add a comment in which a colleague announces an inspection of a record, and schedule its acceptance."""
    world, stream = build.world, build.stream
    due_at = world.company().add_office_minutes(world.started_at, stream.integer(*INSPECTION_MINUTES))
    people = [one for one in world.present(world.today, due_at.date()) if one.id != world.agent_id]
    record.owner_id = inspector_id = stream.choice(people).id
    data = {"record_id": record.id, "state": "accepted"}
    world.datahub.scheduled_events.append(DataHubEvent(due_at=due_at, kind="record", data=data))
    add_later_comment(world, stream, ticket, author_id=inspector_id, body=stream.choice(comments))


TERM_DAYS = 365


@dataclass(frozen=True, kw_only=True)
class ApprovalSubject:
    """An approval type, and the columns and fields of the records that its requests are about."""

    type_key: str
    title: str
    topic: str
    record_kind: str
    id_field: str
    state: str
    fields: tuple[tuple[str, str | int | bool], ...]

    def lookalike(self) -> ApprovalSubject:
        """Return another type with a similar name."""
        return replace(self, type_key=f"{self.type_key}_framework", title=f"{self.title} under a framework")


APPROVAL_SUBJECTS = (
    ApprovalSubject(
        type_key="purchase_order",
        title="Purchase order",
        topic="purchasing",
        record_kind="purchase_order",
        id_field="order_id",
        state="draft",
        fields=(("item", "as quoted"), ("quantity", 1), ("cost_center", "CC-210")),
    ),
    ApprovalSubject(
        type_key="contract_renewal",
        title="Contract renewal",
        topic="renewals",
        record_kind="contract",
        id_field="contract_id",
        state="in_review",
        fields=(("contract_type", "services"), ("notice_days", 60), ("auto_renews", False)),
    ),
)


def file_subject_record(
    build: BuildContext, subject: ApprovalSubject, amount_cents: int, *, owner_id: str
) -> RecordRow:
    """Add the record that a request is about, and return it."""
    vendor = build.stream.choice(build.world.datahub.vendors)
    starts_on = build.working_day_ago(25, 45)
    return build.file_record(
        subject.record_kind,
        title=f"{subject.title}: {vendor.name}",
        state=subject.state,
        day=starts_on,
        owner_id=owner_id,
        vendor_id=vendor.id,
        amount_cents=amount_cents,
        starts_on=starts_on,
        ends_on=starts_on + timedelta(days=TERM_DAYS),
        fields=dict(subject.fields),
    )
