"""A house whose four processes each have a small disk of their own, which can be filled to the last byte."""

from __future__ import annotations

import asyncio
import os
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

from faults.house import PROCESSES, House

DISK = "size=32m"
_BALLAST = "ballast"
_CHUNK = bytes(64 * 1024)


class SmallDisks(House):
    """Each process keeps its files on a small tmpfs."""

    async def start(self) -> None:
        """Mount the disks and bring everything up."""
        for name in PROCESSES:
            self.disk(name).mkdir(parents=True)
            await _run("mount", "-t", "tmpfs", "-o", DISK, "tmpfs", str(self.disk(name)))
        await super().start()

    async def stop(self) -> None:
        """End everything and let the disks go."""
        await super().stop()
        for name in PROCESSES:
            with suppress(OSError):
                await _run("umount", "--lazy", str(self.disk(name)))

    def disk(self, name: str) -> Path:
        """Return where the disk of a process is mounted."""
        return self.data / name

    def fill(self, name: str) -> None:
        """Fill a disk to the last byte."""
        with (self.disk(name) / _BALLAST).open("ab", buffering=0) as ballast, suppress(OSError):
            while ballast.write(_CHUNK):
                pass

    def empty(self, name: str) -> None:
        """Take the filling out again."""
        (self.disk(name) / _BALLAST).unlink(missing_ok=True)

    async def mount(self, name: str, *, read_only: bool) -> None:
        """Mount the disk of a process that is not running anew; raises OSError where somebody writes to it."""
        await _run("mount", "-o", f"remount,{'ro' if read_only else 'rw'}", str(self.disk(name)))


def cannot_mount() -> str | None:
    """Say why this machine has no disks to fill, None where it has."""
    if os.geteuid() != 0:
        return "mounting a small disk takes root"
    with tempfile.TemporaryDirectory() as folder:
        tried = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", DISK, "tmpfs", folder],  # noqa: S607
            capture_output=True,
            text=True,
            check=False,
        )
        if tried.returncode:
            return f"mounting is refused here: {tried.stderr.strip() or tried.returncode}"
        subprocess.run(["umount", folder], check=True)  # noqa: S607
    return None


async def _run(*command: str) -> None:
    process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
    _, said = await process.communicate()
    if process.returncode:
        raise OSError(f"{' '.join(command)}: {said.decode().strip()}")
