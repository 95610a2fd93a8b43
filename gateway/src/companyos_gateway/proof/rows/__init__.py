"""The rows of the proof, by their letters."""

from companyos_gateway.proof.rows.reward import Reward
from companyos_gateway.proof.rows.row import Job, Line, Row, Scope, Tally
from companyos_gateway.proof.rows.solvable import Solvable
from companyos_gateway.proof.rows.verifier import Verifier
from companyos_gateway.proof.rows.zoo import Zoo

ROWS: dict[str, Row] = {row.letter: row for row in (Solvable(), Zoo(), Verifier(), Reward())}

__all__ = ["ROWS", "Job", "Line", "Row", "Scope", "Tally"]
