"""Memory, processor time and files of the server processes."""

from __future__ import annotations

import os
from pathlib import Path

_PROC = Path("/proc")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
_MEMORY_FIELD = 1
_USER_FIELD, _SYSTEM_FIELD = 11, 12


def process_tree(root: int) -> dict[int, str]:
    """Return the name of a process and each of its descendants, by process id; empty without /proc."""
    parents: dict[int, int] = {}
    for entry in _PROC.glob("[0-9]*"):
        try:
            parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    members = [root] if root in parents else []
    for member in members:
        members.extend(child for child, parent in parents.items() if parent == member)
    return {member: name for member in members if (name := _name(member))}


def resident_bytes(process: int) -> int:
    """Return the resident set size of a process in bytes."""
    return int((_PROC / str(process) / "statm").read_text().split()[_MEMORY_FIELD]) * _PAGE_BYTES


def cpu_seconds(process: int) -> float:
    """Return a process's user and system time in seconds."""
    fields = (_PROC / str(process) / "stat").read_text().rpartition(")")[2].split()
    return (int(fields[_USER_FIELD]) + int(fields[_SYSTEM_FIELD])) / _TICKS_A_SECOND


def tree_cpu_seconds(root: int | None) -> float:
    """Return the user and system time of a process and its descendants in seconds; 0 if `root` is None."""
    return 0.0 if root is None else sum(cpu_seconds(member) for member in process_tree(root))


def folder_bytes(folder: Path) -> int:
    """Return the disk usage of a folder's files in bytes."""
    return sum(file.stat().st_blocks * 512 for file in folder.rglob("*") if file.is_file())


def _name(process: int) -> str:
    """Return the name of a process: `gateway`, `service-host` or its service; empty if it has just exited."""
    try:
        return (_PROC / str(process) / "comm").read_text().strip()
    except OSError:
        return ""
