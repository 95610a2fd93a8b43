"""A company from a seed: complete and plausible."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest

from companyos_gateway.world import WorldBuilder, finish_world, generate_world
from companyos_gateway.world.backlog import number_rows
from companyos_gateway.world.calendar import format_time, is_working_day, working_days_from
from companyos_gateway.world.policies import PolicyText
from companyos_gateway.world.pools import pool
from companyos_gateway.world.seed_documents.ticketdesk import ChecklistRow
from companyos_shared.streams import Stream, digest
from companyos_shared.wire.company import Role


def draw_world(*names: str | int) -> WorldBuilder:
    world = generate_world(Stream("a test", *names))
    finish_world(world)
    return world


@pytest.fixture(params=range(5))
def world(request: pytest.FixtureRequest) -> WorldBuilder:
    return draw_world(request.param)


def _digest_of(seed: int) -> str:
    return digest(dict(draw_world(seed).documents("draw")))


def test_different_seeds_give_different_companies() -> None:
    assert len({_digest_of(seed) for seed in range(20)}) == 20


def test_a_company_has_forty_to_sixty_people_and_its_systems_300_to_800_rows(world: WorldBuilder) -> None:
    assert 40 <= len(world.staff.people) <= 62
    assert 40 <= len(world.staff.active()) <= 60
    lists = [part for document in world.documents("draw").values() for part in document.values() if type(part) is list]
    assert 300 <= sum(map(len, lists)) <= 800


def test_the_start_is_on_a_working_morning(world: WorldBuilder) -> None:
    company = world.company()
    assert company.is_working_day(world.today)
    assert is_working_day(world.today)
    assert company.office_opens <= world.started_at.time() < company.office_closes
    assert world.started_at.hour < 12


def test_names_and_addresses_are_unique(world: WorldBuilder) -> None:
    names = Counter(person.name for person in world.staff.people)
    assert max(names.values()) == 1
    assert max(Counter(person.email for person in world.staff.people).values()) == 1
    assert max(Counter(vendor.legal_name for vendor in world.datahub.vendors).values()) == 1


def test_every_role_has_a_holder(world: WorldBuilder) -> None:
    for role in Role:
        assert world.staff.holders(role), role


def test_the_agent_is_employed_and_has_no_authority(world: WorldBuilder) -> None:
    person = world.staff.person(world.agent_id)
    assert not person.roles
    assert person.is_employed(world.today)


def test_every_team_has_a_lead_and_every_member_an_existing_manager(world: WorldBuilder) -> None:
    ids = {person.id for person in world.staff.people}
    for team in world.staff.teams:
        assert world.staff.person(team.lead_id).team_id == team.id
    assert [person.title for person in world.staff.people if person.manager_id is None] == ["Chief Executive Officer"]
    assert all(person.manager_id in ids for person in world.staff.people if person.manager_id is not None)


def test_some_people_have_left_and_a_former_cfo_is_among_them(world: WorldBuilder) -> None:
    departed = [person for person in world.staff.people if not person.is_employed(world.today)]
    assert len(departed) >= 3
    assert any(held.role is Role.CFO for person in departed for held in person.roles)
    assert len(world.staff.holders(Role.CFO)) == 1


def test_exactly_the_ended_tickets_have_a_reason(world: WorldBuilder) -> None:
    for ticket in world.ticketdesk.tickets:
        assert (ticket.reason_code is not None) == (ticket.status in ("closed", "cancelled"))


def test_a_verified_ticket_was_ready_for_verification(world: WorldBuilder) -> None:
    undone = {item.ticket_key for item in world.ticketdesk.checklist_items if item.done_at is None}
    verified = [ticket for ticket in world.ticketdesk.tickets if ticket.verified_at is not None]
    assert all(ticket.priority and ticket.assignee_id and ticket.key not in undone for ticket in verified)


def test_pending_requests_are_recent_and_decisions_were_made_in_time(world: WorldBuilder) -> None:
    for request in world.approvalflow.requests:
        assert request.submitted_at < world.started_at
        if request.status == "pending":
            assert request.expires_at > world.started_at
        if request.decided_at is not None:
            assert request.submitted_at <= request.decided_at < world.started_at
    numbers = [int(request.id.rsplit("-", 1)[1]) for request in world.approvalflow.requests]
    assert numbers == sorted(numbers)


def test_keys_ascend_with_time_and_have_gaps(world: WorldBuilder) -> None:
    by_team: dict[str, list[int]] = {}
    for ticket in world.ticketdesk.tickets:
        by_team.setdefault(ticket.team_id, []).append(int(ticket.key.rsplit("-", 1)[1]))
    assert all(numbers == sorted(numbers) for numbers in by_team.values())
    assert any(numbers[-1] - numbers[0] > len(numbers) for numbers in by_team.values())


@pytest.mark.parametrize("count", [-40, -3, -1, 1, 2, 30])
def test_working_days_exclude_weekends_and_holidays(count: int) -> None:
    day = generate_world(Stream("days")).today
    passed, step = day, timedelta(days=1 if count > 0 else -1)
    for _ in range(abs(count)):
        passed += step
        while not is_working_day(passed):
            passed += step
    assert working_days_from(day, count) == passed


def test_a_moment_is_formatted_to_the_second() -> None:
    world = generate_world(Stream("moment"))
    assert format_time(world.started_at) == world.started_at.strftime("%Y-%m-%dT%H:%M:%SZ")


def test_the_pools_contain_no_duplicate_names() -> None:
    people, vendors = pool("people"), pool("vendors")
    for names in (people["given"], people["family"], vendors["word"]):
        assert len(set(names)) == len(names)


def test_checklist_ids_continue_after_existing_ones() -> None:
    world = generate_world(Stream("a test", 7))
    prefix = world.ticketdesk.team_prefixes["platform"]
    early, late = f"{prefix}-998", f"{prefix}-1001"
    world.ticketdesk.checklist_items = [
        ChecklistRow(id="", ticket_key=key, position=0, text="Look") for key in (late, early, f"{prefix}-87")
    ]
    number_rows(world)
    assert [(item.ticket_key, item.id) for item in world.ticketdesk.checklist_items][1:] == [
        (early, "item-2"),
        (late, "item-3"),
    ]


@pytest.mark.parametrize(
    ("body", "value", "text"),
    [
        ("{named}", "outlet", "outlet"),
        ("{named}", "admin, write", "admin and write"),
        ("{named:or}", "admin, read, write", "admin, read or write"),
        ("{named:code}", "fine, gift, minibar", "`fine`, `gift` and `minibar`"),
        ("{named:code}", "demo_unit", "`demo_unit`"),
    ],
)
def test_a_list_is_joined_in_a_policy_as_in_a_sentence(body: str, value: str, text: str) -> None:
    assert PolicyText(body, {"named": value}).filled() == text
