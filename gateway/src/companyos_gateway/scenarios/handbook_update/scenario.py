"""Handbook updates: the page agrees with the policy that it quotes, is approved by HR and replaces the older page."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from companyos_gateway.chaos import Kind
from companyos_gateway.chaos.kinds import OPT_IN_KINDS
from companyos_gateway.evaluation.cases import Refusal
from companyos_gateway.evaluation.facts import record_shown
from companyos_gateway.evaluation.goals import RecordGoal
from companyos_gateway.evaluation.outcome import OnceRecorded, Outcome, Request
from companyos_gateway.scenarios.blocks.declared_scenario import (
    DeclaredScenario,
    Solution,
    policy_refs,
    request_fields,
)
from companyos_gateway.scenarios.blocks.policy_versions import PolicyParameters, draw_priority_limits
from companyos_gateway.scenarios.blocks.ticket_scenario import METRIC_KINDS, buildable_kinds
from companyos_gateway.scenarios.blocks.tools import (
    APPROVAL_TOOLS,
    PEOPLE_TOOLS,
    POLICY_TOOLS,
    RECORD_TOOLS,
    TICKET_TOOLS,
)
from companyos_gateway.scenarios.handbook_update.documents import (
    PUBLISHABLE_CLASS,
    READERS,
    Page,
    RefusalGround,
    Variant,
    add_page,
)
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.people import EXECUTIVE
from companyos_gateway.world.seed_documents.datahub import PolicyRow
from companyos_gateway.world.seed_documents.ticketdesk import Priority
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Role

PRIORITY_STEP = 5
"""Limits of readers are multiples of this."""


class HandbookUpdate(DeclaredScenario[Page]):
    """Publish a handbook page by the policy: it agrees with what it quotes, HR approves, the old page is archived."""

    name, team, topic, max_steps = "handbook_update", "people", "handbook", 120
    tags, duplicate_tags = ("handbook",), ("handbook", "publication")
    held_out = frozenset({Variant.OUTDATED_SUCCESSOR.value})
    always = (Kind.MISSING_PRIORITY, Kind.APPROVER_OUT_OF_OFFICE)
    applicable = buildable_kinds(
        exclude=(*METRIC_KINDS, Kind.EXPIRED_CERTIFICATE, Kind.LIMIT_TOO_LOW), opt_in=OPT_IN_KINDS
    )
    distractors = (
        "ticketdesk_create_ticket",
        "ticketdesk_link_tickets",
        "datahub_report_data_issue",
        "datahub_update_vendor",
        "approvalflow_create_delegation",
        "approvalflow_withdraw_approval",
    )
    tools = TICKET_TOOLS + RECORD_TOOLS + PEOPLE_TOOLS + POLICY_TOOLS + APPROVAL_TOOLS + distractors

    def draw(self, world: WorldBuilder, stream: Stream, kinds: Collection[Kind], *, must_refuse: bool) -> Page:
        """Add the draft, the policy that it quotes, and the pages that are like it."""
        return add_page(world, stream, stream.choice(self.texts()["chapter"]), kinds, must_refuse=must_refuse)

    def slots(self, facts: Page) -> Mapping[str, str]:
        """Name the draft, its chapter and its owner."""
        draft, owner = facts.draft, facts.owner
        return {
            "document": draft.id,
            "title": draft.title,
            "chapter": draft.title.partition(": ")[2],
            "revision": str(draft.fields["revision"]),
            "readers": str(facts.readers),
            "owner": owner.name,
            "owner_id": owner.id,
        }

    def figures(self, facts: Page, stream: Stream, priority: Priority, *, in_force: bool) -> PolicyParameters:
        """Draw the limits of priorities and of consent; another version decides otherwise about the consent."""
        medium, high, critical = draw_priority_limits(stream, facts.readers, priority, step=PRIORITY_STEP)
        fewest, most = READERS
        asks_consent = facts.needs_consent == in_force
        consent_range = (fewest // 2, facts.readers) if asks_consent else (facts.readers + 1, most + 50)
        return {
            "medium_from_readers": medium,
            "high_from_readers": high,
            "critical_from_readers": critical,
            "publishable_class": PUBLISHABLE_CLASS,
            "consent_from_readers": stream.integer(*consent_range),
        }

    def deputies(self, world: WorldBuilder, facts: Page, request: Request, kinds: Collection[Kind]) -> set[str]:
        """Let heads of other departments stand in for the HR lead."""
        return {world.staff.lead(team.id).id for team in world.staff.teams if team.id != EXECUTIVE}

    def solution(self, facts: Page, policy: PolicyRow, ticket_key: str) -> Solution:
        """Correct the draft, have it approved, publish it and archive the older page; or refuse."""
        draft, rule, older = facts.draft, facts.rule, facts.published
        quoted = {**rule.parameters, "policy_version": rule.version}
        request = Request(
            type_key="document_publication",
            subject=draft.id,
            role=Role.HR_LEAD,
            fields=request_fields(
                document_id=draft.id,
                revision=draft.fields["revision"],
                policy_id=rule.policy_id,
                policy_version=OnceRecorded(rule.version, draft.id, quoted),
            ),
        )
        page = RecordGoal(record_id=draft.id, state="published", fields=quoted, reference_field="approval_ref")
        outcome = Outcome(
            requests=(request,),
            goals=(page, RecordGoal(record_id=older.id, state="archived")) if older else (page,),
            facts=(record_shown(draft.id),),
            subjects=(draft.id,),
        )
        references = (older.id,) if older and facts.ground is RefusalGround.OVERTAKEN else policy_refs(policy)
        refusal = Refusal(facts.ground.value, references) if facts.ground else None
        return Solution(variant=facts.variant, outcome=outcome, refusal=refusal)


SCENARIO = HandbookUpdate()
