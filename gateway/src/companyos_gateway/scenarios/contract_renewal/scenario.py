"""Contract renewals: certificate and risk tier up to date, legal before finance, the contract renewed and recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from companyos_gateway.scenarios import kit
from companyos_gateway.scenarios.contract_renewal.documents import (
    LONGEST_YEARS,
    Contract,
    RefusalGround,
    Variant,
    add_contract,
    add_index,
    draw_other_thresholds,
)

LEGAL_TYPE, FINANCE_TYPE = "contract_legal_review", "contract_finance_approval"
STEPS_CENTS = {kit.Role.FINANCE_CONTROLLER: 20_000, kit.Role.CFO: 200_000}
"""Steps of the limits of priorities in cents, by the role that decides."""


class ContractRenewal(kit.DeclaredScenario[Contract]):
    """Renew a contract: check certificates and current risk, get legal and then finance approval, and renew it."""

    name, team, topic, max_steps = "contract_renewal", "procurement", "renewals", 160
    tags, duplicate_tags = ("contract", "renewal"), ("contract",)
    held_out = frozenset({Variant.RECERTIFIED_AND_RETIERED.value})
    opt_in_kinds = frozenset()
    precise_citation = "vendor"
    always = (kit.Kind.MISSING_PRIORITY, kit.Kind.STALE_METRIC)
    applicable = kit.buildable_kinds(exclude=(kit.Kind.EXPIRED_CERTIFICATE,))
    distractors = kit.USUAL_DISTRACTORS
    tools = (*kit.USUAL_TOOLS, *kit.METRIC_TOOLS, "datahub_get_vendor", "datahub_update_vendor")

    def draw(self, build: kit.BuildContext) -> Contract:
        """Add the contract, its vendor and the vendor's certificates."""
        return add_contract(build)

    def slots(self, facts: Contract) -> Mapping[str, str]:
        """Return the contract, the service and the vendor."""
        record, vendor = facts.record, facts.vendor
        named = {"contract": record.id, "title": record.title, "service": record.fields["service"]}
        return named | {"vendor": vendor.name, "vendor_id": vendor.id}

    def answers(self, build: kit.BuildContext, facts: Contract) -> Mapping[str, kit.AcceptedValue]:
        """Return the vendor and the yearly price."""
        price_cents = facts.yearly_cents
        price = f"{price_cents / 100:.2f}"
        return {"vendor_id": facts.vendor.id, "yearly_price_cents": price_cents, "yearly_price": price}

    def figures(self, facts: Contract, stream: kit.Stream, priority: kit.Priority, *, in_force: bool) -> kit.Figures:
        """Draw the limits of priorities, the certificate, the risk thresholds and the maximum terms."""
        step, kind = STEPS_CENTS[facts.role], facts.certified.paper.kind
        bars = facts.risk.bars if in_force else draw_other_thresholds(stream, facts.risk)
        others = [one for one in self.texts()["certificates"] if one != kind]
        return {
            **kit.priority_limits(stream, facts.amount_cents, priority, step=step),
            "certificate": kind if in_force else stream.choice(others),
            "medium_risk_from": bars.medium_from,
            "high_risk_from": bars.high_from,
            "highest_risk": bars.highest,
            **{f"longest_years_{tier}": years for tier, years in LONGEST_YEARS.items()},
        }

    def complete(self, build: kit.BuildContext, facts: Contract, policy: kit.PolicyRow, slot: kit.KeySlot) -> Contract:
        """Add the vendor's risk index."""
        return replace(facts, metric=add_index(build, facts))

    def thresholds(self, facts: Contract, stream: kit.Stream, request: kit.Request) -> kit.Thresholds:
        """Draw limits by which the role decides about the cost; that of a term without cap may need a higher role."""
        if request.type_key == LEGAL_TYPE:
            return [(None, kit.Role.LEGAL_COUNSEL)]
        amount, full = facts.amount_cents, facts.full_cents
        if facts.role is kit.Role.CFO:
            limit = kit.rounded_amount(stream, amount // 2, amount - 500)
        else:
            limit = kit.rounded_amount(stream, amount, full - 500 if full > amount else amount * 2)
        return [(limit, kit.Role.FINANCE_CONTROLLER), (None, kit.Role.CFO)]

    def solution(self, facts: Contract, policy: kit.PolicyRow, ticket_key: str) -> kit.Solution:
        """Bring the vendor's data up to date, get both approvals and renew, or refuse."""
        contract, vendor, variant, metric = facts.record, facts.vendor, facts.variant, facts.metric
        assert metric is not None
        certificate = kit.EntityGoals("certificate_on_file", _certificate(facts) if variant.is_recertified else [])
        tier = kit.VendorGoal(vendor_id=vendor.id, columns={"risk_tier": facts.risk.tier})
        tiers = kit.EntityGoals("risk_tier_updated", [tier] if variant.is_retiered else [])
        end = facts.new_end.isoformat()
        legal = kit.Request(
            type_key=LEGAL_TYPE,
            subject=contract.id,
            role=kit.Role.LEGAL_COUNSEL,
            fields=kit.request_fields(
                contract_id=contract.id,
                certificate_until=_once(facts.certified.paper.expires_on.isoformat(), certificate),
                risk_index=kit.MetricValue(metric),
                risk_as_of=kit.MetricTime(metric),
                risk_tier=_once(facts.risk.tier, tiers),
            ),
        )
        finance = kit.Request(
            type_key=FINANCE_TYPE,
            subject=contract.id,
            role=facts.role,
            amount_cents=facts.amount_cents,
            fields=kit.request_fields(
                contract_id=contract.id,
                amount_cents=facts.amount_cents,
                new_end=facts.new_end,
                legal_ref=kit.EarlierApproval(LEGAL_TYPE),
            ),
        )
        renewed = kit.RecordGoal(
            record_id=contract.id,
            state="renewed",
            ends_on=end,
            fields={"term_years": facts.term_years},
            reference_field="approval_ref",
        )
        is_done = facts.ground is None
        outcome = kit.Outcome(
            requests=(legal, finance),
            prepared=tuple(one for one in (certificate, tiers) if one.goals and is_done),
            goals=(renewed,),
            facts=_facts_against(facts),
            metrics=(metric,),
            subjects=(contract.id, vendor.id),
        )
        return kit.Solution(variant=variant, outcome=outcome, refusal=_refusal(facts, policy))

    def add_events(self, build: kit.BuildContext, facts: Contract, ticket: kit.TaskTicket) -> None:
        """Add a comment by a colleague who announces the awaited certificate."""
        world, stream = build.world, build.stream
        document = facts.certified.document
        if facts.variant is Variant.AWAITED and document is not None and document.owner_id is not None:
            body = stream.choice(self.texts()["promises"])
            kit.add_later_comment(world, stream, ticket.ticket, author_id=document.owner_id, body=body)


def _once(value: str, entities: kit.EntityGoals) -> kit.FieldValue:
    return kit.AfterGoalsMet(value, entities) if entities.goals else kit.ConstantValue(value)


def _certificate(facts: Contract) -> list[kit.CertificateOnFile]:
    paper, document = facts.certified.paper, facts.certified.document
    document_id = document.id if document else None
    return [kit.CertificateOnFile(vendor_id=facts.vendor.id, kind=paper.kind, **paper.dates, document_id=document_id)]


def _facts_against(facts: Contract) -> tuple[kit.Fact, ...]:
    """Return the facts on which a refusal is based."""
    metric, document = facts.metric, facts.certified.document
    if facts.ground is RefusalGround.RISK and metric is not None:
        return (kit.MetricChecks(metric).above_fact(facts.risk.bars.highest),)
    if facts.covering is not None:
        return kit.record_shown(facts.record.id), kit.record_shown(facts.covering.id)
    if facts.ground is RefusalGround.CERTIFICATE and document is not None:
        return (kit.record_shown(document.id),)
    return (kit.vendor_status_shown(facts.vendor.id),)


def _refusal(facts: Contract, policy: kit.PolicyRow) -> kit.Refusal | None:
    ground = facts.ground
    if ground is None:
        return None
    if ground is RefusalGround.RISK:
        return kit.Refusal(ground.reason_code, kit.policy_refs(policy))
    if facts.covering is not None:
        return kit.Refusal(ground.reason_code, (facts.covering.id,))
    is_certificate = ground is RefusalGround.CERTIFICATE
    return kit.Refusal(ground.reason_code, (facts.certified.on_file.id if is_certificate else facts.vendor.id,))


SCENARIO = ContractRenewal()
