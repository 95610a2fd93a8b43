"""Contract renewals: certificate and risk tier up to date, legal before finance, the contract renewed and recorded."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from companyos_gateway.chaos import Kind
from companyos_gateway.evaluation.cases import Refusal
from companyos_gateway.evaluation.entity_goals import CertificateOnFile, EntityGoals, VendorInState
from companyos_gateway.evaluation.facts import Fact, record_shown, vendor_status_shown
from companyos_gateway.evaluation.goals import RecordGoal, VendorGoal
from companyos_gateway.evaluation.metric_checks import MetricChecks
from companyos_gateway.evaluation.outcome import (
    EarlierApproval,
    FieldValue,
    Given,
    MetricTime,
    MetricValue,
    OnceSettled,
    Outcome,
    Request,
)
from companyos_gateway.scenarios.blocks.declared_scenario import (
    DeclaredScenario,
    Solution,
    policy_refs,
    request_fields,
)
from companyos_gateway.scenarios.blocks.policy_versions import PolicyParameters, draw_priority_limits
from companyos_gateway.scenarios.blocks.ticket import TaskTicket
from companyos_gateway.scenarios.blocks.ticket_scenario import buildable_kinds
from companyos_gateway.scenarios.blocks.tools import (
    APPROVAL_TOOLS,
    METRIC_TOOLS,
    PEOPLE_TOOLS,
    POLICY_TOOLS,
    RECORD_TOOLS,
    TICKET_TOOLS,
)
from companyos_gateway.scenarios.contract_renewal.documents import (
    LONGEST_YEARS,
    Contract,
    RefusalGround,
    Variant,
    add_contract,
    add_index,
    draw_other_thresholds,
)
from companyos_gateway.world.backlog import add_later_comment
from companyos_gateway.world.builder import KeySlot, WorldBuilder
from companyos_gateway.world.pools import pool
from companyos_gateway.world.records import rounded_amount
from companyos_gateway.world.seed_documents.approvalflow import AcceptedValue
from companyos_gateway.world.seed_documents.datahub import PolicyRow
from companyos_gateway.world.seed_documents.ticketdesk import Priority
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Role

LEGAL_TYPE, FINANCE_TYPE = "contract_legal_review", "contract_finance_approval"
STEPS_CENTS = {Role.FINANCE_CONTROLLER: 20_000, Role.CFO: 200_000}
"""The limits of priorities are multiples of these, by the role that decides."""


class ContractRenewal(DeclaredScenario[Contract]):
    """Renew a contract: its papers in force, the risk of today, legal before finance, and the record says so."""

    name, team, topic, max_steps = "contract_renewal", "procurement", "renewals", 160
    tags, duplicate_tags = ("contract", "renewal"), ("contract",)
    held_out = frozenset({Variant.RECERTIFIED_AND_RETIERED.value})
    opt_in_kinds = frozenset()
    precise_citation = "vendor"
    always = (Kind.MISSING_PRIORITY, Kind.STALE_METRIC)
    applicable = buildable_kinds(exclude=(Kind.EXPIRED_CERTIFICATE,))
    distractors = (
        "datahub_report_data_issue",
        "ticketdesk_create_ticket",
        "approvalflow_create_delegation",
        "approvalflow_withdraw_approval",
    )
    tools = (
        *TICKET_TOOLS,
        *METRIC_TOOLS,
        *RECORD_TOOLS,
        "datahub_get_vendor",
        "datahub_update_vendor",
        *PEOPLE_TOOLS,
        *POLICY_TOOLS,
        *APPROVAL_TOOLS,
        *distractors,
    )

    def draw(self, world: WorldBuilder, stream: Stream, kinds: Collection[Kind], *, must_refuse: bool) -> Contract:
        """Add the contract, its vendor and the vendor's certificates."""
        return add_contract(world, stream, kinds, must_refuse=must_refuse)

    def slots(self, facts: Contract) -> Mapping[str, str]:
        """Name the contract, the service and the vendor."""
        record, vendor = facts.record, facts.vendor
        return {
            "contract": record.id,
            "title": record.title,
            "service": record.fields["service"],
            "vendor": vendor.name,
            "vendor_id": vendor.id,
        }

    def answers(self, world: WorldBuilder, facts: Contract) -> Mapping[str, AcceptedValue]:
        """Name the vendor and the yearly price."""
        price_cents = facts.record.fields["yearly_price_cents"]
        return {
            "vendor_id": facts.vendor.id,
            "yearly_price_cents": price_cents,
            "yearly_price": f"{price_cents / 100:.2f}",
        }

    def figures(self, facts: Contract, stream: Stream, priority: Priority, *, in_force: bool) -> PolicyParameters:
        """Draw the limits of priorities, the certificate, the limits of risk tiers and the longest terms."""
        step, kind = STEPS_CENTS[facts.role], facts.certified.paper.kind
        medium, high, critical = draw_priority_limits(stream, facts.amount_cents, priority, step=step)
        bars = facts.risk.bars if in_force else draw_other_thresholds(stream, facts.risk)
        others = [one for one in pool("vendors")["wording"]["certificates"] if one != kind]
        return {
            "medium_from_cents": medium,
            "high_from_cents": high,
            "critical_from_cents": critical,
            "certificate": kind if in_force else stream.choice(others),
            "medium_risk_from": bars.medium_from,
            "high_risk_from": bars.high_from,
            "highest_risk": bars.highest,
            **{f"longest_years_{tier}": years for tier, years in LONGEST_YEARS.items()},
        }

    def complete(
        self,
        world: WorldBuilder,
        stream: Stream,
        facts: Contract,
        policy: PolicyRow,
        slot: KeySlot,
        kinds: Collection[Kind],
    ) -> Contract:
        """Add the vendor's risk index."""
        return replace(facts, metric=add_index(world, stream, facts, kinds))

    def thresholds(self, facts: Contract, stream: Stream, request: Request) -> Sequence[tuple[int | None, Role]]:
        """Let the limit of the finance approval lie between a term that is capped and one that is not."""
        if request.type_key == LEGAL_TYPE:
            return [(None, Role.LEGAL_COUNSEL)]
        amount, full = facts.amount_cents, facts.full_cents
        if facts.role is Role.CFO:
            limit = rounded_amount(stream, amount // 2, amount - 500)
        else:
            limit = rounded_amount(stream, amount, full - 500 if full > amount else amount * 2)
        return [(limit, Role.FINANCE_CONTROLLER), (None, Role.CFO)]

    def solution(self, facts: Contract, policy: PolicyRow, ticket_key: str) -> Solution:
        """Bring the vendor's data up to date, get both approvals and renew, or refuse."""
        contract, vendor, variant, metric = facts.record, facts.vendor, facts.variant, facts.metric
        assert metric is not None
        certificate = EntityGoals("certificate_on_file", _certificate(facts) if variant.is_recertified else [])
        tier = VendorInState(VendorGoal(vendor_id=vendor.id, columns={"risk_tier": facts.risk.tier}))
        tiers = EntityGoals("risk_tier_updated", [tier] if variant.is_retiered else [])
        end = facts.new_end.isoformat()
        legal = Request(
            type_key=LEGAL_TYPE,
            subject=contract.id,
            role=Role.LEGAL_COUNSEL,
            fields=request_fields(
                contract_id=contract.id,
                certificate_until=_once(facts.certified.paper.expires_on.isoformat(), certificate),
                risk_index=MetricValue(metric),
                risk_as_of=MetricTime(metric),
                risk_tier=_once(facts.risk.tier, tiers),
            ),
        )
        finance = Request(
            type_key=FINANCE_TYPE,
            subject=contract.id,
            role=facts.role,
            amount_cents=facts.amount_cents,
            fields=request_fields(
                contract_id=contract.id,
                amount_cents=facts.amount_cents,
                new_end=facts.new_end,
                legal_ref=EarlierApproval(LEGAL_TYPE),
            ),
        )
        renewed = RecordGoal(
            record_id=contract.id,
            state="renewed",
            ends_on=end,
            fields={"term_years": facts.term_years},
            reference_field="approval_ref",
        )
        is_done = facts.ground is None
        outcome = Outcome(
            requests=(legal, finance),
            prepared=tuple(one for one in (certificate, tiers) if one.goals and is_done),
            goals=(renewed,),
            facts=_facts_against(facts),
            metrics=(metric,),
            subjects=(contract.id, vendor.id),
        )
        return Solution(variant=variant, outcome=outcome, refusal=_refusal(facts, policy))

    def add_events(
        self, world: WorldBuilder, stream: Stream, facts: Contract, ticket: TaskTicket, kinds: Collection[Kind]
    ) -> None:
        """Let a colleague announce a certificate that is still to come."""
        document = facts.certified.document
        if facts.variant is Variant.AWAITED and document is not None and document.owner_id is not None:
            body = stream.choice(self.texts()["promises"])
            add_later_comment(world, stream, ticket.ticket, author_id=document.owner_id, body=body)


def _once(value: str, entities: EntityGoals) -> FieldValue:
    return OnceSettled(value, entities) if entities.goals else Given(value)


def _certificate(facts: Contract) -> list[CertificateOnFile]:
    paper, document = facts.certified.paper, facts.certified.document
    return [
        CertificateOnFile(
            vendor_id=facts.vendor.id,
            kind=paper.kind,
            issued_on=paper.issued_on.isoformat(),
            expires_on=paper.expires_on.isoformat(),
            document_id=document.id if document else None,
        )
    ]


def _facts_against(facts: Contract) -> tuple[Fact, ...]:
    """Return the facts on which a refusal rests."""
    metric, document, highest = facts.metric, facts.certified.document, facts.risk.bars.highest
    if facts.ground is RefusalGround.RISK and metric is not None:
        return (MetricChecks(metric).fact(lambda index: index > highest),)
    if facts.ground is RefusalGround.COVERED and facts.covering is not None:
        return record_shown(facts.record.id), record_shown(facts.covering.id)
    if facts.ground is RefusalGround.CERTIFICATE and document is not None:
        return (record_shown(document.id),)
    return (vendor_status_shown(facts.vendor.id),)


def _refusal(facts: Contract, policy: PolicyRow) -> Refusal | None:
    ground = facts.ground
    if ground is None:
        return None
    if ground is RefusalGround.RISK:
        return Refusal(ground.reason_code, policy_refs(policy))
    if ground is RefusalGround.COVERED and facts.covering is not None:
        return Refusal(ground.reason_code, (facts.covering.id,))
    is_certificate = ground is RefusalGround.CERTIFICATE
    return Refusal(ground.reason_code, (facts.certified.on_file.id if is_certificate else facts.vendor.id,))


SCENARIO = ContractRenewal()
