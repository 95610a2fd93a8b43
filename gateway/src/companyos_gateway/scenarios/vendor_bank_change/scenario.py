"""Changes of vendors' bank details: checked and released by two people if genuine, reported if fraudulent."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from functools import partial

from companyos_gateway.chaos import Kind
from companyos_gateway.evaluation import Evidence, row_views
from companyos_gateway.evaluation.cases import Refusal
from companyos_gateway.evaluation.change_policy import Allowance
from companyos_gateway.evaluation.evidence import NetChange
from companyos_gateway.evaluation.facts import record_shown, shown
from companyos_gateway.evaluation.goals import RecordGoal, VendorGoal
from companyos_gateway.evaluation.outcome import (
    EarlierApproval,
    FieldValue,
    FraudReported,
    Given,
    OnceRecorded,
    Outcome,
    Request,
)
from companyos_gateway.evaluation.record_corrections import IssueReportGoal
from companyos_gateway.scenarios.blocks.declared_scenario import (
    DeclaredScenario,
    Solution,
    policy_refs,
    request_fields,
)
from companyos_gateway.scenarios.blocks.policy_versions import PolicyParameters, draw_priority_limits
from companyos_gateway.scenarios.blocks.ticket import TaskTicket
from companyos_gateway.scenarios.blocks.ticket_scenario import METRIC_KINDS, buildable_kinds
from companyos_gateway.scenarios.blocks.tools import (
    APPROVAL_TOOLS,
    PEOPLE_TOOLS,
    POLICY_TOOLS,
    RECORD_TOOLS,
    TICKET_TOOLS,
)
from companyos_gateway.scenarios.vendor_bank_change.documents import (
    Letter,
    RefusalGround,
    Variant,
    add_letter,
    confirmation,
)
from companyos_gateway.world.backlog import add_later_comment
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.people import VENDOR_OPERATIONS
from companyos_gateway.world.records import rounded_amount
from companyos_gateway.world.seed_documents.approvalflow import AcceptedValue
from companyos_gateway.world.seed_documents.datahub import DataHubEvent, PolicyRow
from companyos_gateway.world.seed_documents.ticketdesk import Priority
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Role

CHECK_TYPE, RELEASE_TYPE = "bank_details_check", "bank_details_release"
FRAUD = "fraud_suspected"
STEPS_CENTS = {Role.FINANCE_CONTROLLER: 10_000, Role.CFO: 200_000}
"""The limits of priorities are multiples of these, by the role that decides."""

QUIET_DAYS = (52, 64)
SHORT_QUIET_DAYS = (5, 15)
"""Days that must lie between two changes: more, or fewer, than before a change that is too soon."""

WAITING_DAYS = {True: (6, 9), False: (2, 5)}
"""Days from the receipt of a request to the change, by whether they are still running."""

CALL_MINUTES = (120, 960)
"""Office minutes until a colleague completes the note of a call."""


class VendorBankChange(DeclaredScenario[Letter]):
    """Change a vendor's bank details: genuine ones by two people's word, in order and in time; fraud is reported."""

    name, team, topic, max_steps = "vendor_bank_change", VENDOR_OPERATIONS, "payments", 150
    tags, duplicate_tags, precise_citation = ("vendors", "bank"), ("vendors",), "vendor"
    held_out = frozenset({Variant.COOLING.value})
    always = (Kind.MISSING_PRIORITY,)
    opt_in_kinds = frozenset()
    applicable = buildable_kinds(exclude=METRIC_KINDS)
    distractors = (
        "datahub_query_metric",
        "ticketdesk_create_ticket",
        "ticketdesk_link_tickets",
        "approvalflow_create_delegation",
        "approvalflow_withdraw_approval",
    )
    tools = (
        *TICKET_TOOLS,
        *RECORD_TOOLS,
        "datahub_get_vendor",
        "datahub_update_vendor",
        "datahub_report_data_issue",
        *PEOPLE_TOOLS,
        *POLICY_TOOLS,
        *APPROVAL_TOOLS,
        *distractors,
    )

    def draw(self, world: WorldBuilder, stream: Stream, kinds: Collection[Kind], *, must_refuse: bool) -> Letter:
        """Add the vendor and what is on file about the change."""
        return add_letter(world, stream, kinds, must_refuse=must_refuse)

    def slots(self, facts: Letter) -> Mapping[str, str]:
        """Name the request and the vendor."""
        return {"letter": facts.document.id, "vendor": facts.vendor.name, "vendor_id": facts.vendor.id}

    def answers(self, world: WorldBuilder, facts: Letter) -> Mapping[str, AcceptedValue]:
        """Name what the request states, and the certificate that expires first."""
        fields, vendor_id = facts.document.fields, facts.vendor.id
        expiry = min(row.expires_on for row in world.datahub.certificates if row.vendor_id == vendor_id)
        return {
            "received_on": fields["received_on"],
            "account_holder": fields["account_holder"],
            "certificate_until": expiry.isoformat(),
        }

    def figures(self, facts: Letter, stream: Stream, priority: Priority, *, in_force: bool) -> PolicyParameters:
        """Draw the limits of priorities and two periods; those of another version end before or after the change."""
        step, is_too_soon = STEPS_CENTS[facts.role], facts.ground is RefusalGround.TOO_SOON
        medium, high, critical = draw_priority_limits(stream, facts.open_amount_cents, priority, step=step)
        quiet_days = stream.integer(*QUIET_DAYS)
        if not in_force and is_too_soon:
            quiet_days = stream.integer(*SHORT_QUIET_DAYS)
        elif not in_force and facts.last_change_days is not None:
            quiet_days = facts.last_change_days + stream.integer(5, 40)
        return {
            "medium_from_cents": medium,
            "high_from_cents": high,
            "critical_from_cents": critical,
            "quiet_days": quiet_days,
            "waiting_days": stream.integer(*WAITING_DAYS[(facts.variant is Variant.COOLING) is in_force]),
        }

    def thresholds(self, facts: Letter, stream: Stream, request: Request) -> Sequence[tuple[int | None, Role]]:
        """Draw a limit of the release just above the open amount, or between it and the amount without an invoice."""
        if request.type_key == CHECK_TYPE:
            return super().thresholds(facts, stream, request)
        whole = facts.open_amount_cents
        limits = (whole - min(facts.open_cents), whole - 500) if facts.role is Role.CFO else (whole, whole * 2)
        return [(rounded_amount(stream, *limits), Role.FINANCE_CONTROLLER), (None, Role.CFO)]

    def solution(self, facts: Letter, policy: PolicyRow, ticket_key: str) -> Solution:
        """Have the account checked and released, and enter it in time; or refuse, and report fraud before."""
        vendor_id, letter_id, refusal = facts.vendor.id, facts.document.id, _refusal(facts, policy)
        entered = VendorGoal(
            vendor_id=vendor_id,
            columns={"bank_iban": facts.new_iban},
            not_before=facts.received_on + timedelta(days=policy.parameters["waiting_days"]),
        )
        act, documents = None, []
        if refusal is not None and refusal.code == FRAUD:
            subjects = frozenset({vendor_id, letter_id})
            act = FraudReported(IssueReportGoal(kind="suspicious", subjects=subjects, refusal=refusal))
            documents = [letter_id, *([facts.note.id] if facts.note else [])]
        outcome = Outcome(
            requests=_requests(facts),
            goals=(entered, RecordGoal(record_id=letter_id, state="archived")),
            act=act,
            facts=(shown(row_views.DATAHUB, "vendors", vendor_id, "bank_iban"), *map(record_shown, documents)),
            subjects=(vendor_id, letter_id),
            allowances=() if refusal else (_history_allowance(entered),),
            forbidden=partial(_find_entered, entered) if refusal else lambda _evidence: (),
        )
        struck = {Kind.EXPIRED_CERTIFICATE: vendor_id}
        return Solution(variant=facts.variant, outcome=outcome, refusal=refusal, struck=struck)

    def add_events(
        self, world: WorldBuilder, stream: Stream, facts: Letter, ticket: TaskTicket, kinds: Collection[Kind]
    ) -> None:
        """Let a colleague announce a call, and complete its note later."""
        note = facts.note
        if facts.variant is not Variant.CALL_COMES or note is None:
            return
        due_at = world.company().add_office_minutes(world.started_at, stream.integer(*CALL_MINUTES))
        people = [one.id for one in world.present(note.created_at.date(), due_at.date()) if one.id != world.agent_id]
        note.owner_id = caller_id = stream.choice(people)
        data = {"record_id": note.id, "state": "published", "fields": confirmation(facts, due_at.date())}
        world.datahub.scheduled_events.append(DataHubEvent(due_at=due_at, kind="record", data=data))
        body = stream.choice(self.texts()["calls"])
        add_later_comment(world, stream, ticket.ticket, author_id=caller_id, body=body)


def _requests(facts: Letter) -> tuple[Request, Request]:
    vendor_id, new_iban, amount = facts.vendor.id, facts.new_iban, facts.open_amount_cents
    proof: FieldValue = Given(facts.document.id)
    if facts.former is not None:
        proof = Given(facts.former.id)
    elif facts.note is not None:
        proof = OnceRecorded(
            facts.note.id,
            facts.note.id,
            {"confirmed": True},
            by_colleague=True,
        )
    check = Request(
        type_key=CHECK_TYPE,
        subject=vendor_id,
        role=Role.PROCUREMENT_LEAD,
        fields=request_fields(vendor_id=vendor_id, new_iban=new_iban, request_id=facts.document.id, proof_id=proof),
    )
    release = Request(
        type_key=RELEASE_TYPE,
        subject=vendor_id,
        role=facts.role,
        amount_cents=amount,
        fields=request_fields(
            vendor_id=vendor_id, new_iban=new_iban, open_amount_cents=amount, check_ref=EarlierApproval(CHECK_TYPE)
        ),
    )
    return check, release


def _refusal(facts: Letter, policy: PolicyRow) -> Refusal | None:
    match facts.ground:
        case None:
            return None
        case RefusalGround.SUSPENDED:
            return Refusal("policy_violation", (facts.vendor.id,))
        case RefusalGround.TOO_SOON:
            return Refusal("requirement_not_met", policy_refs(policy))
    return Refusal(FRAUD, (facts.document.id,))


def _history_allowance(entered: VendorGoal) -> Allowance:
    """Return that the vendor's history keeps the change to the requested account, and no other."""

    def covers(_evidence: Evidence, change: NetChange) -> bool:
        row = change.after
        expected = (entered.vendor_id, entered.columns["bank_iban"])
        return change.added and row is not None and (row["vendor_id"], row["new_iban"]) == expected

    return Allowance(row_views.DATAHUB, "bank_changes", covers)


def _find_entered(entered: VendorGoal, evidence: Evidence) -> Iterable[str]:
    """Return the vendor if the account was entered, even if that was taken back."""
    changes = evidence.row_changes(row_views.DATAHUB, "vendors", entered.vendor_id)
    if any((change.after or {}).get("bank_iban") == entered.columns["bank_iban"] for change in changes):
        yield entered.row_path


SCENARIO = VendorBankChange()
