"""Plausibility linter: checks that every planned instance could have happened in a real company."""

from verification.plausibility.facts import Facts, Finding
from verification.plausibility.rules import RULES, find_implausible

__all__ = ["RULES", "Facts", "Finding", "find_implausible"]
