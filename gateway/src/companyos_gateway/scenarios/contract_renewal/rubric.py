"""The rubric of contract renewals: papers and tier up to date before anybody is asked, legal before finance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from companyos_gateway.rubrics import Check, Evidence, Milestone, TaskRubric, facts
from companyos_gateway.rubrics.allowances import entry_allowances, issue_allowances, metric_allowances
from companyos_gateway.rubrics.approvals_in_order import FulfilmentInOrder, InOrder, RefusedInOrder, reference_to
from companyos_gateway.rubrics.boundaries import Allowance
from companyos_gateway.rubrics.readings import ReadingRules, constant
from companyos_gateway.rubrics.records import RecordGoal, was_looked_at
from companyos_gateway.rubrics.requests import RequestRules, Standing
from companyos_gateway.rubrics.vendors import certificate_allowance, certificate_record, column_record, tier_allowance
from companyos_gateway.rubrics.workflow import paid, plain_check
from companyos_gateway.scenarios.contract_renewal.case import LEGAL_TYPE, METRIC_KEY, TYPE_KEY, Case, RefusalGround
from companyos_shared.wire.company import Company, Role


def build_rubric(case: Case, company: Company) -> TaskRubric:
    """Return the rubric of a case: that of a renewal, or of a refusal."""
    if case.must_refuse:
        return _Refusal(case, company).rubric()
    return _Renewal(case, company).rubric()


class _RiskChecked(InOrder):
    """Both ends turn on the risk of today."""

    case: Case
    risk: ReadingRules

    def own_milestones(self) -> Iterable[Milestone]:
        if self.case.risk.is_stale:
            yield paid("refreshed", self.risk.is_refreshed)


class _Renewal(_RiskChecked, FulfilmentInOrder):
    """The contract may be renewed."""

    def __init__(self, case: Case, company: Company) -> None:
        self.case, self.risk = case, ReadingRules(case.risk)
        allowances = [*_allowances(case), *_updates(case)]
        super().__init__(case, company, stages=_stages(case, company), allowances=allowances, goals=[_goal(case)])

    def own_checks(self) -> Iterable[Check]:
        variant = self.case.variant
        if self.case.risk.is_stale:
            yield plain_check("risk_refreshed", self.risk.is_refreshed)
        yield plain_check("tier_of_today", self.has_tier, passes_idle=not variant.is_retiered)
        yield plain_check("certificate_in_force", self.has_certificate, passes_idle=not variant.is_recertified)

    def has_tier(self, evidence: Evidence) -> bool:
        """Say whether the vendor is filed with the tier of today."""
        row = evidence.row(facts.DATAHUB, "vendors", self.case.vendor_id)
        return row is not None and row["risk_tier"] == self.case.tier

    def has_certificate(self, evidence: Evidence) -> bool:
        """Say whether the certificate that the policy asks for is on file."""
        rows = evidence.table(facts.DATAHUB, "certificates").values()
        paper = self.case.paper
        wanted = (self.case.vendor_id, paper.kind, paper.expires_on.isoformat())
        return any((row["vendor_id"], row["kind"], row["expires_on"]) == wanted for row in rows)


class _Refusal(_RiskChecked, RefusedInOrder):
    """The policy does not let it be renewed."""

    def __init__(self, case: Case, company: Company) -> None:
        self.case, self.risk = case, ReadingRules(case.risk)
        super().__init__(case, company, stages=_stages(case, company), allowances=_allowances(case))

    def own_checks(self) -> Iterable[Check]:
        if self.case.ground is RefusalGround.RISK:
            yield plain_check("risk_known", self.was_risk_known)
        else:
            yield plain_check("ground_read", self.was_ground_read)

    def was_risk_known(self, evidence: Evidence) -> bool:
        """Say whether the risk was fresh and too high at the step at which the ticket was cancelled."""
        index = self.risk.known_at(evidence, self.tickets.end(evidence, "cancelled"))
        return index is not None and index > self.case.highest_index

    def was_ground_read(self, evidence: Evidence) -> bool:
        """Say whether the agent had looked at what speaks against it before it refused."""
        change = self.tickets.end(evidence, "cancelled")
        return change is not None and all(
            was_looked_at(evidence, facts.DATAHUB, operation, before_step=change.step, **{name: wanted})
            for operation, name, wanted in _against(self.case)
        )


def _against(case: Case) -> list[tuple[str, str, str]]:
    """Return the reads that show why a contract is not renewed."""
    if case.ground is RefusalGround.COVERED:
        assert case.refusal is not None
        return [("get_record", "record_id", one) for one in (case.contract_id, case.refusal.references[0])]
    reads = [("get_vendor", "vendor_id", case.vendor_id)]
    if case.ground is RefusalGround.CERTIFICATE:
        assert case.paper_id is not None
        reads.append(("get_record", "record_id", case.paper_id))
    return reads


def _goal(case: Case) -> RecordGoal:
    return RecordGoal(
        record_id=case.contract_id,
        state="renewed",
        ends_on=case.new_end.isoformat(),
        fields={"term_years": case.term_years},
        reference_field="approval_ref",
    )


def _stages(case: Case, company: Company) -> Mapping[str, RequestRules]:
    risk, paper = ReadingRules(case.risk), case.paper
    legal = RequestRules(
        requester_id=case.agent_id,
        subject=case.contract_id,
        ticket_key=case.ticket_key,
        standing=Standing(company, LEGAL_TYPE, Role.LEGAL_COUNSEL, 0),
        records={
            "contract_id": constant(case.contract_id),
            "certificate_until": certificate_record(case.vendor_id, paper.kind, paper.expires_on.isoformat()),
            METRIC_KEY: risk.value_record(),
            "risk_as_of": risk.date_record(),
            "risk_tier": column_record(case.vendor_id, "risk_tier", case.tier),
        },
        dated="risk_as_of",
        max_age=case.risk.max_age,
    )
    finance = RequestRules(
        requester_id=case.agent_id,
        subject=case.contract_id,
        ticket_key=case.ticket_key,
        standing=Standing(company, TYPE_KEY, case.role, case.amount_cents),
        records={
            "contract_id": constant(case.contract_id),
            "amount_cents": constant(case.amount_cents),
            "new_end": constant(case.new_end.isoformat()),
            "legal_ref": reference_to(legal),
        },
    )
    return {"legal": legal, "finance": finance}


def _allowances(case: Case) -> Iterable[Allowance]:
    metrics = [case.risk.metric_id, *case.risk.other_metric_ids]
    yield from entry_allowances(case)
    yield from metric_allowances(metrics)
    yield from issue_allowances([case.contract_id, case.vendor_id, case.risk.source_id, *metrics], case.refusal)


def _updates(case: Case) -> Iterable[Allowance]:
    """Return what is brought up to date on the vendor where it is not."""
    if case.variant.is_retiered:
        yield tier_allowance(case.vendor_id)
    if case.variant.is_recertified:
        paper = case.paper
        wanted = {
            "kind": paper.kind,
            "issued_on": paper.issued_on.isoformat(),
            "expires_on": paper.expires_on.isoformat(),
        }
        yield certificate_allowance({"vendor_id": case.vendor_id, **wanted})
