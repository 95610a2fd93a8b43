"""The rubric of contract renewals: papers and tier up to date before anybody is asked, legal before finance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from companyos_gateway.evaluation import Check, Evidence, Milestone, TaskRubric, row_views
from companyos_gateway.evaluation.approval_requests import ApprovalAuthority, RequestChecks
from companyos_gateway.evaluation.change_policy import Allowance, issue_allowances, metric_allowances, ticket_allowances
from companyos_gateway.evaluation.facts import record_shown, vendor_status_shown
from companyos_gateway.evaluation.goals import (
    RecordGoal,
    certificate_allowance,
    certificate_source,
    tier_allowance,
    vendor_column_source,
)
from companyos_gateway.evaluation.metric_checks import MetricChecks, constant_source
from companyos_gateway.evaluation.milestones import milestone
from companyos_gateway.evaluation.mismatch import Mismatch, find_row_mismatch, row_path
from companyos_gateway.evaluation.sequential_approvals import (
    SequentialApprovalRubric,
    SequentialCompletedOutcome,
    SequentialRefusedOutcome,
    approved_request_source,
)
from companyos_gateway.scenarios.contract_renewal.case import LEGAL_TYPE, METRIC_KEY, TYPE_KEY, Case, RefusalGround
from companyos_shared.wire.company import Company, Role


def build_rubric(case: Case, company: Company) -> TaskRubric:
    """Return the rubric of a case: that of a renewal, or of a refusal."""
    if case.must_refuse:
        return _Refusal(case, company).rubric()
    return _Renewal(case, company).rubric()


class _RiskChecked(SequentialApprovalRubric):
    """Both ends turn on the risk of today."""

    case: Case
    risk: MetricChecks

    def scenario_milestones(self) -> Iterable[Milestone]:
        if self.case.risk.is_stale:
            yield milestone("refreshed", self.risk.is_refreshed)


class _Renewal(_RiskChecked, SequentialCompletedOutcome):
    """The contract may be renewed."""

    def __init__(self, case: Case, company: Company) -> None:
        self.case, self.risk = case, MetricChecks(case.risk)
        allowances = [*_allowances(case), *_updates(case)]
        super().__init__(case, company, stages=_stages(case, company), allowances=allowances, goals=[_goal(case)])

    def scenario_checks(self) -> Iterable[Check]:
        variant = self.case.variant
        if self.case.risk.is_stale:
            yield self.risk.refreshed_check("risk_refreshed")
        yield Check("tier_of_today", not variant.is_retiered, self.find_wrong_tier)
        yield Check("certificate_in_force", not variant.is_recertified, self.find_missing_certificate)

    def find_wrong_tier(self, evidence: Evidence) -> Mismatch | None:
        """Return a mismatch if the vendor is not filed with the tier of today."""
        expected = {"risk_tier": self.case.tier}
        return find_row_mismatch(evidence, row_views.DATAHUB, "vendors", self.case.vendor_id, expected)

    def find_missing_certificate(self, evidence: Evidence) -> Mismatch | None:
        """Return a mismatch if the certificate that the policy asks for is not on file."""
        rows = evidence.table(row_views.DATAHUB, "certificates").values()
        paper = self.case.paper
        expected = (self.case.vendor_id, paper.kind, paper.expires_on.isoformat())
        if any((row["vendor_id"], row["kind"], row["expires_on"]) == expected for row in rows):
            return None
        path = row_path(row_views.DATAHUB, "vendors", self.case.vendor_id)
        return Mismatch(path, f"a certificate {paper.kind} until {paper.expires_on}", "no such certificate")


class _Refusal(_RiskChecked, SequentialRefusedOutcome):
    """The policy does not let it be renewed."""

    def __init__(self, case: Case, company: Company) -> None:
        self.case, self.risk = case, MetricChecks(case.risk)
        super().__init__(case, company, stages=_stages(case, company), allowances=_allowances(case))

    def scenario_checks(self) -> Iterable[Check]:
        case, papers = self.case, _papers_against(self.case)
        if case.ground is RefusalGround.RISK:
            yield self.facts_check("risk_known", self.risk.fact(lambda index: index > case.highest_index))
        elif papers:
            yield self.facts_check("ground_read", *map(record_shown, papers))
        else:
            yield self.facts_check("ground_read", vendor_status_shown(case.vendor_id))


def _papers_against(case: Case) -> list[str]:
    """Return the records that show why a contract is not renewed; none if it is the vendor's status."""
    if case.ground is RefusalGround.COVERED:
        assert case.refusal is not None
        return [case.contract_id, case.refusal.references[0]]
    return [case.paper_id] if case.ground is RefusalGround.CERTIFICATE and case.paper_id is not None else []


def _goal(case: Case) -> RecordGoal:
    return RecordGoal(
        record_id=case.contract_id,
        state="renewed",
        ends_on=case.new_end.isoformat(),
        fields={"term_years": case.term_years},
        reference_field="approval_ref",
    )


def _stages(case: Case, company: Company) -> Mapping[str, RequestChecks]:
    risk, paper = MetricChecks(case.risk), case.paper
    legal = RequestChecks(
        requester_id=case.agent_id,
        subject=case.contract_id,
        ticket_key=case.ticket_key,
        authority=ApprovalAuthority(company, LEGAL_TYPE, Role.LEGAL_COUNSEL, 0),
        sources={
            "contract_id": constant_source(case.contract_id),
            "certificate_until": certificate_source(case.vendor_id, paper.kind, paper.expires_on.isoformat()),
            METRIC_KEY: risk.value_source(),
            "risk_as_of": risk.timestamp_source(),
            "risk_tier": vendor_column_source(case.vendor_id, "risk_tier", case.tier),
        },
        timestamp_field="risk_as_of",
        max_age=case.risk.max_age,
    )
    finance = RequestChecks(
        requester_id=case.agent_id,
        subject=case.contract_id,
        ticket_key=case.ticket_key,
        authority=ApprovalAuthority(company, TYPE_KEY, case.role, case.amount_cents),
        sources={
            "contract_id": constant_source(case.contract_id),
            "amount_cents": constant_source(case.amount_cents),
            "new_end": constant_source(case.new_end.isoformat()),
            "legal_ref": approved_request_source(legal),
        },
    )
    return {"legal": legal, "finance": finance}


def _allowances(case: Case) -> Iterable[Allowance]:
    metrics = [case.risk.metric_id, *case.risk.other_metric_ids]
    yield from ticket_allowances(case)
    yield from metric_allowances(metrics)
    yield from issue_allowances([case.contract_id, case.vendor_id, case.risk.source_id, *metrics], case.refusal)


def _updates(case: Case) -> Iterable[Allowance]:
    """Return what is brought up to date on the vendor where it is not."""
    if case.variant.is_retiered:
        yield tier_allowance(case.vendor_id)
    if case.variant.is_recertified:
        paper = case.paper
        expected = {
            "kind": paper.kind,
            "issued_on": paper.issued_on.isoformat(),
            "expires_on": paper.expires_on.isoformat(),
        }
        yield certificate_allowance({"vendor_id": case.vendor_id, **expected})
