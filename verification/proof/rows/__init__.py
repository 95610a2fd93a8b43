"""The rows of the proof, by letter."""

from verification.proof.rows.adversaries import Adversaries
from verification.proof.rows.base import Job, Line, Row, Scope, Tally
from verification.proof.rows.determinism import Determinism
from verification.proof.rows.difficulty import Difficulty
from verification.proof.rows.leaks import Leaks
from verification.proof.rows.plausible import Plausible
from verification.proof.rows.rewards import Reward
from verification.proof.rows.shifts import Shifts
from verification.proof.rows.solvable import Solvable
from verification.proof.rows.splits import Splits
from verification.proof.rows.verifier import Verifier

_ALL = (
    Solvable(),
    Adversaries(),
    Verifier(),
    Reward(),
    Determinism(),
    Leaks(),
    Difficulty(),
    Splits(),
    Plausible(),
    Shifts(),
)
ROWS: dict[str, Row] = {row.letter: row for row in _ALL}

__all__ = ["ROWS", "Job", "Line", "Row", "Scope", "Tally"]
