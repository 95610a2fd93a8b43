"""Real processes, killed and starved on purpose, and what is left of their promises: `python -m
verification.faults`.
"""
