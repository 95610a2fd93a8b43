"""Refund claims: exactly the fraudulent ones show a sign of fraud, and earlier policy versions decide otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from companyos_gateway.scenarios import catalogue
from companyos_gateway.scenarios.api import Instance
from companyos_gateway.scenarios.customer_refund.documents import Claim, RefusalGround

SEEDS, LEVEL = range(40), 3
SIGNS = {RefusalGround.ACCOUNT, RefusalGround.DELIVERY}


@pytest.fixture(scope="module")
def instances() -> list[Instance]:
    return [catalogue()["customer_refund"].plan(seed, LEVEL) for seed in SEEDS]


def _facts(instance: Instance) -> Claim:
    build_rubric: Any = instance.build_rubric
    facts: Claim = build_rubric.case.facts
    return facts


def _records(instance: Instance, kind: str) -> list[dict[str, Any]]:
    return [row for row in instance.documents["datahub"]["records"] if row["kind"] == kind]


def _signs(instance: Instance) -> set[RefusalGround]:
    """Return the signs of fraud that the records of an instance show."""
    claim, order = _facts(instance).record, _facts(instance).order
    customers = {row["id"]: row["fields"] for row in _records(instance, "customer")}
    customer, signs = customers[claim.fields["customer_id"]], set()
    is_foreign = customer["payout_holder"] != customer["customer_name"]
    if is_foreign and customer["payout_changed_on"] > order.fields["ordered_on"]:
        signs.add(RefusalGround.ACCOUNT)
    same_delivery = [
        row["fields"]
        for row in _records(instance, "refund_claim")
        if row["fields"]["delivery_number"] == claim.fields["delivery_number"]
    ]
    if any(fields["customer_id"] != claim.fields["customer_id"] for fields in same_delivery):
        signs.add(RefusalGround.DELIVERY)
    return signs


def test_exactly_the_fraudulent_claims_show_a_sign_of_fraud(instances: list[Instance]) -> None:
    for instance in instances:
        ground = _facts(instance).ground
        assert _signs(instance) == {ground} & SIGNS, instance.seed


def test_honest_customers_sometimes_show_one_half_of_a_sign(instances: list[Instance]) -> None:
    honest = [_facts(one) for one in instances if _facts(one).ground is None]
    customers = [(one.customer.fields, one.order.fields["ordered_on"]) for one in honest]
    assert any(fields["payout_changed_on"] > ordered_on for fields, ordered_on in customers)
    assert any(fields["payout_holder"] != fields["customer_name"] for fields, _ in customers)


def test_exactly_the_duplicates_have_a_paid_claim_for_the_same_order(instances: list[Instance]) -> None:
    for instance in instances:
        facts = _facts(instance)
        claims = [
            row
            for row in _records(instance, "refund_claim")
            if row["fields"]["sales_order_id"] == facts.order.id and row["state"] == "paid"
        ]
        assert bool(claims) == (facts.ground is RefusalGround.DUPLICATE), instance.seed


def test_other_versions_of_the_policy_change_whether_the_claim_is_in_time(
    instances: list[Instance],
) -> None:
    for instance in instances:
        facts = _facts(instance)
        versions = [row for row in instance.documents["datahub"]["policies"] if row["topic"] == "refunds"]
        for row in versions:
            today = instance.started_at.date().isoformat()
            is_in_force = row["effective_from"] <= today <= (row["effective_to"] or today)
            is_late = facts.age_days > row["parameters"]["refund_days"]
            assert is_late == (facts.is_late is is_in_force), instance.seed


def test_the_ticket_is_newer_than_the_claim(instances: list[Instance]) -> None:
    for instance in instances:
        build_rubric: Any = instance.build_rubric
        (ticket,) = (
            row for row in instance.documents["ticketdesk"]["tickets"] if row["key"] == build_rubric.case.ticket_key
        )
        assert ticket["created_at"][:10] > _facts(instance).record.fields["received_on"]
