"""Builders with defaults for the tests of DataHub."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import httpx

from companyos_datahub.main import SERVICE
from companyos_datahub.policies.schemas import PolicyDetail
from companyos_datahub.seed import Seed
from companyos_datahub.sources.schemas import PipelineState, SourceDetail

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


def a_source(**changes: Any) -> SourceDetail:
    values: dict[str, Any] = {
        "id": "SRC-1",
        "name": "A source",
        "owner_id": "E-1",
        "freshness_sla_minutes": 60,
        "pipeline_state": PipelineState.HEALTHY,
        "authoritative_for": [],
        "refresh_minutes": 20,
        "maintenance_from": None,
        "maintenance_to": None,
    }
    return SourceDetail(**(values | changes))


def a_version(version: int, effective_from: date, effective_to: date | None = None) -> PolicyDetail:
    return PolicyDetail(
        policy_id="POL-1",
        version=version,
        title="A policy",
        topic="procurement",
        effective_from=effective_from,
        effective_to=effective_to,
        body="",
        parameters={},
    )


def a_document(**changes: Any) -> dict[str, Any]:
    """Return the demo seed document with some of its lists replaced."""
    return SERVICE.demo_seed().model_dump(mode="json") | changes


def a_seed(**changes: Any) -> Seed:
    return Seed.model_validate(a_document(**changes))


def problem(answer: httpx.Response) -> tuple[int, str]:
    """Return the status and the code of an error response."""
    assert answer.headers["content-type"] == "application/problem+json"
    return answer.status_code, answer.json()["code"]


def ids(answer: httpx.Response) -> list[str]:
    """Return the ids of the rows of a list response."""
    assert answer.status_code == 200, answer.text
    return [item["id"] for item in answer.json()["items"]]
