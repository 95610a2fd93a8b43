"""Deterministic simulation: the real gateway engine and the real service framework on a simulated machine."""
