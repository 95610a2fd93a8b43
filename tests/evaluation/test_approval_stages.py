"""Several approvals in order: each one follows the previous one, comes from another person, and allows changes."""

from __future__ import annotations

from datetime import date
from enum import StrEnum
from typing import Any

import pytest

from companyos_gateway.evaluation.approval_requests import ApprovalAuthority, RequestChecks
from companyos_gateway.evaluation.approval_stages import ApprovalStages
from companyos_gateway.evaluation.cases import Refusal, TicketCase
from companyos_gateway.evaluation.entity_goals import CertificateOnFile, EntityGoals
from companyos_gateway.evaluation.goals import VendorGoal
from companyos_gateway.evaluation.outcome import AfterGoalsMet, ConstantValue, EarlierApproval, RecordSum
from companyos_gateway.evaluation.record_corrections import IssueReportGoal
from companyos_gateway.evaluation.ticket_checks import TicketChecks
from companyos_shared.wire.company import Company, Role
from companyos_shared.wire.context import FaultKind
from companyos_shared.wire.control import Report
from tests.evaluation.evidence_builder import NOW, EvidenceBuilder, a_person, a_request, audit

HUB, FLOW = "datahub", "approvalflow"
FRAUD = Refusal("fraud_suspected", ("DOC-1",))


COMPANY = Company(
    name="X",
    domain="x.example",
    agent_id="agent",
    people=(
        a_person("agent"),
        a_person("counsel", Role.LEGAL_COUNSEL),
        a_person("cfo", Role.CFO),
        a_person("both", Role.LEGAL_COUNSEL, Role.CFO),
    ),
)


class Variant(StrEnum):
    """The only structure of this task."""

    ONLY = "only"


CASE = TicketCase(
    variant=Variant.ONLY,
    agent_id="agent",
    ticket_key="OPS-1",
    team_id="t",
    due_on=date(2026, 3, 20),
    open_items=(),
    first_status="open",
    needs_priority=False,
    needs_assignee=False,
    assignee_ids=("agent",),
    priority="low",
    approver_ids=("cfo",),
    blocker=None,
    refusal=None,
)


def _rules(type_key: str, role: Role, **sources: Any) -> RequestChecks:
    authority = ApprovalAuthority(COMPANY, type_key, role, 0)
    return RequestChecks(
        requester_id="agent", subject="CTR-1", ticket_key="OPS-1", authority=authority, sources=sources
    )


LEGAL = _rules("legal", Role.LEGAL_COUNSEL, contract_id=ConstantValue("CTR-1").source({}))
STAGES = {
    "legal": LEGAL,
    "finance": _rules("finance", Role.CFO, legal_ref=EarlierApproval("legal").source({"legal": LEGAL})),
}
WORK = ApprovalStages(STAGES, (), TicketChecks(CASE, COMPANY))
FIELDS: dict[str, dict[str, str]] = {"legal": {"contract_id": "CTR-1"}, "finance": {"legal_ref": "APR-1"}}


def _builder() -> EvidenceBuilder:
    return EvidenceBuilder(
        ticketdesk={"tickets": {}},
        datahub={"vendors": {"VEN-1": {"id": "VEN-1", "bank_iban": "DE1", "risk_tier": "low"}}},
        approvalflow={"requests": {}, "decisions": {}, "delegations": {}},
    )


def _submit(builder: EvidenceBuilder, key: str, type_key: str, approver_id: str) -> None:
    row = {"type_key": type_key, "subject": "CTR-1", "approver_id": approver_id, "fields": FIELDS[type_key]}
    builder.put(FLOW, "requests", key, **a_request(key, **row))


def _give(builder: EvidenceBuilder, key: str) -> None:
    row = builder.evidence.row(FLOW, "requests", key)
    assert row is not None
    builder.put_by_clock(FLOW, "requests", key, status="approved")
    builder.put_by_clock(FLOW, "decisions", f"{key}-D1", request_id=key, kind="approved", by=row["approver_id"])


def test_two_approvals_in_order_by_two_people_both_count() -> None:
    builder = _builder()
    _submit(builder, "APR-1", "legal", "counsel")
    assert not WORK.is_approved(builder.evidence, stage=0)
    _give(builder, "APR-1")
    _submit(builder, "APR-2", "finance", "cfo")
    assert WORK.is_submitted(builder.evidence, stage=1)
    _give(builder, "APR-2")
    given = WORK.final_request(builder.evidence)
    assert given is not None
    assert (given.id, WORK.find_same_approver(builder.evidence)) == ("APR-2", None)


def _found(builder: EvidenceBuilder) -> str | None:
    """Return the finding of the legal approval's check, or None if the approval is given."""
    check = LEGAL.approval_check("given", lambda _: None, caused_by=())
    mismatch = check.find_mismatch(builder.evidence)
    return None if mismatch is None else mismatch.found


def test_a_missing_approval_names_the_last_approver_and_the_authorized_ones() -> None:
    builder = _builder()
    assert _found(builder) == "no request"
    refused: dict[str, Any] = {"operation": "submit_approval", "status": 409, "code": "approver-out-of-office"}
    for step, type_key, planned in ((1, "legal", None), (2, "finance", None), (3, "legal", FaultKind.UNAVAILABLE)):
        arguments = {"type_key": type_key, "subject": "CTR-1", "approver_id": "cfo"}
        builder.evidence.record(FLOW, Report(audit=audit(step, **refused, arguments=arguments, planned=planned)))
    assert _found(builder) == (
        "no request; step 1 asked cfo: approver-out-of-office (both, counsel were entitled to approve then)"
    )


def test_an_unauthorized_approver_is_named_with_the_authorized_ones() -> None:
    builder = _builder()
    _submit(builder, "APR-1", "legal", "cfo")
    assert _found(builder) == ("status: pending, put to cfo, who was not entitled to approve it (both, counsel were)")


def test_a_second_approval_requested_before_the_first_is_given_does_not_count() -> None:
    builder = _builder()
    _submit(builder, "APR-1", "legal", "counsel")
    _submit(builder, "APR-2", "finance", "cfo")
    _give(builder, "APR-1")
    _give(builder, "APR-2")
    assert WORK.is_approved(builder.evidence, stage=0)
    assert WORK.final_request(builder.evidence) is None
    assert not STAGES["finance"].is_accurate(builder.evidence, "APR-2")


def test_one_person_for_both_approvals_is_detected() -> None:
    builder = _builder()
    for key, type_key in (("APR-1", "legal"), ("APR-2", "finance")):
        _submit(builder, key, type_key, "both")
        _give(builder, key)
    assert WORK.final_request(builder.evidence) is not None
    assert WORK.find_same_approver(builder.evidence) is not None


def test_the_stages_share_the_points_of_one_approval() -> None:
    paid = {milestone.id: milestone.points for milestone in WORK.milestones()}
    assert paid == {"submitted_legal": 1.0, "approved_legal": 1.5, "submitted_finance": 1.0, "approved_finance": 1.5}


def test_a_refusal_with_an_approval_at_any_stage_is_damage() -> None:
    builder = _builder()
    assert [check.find_mismatch(builder.evidence) for check in WORK.refused_checks()] == [None, None]
    _submit(builder, "APR-1", "legal", "counsel")
    assert [check.id for check in WORK.refused_checks() if check.find_mismatch(builder.evidence)]
    assert list(WORK.damage(builder.evidence)) == []
    _give(builder, "APR-1")
    assert list(WORK.damage(builder.evidence)) == ["approvalflow.requests[APR-1]"]


@pytest.mark.parametrize(
    ("not_before", "waits", "is_premature"),
    [(None, True, False), (None, False, True), (NOW.date(), True, False), (date(2026, 3, 3), True, True)],
)
def test_a_vendor_is_changed_once_it_is_approved_and_due(
    not_before: date | None, *, waits: bool, is_premature: bool
) -> None:
    goal = VendorGoal(vendor_id="VEN-1", columns={"bank_iban": "DE2"}, not_before=not_before)
    builder = _builder()
    _submit(builder, "APR-1", "legal", "counsel")
    if waits:
        _give(builder, "APR-1")
    builder.put(HUB, "vendors", "VEN-1", risk_tier="high")
    assert not goal.is_met(builder.evidence, "APR-1")
    assert goal.premature_step(builder.evidence, "APR-1") is None
    builder.put(HUB, "vendors", "VEN-1", bank_iban="DE2")
    assert goal.is_met(builder.evidence, "APR-1")
    assert (goal.premature_step(builder.evidence, "APR-1") is not None) is is_premature


def test_a_total_is_known_once_every_record_is_in_its_state() -> None:
    first, second = {"state": "accepted", "fields": {"quantity": 4}}, {"state": "recorded", "fields": {"quantity": 3}}
    builder = EvidenceBuilder(datahub={"records": {"GR-1": first, "GR-2": second}})
    total = RecordSum(("GR-1", "GR-2"), "quantity", "accepted").source({})
    assert total(builder.evidence, 0) is None
    builder.put_by_clock(HUB, "records", "GR-2", state="accepted")
    assert (total(builder.evidence, 0), total(builder.evidence, 1)) == (None, 7)


def test_a_value_derived_from_vendor_data_counts_once_the_data_is_on_file() -> None:
    builder = EvidenceBuilder(datahub={"vendors": {"VEN-1": {"risk_tier": "low"}}, "certificates": {}})
    tier = VendorGoal(vendor_id="VEN-1", columns={"risk_tier": "high"})
    days = {"issued_on": "2026-01-01", "expires_on": "2027-01-01"}
    certificate = CertificateOnFile(vendor_id="VEN-1", kind="iso", document_id=None, **days)
    values = [AfterGoalsMet("done", EntityGoals("settled", [one])).source({}) for one in (tier, certificate)]
    assert [value(builder.evidence, 0) for value in values] == [None, None]
    builder.put(HUB, "vendors", "VEN-1", risk_tier="high")
    filed = {"vendor_id": "VEN-1", "kind": "iso", **days}
    builder.put(HUB, "certificates", "CRT-1", **filed)
    builder.put(HUB, "certificates", "CRT-2", **{**filed, "expires_on": "2028-01-01"})
    builder.put(HUB, "certificates", "CRT-3", **{**filed, "issued_on": "2025-01-01"})
    builder.put(HUB, "certificates", "CRT-4", **{**filed, "kind": "ISO"})
    assert [value(builder.evidence, 2) for value in values] == ["done", "done"]
    (allowed,) = certificate.allowances()
    fits = {one.key: allowed.allows(builder.evidence, one) for one in builder.evidence.agent_changes()}
    assert [fits[f"CRT-{number}"] for number in (1, 2, 3, 4)] == [True, False, False, True]


@pytest.mark.parametrize(
    ("changed", "is_met"),
    [({}, True), ({"kind": "wrong"}, False), ({"subject": "VEN-2"}, False), ({"reason_ref": "DOC-2"}, False)],
)
def test_a_report_must_name_the_problem_and_its_subject(changed: dict[str, str], *, is_met: bool) -> None:
    goal = IssueReportGoal(kind="suspicious", subjects=frozenset({"VEN-1"}), refusal=FRAUD)
    builder = EvidenceBuilder(datahub={"data_issues": {}})
    message = {"subject": "VEN-1", "kind": "suspicious", "reason_code": "fraud_suspected", "reason_ref": "DOC-1"}
    builder.put(HUB, "data_issues", "DI-1", **message | changed)
    assert goal.is_met(builder.evidence) is is_met
    builder.put(HUB, "data_issues", "DI-2", **message)
    is_elsewhere = "subject" in changed  # another case of a shift may ask for that one
    assert goal.is_met(builder.evidence) is (is_met or is_elsewhere)


@pytest.mark.parametrize(
    ("changed", "is_met"),
    [({"subject": "CHG-1"}, True), ({"subject": "CHG-1", "reason_ref": "DOC-2"}, False), ({}, True)],
)
def test_a_problem_may_be_reported_alike_for_each_of_its_subjects_and_again(
    changed: dict[str, str], *, is_met: bool
) -> None:
    goal = IssueReportGoal(kind="suspicious", subjects=frozenset({"VEN-1", "CHG-1"}), refusal=FRAUD)
    builder = EvidenceBuilder(datahub={"data_issues": {}})
    message = {"subject": "VEN-1", "kind": "suspicious", "reason_code": "fraud_suspected", "reason_ref": "DOC-1"}
    builder.put(HUB, "data_issues", "DI-1", **message)
    builder.put(HUB, "data_issues", "DI-2", **message | changed)
    assert goal.is_met(builder.evidence) is is_met
