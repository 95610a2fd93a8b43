"""Privileged oracles: they know the hidden facts of an instance. For tests and the proof only."""
