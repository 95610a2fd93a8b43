"""A house of one command: the gateway starts its services itself, as children on Unix sockets."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

from benchmarks.processes import family
from faults.house import GATEWAY, House
from faults.process import ServerProcess


class EmbeddedHouse(House):
    """A gateway that was told of no services; only it is a process of the suite's own."""

    async def start(self) -> None:
        """Bring the gateway up, and with it the services."""
        self.processes = {GATEWAY: self.processes[GATEWAY]}
        await super().start()

    def kill_child(self, service: str) -> bool:
        """Kill a service with signal 9; say whether there was one to kill."""
        for pid, role in family(self.processes[GATEWAY].pid).items():
            if role == service:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                return True
        return False

    def _gateway(self) -> ServerProcess:
        made = super()._gateway()
        made.environment.pop("COMPANYOS_SERVICES")
        made.environment.pop("COMPANYOS_SERVICE_KEY")
        return made
