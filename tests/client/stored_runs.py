"""Builders of stored runs in the format of `eval --out`: small ones, with one service and two tickets."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from companyos.contract import CheckVerdict, EpisodeVerdict, InjectionInfo
from companyos.signed_evidence import canonical_json
from tests.client.builders import a_record

NOW = "2026-03-02T09:{:02}:00Z"


def a_line(step: int, tool: str = "desk_get_ticket", **changed: Any) -> dict[str, Any]:
    """Return a line of a trajectory."""
    line = {
        "step": step,
        "tool": tool,
        "arguments": {"key": "T-1"},
        "result": {"key": "T-1"},
        "error": None,
        "reward": -0.1,
        "done": False,
        "now": NOW.format(step),
    }
    return {**line, **changed}


def a_change(step: int, *, before: Any, after: Any, seq: int = 1, **changed: Any) -> dict[str, Any]:
    """Return a change of a row."""
    change = {"seq": seq, "step": step, "at": NOW.format(step), "actor": "agent", "cause": f"n1:1:{step}"}
    return {**change, "table": "tickets", "key": "T-1", "before": before, "after": after, **changed}


def an_audit(step: int, *, status: int = 200, code: str | None = None, planned: str | None = None) -> dict[str, Any]:
    """Return a call as the service logged it."""
    call = {"step": step, "at": NOW.format(step), "actor": "agent", "operation": "get_ticket", "arguments": {}}
    return {**call, "status": status, "code": code, "planned": planned}


def a_problem(status: int, code: str) -> dict[str, Any]:
    """Return the response of a service that rejects a call."""
    return {"type": "about:blank", "title": "Refused", "status": status, "code": code}


def solved(changes: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the changes close the ticket of the small task."""
    closed = [change for change in changes if change["table"] == "tickets" and change["key"] == "T-1"]
    return bool(closed) and (closed[-1]["after"] or {}).get("status") == "closed"


def judge(stored: Mapping[str, Any], /) -> EpisodeVerdict:
    """Judge the small task: the ticket has to be closed, which is worth 2 points."""
    return verdict(closed=solved(stored["changes"]["desk"]))


def verdict(*, closed: bool = True) -> EpisodeVerdict:
    """Return a verdict on the small task, passed or failed."""
    open_ticket = CheckVerdict(
        id="ticket_closed",
        passed=False,
        entity="desk.tickets[T-1]",
        expected="status: closed",
        found="status: open",
        source="T-1",
    )
    ticket_closed = CheckVerdict(id="ticket_closed", passed=True) if closed else open_ticket
    return EpisodeVerdict(
        success=closed,
        potential=2.0 * closed,
        damage=(),
        rejections=0,
        checks=(ticket_closed, CheckVerdict(id="nothing_else_changed", passed=True)),
        primary_failure=None if closed else "ticket_closed",
    )


LINES = (
    a_line(1, result=a_problem(503, "unavailable")),
    a_line(2),
    a_line(3, "desk_close_ticket", result=a_problem(409, "ticket-locked"), reward=-0.4),
    a_line(4, "desk_fly", error={"error_type": "tool_not_found", "message": "No."}, result=None, reward=-1.1),
    a_line(5, "wait", arguments={"minutes": 5}, result={"waited_minutes": 5}),
    a_line(6, "desk_close_ticket", result={"status": "closed"}, reward=16.9, done=True),
)
"""A planned fault, a result, a rejection, an unknown tool, a wait, a success."""

AUDITS = (
    an_audit(1, status=503, code="unavailable", planned="unavailable"),
    an_audit(2, planned="stale_read"),
    an_audit(3, status=409, code="ticket-locked"),
    an_audit(6),
)
CHANGES = (
    a_change(
        5,
        before=None,
        after={"key": "C-1", "text": "Unlocked it."},
        table="comments",
        key="C-1",
        actor="clock",
        cause=None,
    ),
    a_change(5, before={"key": "L-1"}, after=None, table="locks", key="L-1", actor="clock", cause="n1:1:3", seq=2),
    a_change(
        6,
        before={"key": "T-1", "title": "Broken", "status": "open"},
        after={"key": "T-1", "title": "Broken", "status": "closed"},
        seq=3,
    ),
)


def evidence(
    *, changes: Sequence[Mapping[str, Any]] = CHANGES, audits: Sequence[Mapping[str, Any]] = AUDITS, **more: Any
) -> dict[str, Any]:
    """Return the evidence that a trainer reads of a finished episode."""
    return {
        "company": "Tiny",
        "acting_as": "E-1",
        "brief": "Close T-1.",
        "started_at": "2026-03-02T09:00:00+00:00",
        "state": {"max_steps": 20},
        "finish": None,
        "initial": {"desk": {}},
        "changes": {"desk": list(changes)},
        "audits": {"desk": list(audits)},
        **more,
    }


def write_episode(
    run: Path,
    *,
    policy: str = "oracle",
    seed: int = 0,
    lines: Sequence[Any] = LINES,
    stored: Mapping[str, Any] | None = None,
    **changed: Any,
) -> str:
    """Add an episode to a run and return its name."""
    stored = evidence() if stored is None else stored
    name = f"tiny-{seed}-c1-{policy}"
    is_solved = solved(stored["changes"]["desk"])
    facts = {
        "return_": round(sum(line["reward"] for line in lines if isinstance(line, dict)), 6),
        "verdict": verdict(closed=is_solved),
        "injections": [InjectionInfo(kind="ticket_locked", mark="decisive", entity="T-1")],
    }
    record = a_record(success=is_solved, seed=seed, policy=policy, steps=len(lines), **facts | changed)
    for folder in ("trajectories", "evidence"):
        (run / folder).mkdir(parents=True, exist_ok=True)
    with (run / "episodes.jsonl").open("a") as records:
        records.write(record.model_dump_json(by_alias=True) + "\n")
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    (run / "trajectories" / f"{name}.jsonl").write_text(text)
    (run / "evidence" / f"{name}.json.gz").write_bytes(gzip.compress(canonical_json(stored) + b"\n"))
    return name
