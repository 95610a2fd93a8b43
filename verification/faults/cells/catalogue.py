"""All cells, in table order."""

from __future__ import annotations

from verification.faults.cells import (
    clients,
    clock_jumps,
    embedded,
    failpoints,
    kills,
    network,
    orphaned_services,
    signals,
    snapshots,
    storage,
)
from verification.faults.trial import Cell

CELLS: list[Cell] = [
    *kills.CELLS,
    *failpoints.CELLS,
    *network.CELLS,
    *signals.CELLS,
    *storage.CELLS,
    *clients.CELLS,
    *snapshots.CELLS,
    *embedded.CELLS,
    *orphaned_services.CELLS,
    *clock_jumps.CELLS,
]
