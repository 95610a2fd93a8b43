"""Other deployments: proxies, embedded services, workers, a skewed clock and small disks."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import struct
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

from verification.faults.deployment import GATEWAY, PROCESSES, Deployment
from verification.faults.server_process import ServerProcess
from verification.process_stats import process_tree


class ProxiedDeployment(Deployment):
    """A deployment with a proxy in front of each service, which injects network faults."""

    has_proxies = True


class EmbeddedDeployment(Deployment):
    """A gateway with embedded services, which it starts as child processes."""

    async def start(self) -> None:
        """Start the gateway and its services."""
        self.processes = {GATEWAY: self.processes[GATEWAY]}
        await super().start()

    def kill_child(self, child: str) -> bool:
        """Kill a service with SIGKILL; return whether it was running."""
        for pid, role in process_tree(self.processes[GATEWAY].pid).items():
            if role == child:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                return True
        return False

    def _gateway(self) -> ServerProcess:
        made = super()._gateway()
        made.environment.pop("COMPANYOS_SERVICES")
        made.environment.pop("COMPANYOS_SERVICE_KEY")
        return made


class WorkersDeployment(EmbeddedDeployment):
    """Two workers behind a router, each a gateway with embedded services and its own data folder."""

    @property
    def data_folders(self) -> list[Path]:
        """The first worker uses the data folder itself."""
        return [self.data, self.data / "worker-2"]

    def kill_child(self, child: str) -> bool:
        """Kill a worker by its number with SIGKILL; return whether it was running."""
        setting = f"COMPANYOS_WORKER={child}".encode()
        for pid, role in process_tree(self.processes[GATEWAY].pid).items():
            with suppress(OSError):
                if role == GATEWAY and setting in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                    os.kill(pid, signal.SIGKILL)
                    return True
        return False

    def _gateway(self) -> ServerProcess:
        made = super()._gateway()
        made.environment["COMPANYOS_WORKERS"] = "2"
        return made


OFFSET_FILE = "FAULTS_CLOCK"
COMPILER = "cc"

_SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile long none = 0;
static volatile long *offset_s = &none;

__attribute__((constructor)) static void find_offset(void) {
    const char *path = getenv("FAULTS_CLOCK");
    int file = path ? open(path, O_RDONLY) : -1;
    if (file < 0) return;
    void *page = mmap(NULL, sizeof(long), PROT_READ, MAP_SHARED, file, 0);
    if (page != MAP_FAILED) offset_s = page;
    close(file);
}

int clock_gettime(clockid_t id, struct timespec *at) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(id, at);
    if (!failed && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) at->tv_sec += *offset_s;
    return failed;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
    (void)zone;
    struct timespec found;
    clock_gettime(CLOCK_REALTIME, &found);
    at->tv_sec = found.tv_sec;
    at->tv_usec = found.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *at) {
    struct timespec found;
    clock_gettime(CLOCK_REALTIME, &found);
    if (at) *at = found.tv_sec;
    return found.tv_sec;
}
"""


class SkewedClockDeployment(Deployment):
    """A deployment with a separate wall clock; the monotonic clock is the machine's."""

    async def start(self) -> None:
        """Build the library and start everything."""
        self.environment = clock_environment(self.folder)
        await super().start()

    @classmethod
    def reason_not_to_run(cls) -> str | None:
        """The library requires a C compiler."""
        return None if shutil.which(COMPILER) else "a skewed clock requires a C compiler"

    def set_clock(self, offset_s: int) -> None:
        """Set the wall clock offset of every process."""
        set_offset(self.folder, offset_s)


def clock_environment(folder: Path) -> dict[str, str]:
    """Build the library in a folder and return the environment variables that load it."""
    source, library, offset = folder / "clock.c", folder / "clock.so", folder / "clock"
    source.write_text(_SOURCE)
    offset.write_bytes(struct.pack("l", 0))
    subprocess.run([COMPILER, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return {"LD_PRELOAD": str(library), OFFSET_FILE: str(offset)}


def set_offset(folder: Path, offset_s: int) -> None:
    """Set the clock offset of processes that use the folder's environment."""
    with (folder / "clock").open("r+b") as file:
        file.write(struct.pack("l", offset_s))


DISK = "size=32m"
_BALLAST = "ballast"
_CHUNK = bytes(64 * 1024)


class SmallDiskDeployment(Deployment):
    """Each process stores its files on a small tmpfs."""

    async def start(self) -> None:
        """Mount the disks and start everything."""
        for name in PROCESSES:
            self.disk(name).mkdir(parents=True)
            await _run("mount", "-t", "tmpfs", "-o", DISK, "tmpfs", str(self.disk(name)))
        await super().start()

    async def stop(self) -> None:
        """Stop everything and unmount the disks."""
        await super().stop()
        for name in PROCESSES:
            with suppress(OSError):
                await _run("umount", "--lazy", str(self.disk(name)))

    @classmethod
    def reason_not_to_run(cls) -> str | None:
        """Mounting requires root."""
        if os.geteuid() != 0:
            return "mounting a small disk requires root"
        with tempfile.TemporaryDirectory() as folder:
            completed = subprocess.run(
                ["mount", "-t", "tmpfs", "-o", DISK, "tmpfs", folder],  # noqa: S607
                capture_output=True,
                text=True,
                check=False,
            )
            if completed.returncode:
                return f"mount failed: {completed.stderr.strip() or completed.returncode}"
            subprocess.run(["umount", folder], check=True)  # noqa: S607
        return None

    def disk(self, name: str) -> Path:
        """Return the mount point of a process's disk."""
        return self.data / name

    def fill(self, name: str) -> None:
        """Fill a disk completely."""
        with (self.disk(name) / _BALLAST).open("ab", buffering=0) as ballast, suppress(OSError):
            while ballast.write(_CHUNK):
                pass

    def empty(self, name: str) -> None:
        """Delete the file that fills a disk."""
        (self.disk(name) / _BALLAST).unlink(missing_ok=True)

    async def mount(self, name: str, *, read_only: bool) -> None:
        """Mount the disk of a stopped process; raises OSError if it is in use."""
        await _run("mount", "-o", f"remount,{'ro' if read_only else 'rw'}", str(self.disk(name)))


async def _run(*command: str) -> None:
    process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
    _, stderr = await process.communicate()
    if process.returncode:
        raise OSError(f"{' '.join(command)}: {stderr.decode().strip()}")
