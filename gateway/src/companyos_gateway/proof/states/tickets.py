"""Wrong ends of tickets: the entry ticket's columns, its checklist, and the right work on the wrong ticket."""

from __future__ import annotations

from typing import Any

from companyos_gateway.proof.states.bends import DESK, Bends, Way, setting, undoing
from companyos_gateway.proof.states.ending import Ending

STATUSES = (None, "open", "in_progress", "blocked", "in_review", "resolved", "closed", "cancelled", "Resolved")
LEVELS = ("low", "medium", "high", "critical")


def ticket_bends(way: Way) -> Bends:
    """Yield the entry ticket bent in one column, its checklist undone, and the work done on another ticket."""
    row, key = way.ticket, way.key
    if any(net.key == key and "status" in net.columns for net in way.changed(DESK, "tickets")):
        for status in STATUSES:
            if status != row["status"]:
                yield f"ticket: status {status}", setting(DESK, "tickets", key, status=status)
    for name, columns in _columns(way, row).items():
        yield f"ticket: {name}", setting(DESK, "tickets", key, **columns)
    yield "ticket: deleted", lambda ending: ending.delete(DESK, "tickets", key)
    for net in way.changed(DESK, "checklist_items"):
        yield f"checklist: {net.key} undone", undoing(DESK, "checklist_items", net.key, "done_at", "done_by")
    yield from _swapped(way)


def _columns(way: Way, row: dict[str, Any]) -> dict[str, dict[str, Any]]:
    changes: dict[str, dict[str, Any]] = {
        "another title": {"title": "Something else"},
        "another team": {"team_id": "legal" if row["team_id"] != "legal" else "data"},
        "another type": {"type": "incident" if row["type"] != "incident" else "task"},
        "another tag": {"tags": ["other"]},
        "due later": {"due_at": "2031-01-01T00:00:00Z"},
        "another reporter": {"reporter_id": "E-0000"},
        "an approval that is none": {"approval_ref": "APR-1"},
    }
    if row["reason_code"] is not None:
        changes |= {
            "no reason": {"reason_code": None, "reason_ref": None},
            "another code": {"reason_code": "withdrawn" if row["reason_code"] != "withdrawn" else "duplicate"},
            "another fact": {"reason_ref": "POL-999"},
            "fact in lower case": {"reason_ref": str(row["reason_ref"]).lower()},
            "fact padded": {"reason_ref": f" {row['reason_ref']}"},
        }
    if row["status"] == "cancelled":
        return changes
    if row["priority"] is not None:
        changes |= {"no priority": {"priority": None}, "priority in capitals": {"priority": row["priority"].upper()}}
        changes |= {f"priority {level}": {"priority": level} for level in LEVELS if level != row["priority"]}
    if row["verified_at"] is not None:
        changes |= {
            "not verified": {"verified_at": None, "verified_by": None},
            "verified by nobody": {"verified_by": None},
        }
    if row["approval_ref"] is not None:
        changes |= {
            "no approval": {"approval_ref": None},
            "approval padded": {"approval_ref": f" {row['approval_ref']}"},
            "approval in lower case": {"approval_ref": row["approval_ref"].lower()},
        }
    if row["assignee_id"] is not None:
        changes["nobody assigned"] = {"assignee_id": None}
    changes |= {
        f"assigned to {who}": {"assignee_id": one} for who, one in way.outsiders().items() if who != "somebody away"
    }
    return changes


def _swapped(way: Way) -> Bends:
    """Yield the work on the entry ticket done on another one instead."""
    own = next((net for net in way.changed(DESK, "tickets") if net.key == way.key), None)
    if own is None or own.after is None or own.before is None:
        return
    done = {name: own.after[name] for name in own.columns}
    others = sorted(way.evidence.table(DESK, "tickets").keys() - {net.key for net in way.nets})
    for other in others[:3]:

        def swap(ending: Ending, other: str = other) -> None:
            ending.set(DESK, "tickets", other, **done)
            ending.undo(DESK, "tickets", way.key, *done)

        yield f"ticket: the work done on {other} instead", swap
