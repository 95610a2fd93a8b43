"""Fault injection with real processes: `python -m verification.faults`."""
