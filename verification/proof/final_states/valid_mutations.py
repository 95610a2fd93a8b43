"""Valid final states that differ from the oracle's; each must be accepted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from companyos_shared.wire.control import Row
from verification.proof.episode_runner import RecordedEpisode
from verification.proof.final_states.approver_mutations import approver_mutations
from verification.proof.final_states.final_state import FinalState
from verification.proof.final_states.honest_mutations import honest_mutations
from verification.proof.final_states.mutations import (
    APPROVALFLOW,
    TICKETDESK,
    Mutation,
    NamedMutations,
    OracleRun,
    add_row,
    all_of,
    delete_row,
)
from verification.proof.final_states.row_mutations import change_and_revert

_MISTAKES = {
    ("ticketdesk", "tickets"): "priority",
    ("datahub", "records"): "title",
}
AS_IT_WAS = "as it was"
_MISTAKES_EACH = 6
_CLOCK_TABLES = 4
_READS = (1, 5, 20)


def valid_mutations(kept: RecordedEpisode) -> NamedMutations:
    """Yield every mutation that must be accepted, by name."""
    oracle_run = OracleRun(kept)
    yield AS_IT_WAS, lambda _ending: None
    yield "whole numbers with a point", _as_floats
    yield "other words at the end", _summary("It has been seen to.")
    yield "no words at the end", _summary("")
    yield from _remarks(oracle_run)
    yield from _mistakes(oracle_run)
    yield from _passing_rows(oracle_run)
    yield from _changes_by_time(oracle_run)
    yield from approver_mutations(oracle_run)
    yield from honest_mutations(oracle_run)
    for count in _READS:
        yield f"{count} more reads", _more_reads(count)


def _as_floats(final_state: FinalState) -> None:
    for changes in final_state.changes.values():
        for change in changes:
            for side in ("before", "after"):
                row = change[side]
                for name in row or ():
                    row[name] = _with_point(row[name], name)


def _with_point(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        return {key: _with_point(one, key) for key, one in value.items()}
    is_number = isinstance(value, int) and not isinstance(value, bool) and name != "version"
    return float(value) if is_number else value


def _summary(summary: str) -> Mutation:
    def mutate(final_state: FinalState) -> None:
        if final_state.finish is not None:
            final_state.finish = final_state.finish.model_copy(update={"summary": summary})

    return mutate


def _remarks(oracle_run: OracleRun) -> NamedMutations:
    """Yield an additional comment on the entry ticket, or an additional note on one of its requests."""
    comments = oracle_run.kept.stored["initial"][TICKETDESK].get("comments", {})
    for number, row in enumerate(list(comments.values())[:2]):
        new = {
            **row,
            "id": f"new-{number}",
            "ticket_key": oracle_run.key,
            "author_id": oracle_run.kept.instance.acting_as,
        }
        yield f"a comment more ({number})", add_row(TICKETDESK, "comments", f"new-{number}", new)
    notes = oracle_run.kept.stored["initial"][APPROVALFLOW].get("notes", {})
    for key, _ in oracle_run.approved():
        for row in list(notes.values())[:1]:
            new = {**row, "id": "new-note", "request_id": key}
            yield f"a note on {key}", add_row(APPROVALFLOW, "notes", "new-note", new)


def _mistakes(oracle_run: OracleRun) -> NamedMutations:
    """Yield unrelated, unprotected rows changed and reverted."""
    for (service, table), column in _MISTAKES.items():
        for key, row in _free_rows(oracle_run, service, table, _MISTAKES_EACH):
            reverted = change_and_revert(service, table, key, column, row[column])
            yield f"{table} {key}: a mistake undone", reverted


def _passing_rows(oracle_run: OracleRun) -> NamedMutations:
    """Yield a row added and then deleted."""
    for service, table in (("ticketdesk", "links"), ("ticketdesk", "comments"), ("approvalflow", "delegations")):
        for key, row in _free_rows(oracle_run, service, table, 1):
            added = add_row(service, table, "came-and-went", {**row, "id": f"{key}-new"})
            yield f"{table}: a row that came and went", all_of(added, delete_row(service, table, "came-and-went"))


def _changes_by_time(oracle_run: OracleRun) -> NamedMutations:
    """Yield unrelated rows changed by others or by time, without a call of the agent."""
    for service, tables in oracle_run.kept.stored["initial"].items():
        for table in sorted(tables)[:_CLOCK_TABLES]:
            for key, row in _free_rows(oracle_run, service, table, 1):
                column = next(name for name in sorted(row) if name not in ("id", "key", "version"))
                yield f"{service}.{table}: changed by others", _by_clock(service, table, key, column)


def _by_clock(service: str, table: str, key: str, column: str) -> Mutation:
    def mutate(final_state: FinalState) -> None:
        count = len(final_state.changes.get(service, []))
        final_state.set(service, table, key, **{column: None})
        for change in final_state.changes.get(service, [])[count:]:
            change |= {"actor": "clock", "cause": None}

    return mutate


def _more_reads(count: int) -> Mutation:
    def mutate(final_state: FinalState) -> None:
        for lines in final_state.audits.values():
            reads = [line for line in lines if line["operation"].startswith(("get", "list", "search", "query"))]
            last = max((line["step"] for line in lines), default=0)
            for number, line in enumerate((reads * count)[:count], start=1):
                lines.append({**line, "step": last + number})

    return mutate


def _free_rows(oracle_run: OracleRun, service: str, table: str, count: int) -> Iterator[tuple[str, Row]]:
    """Yield up to `count` rows that are unchanged in the episode and unrelated to the task."""
    touched = {change["key"] for change in oracle_run.kept.stored["changes"].get(service, [])}
    rows = oracle_run.kept.stored["initial"].get(service, {}).get(table, {})
    free = [key for key in sorted(rows) if key not in touched and not oracle_run.is_related(rows[key])]
    for key in free[-count:]:
        yield key, rows[key]
