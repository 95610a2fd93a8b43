"""Records are filed before the events that they announce, and people have access only during their employment."""

from __future__ import annotations

from datetime import date

import pytest

from companyos_gateway.scenarios.blocks.task import BuiltTask
from companyos_gateway.world.seed_documents.datahub import RecordRow
from tests.scenarios.engine import hardest_task

SEEDS = range(30)


def _documents(built: BuiltTask, document_type: str) -> list[RecordRow]:
    records = [one for one in built.world.datahub.records if one.kind == "document"]
    return [one for one in records if one.fields.get("document_type") == document_type]


@pytest.mark.sample(6)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_handbook_page_is_not_filed_after_it_was_published(seed: int) -> None:
    built = hardest_task("handbook_update", seed)
    for page in _documents(built, "handbook"):
        if "published_on" in page.fields:
            assert page.created_at.date() <= date.fromisoformat(page.fields["published_on"])


@pytest.mark.sample(6)
@pytest.mark.parametrize("seed", SEEDS)
def test_access_of_a_leaver_is_filed_before_it_begins_and_begins_while_they_are_employed(seed: int) -> None:
    built = hardest_task("employee_offboarding", seed)
    person = built.world.staff.person(built.case.facts.person.id)
    grants = [one for one in built.world.datahub.records if one.fields.get("person_id") == person.id]
    grants = [one for one in grants if one.kind == "access_grant"]
    assert grants
    for grant in grants:
        assert grant.starts_on is not None
        assert grant.created_at.date() <= grant.starts_on
        assert grant.starts_on >= person.employed_from


@pytest.mark.sample(8)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("document_type", ["on_call_schedule", "maintenance_notice"])
def test_a_rota_and_a_maintenance_notice_are_filed_before_their_first_day(document_type: str, seed: int) -> None:
    documents = _documents(hardest_task("incident_response", seed), document_type)
    assert documents
    for document in documents:
        assert document.starts_on is not None
        assert document.created_at.date() < document.starts_on
