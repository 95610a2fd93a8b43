"""The cells of the fault matrix, in table order."""

from __future__ import annotations

from verification.faults.cells import (
    clients,
    embedded,
    failpoints,
    kills,
    machine,
    network,
    orphaned_services,
    signals,
    snapshots,
)
from verification.faults.trial import Cell

CELLS: list[Cell] = [
    *kills.CELLS,
    *failpoints.CELLS,
    *network.CELLS,
    *signals.CELLS,
    *machine.CELLS,
    *clients.CELLS,
    *snapshots.CELLS,
    *embedded.CELLS,
    *orphaned_services.CELLS,
]
