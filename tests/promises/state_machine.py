"""Random moves of three episodes in one enterprise, as chosen by Hypothesis."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from companyos_gateway.engine.errors import (
    EpisodeDoneError,
    ForeignSnapshotError,
    StepConflictError,
    UnknownSnapshotError,
)
from tests.promises import demo_scenario
from tests.promises.enterprise import NetworkFault
from tests.promises.model import MARK, Action, Observation
from tests.promises.model_comparison import ModelComparison, ModelMismatchError

_WORDS = ("ash", "birch", "cedar")
_FIELDS = {"vendor_id": "V-204", "score_as_of": "2026-03-02T08:40:00Z", "annual_cost_cents": 1_250_000}


def _writes(word: str) -> list[Action]:
    mark = MARK + word
    ticket = {"title": mark, "type": "task", "team_id": "operations"}
    issue = {"subject": "MET-1", "kind": "stale", "description": mark}
    approval: dict[str, Any] = {"type_key": "vendor_onboarding", "approver_id": "E-104", "subject": mark}
    note = {"request_id": "APR-1002", "body": mark}
    return [
        Action("ticketdesk_create_ticket", ticket, ("ticketdesk", "tickets", mark)),
        Action("ticketdesk_add_comment", {"key": "OPS-301", "body": mark}, ("ticketdesk", "comments", mark)),
        Action("datahub_report_data_issue", issue, ("datahub", "data_issues", mark)),
        Action(
            "approvalflow_submit_approval",
            {**approval, "fields": _FIELDS},
            ("approvalflow", "requests", mark),
            may_be_refused=True,
        ),
        Action("approvalflow_add_approval_note", note, ("approvalflow", "notes", mark), may_be_refused=True),
    ]


WRITES = st.sampled_from([action for word in _WORDS for action in _writes(word)])
READS = st.sampled_from(
    [
        Action("ticketdesk_list_tickets", {"limit": 3}),
        Action("ticketdesk_list_comments", {"key": "OPS-301"}),
        Action("approvalflow_list_approvals", {}),
        Action("datahub_list_sources", {}),
        Action("wait", {"minutes": 90}),
        Action("wait", {"until": "next_working_morning"}),
        Action("no_such_tool", {}, is_invalid=True),
    ]
)
ACTIONS = WRITES | WRITES | READS

LABELS = ("first", "second", "third")
MAX_LATE = 30
SEEDS = (1, 2)

_WEIGHTS = {
    "step": 5,
    "snapshot": 3,
    "there_and_back": 3,
    "restore": 3,
    "let_old_calls_arrive_once_more": 2,
    "fork": 2,
    "fork_twice": 1,
    "step_over_a_bad_line": 2,
    "snapshot_in_mid_step": 2,
    "kill_the_gateway_in_mid_step": 1,
    "restart": 2,
    "step_with_number": 2,
    "reset": 1,
    "forget_a_snapshot": 1,
    "drop": 1,
}
_MOVES = st.sampled_from([move for move, weight in _WEIGHTS.items() for _ in range(weight)])
_NUMBERS = st.integers(0, 11)


class EnterpriseMachine(ModelComparison):
    """A single rule that combines the moves: each is a weighted method, so that no run omits most of them."""

    @initialize(which=_NUMBERS)
    def start_enterprise(self, which: int) -> None:
        self.do(self.enterprise.start_gateway())
        for label in LABELS:
            self.begin(label, SEEDS[which % 2])

    @rule(move=_MOVES, place=_NUMBERS, which=_NUMBERS, actions=st.lists(ACTIONS, min_size=1, max_size=3))
    def play(self, move: str, place: int, which: int, actions: list[Action]) -> None:
        getattr(self, move)(LABELS[place % 3], which, actions)

    def reset(self, label: str, which: int, _actions: list[Action]) -> None:
        self.begin(label, SEEDS[which % 2])

    def step(self, label: str, _which: int, actions: list[Action]) -> None:
        for action in actions if label in self.model.live else ():
            self._step(label, action)

    def step_over_a_bad_line(self, label: str, which: int, actions: list[Action]) -> None:
        if label in self.model.live:
            self.inject_fault((NetworkFault.REQUEST_LOST, NetworkFault.ANSWER_LOST)[which % 2])
            self._step(label, actions[0])
            self.inject_fault(None)

    def step_with_number(self, label: str, which: int, actions: list[Action]) -> None:
        """Two concurrent calls with the next number are one step; a taken one returns its observation or is refused."""
        if label not in self.model.live:
            return
        played, action = self.model.live[label], actions[0]
        number = played.step + 1 - which % 4
        if number > played.step and not played.is_over:
            first, second = self.do(self._twice(label, action, number))
            _check_same(first, second)
            self.learn(label, action, first)
        elif played.last is not None and 1 <= number <= played.step:
            last, seen = played.last
            if number == played.step:
                _check_same(self.take(label, last, number), seen)
            if number < played.step or last.name != action.name:
                self.refused(self.take_step(label, action, number), StepConflictError)

    def snapshot(self, label: str, _which: int, _actions: list[Action]) -> None:
        if label in self.model.live:
            self._take_snapshot(label)

    def snapshot_in_mid_step(self, label: str, _which: int, actions: list[Action]) -> None:
        """The snapshot shows the episode before or after the step; a fork shows which."""
        if self._is_going_on(label):
            before = self.model.live[label].copy()
            self.inject_fault(NetworkFault.ANSWER_SLOW)
            seen, (snapshot_id, step) = self.do(self._step_and_snapshot(label, actions[0]))
            self.inject_fault(None)
            self.learn(label, actions[0], seen)
            self.keep(snapshot_id, before if step == before.step else self.model.live[label])
            self._fork(label, snapshot_id)

    def there_and_back(self, label: str, which: int, actions: list[Action]) -> None:
        """Take a snapshot, take steps, restore the snapshot, and take another step; earlier calls may be replayed."""
        if label in self.model.live:
            snapshot_id = self._take_snapshot(label)
            self.step(label, which, actions)
            self.do(self.enterprise.snapshots.restore(self.episode(label), snapshot_id))
            self.model.live[label] = self.model.snapshots[snapshot_id].played.copy()
            self.step(label, which, actions[-1:])
            if which % 2:
                self.let_old_calls_arrive_once_more(label, which, actions)

    def restore(self, label: str, which: int, _actions: list[Action]) -> None:
        """Restore an episode to a snapshot of its own lineage; a snapshot of another lineage is refused."""
        lineages = {name: kept.played.lineage for name, kept in self.model.snapshots.items()}
        live = sorted(self.model.live, key=lambda name: name != label)
        pairs = [(name, found) for name in live for found in lineages]
        own = [(name, found) for name, found in pairs if lineages[found] == self.model.live[name].lineage]
        foreign = [pair for pair in pairs if pair not in own]
        if own and (which % 4 != 3 or not foreign):
            name, snapshot_id = own[which % len(own)]
            self.do(self.enterprise.snapshots.restore(self.episode(name), snapshot_id))
            self.model.live[name] = self.model.snapshots[snapshot_id].played.copy()
        elif foreign:
            name, snapshot_id = foreign[which % len(foreign)]
            self.refused(self.enterprise.snapshots.restore(self.episode(name), snapshot_id), ForeignSnapshotError)

    def fork(self, label: str, which: int, _actions: list[Action]) -> None:
        """Fork a snapshot, replacing a live episode or as a new one."""
        if self.model.snapshots:
            self._fork(label, self._snapshot(which))

    def fork_twice(self, _label: str, which: int, actions: list[Action]) -> None:
        """Fork a snapshot twice at once: changes in one fork do not affect the other."""
        if self.model.snapshots:
            snapshot_id = self._snapshot(which)
            pair = [episode.id for episode in self.do(self.enterprise.snapshots.fork(snapshot_id, 2))]
            self.model.live |= {name: self.model.snapshots[snapshot_id].played.copy() for name in pair}
            self.step(pair[which % 2], which, actions)
            self.every_episode_matches_the_model()
            self.every_database_holds_the_rows_of_the_model()
            for name in pair:
                self.free(name)

    def forget_a_snapshot(self, _label: str, which: int, _actions: list[Action]) -> None:
        if self.model.snapshots:
            snapshot_id = self._snapshot(which)
            self.do(self.enterprise.snapshots.delete(snapshot_id))
            del self.model.snapshots[snapshot_id]
            self.refused(self.enterprise.snapshots.fork(snapshot_id, 1), UnknownSnapshotError)

    def drop(self, label: str, _which: int, _actions: list[Action]) -> None:
        if label in self.model.live:
            self.free(label)

    def let_old_calls_arrive_once_more(self, _label: str, _which: int, _actions: list[Action]) -> None:
        """Replay signed calls long after they were sent; they have no effect."""
        for transport in self.enterprise.transports.values():
            for call in transport.sent[-MAX_LATE:]:
                self.do(transport.arrive(call))

    def restart(self, _label: str, which: int, _actions: list[Action]) -> None:
        """Restart a service or the gateway."""
        if which < 6:
            self.enterprise.restart_service(demo_scenario.SERVICES[which % 3])
        else:
            self.restart_gateway()

    def kill_the_gateway_in_mid_step(self, label: str, which: int, actions: list[Action]) -> None:
        """The next gateway completes a step that was recorded before the kill."""
        if self._is_going_on(label):
            self.inject_fault((NetworkFault.HANGS_BEFORE, NetworkFault.HANGS_AFTER)[which % 2])
            if self.do(self._hangs(label, actions[0])):
                self.restart_gateway()
            self.inject_fault(None)
            number = self.model.live[label].step + 1
            self.learn(label, actions[0], self.take(label, actions[0], number))

    def _take_snapshot(self, label: str) -> str:
        info = self.do(self.enterprise.snapshots.take(self.episode(label)))
        self.keep(info.id, self.model.live[label])
        return info.id

    def _fork(self, label: str, snapshot_id: str) -> None:
        previous = self.episode(label) if label in self.model.live else None
        self.do(self.enterprise.begin_from(snapshot_id, label, previous))
        self.model.live[label] = self.model.snapshots[snapshot_id].played.copy()

    def _step(self, label: str, action: Action) -> None:
        if self.model.live[label].is_over:
            self.refused(self.take_step(label, action), EpisodeDoneError)
        else:
            self.learn(label, action, self.take(label, action))

    async def _twice(self, label: str, action: Action, number: int) -> tuple[Observation, Observation]:
        first, second = await asyncio.gather(
            self.take_step(label, action, number), self.take_step(label, action, number)
        )
        return first, second

    async def _step_and_snapshot(self, label: str, action: Action) -> tuple[Observation, tuple[str, int]]:
        step = asyncio.create_task(self.take_step(label, action))
        await self.enterprise.is_stuck(step)
        info = await self.enterprise.snapshots.take(self.episode(label))
        return await step, (info.id, info.step)

    async def _hangs(self, label: str, action: Action) -> bool:
        """Take a step until one of its calls hangs; return whether one hangs."""
        step = asyncio.create_task(self.take_step(label, action))
        is_stuck = await self.enterprise.is_stuck(step)
        if not is_stuck:
            await step
        return is_stuck

    def _is_going_on(self, label: str) -> bool:
        return label in self.model.live and not self.model.live[label].is_over

    def _snapshot(self, which: int) -> str:
        return list(self.model.snapshots)[which % len(self.model.snapshots)]


def _check_same(one: Observation, other: Observation) -> None:
    if one != other:
        raise ModelMismatchError(f"one step was answered twice: {one} and {other}")
