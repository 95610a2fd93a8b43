"""Helpers for mutations: values similar to a correct one, the task's own entities, and the writes that it requires."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from companyos_gateway.evaluation import FinishDeclaration
from companyos_gateway.evaluation.checklist import ChecklistItem
from companyos_gateway.evaluation.evidence import NetChange
from companyos_gateway.scenarios.blocks.task import RubricFactory
from companyos_shared.choices import same_choice
from companyos_shared.wire.company import Company
from companyos_shared.wire.control import Row
from verification.proof.episode_runner import RecordedEpisode
from verification.proof.final_states.final_state import FinalState

TICKETDESK, DATAHUB, APPROVALFLOW = "ticketdesk", "datahub", "approvalflow"
NOBODY = "E-0000"

Mutation = Callable[[FinalState], None]
NamedMutations = Iterator[tuple[str, Mutation]]


def near_values(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield incorrect values similar to a correct one, each with its description."""
    if value is not None:
        yield "null", None
    if isinstance(value, bool):
        yield "the opposite", not value
        yield "as text", str(value).lower()
    elif isinstance(value, int | float):
        yield "off by one", value + 1
        yield "off by less", value + 0.5
        yield "as text", str(value)
        yield "true", True
    elif isinstance(value, str):
        yield "padded", f" {value}"
        lower = value.lower()
        yield "of other case", f"{value.upper()}X" if same_choice(lower, value) else lower
        try:
            yield "a minute later", (datetime.fromisoformat(value) + timedelta(minutes=1)).isoformat()
        except ValueError:
            yield "empty", ""


def set_columns(service: str, table: str, key: str, **columns: Any) -> Mutation:
    """Return a mutation that appends a change of columns, as the agent."""
    return lambda final_state: final_state.set(service, table, key, **columns)


def rewrite_row(service: str, table: str, key: str, **columns: Any) -> Mutation:
    """Return a mutation that overwrites columns in every recorded change of a row."""
    return lambda final_state: final_state.rewrite(service, table, key, **columns)


def revert_columns(service: str, table: str, key: str, *columns: str) -> Mutation:
    """Return a mutation that resets columns to their initial values."""
    return lambda final_state: final_state.undo(service, table, key, *columns)


def add_row(service: str, table: str, key: str, row: Row) -> Mutation:
    """Return a mutation that creates a row, as the agent."""
    return lambda final_state: final_state.add(service, table, key, row)


def delete_row(service: str, table: str, key: str) -> Mutation:
    """Return a mutation that deletes a row, as the agent."""
    return lambda final_state: final_state.delete(service, table, key)


def decide_request(request_id: str, person_id: str) -> Mutation:
    """Return a mutation in which another person makes the decisions on a request."""

    def mutate(final_state: FinalState) -> None:
        for change in final_state.changes[APPROVALFLOW]:
            after = change["after"]
            if change["table"] == "decisions" and after is not None and after["request_id"] == request_id:
                after["by"] = person_id

    return mutate


def declare(finish: FinishDeclaration | None) -> Mutation:
    """Return a mutation with another declaration of the agent, or with none."""

    def mutate(final_state: FinalState) -> None:
        final_state.finish = finish

    return mutate


def update_change(service: str, number: int, /, **columns: object) -> Mutation:
    """Return a mutation of one recorded change, given its position."""
    return lambda final_state: final_state.changes[service][number].update(columns)


def update_calls(service: str, called: str, /, **columns: object) -> Mutation:
    """Return a mutation of every recorded call of an operation."""

    def mutate(final_state: FinalState) -> None:
        for line in final_state.audits.get(service, []):
            if line["operation"] == called:
                line.update(columns)

    return mutate


def all_of(*mutations: Mutation) -> Mutation:
    """Return a mutation that applies several in order."""

    def mutate(final_state: FinalState) -> None:
        for one in mutations:
            one(final_state)

    return mutate


def iso_time(moment: datetime) -> str:
    """Return a moment in the format of the services."""
    return moment.isoformat().replace("+00:00", "Z")


class OracleRun:
    """A recorded oracle episode and the task's own entities."""

    def __init__(self, kept: RecordedEpisode) -> None:
        self.kept = kept
        self.evidence = kept.evidence
        self.net_changes: list[NetChange] = list(self.evidence.agent_changes())
        self.key = self._entry_key()

    @property
    def company(self) -> Company:
        return Company.model_validate(self.kept.instance.documents[TICKETDESK]["company"])

    @property
    def ticket(self) -> Row:
        """The final state of the entry ticket."""
        row = self.evidence.row(TICKETDESK, "tickets", self.key)
        assert row is not None
        return row

    @property
    def is_refusal(self) -> bool:
        """Return whether the oracle declared another outcome than `done`."""
        return self.kept.finish is not None and self.kept.finish.outcome != "done"

    @property
    def open_items(self) -> Sequence[ChecklistItem]:
        """The checklist items of the entry ticket that are open at the start, with the rows that back them."""
        factory = self.kept.instance.build_rubric
        assert isinstance(factory, RubricFactory)
        items: Sequence[ChecklistItem] = factory.case.open_items
        return items

    def known_from(self, item: ChecklistItem) -> int | None:
        """Return the first step at which the agent knew all the facts that back an item, or None."""
        steps = range(1, len(self.kept.step_records) + 2)
        return next((step for step in steps if not item.find_unknown(self.evidence, step)), None)

    def changed(self, service: str, table: str, *, added: bool = False) -> list[NetChange]:
        """Return the agent's net changes of a table: changed rows, or added rows if `added`."""
        found = [net for net in self.net_changes if (net.service, net.table) == (service, table) and not net.deleted]
        return [net for net in found if net.added is added]

    def last_moment(self) -> str:
        """Return the time of the last change."""
        return max(str(change["at"]) for changes in self.kept.stored["changes"].values() for change in changes)

    def approved(self) -> list[tuple[str, Row]]:
        """Return the requests that the agent created and that were approved."""
        made = self.changed(APPROVALFLOW, "requests", added=True)
        return [(net.key, net.after) for net in made if net.after is not None and net.after["status"] == "approved"]

    def is_related(self, row: Row) -> bool:
        """Return whether a row references the task's own entities."""
        about = (
            net.after["subject"] for net in self.net_changes if net.table == "data_issues" and net.after is not None
        )
        own = {self.key, *(net.key for net in self.net_changes), *about}
        return any(value in own for value in row.values() if isinstance(value, str))

    def ineligible_people(self) -> dict[str, str]:
        """Return people who may not replace the correct person, by a description."""
        company, day = self.company, self.kept.instance.started_at.date()
        team, now = self.ticket["team_id"], self.evidence
        at_work = [item for item in company.people if item.is_employed(day) and item.id != company.agent_id]
        deciding = {request["approver_id"] for _, request in self.approved()}
        standing_in = {row["to_id"] for row in now.table(APPROVALFLOW, "delegations").values()}
        found = {"nobody": NOBODY}
        left = [item.id for item in company.people if not item.is_employed(day)]
        plain = [item.id for item in at_work if not item.roles and item.team_id != team and item.id not in standing_in]
        away = [item.id for item in at_work if company.is_out_of_office(item.id, day) and item.id not in deciding]
        for who, ids in (("somebody who has left", left), ("somebody without a role", plain), ("somebody away", away)):
            if ids:
                found[who] = ids[0]
        return found

    def _entry_key(self) -> str:
        keys = [
            str(act.arguments["key"])
            for act in self.kept.step_records
            if act.tool.startswith("ticketdesk_") and "key" in act.arguments
        ]
        named = [key for key in keys if key in self.kept.instance.brief]
        return named[-1] if named else keys[-1]


_MOVES = frozenset({"tickets", "transitions"})


def required_causes(oracle_run: RecordedEpisode) -> list[str]:
    """Return the causes of all writes except pure transitions to an intermediate status."""
    causes = dict.fromkeys(change["cause"] for change in _changes(oracle_run) if change["cause"] is not None)
    return [cause for cause in causes if not _only_intermediate(oracle_run, cause)]


def is_between_states(oracle_run: RecordedEpisode, step: int) -> bool:
    """Return whether a step only moved a ticket to an intermediate status, or had no writes."""
    causes = {
        change["cause"] for change in _changes(oracle_run) if change["step"] == step and change["actor"] == "agent"
    }
    return all(_only_intermediate(oracle_run, cause) for cause in causes)


def _only_intermediate(oracle_run: RecordedEpisode, cause: str) -> bool:
    rows = [change for change in _changes(oracle_run) if change["cause"] == cause]
    tickets = [change for change in rows if change["table"] == "tickets"]
    return (
        bool(tickets)
        and {change["table"] for change in rows} <= _MOVES
        and all(map(_is_intermediate(oracle_run), tickets))
    )


def _is_intermediate(oracle_run: RecordedEpisode) -> Any:
    ends = {key: row["status"] for key, row in FinalState(oracle_run).evidence().table("ticketdesk", "tickets").items()}

    def is_intermediate(change: Row) -> bool:
        before, after = change["before"], change["after"]
        return bool(before["status"] != after["status"] and after["status"] != ends.get(change["key"]))

    return is_intermediate


def _changes(oracle_run: RecordedEpisode) -> Iterator[Row]:
    for rows in oracle_run.stored["changes"].values():
        yield from rows
