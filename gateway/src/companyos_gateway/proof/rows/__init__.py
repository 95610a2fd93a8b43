"""The rows of the proof, by their letters."""

from companyos_gateway.proof.rows.determinism import Determinism
from companyos_gateway.proof.rows.difficulty import Difficulty
from companyos_gateway.proof.rows.leaks import Leaks
from companyos_gateway.proof.rows.reward import Reward
from companyos_gateway.proof.rows.row import Job, Line, Row, Scope, Tally
from companyos_gateway.proof.rows.solvable import Solvable
from companyos_gateway.proof.rows.splits import Splits
from companyos_gateway.proof.rows.verifier import Verifier
from companyos_gateway.proof.rows.zoo import Zoo

_ALL = (Solvable(), Zoo(), Verifier(), Reward(), Determinism(), Leaks(), Difficulty(), Splits())
ROWS: dict[str, Row] = {row.letter: row for row in _ALL}

__all__ = ["ROWS", "Job", "Line", "Row", "Scope", "Tally"]
