"""Generates docs/scenarios.md and docs/tools.md from the code."""
