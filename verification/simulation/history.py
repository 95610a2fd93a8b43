"""One history: a seed determines the operations, the faults and their times; the model checks the results."""

from __future__ import annotations

import gc
import hashlib
import shutil
import tempfile
from pathlib import Path

from verification.simulation.deployment import APPS
from verification.simulation.driver import HistoryResult, ViolationError
from verification.simulation.moves import FAULTS, LABELS, MOVES, Moves
from verification.simulation.scheduler import StuckError

MEMORY = Path("/dev/shm")  # noqa: S108 - the one tmpfs every Linux has
FAULT_SHARE = 0.4


def play(seed: int) -> HistoryResult:
    """Run the history of a seed and return its result."""
    folder = Path(tempfile.mkdtemp(prefix="companyos-simulation-", dir=MEMORY if MEMORY.is_dir() else None))
    APPS.prepare()
    moves = Moves(seed, folder)
    result = moves.result
    collects = gc.isenabled()
    gc.disable()  # garbage collection must not depend on allocation history
    try:
        with moves.machine.installed():
            try:
                _play(moves)
            except ViolationError as violation:
                result.violation = str(violation)
            except StuckError as stuck:
                result.violation = f"stuck: {stuck}"
            finally:
                moves.deployment.close()
    finally:
        if collects:
            gc.enable()
        shutil.rmtree(folder)
    result.switches = moves.scheduler.switches
    result.digest = hashlib.sha256("\n".join([*result.lines, result.violation]).encode()).hexdigest()[:16]
    return result


def _play(moves: Moves) -> None:
    """Play a subset of the moves under a subset of the faults; using all kinds at once hides some effects."""
    rng = moves.rng
    moves.start()
    for label in LABELS[: rng.randint(1, len(LABELS))]:
        moves.reset(label)
    some_moves = [name for name, weight in MOVES.items() for _ in range(weight) if name == "step" or rng.random() < 0.6]
    faults = {name: weight for name, weight in FAULTS.items() if rng.random() < 0.4} or {"kill_gateway": 1}
    some_faults = [name for name, weight in faults.items() for _ in range(weight)]
    for _ in range(rng.randint(3, 8)):
        is_fault = rng.random() < FAULT_SHARE
        name = rng.choice(some_faults if is_fault else some_moves)
        (moves.result.faults if is_fault else moves.result.moves)[name] += 1
        moves.note(f"-- {name}")
        moves.is_fault_active = is_fault
        getattr(moves, name)(rng.choice(LABELS))
        moves.disarm()
        moves.is_fault_active = False
    moves.end_all_faults()
    moves.probe()
    moves.check_everything()
