"""Bounds that the rows hold scenarios to."""

from __future__ import annotations

STEP_SHARE = 0.7
"""The fair oracle's p99 of steps lies within this share of the limit."""

LEAST_SUCCESS, LEAST_FAIR, MOST_FAILURE = 7.0, 12.0, 4.0
"""Bounds of returns: of any success, of the fair oracle's, of any failure."""

LEAST_GAP = 10.0
"""How far the mean return of whoever must not succeed lies below the fair oracle's."""

LEAST_WRONG, LEAST_RIGHT = 50, 20
"""Ends of a task that are tried at least: wrong ones and right ones."""

LEAST_KILLED = 0.95
"""The share of code mutants that stored evidence tells from the original."""

LEAST_FIRED = 0.99
"""The share of episodes that configure a kind in which it strikes at least."""

MOST_BY_CHANCE = 0.02
"""The share of tasks that chance solves at level 1 at most."""

LEAST_LOSS = 0.3
"""How much success the weakest worker loses from level 0 to level 4 at least."""
