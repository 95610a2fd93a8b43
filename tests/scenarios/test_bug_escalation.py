"""Bug escalations: all limits of the policy's priorities apply to rates that it escalates."""

from __future__ import annotations

from companyos_gateway.scenarios import catalogue

SEEDS, LEVEL = range(40), 3
LIMITS = ("escalate_from_errors", "medium_from_errors", "high_from_errors", "critical_from_errors")


def test_the_limits_of_priorities_are_between_those_of_escalations_and_all_requests() -> None:
    for seed in SEEDS:
        policies = catalogue()["bug_escalation"].plan(seed, LEVEL).documents["datahub"]["policies"]
        for row in (one for one in policies if one["topic"] == "incidents"):
            escalated, medium, high, critical = (row["parameters"][name] for name in LIMITS)
            assert escalated < medium < high < critical < 100, seed
