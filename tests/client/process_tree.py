"""Process trees, read from /proc."""

from __future__ import annotations

from pathlib import Path


def child_processes(root: int) -> list[int]:
    """Return the processes below a process."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    members = [root]
    for member in members:
        members.extend(child for child, parent in parents.items() if parent == member)
    return members[1:]
