"""Entry points of other packages: what they add is listed, and one that cannot be used is named with its package."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from companyos.entry_points import EntryPointError
from companyos.policies import load_policy, policy_names
from companyos_gateway.chaos import FaultPlan, levels, profile_for
from companyos_gateway.process.startup_checks import StartupError, load_checked_settings
from companyos_gateway.scenarios import catalogue
from companyos_gateway.services import check_services, service_entry_points, service_names
from companyos_gateway.tasks import TaskNotFoundError, TaskSet
from companyos_gateway.world import generate_world
from companyos_players import registry as players
from companyos_shared.streams import Stream
from tests.plugins.conftest import Install

POLICY = """
class Clerk:
    name = {name!r}

    async def play(self, task, call):
        pass
"""
PROFILE = """
from pathlib import Path
from companyos_gateway.chaos import read_profile

PROFILE = read_profile(Path(__file__).parent / "profile.toml")
"""
PLAYERS = """
from companyos_players import Worker
from companyos_players.adversaries.base import build_adversaries

class Clerk(Worker):
    pass

async def play(task, call):
    pass

WORKER, ADVERSARIES, REQUIRED_CHAOS = Clerk, build_adversaries(Clerk, {}), {"stall": "stale_metric"}
"""


def test_an_added_profile_has_a_separate_level(install: Install) -> None:
    install("chaos_profiles", "squall = acme:PROFILE", PROFILE)
    assert levels() == (0, 1, 2, 3, 4, 6)
    assert profile_for(6).name == "squall"
    assert profile_for(6).rates == profile_for(4).rates


def test_the_tasks_of_an_added_level_follow_the_published_ones(install: Install) -> None:
    scenarios = catalogue()
    published = TaskSet(scenarios)
    install("chaos_profiles", "squall = acme:PROFILE", PROFILE)
    tasks, size = TaskSet(scenarios), published.size("test")
    assert [task.id for task in tasks.tasks("test")[:size]] == [task.id for task in published.tasks("test")]
    added = tasks.tasks("test")[size:]
    assert {task.chaos for task in added} == {6}
    assert {task.scenario for task in added} == set(scenarios)
    assert [task.index for task in added] == list(range(size, tasks.size("test")))
    assert tasks.position("test", tasks.size("test") - 1) == tasks.find(added[-1].id)
    assert added[-1].difficulty == "squall"
    assert tasks.version.startswith(f"{published.version}+")
    with pytest.raises(TaskNotFoundError):
        published.position("test", size)


def test_transport_faults_affect_an_added_service(install: Install) -> None:
    install("services", "parking = acme:app", "")
    assert service_names() == ("ticketdesk", "datahub", "approvalflow", "parking")
    plan = FaultPlan.from_profile(profile_for(0), {"parking.unavailable": 1.0}, "a test")
    times = [datetime(2026, 3, 2, 9, tzinfo=UTC) + timedelta(minutes=10 * n) for n in range(24)]
    assert any(plan.outage("parking", at) for at in times)
    assert not any(plan.outage("ticketdesk", at) for at in times)


def test_a_service_without_a_seed_starts_without_rows(install: Install) -> None:
    rules = "from companyos_gateway.services import ServiceRules\nRULES = ServiceRules()\n"
    install("service_rules", "parking = acme:RULES", rules)
    documents = generate_world(Stream("a test", 1)).documents("a seed")
    assert documents["parking"].keys() == {"company", "draw_seed", "started_at"}
    assert documents["parking"]["company"] == documents["ticketdesk"]["company"]


@pytest.mark.parametrize(
    ("entry", "module", "fault"),
    [
        ("squall = acme.missing:PROFILE", "", "No module named"),
        ("squall = acme:PROFILE", "PROFILE = 'storm'", "must be a Profile, such as read_profile returns; got str"),
        ("gale = acme:PROFILE", PROFILE, "the profile is named 'squall'"),
        (
            "squall = acme:PROFILE",
            f"{PROFILE}import dataclasses\nPROFILE = dataclasses.replace(PROFILE, level=4)\n",
            "level must be one of 5, 6, 7, 8; got 4",
        ),
        (
            "storm = acme:PROFILE",
            f"{PROFILE}import dataclasses\nPROFILE = dataclasses.replace(PROFILE, name='storm')\n",
            "another profile has this name",
        ),
    ],
)
def test_an_invalid_profile_stops_the_start(
    install: Install, tmp_path: Path, entry: str, module: str, fault: str
) -> None:
    install("chaos_profiles", entry, module)
    with pytest.raises(StartupError, match=rf"^entry point \w+ = acme0[.\w]*:PROFILE of acme0 1\.0: {fault}"):
        load_checked_settings(tmp_path)


@pytest.mark.parametrize(
    ("entry", "module", "fault"),
    [
        ("parking = acme:RULES", "RULES = {}", "must be a ServiceRules; got dict"),
        ("parking = acme:RULES", "raise RuntimeError", "RuntimeError"),
        ("car_park = acme:RULES", "", "the name of a service must consist of lowercase letters and digits"),
        ("datahub = acme:RULES", "", "a built-in service has this name"),
        (
            "parking = acme:RULES",
            "from companyos_gateway.services import ServiceRules\nRULES = ServiceRules(seed=lambda world: {})\n",
            "seed: TypeError: .* takes 1 positional argument but 2 were given",
        ),
    ],
)
def test_invalid_rules_stop_the_start(install: Install, tmp_path: Path, entry: str, module: str, fault: str) -> None:
    install("service_rules", entry, module)
    with pytest.raises(StartupError, match=rf"^entry point \w+ = acme0:RULES of acme0 1\.0: {fault}"):
        load_checked_settings(tmp_path)


def test_rules_of_a_service_that_is_not_connected_are_named(install: Install) -> None:
    install("service_rules", "parking = acme:RULES", "")
    with pytest.raises(EntryPointError, match="no service is named 'parking'; there are datahub, ticketdesk"):
        check_services({"ticketdesk": "", "datahub": ""})


def test_a_service_whose_name_cannot_be_part_of_a_tool_name_is_named(install: Install) -> None:
    install("services", "car_park = acme:app", "")
    with pytest.raises(EntryPointError, match=r"car_park = acme0:app of acme0 1\.0: the name of a service must"):
        service_entry_points()


def test_two_packages_cannot_add_the_same_name(install: Install) -> None:
    install("services", "parking = acme:app", "")
    install("services", "parking = acme:app", "")
    with pytest.raises(EntryPointError, match=r"of acme1 1\.0: acme0:app has the same name in companyos\.services"):
        service_entry_points()


def test_an_added_policy_is_listed_and_loaded(install: Install) -> None:
    install("policies", "clerk = acme:Clerk", POLICY.format(name="clerk"))
    assert "clerk" in policy_names()
    assert load_policy("clerk").name == "clerk"


@pytest.mark.parametrize(
    ("module", "fault"),
    [
        ("", "AttributeError: module 'acme0' has no attribute 'Clerk'"),
        ("Clerk = 1", "TypeError: 'int' object is not callable"),
        ("Clerk = dict", "must create a policy, with a method play; got dict"),
        (POLICY.format(name="other"), "name must be 'clerk'; got 'other'"),
    ],
)
def test_an_invalid_policy_is_named(install: Install, module: str, fault: str) -> None:
    install("policies", "clerk = acme:Clerk", module)
    with pytest.raises(EntryPointError, match=rf"^entry point clerk = acme0:Clerk of acme0 1\.0: {fault}"):
        load_policy("clerk")


def test_a_policy_with_a_name_in_use_is_named(install: Install) -> None:
    install("policies", "random = acme:Clerk", POLICY.format(name="random"))
    with pytest.raises(EntryPointError, match=r"has the same name in companyos\.policies"):
        policy_names()


def test_added_players_are_loaded(install: Install) -> None:
    install("players", "parking_permit = acme", PLAYERS)
    assert callable(players.fair_player("parking_permit"))
    assert players.worker_class("parking_permit").__name__ == "Clerk"  # type: ignore[union-attr]
    adversaries = players.adversaries_of("parking_permit")
    assert {"stall", players.IGNORES_FIELD_NAMES} <= set(adversaries.players)
    assert adversaries.required_chaos["stall"] == "stale_metric"
    assert players.ablation_of("parking_permit", "missing_priority") is not None


def test_a_scenario_without_players_is_named() -> None:
    with pytest.raises(players.NoPlayersError, match=r"'parking_permit' has no players; .* companyos\.players"):
        players.fair_player("parking_permit")


@pytest.mark.parametrize(
    ("entry", "module", "fault"),
    [
        ("parking_permit = acme.missing", "", "No module named"),
        ("parking_permit = acme:Clerk", PLAYERS, "must be a module; got type"),
        ("parking_permit = acme", "", "play must be a function that plays a task; got None"),
        (
            "parking_permit = acme",
            PLAYERS.replace("(Worker)", ""),
            "WORKER must be a subclass of companyos_players.Worker; got <class",
        ),
        ("parking_permit = acme", f"{PLAYERS}ADVERSARIES = 1", "ADVERSARIES must be a mapping of names to players"),
        ("expense_report = acme", PLAYERS, "a built-in scenario has this name"),
    ],
)
def test_invalid_players_are_named(install: Install, entry: str, module: str, fault: str) -> None:
    install("players", entry, module)
    with pytest.raises(EntryPointError, match=rf"^entry point \w+ = acme0[.:\w]* of acme0 1\.0: {fault}"):
        players.adversaries_of(entry.partition(" ")[0])
