"""Bounds that the rows check scenarios against."""

from __future__ import annotations

from companyos_gateway.evaluation.guessing import MAX_GUESSES
from companyos_players import PRIORITIES

STEP_SHARE = 0.7
"""Maximum share of the step limit for the fair oracle's p99 of steps."""

MIN_SUCCESS, MIN_FAIR, MAX_FAILURE = 7.0, 12.0, 4.0
"""Bounds of returns: minimum of any success, minimum of the fair oracle, maximum of any failure."""

MIN_GAP = 10.0
"""Minimum gap between the fair oracle's mean return and that of each player that must not succeed."""

MIN_WRONG, MIN_RIGHT = 50, 50
"""Minimum number of incorrect and of correct final states per task."""

MIN_KILLED = 0.97
"""Minimum share of code mutants that stored evidence detects."""

MIN_NAMED = 0.95
"""Minimum share of invalid final states whose primary failure names a changed entity."""

MIN_FIRED = 0.99
"""Minimum share of the episodes configured with a chaos kind in which that kind occurs."""

MAX_BY_CHANCE = 0.02
"""Maximum share of tasks that the random policy solves at level 1."""

MIN_LOSS = 0.3
"""Minimum loss of success of the weakest worker from level 0 to level 4."""

PRIORITY_CHANCE = 1 / len(PRIORITIES)
"""Probability that one guess of a priority is correct. The closing call allows an agent only one guess."""

APPROVER_TRIES = MAX_GUESSES + 1
"""Number of approvers that an agent may try before the episode counts as guessing, including the accepted one."""

CHANCE_CONFIDENCE = 0.99
"""One-sided confidence of the bound on successes by chance."""

MIN_FAILING = 0.99
"""Minimum failure rate of an agent that lacks an ability, in the shifts that require it."""

MAX_ONE_AT_A_TIME = 0.3
"""Upper bound on the success rate of an agent that works one case at a time, in weeks at level 4."""
