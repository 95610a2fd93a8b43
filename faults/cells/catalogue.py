"""All cells, in the order of the table."""

from __future__ import annotations

from faults.cells import (
    clients,
    clocks,
    embedded,
    failpoints,
    kills,
    orphans,
    snapshots,
    stops,
    storage,
    wires,
)
from faults.trial import Cell

CELLS: list[Cell] = [
    *kills.CELLS,
    *failpoints.CELLS,
    *wires.CELLS,
    *stops.CELLS,
    *storage.CELLS,
    *clients.CELLS,
    *snapshots.CELLS,
    *embedded.CELLS,
    *orphans.CELLS,
    *clocks.CELLS,
]
