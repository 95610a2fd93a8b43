"""Shifts: several cases in one episode, which do not interfere with each other and are judged separately."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from datetime import date, datetime, timedelta
from functools import cache
from typing import Any

import pytest

from companyos.contract import SHIFT_SIZES, Outcome
from companyos.policies import Call, StepView, TaskView
from companyos_gateway.chaos import ChaosError
from companyos_gateway.evaluation import Evidence, Verdict
from companyos_gateway.scenarios import Instance, catalogue
from companyos_gateway.scenarios.shift_cases import MIN_DUE_WORKING_DAYS, eligible_scenarios
from companyos_gateway.scenarios.shift_features import QUEUE_TAG, Feature
from companyos_gateway.scenarios.shifts import Shift, ShiftError, find_scenario
from companyos_players.player import Player
from companyos_players.registry import fair_player
from companyos_players.shift import DESK_TOPIC, ONLY_IF, SCENARIOS_BY_TAGS, ShiftPlayer
from companyos_players.shift_ablations import ABLATIONS, shift_player
from tests.scenarios.engine import EpisodeSpec, PlayAll, verdict_of
from verification.plausibility import find_implausible
from verification.proof import RecordedEpisode

PlayLacking = Callable[[str], RecordedEpisode]

DAY, PAIR = "shift-day", "shift-expense_report-vendor_onboarding"

COMPLETE = 11
"""A seed whose day has every feature except those of larger shifts."""

LARGER_SHIFT = EpisodeSpec(scenario="shift-week", player=fair_player("shift-week"), seed=17, chaos=2)
OF_LARGER_SHIFTS = (Feature.SAME_ASSIGNEE, Feature.WITHDRAWAL, Feature.CONDITION, Feature.BEST_SELECTION)
"""Features of LARGER_SHIFT that the day does not have."""

SAME_VENDOR = "shift-purchase_order-vendor_bank_change"

UNRELATED = {"order": 0.0, "reported_approval": 0.0}
"""Overrides that remove dependencies between cases."""

AUDITED = "approvers"
"""The plausibility rule that the requests of an audit violate on purpose."""


def _plan(name: str, seed: int = 0, level: int = 0, overrides: Mapping[str, float] | None = None) -> Instance:
    shift = find_scenario(catalogue(), name)
    assert shift is not None
    return shift.plan(seed, level, overrides)


def _desk_policies(instance: Instance) -> list[dict[str, Any]]:
    return [one for one in instance.documents["datahub"]["policies"] if one["topic"] == DESK_TOPIC]


def _tickets(instance: Instance) -> dict[str, dict[str, Any]]:
    return {one["key"]: one for one in instance.documents["ticketdesk"]["tickets"]}


def _queue(instance: Instance) -> set[str]:
    return {key for key, one in _tickets(instance).items() if QUEUE_TAG in one["tags"]}


def _failed(verdict: Verdict) -> list[tuple[str, str]]:
    """Return the case and the name of each failed check; the case is empty for a check of the whole shift."""
    ids = [one.id.rpartition(":") for one in verdict.checks if not one.passed]
    return [(case, check) for case, _, check in ids]


def _unsolved(verdict: Verdict) -> set[str]:
    return {key for key, is_solved in verdict.cases.items() if not is_solved}


@pytest.mark.parametrize(
    ("size", "level", "seed"),
    [
        ("day", 4, 1),
        ("customer_refund-vendor_bank_change", 2, 56),  # both cases report fraud as a data issue
        # an absence for one case would leave nobody to assign to another
        pytest.param("week", 4, 45, marks=pytest.mark.matrix),
        *(
            pytest.param(size, level, seed, marks=pytest.mark.matrix)
            for size, levels in (("day", range(4)), ("week", (1, 2, 3)), ("month", (4,)))
            for level in levels
            for seed in (2,)
        ),
    ],
)
def test_the_fair_player_solves_every_case(play_all: PlayAll, size: str, level: int, seed: int) -> None:
    name = f"shift-{size}"
    (kept,) = play_all([EpisodeSpec(scenario=name, player=fair_player(name), seed=seed, chaos=level)])
    assert kept.result.player_error is None
    verdict = verdict_of(kept)
    assert _failed(verdict) == []
    assert verdict.cases == dict.fromkeys(verdict.cases, True)
    assert len(verdict.cases) == SHIFT_SIZES.get(size, 2)
    assert kept.result.success


async def _does_nothing(_task: TaskView, call: Call) -> None:
    await call("finish", {"outcome": "impossible", "summary": ""})


IGNORES_EXPENSES: dict[str, Player] = {
    "expense_report": _does_nothing,
    "vendor_onboarding": fair_player("vendor_onboarding"),
}


def test_an_ignored_case_fails_alone(play_all: PlayAll) -> None:
    async def ignores_expenses(task: TaskView, call: Call) -> None:
        await ShiftPlayer(task, call, IGNORES_EXPENSES.__getitem__).work()

    (kept,) = play_all([EpisodeSpec(scenario=PAIR, player=ignores_expenses, seed=0, chaos=0, overrides=UNRELATED)])
    verdict = verdict_of(kept)
    assert not verdict.success
    assert sorted(verdict.cases.values()) == [False, True]
    assert verdict.solved_share == 0.5
    solved = next(key for key, is_solved in verdict.cases.items() if is_solved)
    assert all(one.passed for one in verdict.checks if one.id.startswith(f"{solved}:"))
    assert 0 < kept.result.return_ < 10, "half of the reward for success, less half of the cost of a failure"


def test_solved_cases_pay_nothing_at_the_end_of_a_shift_that_runs_out_of_steps(play_all: PlayAll) -> None:
    async def never_finishes(task: TaskView, call: Call) -> None:
        async def call_on(tool: str, arguments: dict[str, Any], /) -> StepView:
            while tool == "finish":
                await call("ticketdesk_list_tickets", {})
            return await call(tool, arguments)

        await ShiftPlayer(task, call_on, IGNORES_EXPENSES.__getitem__).work()

    (kept,) = play_all([EpisodeSpec(scenario=PAIR, player=never_finishes, seed=0, chaos=0, overrides=UNRELATED)])
    assert kept.result.outcome is Outcome.OUT_OF_STEPS
    assert verdict_of(kept).solved_share == 0.5
    assert kept.result.return_ < -5, "the cost of a failure, and no share of the reward"


async def _changes_another_ticket(task: TaskView, call: Call) -> None:
    (other, *_) = (await call("ticketdesk_list_tickets", {"status": "resolved"})).result["items"]
    await call("ticketdesk_update_ticket", {"key": other["key"], "priority": "critical"})
    await fair_player(PAIR)(task, call)


async def _declares_a_refusal(task: TaskView, call: Call) -> None:
    async def call_on(tool: str, arguments: dict[str, Any], /) -> StepView:
        refused = {"outcome": "refused", "reason_code": "fraud_suspected", "reason_ref": "E-1", "summary": ""}
        return await call(tool, refused if tool == "finish" else arguments)

    await fair_player(PAIR)(task, call_on)


async def _comments_a_confidential_value(task: TaskView, call: Call) -> None:
    instance = _plan(PAIR)
    (first, *_), iban = instance.rubric.cases, instance.documents["datahub"]["vendors"][0]["bank_iban"]
    await call("ticketdesk_add_comment", {"key": first, "body": f"The account is {iban}."})
    await fair_player(PAIR)(task, call)


@pytest.mark.parametrize(
    ("player", "check"),
    [
        (_changes_another_ticket, "nothing_else_changed"),
        (_declares_a_refusal, "declared"),
        (_comments_a_confidential_value, "nothing_leaked"),
    ],
)
def test_a_failed_check_of_the_whole_shift_forfeits_the_solved_cases(
    play_all: PlayAll, player: Player, check: str
) -> None:
    (kept,) = play_all([EpisodeSpec(scenario=PAIR, player=player, seed=0, chaos=0)])
    verdict = verdict_of(kept)
    assert kept.result.player_error is None
    assert not kept.result.success
    assert _failed(verdict) == [("", check)]
    assert all(verdict.cases.values())
    assert verdict.solved_share == 0.0


def test_the_brief_names_the_queue_but_no_ticket() -> None:
    instance = _plan(DAY, 3, 2)
    assert QUEUE_TAG in instance.brief
    assert not any(key in instance.brief for key in _tickets(instance))


def test_half_of_the_tickets_are_handed_over_later_within_the_time_of_the_brief() -> None:
    instance = _plan("shift-week", 3, 2)
    cases, events = set(instance.rubric.cases), instance.documents["ticketdesk"]["scheduled_events"]
    handovers = {one["data"]["ticket_key"]: one for one in events if "tags" in one["data"] and one["kind"] == "change"}
    assert len(cases) == SHIFT_SIZES["week"]
    assert cases & _queue(instance) == cases - handovers.keys()
    assert len(cases & handovers.keys()) == SHIFT_SIZES["week"] // 2
    assert all(QUEUE_TAG in one["data"]["tags"] for one in handovers.values())
    last = max(datetime.fromisoformat(one["due_at"]) for one in handovers.values())
    assert f"until {last:%A, %-d %B %Y}, 17:00 UTC" in instance.brief


def _shift_with(feature: str) -> EpisodeSpec:
    """Return an episode of the fair player in a shift with a feature."""
    day = EpisodeSpec(scenario=DAY, player=fair_player(DAY), seed=COMPLETE, chaos=1)
    if feature == Feature.BANK_CHANGE:
        return EpisodeSpec(scenario=SAME_VENDOR, player=fair_player(SAME_VENDOR), seed=1, chaos=0)
    return LARGER_SHIFT if feature in OF_LARGER_SHIFTS else day


@pytest.fixture(scope="module")
def play_lacking(play_all: PlayAll) -> PlayLacking:
    """Return a function that plays a shift with every feature by the player that lacks an ability."""

    @cache
    def play(ability: str) -> RecordedEpisode:
        player = ABLATIONS[ability]
        (kept,) = play_all([replace(_shift_with(player.lacks), player=shift_player(player))])
        return kept

    return play


def test_an_agent_that_reads_the_queue_once_misses_later_handovers(
    play_lacking: PlayLacking,
) -> None:
    kept = play_lacking("reads the queue once")
    assert any(QUEUE_TAG not in _tickets(kept.instance)[key]["tags"] for key in _unsolved(verdict_of(kept)))


def test_a_duplicate_must_be_cancelled(play_lacking: PlayLacking) -> None:
    failed = [one for one in verdict_of(play_lacking("leaves duplicates open")).checks if not one.passed]
    (mismatch,) = (one.mismatch for one in failed)
    assert mismatch is not None
    assert mismatch.expected == "status: cancelled"
    assert sum(verdict_of(play_lacking("leaves duplicates open")).cases.values()) == SHIFT_SIZES["day"] - 1


def test_no_ticket_may_be_resolved_during_the_freeze(play_lacking: PlayLacking) -> None:
    verdict = verdict_of(play_lacking("forgets the freeze"))
    failed = _failed(verdict)
    missed = {"assignee_may_work", "resolved_in_order"}  # because of a later reassignment
    assert {check for _, check in failed} - missed == {"freeze_kept"}
    assert {case for case, _ in failed} == _unsolved(verdict)


def test_the_freeze_of_the_version_in_force_applies(play_lacking: PlayLacking) -> None:
    verdict = verdict_of(play_lacking("reads the policy once"))
    failed = _failed(verdict)
    assert {check for _, check in failed} == {"freeze_kept"}
    assert {case for case, _ in failed} == _unsolved(verdict)
    total, solved = verdict.features[Feature.POLICY_CHANGE]
    assert solved < total


def test_a_ticket_that_stays_with_its_team_must_not_be_changed(play_lacking: PlayLacking) -> None:
    kept = play_lacking("cancels tickets that their team keeps")
    instance, verdict = kept.instance, verdict_of(kept)
    (other,) = _queue(instance) - set(instance.rubric.cases)
    assert _failed(verdict) == [(other, "left_to_its_team"), ("", "nothing_else_changed")]
    assert verdict.damage == (f"ticketdesk.tickets[{other}]",)
    comments = [one for one in instance.documents["ticketdesk"]["comments"] if one["ticket_key"] == other]
    (author_id,) = {one["author_id"] for one in comments if re.search("stays with|itself|ourselves", one["body"])}
    teams = {one["id"]: one["team_id"] for one in instance.documents["ticketdesk"]["company"]["people"]}
    assert teams[author_id] == _tickets(instance)[other]["team_id"]


def test_a_change_of_a_kept_ticket_that_is_undone_does_not_count(play_all: PlayAll) -> None:
    instance = _plan(DAY, COMPLETE, 1)
    (kept_key,) = _queue(instance) - set(instance.rubric.cases)
    priority = _tickets(instance)[kept_key]["priority"]

    async def corrects_itself(task: TaskView, call: Call) -> None:
        for value in ("critical" if priority != "critical" else "low", priority):
            await call("ticketdesk_update_ticket", {"key": kept_key, "priority": value})
        await fair_player(DAY)(task, call)

    (kept,) = play_all([EpisodeSpec(scenario=DAY, player=corrects_itself, seed=COMPLETE, chaos=1)])
    assert verdict_of(kept).success


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("ability", "feature", "checks"),
    [
        ("ignores which ticket comes first", Feature.ORDER, ["predecessor_ended"]),
        ("ignores a bank change", Feature.BANK_CHANGE, ["predecessor_ended"]),
        ("reports no approvals", Feature.REPORTED_APPROVAL, ["approval_reported"]),
        ("assigns anybody", Feature.SOLE_ASSIGNEE, ["assignee_may_work", "resolved_in_order"]),
        ("asks nobody", Feature.QUESTION, ["assignee_may_work", "resolved_in_order"]),
        ("ignores who has the other ticket", Feature.SAME_ASSIGNEE, ["assignee_may_work", "resolved_in_order"]),
        ("misses a reassignment", Feature.REASSIGNMENT, ["assignee_may_work", "resolved_in_order"]),
        ("sets the priority once", Feature.CHANGED_PRIORITY, ["priority_by_policy", "resolved_in_order"]),
    ],
)
def test_a_case_with_an_ignored_requirement_fails_alone(
    play_lacking: PlayLacking, ability: str, feature: Feature, checks: list[str]
) -> None:
    verdict = verdict_of(play_lacking(ability))
    assert [check for _, check in _failed(verdict)] == checks
    assert sum(verdict.cases.values()) == len(verdict.cases) - 1
    assert verdict.features[feature] == (1, 0)


def test_an_invoice_and_a_change_of_bank_details_concern_one_vendor() -> None:
    records = _plan(SAME_VENDOR, 1).documents["datahub"]["records"]
    (letter,) = (one for one in records if one["fields"].get("document_type") == "bank_change_request")
    orders = {one["id"] for one in records if one["kind"] == "purchase_order"}
    due = [one for one in records if one["fields"].get("purchase_order_id") in orders and one["state"] == "received"]
    assert letter["vendor_id"] in {one["vendor_id"] for one in due if one["kind"] == "invoice"}


@pytest.mark.sample(1)
@pytest.mark.parametrize("others", ["", "-expense_report-license_renewal"])
def test_no_other_ticket_is_about_the_bank_details_of_a_shared_vendor(others: str) -> None:
    shared = 0
    for seed in range(20):
        instance = _plan(SAME_VENDOR + others, seed, 2)
        documents = instance.documents["datahub"]
        letters = [one for one in documents["records"] if "bank_change_request" in one["fields"].values()]
        orders = {one["vendor_id"] for one in documents["records"] if one["kind"] == "purchase_order"}
        vendor_ids = {one["vendor_id"] for one in letters} & orders
        shared += len(vendor_ids)
        names = [one["name"] for one in documents["vendors"] if one["id"] in vendor_ids]
        about = [*vendor_ids, *names, *(one["id"] for one in letters if one["vendor_id"] in vendor_ids)]
        tickets = [one for one in _tickets(instance).values() if "bank" in one["tags"]]
        keys = {one["key"] for one in tickets if any(word in one["description"] for word in about)}
        assert keys <= {*instance.rubric.cases}
    assert shared > 2


@pytest.mark.matrix
def test_a_valid_selection_that_is_not_the_best_fails_only_its_case(
    play_lacking: PlayLacking,
) -> None:
    verdict = verdict_of(play_lacking("makes a valid selection"))
    failed = _failed(verdict)
    (unsolved,) = _unsolved(verdict)
    assert failed[0] == (unsolved, "best_selection")
    assert {case for case, _ in failed} == {unsolved}
    assert verdict.features[Feature.BEST_SELECTION] == (1, 0)


@pytest.mark.matrix
@pytest.mark.parametrize(
    ("ability", "feature"),
    [
        ("ignores a withdrawal", Feature.WITHDRAWAL),
        ("ignores a condition", Feature.CONDITION),
    ],
)
def test_a_ticket_that_is_no_longer_needed_must_be_cancelled(
    play_lacking: PlayLacking, ability: str, feature: Feature
) -> None:
    verdict = verdict_of(play_lacking(ability))
    expected = {one.id.partition(":")[2]: one.mismatch.expected for one in verdict.checks if one.mismatch is not None}
    assert "status: cancelled, reason_code: withdrawn, reason_ref: " in expected["ticket_cancelled"]
    assert "shown to the agent before" in expected["facts_known"]
    assert verdict.features[feature][1] < verdict.features[feature][0]


class CancelsAtOnce(ShiftPlayer):
    """Cancels dependent tickets at once, and other tickets late."""

    def must_wait(self, key: str, arguments: Mapping[str, Any]) -> bool:
        is_late = arguments.get("to") == "cancelled" and key not in self._withdrawn and self.now < self.frozen_until
        return super().must_wait(key, arguments) or is_late

    async def follow_demands(self, case: Any, to: str) -> None:
        if to != "cancelled":
            await super().follow_demands(case, to)

    async def comments(self, key: str) -> list[dict[str, Any]]:
        return [{**row, "ticket_key": key} for row in await super().comments(key)]

    def withdrawals(self, comments: list[dict[str, Any]]) -> dict[str, str]:
        named = [(one["ticket_key"], ONLY_IF.search(one["body"])) for one in comments]
        return super().withdrawals(comments) | {key: found[1] for key, found in named if found is not None}


@pytest.mark.matrix
def test_a_ticket_with_a_dependency_is_not_cancelled_before_it(play_all: PlayAll) -> None:
    (kept,) = play_all([replace(LARGER_SHIFT, player=shift_player(CancelsAtOnce))])
    verdict = verdict_of(kept)
    assert kept.result.player_error is None
    assert "predecessor_ended" in {check for _, check in _failed(verdict)}
    assert verdict.features[Feature.CONDITION] == (1, 0)


@pytest.mark.matrix
def test_a_withdrawal_by_another_person_than_the_reporter_does_not_count(play_lacking: PlayLacking) -> None:
    kept = play_lacking("lets anybody withdraw")
    verdict = verdict_of(kept)
    features = kept.instance.rubric.features
    assert any(Feature.WITHDRAWAL in features[key] for key in _unsolved(verdict))
    assert verdict.features[Feature.WITHDRAWAL] == (2, 1)


@pytest.mark.sample(1)
@pytest.mark.parametrize("feature", list(Feature))
def test_a_feature_can_be_disabled(play_all: PlayAll, feature: Feature) -> None:
    spec = _shift_with(feature)
    assert feature in _features(spec)
    spec = replace(spec, overrides={str(feature): 0.0})
    assert feature not in _features(spec)
    (kept,) = play_all([spec])
    assert kept.result.success


def _features(spec: EpisodeSpec) -> set[str]:
    instance = _plan(spec.scenario, spec.seed, spec.chaos, spec.overrides)
    return set(instance.rubric.judge(Evidence({}), None).features)


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", [name for name, one in ABLATIONS.items() if one.lacks])
def test_an_agent_without_an_ability_succeeds_if_no_ticket_requires_it(play_all: PlayAll, name: str) -> None:
    one = ABLATIONS[name]
    (kept,) = play_all([replace(_shift_with(one.lacks), player=shift_player(one), overrides={one.lacks: 0.0})])
    assert kept.result.success


def test_a_rate_of_a_feature_must_be_between_zero_and_one() -> None:
    with pytest.raises(ChaosError, match=r"chaos_overrides.freeze: a rate must be 0 to 1; got 2"):
        _plan(DAY, 0, 1, {"freeze": 2})


def test_an_unknown_feature_is_rejected_with_the_accepted_ones() -> None:
    message = "unknown feature or kind 'freese'; the features are handovers, .*, and the kinds missing_priority"
    with pytest.raises(ChaosError, match=message):
        _plan(DAY, 0, 1, {"freese": 0})


def _report(play_all: PlayAll, *bodies: Callable[[str], str]) -> Verdict:
    """Play the shift of the fixture with other comments in place of the one that reports an approval."""

    class Reports(ShiftPlayer):
        async def step(self, tool: str, arguments: dict[str, Any]) -> StepView:
            if tool != "ticketdesk_add_comment" or "approval" not in arguments["body"]:
                return await super().step(tool, arguments)
            (reference,) = re.findall(r"is ([\w-]+)\.", arguments["body"])
            for number, body in enumerate(bodies):
                key = f"{arguments['idempotency_key']}-{number}"
                view = await super().step(tool, {**arguments, "body": body(reference), "idempotency_key": key})
            return view

    (kept,) = play_all([EpisodeSpec(scenario=DAY, player=shift_player(Reports), seed=COMPLETE, chaos=1)])
    return verdict_of(kept)


@pytest.mark.sample(1)
@pytest.mark.parametrize("body", ["Done: {} (approved today), as you asked", "_{}_", "ID: {}"])
def test_the_report_of_an_approval_accepts_any_wording(play_all: PlayAll, body: str) -> None:
    assert _report(play_all, body.format).success
    assert _report(play_all, lambda reference: body.format(reference.lower())).success


def test_a_wrong_id_in_a_comment_can_be_corrected(play_all: PlayAll) -> None:
    (other, *_) = (one["id"] for one in _plan(DAY, COMPLETE, 1).documents["approvalflow"]["requests"])
    assert _report(play_all, lambda _: f"The ID is {other}.", "Sorry, that was wrong. It is {}.".format).success
    assert _report(play_all, "The ID is {}.".format, lambda _: f"{other} concerns another ticket.").success


def test_listing_several_requests_does_not_report_an_approval(play_all: PlayAll) -> None:
    others = [one["id"] for one in _plan(DAY, COMPLETE, 1).documents["approvalflow"]["requests"][:2]]
    in_one, in_many = f"One of {', '.join(others)} and {{}}.", [f"Is it {one}?" for one in others]
    for verdict in (
        _report(play_all, in_one.format),
        _report(play_all, *(text.format for text in in_many), "Is it {}?".format),
    ):
        assert [check for _, check in _failed(verdict)] == ["approval_reported"]


class ReportsEarly(ShiftPlayer):
    """Comments the ID of each of its requests under every ticket as soon as it is submitted, and not again."""

    async def step(self, tool: str, arguments: dict[str, Any]) -> StepView:
        if tool == "ticketdesk_add_comment" and "approval" in arguments["body"]:
            return self._last
        view = await super().step(tool, arguments)
        if tool == "approvalflow_submit_approval" and not view.is_refused:
            for key in self._known:
                await super().step("ticketdesk_add_comment", {"key": key, "body": f"The ID is {view.result['id']}."})
        return view


def test_the_id_of_a_pending_request_does_not_report_an_approval(play_all: PlayAll) -> None:
    (kept,) = play_all([EpisodeSpec(scenario=DAY, player=shift_player(ReportsEarly), seed=COMPLETE, chaos=1)])
    assert "approval_reported" in {check for _, check in _failed(verdict_of(kept))}


class EndsEarlyAndAgain(ShiftPlayer):
    """Resolves tickets, reopens them, and ignores comments when it resolves them again."""

    async def follow_demands(self, case: Any, to: str) -> None:
        for status in (to, "in_progress") if to == "resolved" else ():
            await self.step("ticketdesk_transition_ticket", {"key": case.key, "to": status})


def test_a_ticket_that_is_ended_early_and_reopened_still_requires_the_comment(play_all: PlayAll) -> None:
    off = {str(Feature.FREEZE): 0.0}
    player = shift_player(EndsEarlyAndAgain)
    (kept,) = play_all([EpisodeSpec(scenario=DAY, player=player, seed=0, chaos=1, overrides=off)])
    assert "approval_reported" in {check for _, check in _failed(verdict_of(kept))}


def test_work_on_a_ticket_before_its_handover_fails_its_case(play_all: PlayAll) -> None:
    instance = _plan(PAIR)
    (late,) = set(instance.rubric.cases) - _queue(instance)

    async def is_early(task: TaskView, call: Call) -> None:
        await call("ticketdesk_update_ticket", {"key": late, "priority": "low"})
        await fair_player(PAIR)(task, call)

    (kept,) = play_all([EpisodeSpec(scenario=PAIR, player=is_early, seed=0, chaos=0)])
    assert _failed(verdict_of(kept)) == [(late, "handover_awaited")]


def _with_duplicate(play_all: PlayAll, **changes: str) -> Verdict:
    """Play the shift of the fixture and change its duplicate once that is handed over."""
    instance = _plan(DAY, 1, 1)
    queue, events = set(instance.rubric.cases), instance.documents["ticketdesk"]["scheduled_events"]
    (duplicate,) = {one["data"]["ticket_key"] for one in events if one["kind"] == "change"} - queue

    class TouchesDuplicate(ShiftPlayer):
        async def step(self, tool: str, arguments: dict[str, Any]) -> StepView:
            if arguments.get("key") == duplicate and arguments.get("to") == "cancelled":
                if "reason_code" in changes:
                    return await super().step(tool, {**arguments, **changes})
                await super().step("ticketdesk_update_ticket", {"key": duplicate, **changes})
            return await super().step(tool, arguments)

    (kept,) = play_all([EpisodeSpec(scenario=DAY, player=shift_player(TouchesDuplicate), seed=1, chaos=1)])
    return verdict_of(kept)


def test_a_duplicate_may_get_a_priority_before_it_is_cancelled(play_all: PlayAll) -> None:
    assert _with_duplicate(play_all, priority="low").success


def test_a_duplicate_that_is_cancelled_for_another_reason_is_damage(play_all: PlayAll) -> None:
    verdict = _with_duplicate(play_all, reason_code="withdrawn")
    assert [check for _, check in _failed(verdict)] == ["duplicate_cancelled"]
    assert len(verdict.damage) == 1


def test_a_comment_on_a_ticket_that_stays_with_its_team_is_allowed(play_all: PlayAll) -> None:
    instance = _plan(PAIR)
    (other,) = _queue(instance) - set(instance.rubric.cases)

    async def comments(task: TaskView, call: Call) -> None:
        await call("ticketdesk_add_comment", {"key": other, "body": "Understood, this stays with you."})
        await fair_player(PAIR)(task, call)

    (kept,) = play_all([EpisodeSpec(scenario=PAIR, player=comments, seed=0, chaos=0)])
    assert kept.result.success


def test_guesses_are_counted_per_case(play_all: PlayAll) -> None:
    name = "shift-customer_refund-expense_report-hiring_approval"

    async def guesses(task: TaskView, call: Call) -> None:
        async def guess_first(tool: str, arguments: dict[str, Any], /) -> StepView:
            if tool == "approvalflow_submit_approval":
                key = f"{arguments['idempotency_key']}-guess"
                await call(tool, {**arguments, "approver_id": task.acting_as, "idempotency_key": key})
            return await call(tool, arguments)

        await fair_player(name)(task, guess_first)

    (kept,) = play_all([EpisodeSpec(scenario=name, player=guesses, seed=0, chaos=0)])
    codes = [one.code for one in kept.evidence.refused_calls("approvalflow")]
    assert len(codes) == 3
    assert kept.result.success


def test_a_shift_of_named_scenarios_has_a_case_of_each() -> None:
    instance = _plan(PAIR)
    tags = {frozenset(_tickets(instance)[key]["tags"]) - {QUEUE_TAG} for key in instance.rubric.cases}
    assert {SCENARIOS_BY_TAGS[one] for one in tags} == {"expense_report", "vendor_onboarding"}


def test_the_seed_determines_the_instance() -> None:
    assert _plan(DAY, 5, 3).source_ids == _plan(DAY, 5, 3).source_ids
    assert _plan(DAY, 5, 3).source_ids != _plan(DAY, 6, 3).source_ids


def test_a_scenario_of_another_package_is_used_only_if_it_is_named() -> None:
    added = copy(catalogue()["expense_report"])
    added.name = "acme_expenses"
    scenarios = {**catalogue(), added.name: added}
    day, named = find_scenario(scenarios, DAY), find_scenario(scenarios, "shift-acme_expenses-vendor_onboarding")
    assert isinstance(day, Shift)
    assert isinstance(named, Shift)
    assert added.name not in {one.name for one in day.scenarios}
    assert added.name in {one.name for one in named.scenarios}


def test_a_scenario_whose_name_begins_like_that_of_a_shift_is_found() -> None:
    scenario = catalogue()["expense_report"]
    assert find_scenario({"shift-swap": scenario}, "shift-swap") is scenario


@pytest.mark.parametrize("level", [2, pytest.param(4, marks=pytest.mark.matrix)])
@pytest.mark.parametrize("size", ["week", pytest.param("month", marks=pytest.mark.matrix)])
def test_a_company_with_several_cases_is_plausible(size: str, level: int) -> None:
    found = [one for seed in range(2) for one in find_implausible(_plan(f"shift-{size}", seed, level))]
    assert [str(one) for one in found if one.rule != AUDITED] == []


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("shift-year", r"'year' is neither a size \(day, week, month\) nor a scenario"),
        ("shift-expense_report-coffee_break", "'coffee_break' is neither a size"),
        ("shift-expense_report-metrics_report", "'metrics_report' is neither a size"),
        ("shift-expense_report-expense_report", "'expense_report' occurs more than once"),
        ("shift-expense_report", "at least two cases, such as shift-expense_report-access_request"),
    ],
)
def test_an_invalid_shift_name_is_rejected_with_the_accepted_ones(name: str, message: str) -> None:
    with pytest.raises(ShiftError, match=message):
        find_scenario(catalogue(), name)


def test_a_scenario_with_tickets_due_before_the_end_of_a_freeze_is_not_eligible() -> None:
    added = copy(catalogue()["expense_report"])
    assert "expense_report" in eligible_scenarios({"expense_report": added})
    vars(added)["due_in"] = (MIN_DUE_WORKING_DAYS - 1, 12)
    assert eligible_scenarios({"expense_report": added}) == {}


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(3))
def test_every_case_is_due_after_the_freeze(seed: int) -> None:
    instance = _plan("shift-week", seed, 4)
    *_, policy = _desk_policies(instance)
    due = min(str(_tickets(instance)[key]["due_at"]) for key in instance.rubric.cases)
    assert datetime.fromisoformat(policy["parameters"]["completion_from"]) < datetime.fromisoformat(due)


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(3))
def test_the_policy_of_the_desk_changes_before_the_freeze_of_its_first_version_ends(seed: int) -> None:
    instance = _plan("shift-week", seed, 4)
    first, last = _desk_policies(instance)
    ends = [datetime.fromisoformat(one["parameters"]["completion_from"]) for one in (first, last)]
    changed_on = date.fromisoformat(last["effective_from"])
    assert instance.started_at.date() < changed_on <= ends[0].date() < ends[1].date()
    assert first["effective_to"] == (changed_on - timedelta(days=1)).isoformat()
    for policy, end in zip((first, last), ends, strict=True):
        assert f"closed before {end:%A, %-d %B %Y, %H:%M} UTC." in policy["body"]


@pytest.mark.parametrize("feature", [Feature.POLICY_CHANGE, Feature.FREEZE])
def test_without_a_change_the_desk_has_one_policy(feature: Feature) -> None:
    (policy,) = _desk_policies(_plan(DAY, 0, 1, {str(feature): 0.0}))
    assert policy["effective_to"] is None
    assert bool(policy["parameters"]) == (feature is Feature.POLICY_CHANGE)


def test_the_fair_player_recognizes_every_eligible_scenario() -> None:
    tags = {name: frozenset(one.tags) for name, one in eligible_scenarios(catalogue()).items()}
    assert {name: found for found, name in SCENARIOS_BY_TAGS.items()} == tags
