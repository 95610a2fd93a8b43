"""Changes of vendors' bank details: checked and released by two people if genuine, reported if fraudulent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from functools import partial

from companyos_gateway.evaluation.evidence import NetChange
from companyos_gateway.scenarios import kit
from companyos_gateway.scenarios.vendor_bank_change.documents import (
    Letter,
    RefusalGround,
    Variant,
    add_letter,
    confirmation,
)

CHECK_TYPE, RELEASE_TYPE = "bank_details_check", "bank_details_release"
FRAUD = "fraud_suspected"
STEPS_CENTS = {kit.Role.FINANCE_CONTROLLER: 10_000, kit.Role.CFO: 200_000}
"""Steps of the limits of priorities in cents, by the role that decides."""

QUIET_DAYS = (55, 65)
SHORT_QUIET_DAYS = (5, 15)
"""Ranges of the minimum days between two changes: longer, or shorter, than before a change that is too soon."""

WAITING_DAYS = {True: (6, 9), False: (2, 5)}
"""Ranges of the waiting period after the receipt of a request in days, by whether it is still running."""

CALL_MINUTES = (120, 960)
"""Range of office minutes until a colleague completes the note of a call."""


class VendorBankChange(kit.DeclaredScenario[Letter]):
    """Change a vendor's bank details after verification and two approvals, or report a fraudulent request."""

    name, team, topic, max_steps = "vendor_bank_change", kit.VENDOR_OPERATIONS, "payments", 150
    tags, duplicate_tags, precise_citation = ("vendors", "bank"), ("vendors",), "vendor"
    held_out = frozenset({Variant.COOLING.value})
    always = (kit.Kind.MISSING_PRIORITY,)
    opt_in_kinds = frozenset()
    applicable = kit.buildable_kinds(exclude=kit.METRIC_KINDS)
    distractors = (
        "datahub_query_metric",
        "ticketdesk_create_ticket",
        "ticketdesk_link_tickets",
        "approvalflow_create_delegation",
    )
    tools = (*kit.USUAL_TOOLS, "datahub_get_vendor", "datahub_update_vendor", "datahub_report_data_issue")

    def draw(self, build: kit.BuildContext) -> Letter:
        """Add the vendor and the records about the change."""
        return add_letter(build)

    def slots(self, facts: Letter) -> Mapping[str, str]:
        """Return the request and the vendor."""
        return {"letter": facts.document.id, "vendor": facts.vendor.name, "vendor_id": facts.vendor.id}

    def take_slot(self, build: kit.BuildContext) -> kit.KeySlot:
        """Take a key that is newer than the change request, as are those left for a blocker and a duplicate."""
        world, team_ids = build.world, {self.team, *(one["team"] for one in self.texts()["blocker"])}
        is_request = {"document_type": "bank_change_request"}.items()
        filed_at = max(one.created_at for one in world.datahub.records if is_request <= one.fields.items())
        for team_id in sorted(team_ids):
            slots = world.ticket_slots[team_id]
            if filed_at > min(slot.created_at for slot in slots):
                slots += kit.recent_key_slots(world, build.stream, team_id, 3, after=filed_at)
        return super().take_slot(build)

    def answers(self, build: kit.BuildContext, facts: Letter) -> Mapping[str, kit.AcceptedValue]:
        """Return the day and the account holder of the request, and the earliest end of a certificate."""
        fields, vendor_id = facts.document.fields, facts.vendor.id
        expiry = min(row.expires_on for row in build.world.datahub.certificates if row.vendor_id == vendor_id)
        named = {name: fields[name] for name in ("received_on", "account_holder")}
        return named | {"certificate_until": expiry.isoformat()}

    def figures(self, facts: Letter, stream: kit.Stream, priority: kit.Priority, *, in_force: bool) -> kit.Figures:
        """Draw the limits of priorities and two periods; those of another version lead to another decision or day."""
        step, is_too_soon = STEPS_CENTS[facts.role], facts.ground is RefusalGround.TOO_SOON
        quiet_days = stream.integer(*QUIET_DAYS) // 5 * 5
        if not in_force and is_too_soon:
            quiet_days = stream.integer(*SHORT_QUIET_DAYS) // 5 * 5
        elif not in_force and facts.last_change_days is not None:
            quiet_days = (facts.last_change_days + stream.integer(15, 50)) // 10 * 10
        return {
            **kit.priority_limits(stream, facts.open_amount_cents, priority, step=step),
            "quiet_days": quiet_days,
            "waiting_days": stream.integer(*WAITING_DAYS[(facts.variant is Variant.COOLING) is in_force]),
        }

    def thresholds(self, facts: Letter, stream: kit.Stream, request: kit.Request) -> kit.Thresholds:
        """Draw limits of the release by which the role decides about the open amount.

        If the CFO decides, the controllers' limit is not below the amount without the smallest invoice.
        """
        if request.type_key == CHECK_TYPE:
            return super().thresholds(facts, stream, request)
        whole = facts.open_amount_cents
        limits = (whole - min(facts.open_cents), whole - 500) if facts.role is kit.Role.CFO else (whole, whole * 2)
        return [(kit.rounded_amount(stream, *limits), kit.Role.FINANCE_CONTROLLER), (None, kit.Role.CFO)]

    def solution(self, facts: Letter, policy: kit.PolicyRow, ticket_key: str) -> kit.Solution:
        """Have the account checked and released and enter it in time, or refuse, after reporting any fraud."""
        vendor_id, letter_id, refusal = facts.vendor.id, facts.document.id, _refusal(facts, policy)
        entered = kit.VendorGoal(
            vendor_id=vendor_id,
            columns={"bank_iban": facts.new_iban},
            not_before=facts.received_on + timedelta(days=policy.parameters["waiting_days"]),
        )
        act = None
        if refusal is not None and refusal.code == FRAUD:
            subjects = frozenset({vendor_id, letter_id})
            act = kit.IssueReported(kit.IssueReportGoal(kind="suspicious", subjects=subjects, refusal=refusal))
        outcome = kit.Outcome(
            requests=_requests(facts),
            goals=(entered, kit.RecordGoal(record_id=letter_id, state="archived")),
            act=act,
            facts=_facts_against(facts),
            examined=_examined(facts),
            subjects=(vendor_id, letter_id),
            allowances=() if refusal else (_history_allowance(entered),),
            forbidden=partial(_find_entered, entered) if refusal else lambda _evidence: (),
        )
        affected = {kit.Kind.EXPIRED_CERTIFICATE: vendor_id}
        return kit.Solution(variant=facts.variant, outcome=outcome, refusal=refusal, affected=affected)

    def add_events(self, build: kit.BuildContext, facts: Letter, ticket: kit.TaskTicket) -> None:
        """Add a comment that announces a call, and schedule the completion of its note."""
        world, stream = build.world, build.stream
        note = facts.note
        if facts.variant is not Variant.CALL_COMES or note is None:
            return
        due_at = world.company().add_office_minutes(world.started_at, stream.integer(*CALL_MINUTES))
        people = [one.id for one in world.present(note.created_at.date(), due_at.date()) if one.id != world.agent_id]
        note.owner_id = caller_id = stream.choice(people)
        data = {"record_id": note.id, "state": "published", "fields": confirmation(facts.vendor, due_at.date())}
        world.datahub.scheduled_events.append(kit.DataHubEvent(due_at=due_at, kind="record", data=data))
        body = stream.choice(self.texts()["calls"])
        kit.add_later_comment(world, stream, ticket.ticket, author_id=caller_id, body=body)


def _request_shown(facts: Letter) -> tuple[kit.Fact, ...]:
    """Return the facts given by the vendor and by the request."""
    vendor = kit.shown(kit.row_views.DATAHUB, "vendors", facts.vendor.id, "bank_iban")
    return vendor, kit.record_shown(facts.document.id)


def _examined(facts: Letter) -> tuple[kit.Fact, ...]:
    """Return the facts to examine before a request is judged: the vendor, the request and any note of a call."""
    note = [kit.published_record_shown(facts.note.id)] if facts.note else []
    return *_request_shown(facts), *note


def _facts_against(facts: Letter) -> tuple[kit.Fact, ...]:
    """Return the facts on which a refusal is based."""
    match facts.ground:
        case RefusalGround.SUSPENDED:
            return (kit.vendor_status_shown(facts.vendor.id),)
        case RefusalGround.TOO_SOON:
            return _request_shown(facts)
    return _examined(facts)


def _requests(facts: Letter) -> tuple[kit.Request, kit.Request]:
    vendor_id, new_iban, amount = facts.vendor.id, facts.new_iban, facts.open_amount_cents
    proof: kit.FieldValue = kit.ConstantValue(facts.former.id if facts.former else facts.document.id)
    if facts.note is not None:
        proof = kit.AfterRecordUpdate(
            facts.note.id,
            facts.note.id,
            {"confirmed": True},
            by_colleague=True,
        )
    check = kit.Request(
        type_key=CHECK_TYPE,
        subject=vendor_id,
        role=kit.Role.PROCUREMENT_LEAD,
        fields=kit.request_fields(vendor_id=vendor_id, new_iban=new_iban, request_id=facts.document.id, proof_id=proof),
    )
    release = kit.Request(
        type_key=RELEASE_TYPE,
        subject=vendor_id,
        role=facts.role,
        amount_cents=amount,
        fields=kit.request_fields(
            vendor_id=vendor_id, new_iban=new_iban, open_amount_cents=amount, check_ref=kit.EarlierApproval(CHECK_TYPE)
        ),
    )
    return check, release


def _refusal(facts: Letter, policy: kit.PolicyRow) -> kit.Refusal | None:
    match facts.ground:
        case None:
            return None
        case RefusalGround.SUSPENDED:
            return kit.Refusal("policy_violation", (facts.vendor.id,))
        case RefusalGround.TOO_SOON:
            return kit.Refusal("requirement_not_met", kit.policy_refs(policy))
    return kit.Refusal(FRAUD, (facts.document.id,))


def _history_allowance(entered: kit.VendorGoal) -> kit.Allowance:
    """Return an allowance for the change to the requested account in the vendor's history, and for no other."""

    def covers(_evidence: kit.Evidence, change: NetChange) -> bool:
        row = change.after
        expected = (entered.vendor_id, entered.columns["bank_iban"])
        return change.added and row is not None and (row["vendor_id"], row["new_iban"]) == expected

    return kit.Allowance(kit.row_views.DATAHUB, "bank_changes", covers)


def _find_entered(entered: kit.VendorGoal, evidence: kit.Evidence) -> Iterable[str]:
    """Yield the vendor if the requested account was entered, even if that was reverted."""
    changes = evidence.row_changes(kit.row_views.DATAHUB, "vendors", entered.vendor_id)
    if any((change.after or {}).get("bank_iban") == entered.columns["bank_iban"] for change in changes):
        yield entered.row_path


SCENARIO = VendorBankChange()
