"""A house whose wall clock can be set to any time, by a small library between its processes and the system's clock."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

from faults.house import House

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


class ClockHouse(House):
    """A house with a wall clock of its own; the monotonic clock is the machine's."""

    async def start(self) -> None:
        """Build the library and bring everything up."""
        self.environment = clock_environment(self.folder)
        await super().start()

    def set_clock(self, offset_s: int) -> None:
        """Let the wall clock of every process be so far from the machine's."""
        set_offset(self.folder, offset_s)


def clock_environment(folder: Path) -> dict[str, str]:
    """Build the library in a folder and return what a process is started with to have its clock there."""
    source, library, offset = folder / "clock.c", folder / "clock.so", folder / "clock"
    source.write_text(_SOURCE)
    offset.write_bytes(struct.pack("l", 0))
    subprocess.run([COMPILER, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return {"LD_PRELOAD": str(library), OFFSET_FILE: str(offset)}


def set_offset(folder: Path, offset_s: int) -> None:
    """Set the clock of the processes that were started with the folder's environment."""
    with (folder / "clock").open("r+b") as file:
        file.write(struct.pack("l", offset_s))


def no_own_clock() -> str | None:
    """Say why this machine cannot give processes a clock of their own, None where it can."""
    return None if shutil.which(COMPILER) else "there is no C compiler for a clock of their own"
